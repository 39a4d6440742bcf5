"""`mcppd call`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click

from mcppd.cli.calls import call, workspace_path
from mcppd.cli.daemons import Daemon, connect_agent, connect_control, daemon_options, find_daemon, run
from mcppd.cli.errors import CommandError
from mcppd.cli.output import printable
from mcppd.cli.results import show_result
from mcppd.cli.tool_help import tool_help
from mcppd.cli.tool_words import HelpWantedError, WordsError, parse_words, wants_input
from mcppd.core.names import nearest

Tool = Mapping[str, Any]


@click.command(
    "call",
    context_settings={"allow_interspersed_args": False},
    epilog="The tool's options are those of its input schema: --key value or --key=value, a repeated "
    "option for an array, JSON text for an object, --flag and --no-flag for a boolean. A value that "
    "begins with -- needs the form with =. `--args JSON` gives all arguments at once, `--args -` reads "
    "them from standard input.",
)
@daemon_options
@click.option(
    "--workspace", metavar="DIR", help="The project that the tool works in, instead of this directory."
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as it came, as JSON.")
@click.argument("tool")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[--args JSON] [TOOL OPTIONS]...")
def command(
    *,
    config: str | None,
    socket: str | None,
    workspace: str | None,
    as_json: bool,
    tool: str,
    words: tuple[str, ...],
) -> int:
    """Call a tool.

    `mcppd list` names the tools, `mcppd call TOOL --help` shows the options of one. Prints
    the display for people on a terminal, else the result's text.

    Exit status: 0 done, 1 the tool failed, 2 wrong use or no daemon.
    """
    input_text = _read_input() if wants_input(words) else ""
    calling = _call(find_daemon(config, socket), workspace_path(workspace), tool, words, input_text)
    result = run(calling)
    if isinstance(result, str):
        sys.stdout.write(result)
        return 0
    return show_result(result, as_json=as_json)


def _read_input() -> str:
    """Standard input, before anything else begins: nothing could interrupt it later."""
    try:
        return sys.stdin.buffer.read().decode() if sys.stdin else ""
    except UnicodeDecodeError as error:
        raise CommandError(f"standard input is not UTF-8: byte {error.start}") from None


async def _call(
    daemon: Daemon, workspace: str | None, name: str, words: Sequence[str], input_text: str
) -> dict[str, Any] | str:
    """The result of the call, or the help text that was asked for instead."""
    async with await connect_agent(daemon, workspace) as client:
        tools = await client.list_tools()
        tool = _named(name, tools) or await _find_hidden(daemon, name)
        try:
            arguments = parse_words(words, _schema(tool), input_text)
        except HelpWantedError:
            if tool is None:
                raise _unknown(name, tools) from None
            return tool_help(name, tool)
        except WordsError as error:
            raise CommandError(*(f"{name}: {fault}" for fault in error.faults), _see(name)) from None
        return await call(client, name, arguments)


def _named(name: str, tools: Sequence[Tool]) -> Tool | None:
    return next((tool for tool in tools if tool.get("name") == name), None)


async def _find_hidden(daemon: Daemon, name: str) -> Tool | None:
    """A tool by its full name, under which it can be called but isn't listed."""
    try:
        async with await connect_control(daemon) as control:
            found = await control.request("mcppd/list", {})
    except CommandError:
        return None  # agents are served without a control socket too; the daemon knows the name or says so
    tools = [tool for tool in found.get("tools", ()) if isinstance(tool, dict)]
    return next((tool for tool in tools if tool.get("full_name") == name), None)


def _schema(tool: Tool | None) -> Mapping[str, Any] | None:
    """A tool's input schema; None for a tool that nobody lists, about which the daemon has the last word."""
    if tool is None:
        return None
    schema = tool.get("inputSchema")
    return schema if isinstance(schema, Mapping) else {}


def _see(name: str) -> str:
    from mcppd.cli.invocation import again

    return f"see `{again(f'call {printable(name)} --help')}`"


def _unknown(name: str, tools: Sequence[Tool]) -> CommandError:
    from mcppd.cli.invocation import again

    near = nearest(name, [str(tool.get("name")) for tool in tools])
    hint = f"did you mean {' or '.join(near)}?" if near else f"`{again('list')}` names the tools"
    return CommandError(f"unknown tool {name!r}: {hint}")
