"""The life of a shim: options, the way to the daemon, hello, traffic, exit status."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # built in; `signal` would load enum, and no stubs exist for this one
import posix
import sys
from select import POLLOUT, poll

from .hello import hello_line
from .options import HELP, Options, UsageError, read_options
from .places import PlaceError, absolute, real_path, registry_path, socket_paths
from .reach import Way
from .traffic import Traffic
from .version import VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Final

# What agents end their servers with (D10).
ENDING_SIGNALS: Final = (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP)
FAILED: Final = 1
WRONG_USE: Final = 2
# F5: hosts keep all of stderr. One line is all we ever say, and a line is no longer than this.
MESSAGE_BYTES: Final = 3000


def main(arguments: list[str]) -> int:
    """The exit status; 0 when the host ended it, and not while there was no daemon."""
    _prepare_process()
    try:
        options = read_options(arguments)
    except UsageError as error:
        return _fail(str(error), WRONG_USE)
    if options.help or options.version:
        return _print(HELP if options.help else f"mcppd-shim {VERSION}\n")
    try:
        return _forward(options, _environment())
    except PlaceError as error:
        return _fail(str(error), FAILED)


def _forward(options: Options, environ: Mapping[str, str]) -> int:
    parent = posix.getppid()
    registry, is_default = registry_path(options.config, environ)
    paths = socket_paths(options.socket, "" if is_default else registry, environ, posix.getuid())
    identity = None if is_default else real_path(registry)
    hello = hello_line(identity, _workspace(options.workspace), environ, meta_tools=options.meta_tools)
    way = Way(paths, options.config, options.socket, environ)
    traffic = Traffic(way, hello, parent, _tell)
    traffic.run()
    if traffic.is_confined:
        from .becoming import become

        way.stay(become(options, environ, way.reason, traffic.untaken()))
        traffic.run()
    if traffic.host.failure:
        return _fail(f"stdout can't be written: {traffic.host.failure}", FAILED)
    return FAILED if traffic.is_alone and not traffic.host.is_gone else 0


def _prepare_process() -> None:
    """Three open descriptors, and signals that simply end us, whatever the parent left behind."""
    for descriptor in (0, 1, 2):
        try:
            posix.fstat(descriptor)
        except OSError:  # else the connection would get this number
            posix.open("/dev/null", posix.O_RDWR)
    for number in ENDING_SIGNALS:
        _signal.signal(number, _signal.SIG_DFL)
    _signal.pthread_sigmask(_signal.SIG_UNBLOCK, ENDING_SIGNALS)


def _environment() -> dict[str, str]:
    """What os.environ would be."""
    encoding = sys.getfilesystemencoding()
    return {
        name.decode(encoding, "surrogateescape"): value.decode(encoding, "surrogateescape")
        for name, value in posix.environ.items()
    }


def _workspace(path: str | None) -> str | None:
    """Absolute; `..` is followed as the system would, so that one project has one name."""
    if path is None:
        return None
    path = absolute(path)
    return real_path(path) if ".." in path.split("/") else path


def _print(text: str) -> int:
    try:
        posix.write(1, text.encode())
    except OSError:
        return FAILED
    return 0


def _fail(sentence: str, status: int) -> int:
    _tell(sentence)
    return status


def _tell(sentence: str) -> None:
    """One line for the person, if somebody takes it now; a full pipe must not hold us."""
    line = "".join([character if character.isprintable() else " " for character in f"mcppd-shim: {sentence}"])
    data = line.encode("utf-8", "replace")[: MESSAGE_BYTES - 1] + b"\n"
    taker = poll()
    taker.register(2, POLLOUT)
    if any(events & POLLOUT for _, events in taker.poll(0)):
        try:
            posix.write(2, data)
        except OSError:
            pass  # nobody is left to be told
