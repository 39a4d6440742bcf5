"""The options of the shim, read without argparse: its import alone costs more than the whole start."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

HELP: Final = """\
Usage: mcppd-shim [--socket PATH] [--workspace DIR] [--config FILE] [--meta-tools]

Gives an agent on stdin and stdout the tools of the mcppd daemon; starts the daemon if there is none.

  --socket PATH    the daemon's socket, instead of the one in the runtime directory
  --workspace DIR  the project that tools work in, instead of what the agent says
  --config FILE    the registry (tools.yaml), instead of the default one
  --meta-tools     offer `call_tool` too, for an agent that never lists its tools again
  --help           this text
  --version        the version
"""
VALUES: Final = ("--socket", "--workspace", "--config")
FLAGS: Final = ("--meta-tools", "--help", "--version")


class UsageError(Exception):
    """The command line is wrong; the text says how."""


class Options:
    """What the command line says."""

    __slots__ = ("config", "help", "meta_tools", "socket", "version", "workspace")

    def __init__(self, values: dict[str, str], flags: set[str]) -> None:
        self.socket = values.get("--socket")
        self.workspace = values.get("--workspace")
        self.config = values.get("--config")
        self.meta_tools = "--meta-tools" in flags
        self.help = "--help" in flags
        self.version = "--version" in flags


def read_options(arguments: list[str]) -> Options:
    """Both `--name value` and `--name=value`; raises UsageError."""
    values: dict[str, str] = {}
    flags: set[str] = set()
    rest = iter(arguments)
    for argument in rest:
        name, equals, value = argument.partition("=")
        if name in FLAGS and not equals:
            flags.add(name)
        elif name in VALUES:
            values[name] = _value(name, value if equals else next(rest, ""))
        else:
            raise UsageError(_wrong(argument, name))
    return Options(values, flags)


def _value(name: str, value: str) -> str:
    if not value or value.startswith("--"):
        raise UsageError(f"{name} needs a value, as in `{name} /some/path`")
    return value


def _wrong(argument: str, name: str) -> str:
    if name in FLAGS:
        return f"{name} takes no value"
    known = ", ".join((*VALUES, *FLAGS))
    return f"{argument!r} is not an option of mcppd-shim; it knows {known}"
