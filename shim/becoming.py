"""Where a sandbox forbids the daemon's sockets: this process becomes the daemon of its agent alone, `mcppd stdio`.

Loaded only then. The process stays the one that the agent has started, with its stdin and stdout.
"""

from __future__ import annotations

import _socket
import posix
import sys

from .launch import daemon_file
from .places import absolute

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Final

    from .options import Options

# Only the standard library's own variables, such as PYTHONPATH: the agent's are not meant for the daemon.
IGNORE_VARIABLES: Final = "-E"


def become(options: Options, environ: Mapping[str, str], because: str, read: bytes) -> str:
    """Exec; comes back only if that can't be, with the reason. `read` is what was read from stdin already."""
    try:
        _try_pair()
        command = _command(options, because, read)
        posix.execve(command[0], command, environ)
    except (OSError, AttributeError) as error:  # memfd_create is not everywhere
        return f"and without a daemon it doesn't go either: {error}"


def _try_pair() -> None:
    """Raise OSError where not even connected pairs of sockets may be made, which lead to the workers."""
    try:
        for end in _socket.socketpair():
            end.close()
    except OSError as error:
        sentence = f"workers need socketpair(2), which the sandbox forbids too ({error.strerror})"
        raise OSError(error.errno, sentence) from None


def _command(options: Options, because: str, read: bytes) -> list[str]:
    if not sys.executable:
        raise OSError(2, "Python doesn't know its own executable")
    command = [sys.executable, IGNORE_VARIABLES, daemon_file(), "stdio", f"--because={because}"]
    if options.config is not None:
        command.append(f"--config={absolute(options.config)}")
    if options.workspace is not None:
        command.append(f"--workspace={absolute(options.workspace)}")
    if options.meta_tools:
        command.append("--meta-tools")
    if read:
        command.append(f"--read={_kept(read)}")
    return command


def _kept(data: bytes) -> int:
    """A descriptor that outlives the exec, and from which this can be read."""
    descriptor = posix.memfd_create("mcppd-read", 0)
    while data:
        data = data[posix.write(descriptor, data) :]
    posix.lseek(descriptor, 0, 0)
    posix.set_inheritable(descriptor, True)
    return descriptor
