"""Start a daemon that outlives whoever starts it (D11): own session, parent, descriptors, environment (D20).

Loaded only when there is no daemon; `mcppd start` uses it too.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # built in; `signal` would load enum, and no stubs exist for this one
import posix
import sys

from .places import (
    SocketPaths,
    absolute,
    check_directories,
    daemon_log,
    default_registry,
    exists,
    home_directory,
    real_path,
    runtime_directory,
    setting,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Final, NoReturn

# D20. Nothing else passes: an agent's secrets are not the daemon's, and systemd's variables (NOTIFY_SOCKET,
# LISTEN_*, WATCHDOG_*, INVOCATION_ID, JOURNAL_STREAM) speak of another unit.
BASE_NAMES: Final = ("HOME", "USER", "LOGNAME", "SHELL", "PATH", "LANG", "TZ")
BASE_PREFIXES: Final = ("XDG_", "MCPP_", "MCPPD_")
# Where a blank environment says nothing: enough for a `#!/usr/bin/env` line, and UTF-8 that every libc knows.
DEFAULT_PATH: Final = "/usr/local/bin:/usr/bin:/bin"
DEFAULT_LANG: Final = "C.UTF-8"
# The child could not become a daemon; nobody waits for this status, it is for whoever traces it.
FAILED_STATUS: Final = 127
STDERR: Final = 2
# More than the digits of any process id.
PID_BYTES: Final = 32


def launch(config: str | None, socket: str | None, environ: Mapping[str, str], *options: str) -> int | None:
    """Start a daemon and return at once; one that finds the lock held ends by itself, so twice does no harm.

    `options` are more of `mcppd serve`.
    The descriptor tells of its end (pidfd_open(2)); None where there is no such thing, or it has ended already.
    Raises OSError when no process can be made; PlaceError, if a relative path has no directory to start at.
    """
    if not sys.executable:
        raise OSError(2, "Python doesn't know its own executable: start the daemon with `mcppd start`")
    command = [*_command(config, socket), *options]
    environment = base_environment(environ)
    log = _open_log(environ)
    reader, writer = posix.pipe()
    try:
        child = posix.fork()
        if child == 0:
            _detach(log, writer, command, environment)
        _wait(child)
        posix.close(writer)
        writer = -1
        return _watch(posix.read(reader, PID_BYTES))
    finally:
        for descriptor in (log, reader, writer):
            if descriptor >= 0:
                posix.close(descriptor)


def claim_start(paths: SocketPaths) -> int | None:
    """The sole right to start the daemon of this place, till the descriptor is closed; None if another shim has it.

    It saves work and no more: a daemon costs a second of a processor to start, and twenty shims may miss it at once.
    So whatever goes wrong here is no reason to start none: then the descriptor is one that means nothing.
    """
    from fcntl import LOCK_EX, LOCK_NB, flock

    try:
        check_directories(paths, posix.getuid(), make=True)
        descriptor = posix.open(f"{paths.lock}.start", posix.O_RDWR | posix.O_CREAT | posix.O_CLOEXEC, 0o600)
    except OSError:
        return posix.open("/dev/null", posix.O_RDONLY | posix.O_CLOEXEC)
    try:
        flock(descriptor, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        posix.close(descriptor)
        return None
    except OSError:
        pass  # a file system without locks
    return descriptor


def is_left_to_systemd(paths: SocketPaths, environ: Mapping[str, str]) -> bool:
    """Whether these are the sockets of the person's systemd: its unit is enabled, and it runs."""
    usual = runtime_directory(environ, posix.getuid())
    settings = default_registry(environ).rpartition("/")[0].rpartition("/")[0]
    return (
        paths.mcp == f"{usual}/mcp.sock"
        and exists(f"{settings}/systemd/user/sockets.target.wants/mcppd.socket")
        and exists(f"{usual.rpartition('/')[0]}/systemd/private")
    )


def is_served(paths: SocketPaths) -> bool:
    """Whether a daemon holds the lock of this place: one that begins, serves or ends (proc(5), /proc/locks).

    It is not tried: that could make a daemon give up that begins at this moment.
    """
    try:
        place = b":%d" % posix.stat(paths.lock).st_ino
        descriptor = posix.open("/proc/locks", posix.O_RDONLY | posix.O_CLOEXEC)
    except OSError:
        return False
    text = b""
    while part := posix.read(descriptor, 1 << 16):
        text += part
    posix.close(descriptor)
    return any(b" FLOCK " in line and line.split()[5].endswith(place) for line in text.splitlines())


def _watch(pid: bytes) -> int | None:
    try:
        return posix.pidfd_open(int(pid))
    except (OSError, ValueError, AttributeError):
        return None


def base_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The part of an environment that a daemon starts with."""
    base = {
        name: value
        for name, value in environ.items()
        if value and (name in BASE_NAMES or name.startswith(BASE_PREFIXES))
    }
    base["HOME"] = home_directory(environ)
    base.setdefault("PATH", DEFAULT_PATH)
    if not base.get("LANG", "").lower().endswith((".utf-8", ".utf8")):
        base["LANG"] = DEFAULT_LANG
    directory = setting(environ, "MCPP_BASE_DIR")
    if directory is not None:
        base["MCPP_BASE_DIR"] = absolute(directory)  # the daemon's working directory is another
    return base


def _command(config: str | None, socket: str | None) -> list[str]:
    command = [sys.executable, daemon_file(), "serve", "--background"]
    if config is not None:
        command += ["--config", absolute(config)]
    if socket is not None:
        command += ["--socket", absolute(socket)]
    return command


def daemon_file() -> str:
    """The daemon's main file. It lies beside the shim, or beside what a link to the shim leads to (in a checkout)."""
    for file in (absolute(__file__), real_path(__file__)):
        daemon = file.rpartition("/")[0].rpartition("/")[0] + "/mcppd/__main__.py"
        if exists(daemon):
            break
    return daemon


def _open_log(environ: Mapping[str, str]) -> int:
    path = daemon_log(environ)
    try:
        directory = path.rpartition("/")[0]
        _make_directories(directory)
        posix.chmod(directory, 0o700)
        flags = posix.O_WRONLY | posix.O_APPEND | posix.O_CREAT | posix.O_NOFOLLOW | posix.O_CLOEXEC
        log = posix.open(path, flags, 0o600)
        posix.fchmod(log, 0o600)
    except OSError:  # a full or read-only disk must not keep the tools away
        return posix.open("/dev/null", posix.O_WRONLY | posix.O_CLOEXEC)
    return log


def _make_directories(path: str) -> None:
    try:
        posix.mkdir(path, 0o700)  # 0700 for the parents too: XDG Base Directory Specification
    except FileExistsError:
        return
    except FileNotFoundError:
        _make_directories(path.rpartition("/")[0])
        posix.mkdir(path, 0o700)


def _wait(child: int) -> None:
    try:
        posix.waitpid(child, 0)
    except ChildProcessError:
        pass  # SIGCHLD came to us ignored: the kernel has reaped it


def _detach(log: int, writer: int, command: list[str], environment: dict[str, str]) -> NoReturn:
    """In the child: out of the session, out of the family (agents kill groups and descendants), exec."""
    try:
        posix.setsid()
        daemon = posix.fork()
        if daemon == 0:
            _become(log, command, environment)
        posix.write(writer, b"%d" % daemon)
        posix._exit(0)  # noqa: SLF001  # the only exit that runs none of the parent's
    finally:
        posix._exit(FAILED_STATUS)  # noqa: SLF001  # whatever was raised: never back into the parent's code


def _become(log: int, command: list[str], environment: dict[str, str]) -> None:
    posix.chdir("/")
    posix.umask(0o077)
    posix.dup2(log, 1)
    posix.dup2(log, 2)
    posix.dup2(posix.open("/dev/null", posix.O_RDONLY), 0)
    for descriptor in (0, 1, 2):
        posix.set_inheritable(descriptor, True)  # dup2 onto itself leaves close-on-exec as it was
    _close_others()
    _reset_signals()
    try:
        posix.execve(command[0], command, environment)
    except OSError as error:
        posix.write(2, f"mcppd: {command[0]} can't be run: {error.strerror}\n".encode(errors="replace"))
        raise


def _close_others() -> None:
    numbers: Iterable[int]
    try:
        numbers = [int(name) for name in posix.listdir("/proc/self/fd")]
    except OSError:
        numbers = range(1024)  # no /proc: the usual soft limit of open files
    for number in numbers:
        if number > STDERR:
            try:
                posix.close(number)
            except OSError:
                pass  # the listing's own descriptor, or a gap


def _reset_signals() -> None:
    """What is ignored or blocked stays so through exec; with SIGCHLD ignored no death of a worker is told.

    What people send to a daemon that runs must not end one that begins: it has its own way with these when it serves.
    """
    for number in range(1, _signal.NSIG):
        try:
            _signal.signal(number, _signal.SIG_DFL)
        except (OSError, ValueError):
            pass  # SIGKILL, SIGSTOP and the numbers that libc keeps for itself
    for number in (_signal.SIGHUP, _signal.SIGUSR1):
        _signal.signal(number, _signal.SIG_IGN)
    _signal.pthread_sigmask(_signal.SIG_SETMASK, ())
