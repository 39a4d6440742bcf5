"""The commands by name, and the one place where an error becomes a line on stderr and an exit status."""

from __future__ import annotations

import difflib
import importlib
import io
import os
import sys
from typing import Final

import click

from mcppd.cli.errors import CommandError
from mcppd.cli.output import complain

COMMANDS: Final = {
    "serve": "Run the daemon in the foreground.",
    "dev": "Run the daemon in the foreground, with a live view of what it does.",
    "start": "Start the daemon in the background.",
    "stop": "Stop the daemon, with everything it started.",
    "restart": "Start the daemon anew, while agents stay connected.",
    "status": "Show the daemon, its sessions and its modules.",
    "list": "List the tools, prompts and resources that are served.",
    "config": "Print what an agent has to be told, to be run or pasted.",
    "call": "Call a tool.",
    "help": "Show what the tools are for, or how to use one.",
    "reload": "Load what has changed on disk, and say what it was.",
    "new": "Make a module that works, and register it.",
    "import": "Register the modules of another host of this format.",
    "check": "Check the registry and its modules, without a daemon.",
    "stdio": "Serve one agent on stdin and stdout, without a daemon.",
    "service": "Have systemd run the daemon: install, uninstall, status.",
    "demo": "Show in a second that a saved change is live.",
}
"""Each command is `command` in the file of its name; the sentence is the first of its help."""

INTERRUPTED: Final = 130  # 128 + SIGINT, as shells say it
NO_READER: Final = 141  # 128 + SIGPIPE, likewise
FAILED: Final = 1
WRONG_USE: Final = 2


class Commands(click.Group):
    """A group that knows its commands' names and sentences without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"mcppd.cli.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS:
            near = difflib.get_close_matches(args[0], COMMANDS, 1)
            hint = f"did you mean {near[0]}?" if near else f"the commands are {', '.join(COMMANDS)}"
            raise click.UsageError(f"unknown command {args[0]!r}: {hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:  # noqa: FBT001 - click's signature
    if wanted:
        from mcppd_shim.version import VERSION

        sys.stdout.write(f"mcppd {VERSION}\n")
        ctx.exit()


@click.group(cls=Commands, epilog="`mcppd COMMAND --help` says more about one of them.")
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_print_version,
    help="Print the version.",
)
def mcppd() -> None:
    """One always-on daemon for the MCP tools of all your coding agents."""


def run(words: list[str]) -> int:
    """Run a command line; the exit status. Nothing that is expected to happen leaves a traceback."""
    _accept_any_text()
    try:
        status = _invoke(words)
        sys.stdout.flush()
    except CommandError as error:
        complain(*error.lines, quoted=error.quoted)
        return error.status
    except click.ClickException as error:
        complain(_in_one_line(error))
        return WRONG_USE
    except (KeyboardInterrupt, click.Abort):
        complain("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        _forget_stdout()
        return NO_READER
    except OSError as error:  # a full disk under stdout, for one
        _forget_stdout()
        complain(": ".join(filter(None, [error.filename, error.strerror or str(error)])))
        return FAILED
    return status


def _invoke(words: list[str]) -> int:
    if not words:
        sys.stderr.write(mcppd.get_help(click.Context(mcppd, info_name="mcppd")) + "\n")
        return WRONG_USE
    try:
        with mcppd.make_context("mcppd", list(words)) as context:
            return int(mcppd.invoke(context) or 0)
    except click.exceptions.Exit as ended:
        return int(ended.exit_code)


def _in_one_line(error: click.ClickException) -> str:
    text = " ".join(error.format_message().split()).rstrip(".")
    text = text[:1].lower() + text[1:]
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is None:
        return text
    from mcppd.cli.invocation import again

    _, _, names = context.command_path.partition(" ")
    return f"{text}; see {again(names, '--help')}"


def _accept_any_text() -> None:
    """Print what can't be encoded as an escape: tools answer with anything. A closed stream is replaced."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _forget_stdout() -> None:
    """Let what is still buffered go nowhere, so that the interpreter's end stays quiet too."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
