"""Where the registry, the sockets, the lock and the logs are, for the shim and for the daemon alike.

Plain strings in, plain strings out, nothing but built-in modules: the shim loads this before its first byte.
"""

from __future__ import annotations

import posix
import sys
from _stat import S_IMODE, S_ISDIR, S_ISLNK
from errno import EINVAL, ELOOP, ENOTDIR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Final

# What sun_path holds on Linux (108 bytes) without its closing NUL: unix(7).
LONGEST_SOCKET_PATH: Final = 107
# Only the owner may enter: the directory is what keeps other users off the sockets.
DIRECTORY_MODE: Final = 0o700


class PlaceError(OSError):
    """A directory can't be used; its text is one sentence that names the path and says what to do.

    `errno` is the system's own where a call failed; ELOOP (a link), ENOTDIR, EINVAL (owner or mode) where the
    directory was refused by us.
    """

    def __init__(self, number: int | None, sentence: str, path: str) -> None:
        super().__init__(number, sentence, path)
        self.sentence = sentence

    def __str__(self) -> str:
        return self.sentence


class SocketPaths:
    """The files that a daemon and its clients meet at."""

    __slots__ = ("control", "directories", "directory", "lock", "mcp")

    def __init__(self, directories: tuple[str, ...], mcp: str, control: str, lock: str) -> None:
        self.directories = directories
        """The outermost that is ours first, `directory` last: the order to check or make them in."""
        self.directory = directories[-1]
        self.mcp = mcp
        self.control = control
        self.lock = lock


def setting(environ: Mapping[str, str], name: str) -> str | None:
    """The value of a variable; an empty one counts as unset."""
    return environ.get(name) or None


def absolute(path: str) -> str:
    """The path from the root, without `.` steps; links and `..` stay as they are."""
    if path[:1] != "/":
        try:
            path = f"{posix.getcwd()}/{path}"
        except OSError as error:
            sentence = f"the working directory is gone, so {path} can't be found: give an absolute path"
            raise PlaceError(error.errno, sentence, path) from None
    return "/" + "/".join([step for step in path.split("/") if step not in ("", ".")])


def real_path(path: str) -> str:
    """The path with every link followed: what a file is known by."""
    from posixpath import realpath

    return realpath(path)


def registry_path(config: str | None, environ: Mapping[str, str]) -> tuple[str, bool]:
    """The registry's file ("" is the bundled one), and whether it is the default registry.

    A file that was named (`--config`, MCPP_BASE_DIR) is taken whether it exists or not: a wrong name is told,
    never silently replaced.
    """
    place = default_registry(environ)
    base = setting(environ, "MCPP_BASE_DIR")
    named = config or (f"{base}/tools.yaml" if base else None)
    if named is None:
        return (place if exists(place) else ""), True
    named = absolute(named)
    return named, named == place or real_path(named) == real_path(place)


def default_registry(environ: Mapping[str, str]) -> str:
    """The file of the default registry, whether it is there or not."""
    return f"{_xdg_directory(environ, 'XDG_CONFIG_HOME', '.config')}/mcppd/tools.yaml"


def runtime_directory(environ: Mapping[str, str], uid: int) -> str:
    """The directory of the default registry's sockets (not made, not checked).

    XDG_RUNTIME_DIR is passed over when it isn't a directory of ours: `su` and WSL leave such values behind.
    TMPDIR is never asked: agents drop it, and then the two sides would not meet.
    """
    named = _absolute_setting(environ, "XDG_RUNTIME_DIR")
    for base in (named, f"/run/user/{uid}"):
        if base is not None and _is_ours(base, uid):
            return f"{base}/mcppd"
    return _fallback_directory(uid)


def socket_paths(socket: str | None, registry: str, environ: Mapping[str, str], uid: int) -> SocketPaths:
    """Where the daemon of a registry ("" is the default one) listens; `socket` is `--socket`."""
    if socket is not None:
        path = absolute(socket)
        usual = _inside((runtime_directory(environ, uid),))
        if path == usual.mcp:
            return usual  # one place, one lock, whichever way it was named
        beside = SocketPaths((path.rpartition("/")[0] or "/",), path, f"{path}.control", f"{path}.lock")
        return beside if _fits(beside) else _short(path, uid)
    directories: tuple[str, ...] = (runtime_directory(environ, uid),)
    if registry:
        directories = (*directories, f"{directories[0]}/{_digits(real_path(registry))}")
    usual = _inside(directories)
    return usual if _fits(usual) else _short(usual.directory, uid)


def check_directory(path: str, uid: int, *, make: bool) -> None:
    """Raise PlaceError unless this is a real directory of `uid` with mode 0700; `make`: made if absent."""
    try:
        if make:
            _make(path)
        status = posix.lstat(path)
    except OSError as error:
        verb = "made" if make else "reached"
        sentence = f"{path} can't be {verb}: {error.strerror}; look at the directory it lies in"
        raise PlaceError(error.errno, sentence, path) from None
    if S_ISLNK(status.st_mode):
        raise PlaceError(ELOOP, f"{path} is a symbolic link, not a directory: remove it", path)
    if not S_ISDIR(status.st_mode):
        raise PlaceError(ENOTDIR, f"{path} is not a directory: move it away", path)
    if status.st_uid != uid:
        sentence = f"{path} belongs to uid {status.st_uid}, not to {uid}: name another with --socket"
        raise PlaceError(EINVAL, sentence, path)
    mode = S_IMODE(status.st_mode) & 0o777
    if mode != DIRECTORY_MODE:
        advice = f"run `chmod 700 {path}`"
        if not path.rpartition("/")[2].startswith("mcppd"):  # never tell anybody to close /tmp or a home
            advice = "name a socket in a directory of its own (`mkdir -m 700 DIR`)"
        sentence = f"{path} has mode {mode:04o}, not 0700, so others may enter: {advice}"
        raise PlaceError(EINVAL, sentence, path)


def check_directories(paths: SocketPaths, uid: int, *, make: bool) -> None:
    """`check_directory` for each directory that is ours on the way to the sockets."""
    for path in paths.directories:
        check_directory(path, uid, make=make)


def state_directory(environ: Mapping[str, str]) -> str:
    """The directory of the logs (not made)."""
    return f"{_xdg_directory(environ, 'XDG_STATE_HOME', '.local/state')}/mcppd"


def daemon_log(environ: Mapping[str, str]) -> str:
    """The log of a daemon that runs in the background."""
    return f"{state_directory(environ)}/daemon.log"


def home_directory(environ: Mapping[str, str]) -> str:
    """HOME, else what the user database says, else the root."""
    home = _absolute_setting(environ, "HOME")
    if home is not None:
        return home
    from pwd import getpwuid

    try:
        return getpwuid(posix.getuid()).pw_dir or "/"
    except KeyError:  # a container's user without an entry
        return "/"


def _absolute_setting(environ: Mapping[str, str], name: str) -> str | None:
    """A directory out of the environment; a relative one is ignored (XDG Base Directory Specification)."""
    value = environ.get(name, "")
    return (value.rstrip("/") or "/") if value[:1] == "/" else None


def _xdg_directory(environ: Mapping[str, str], name: str, default: str) -> str:
    return _absolute_setting(environ, name) or f"{home_directory(environ).rstrip('/')}/{default}"


def exists(path: str) -> bool:
    """Something has this name; a link to nothing too, so that whoever opens it tells what is wrong."""
    try:
        posix.lstat(path)
    except OSError:
        return False
    return True


def _is_ours(path: str, uid: int) -> bool:
    try:
        status = posix.stat(path)
    except OSError:
        return False
    return S_ISDIR(status.st_mode) and status.st_uid == uid


def _make(path: str) -> None:
    try:
        posix.mkdir(path, DIRECTORY_MODE)
    except FileExistsError:
        pass  # somebody was first, or it is no directory: lstat tells


def _fallback_directory(uid: int) -> str:
    return f"/tmp/mcppd-{uid}"  # noqa: S108  # check_directory lets nobody else own it


def _digits(path: str) -> str:
    from binascii import crc32

    return f"{crc32(_encoded(path)):08x}"


def _encoded(path: str) -> bytes:
    return path.encode(sys.getfilesystemencoding(), "surrogateescape")


def _inside(directories: tuple[str, ...]) -> SocketPaths:
    directory = directories[-1]
    return SocketPaths(directories, f"{directory}/mcp.sock", f"{directory}/control.sock", f"{directory}/lock")


def _fits(paths: SocketPaths) -> bool:
    return len(_encoded(paths.control)) <= LONGEST_SOCKET_PATH


def _short(path: str, uid: int) -> SocketPaths:
    fallback = _fallback_directory(uid)
    return _inside((fallback, f"{fallback}/long-{_digits(path)}"))
