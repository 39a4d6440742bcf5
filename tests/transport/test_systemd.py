"""What systemd passes is taken, checked, and seen by no child; what is said back is what it reads."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcppd.transport import unix
from mcppd.transport.listener import Listener
from mcppd.transport.systemd import ActivationError, Passed, PassedSocket, listeners, notify, take

UID = os.getuid()


@pytest.fixture
def made() -> Iterator[list[socket.socket]]:
    """Sockets that are closed at the end."""
    found: list[socket.socket] = []
    yield found
    for each in found:
        each.close()


def passed(*sockets: socket.socket) -> Passed:
    return Passed(sockets=tuple(PassedSocket(each, "mcppd.socket") for each in sockets))


def test_sockets_are_found_by_their_paths_in_any_order(tmp_path: Path, made: list[socket.socket]) -> None:
    paths = [str(tmp_path / name) for name in ("mcp", "control")]
    made += [unix.bind(path) for path in paths]
    renamed = [socket.socket(socket.AF_UNIX) for _ in paths]
    made += renamed
    for path, each in zip(paths, renamed, strict=True):  # as systemd binds them: at their very names
        os.unlink(path)
        each.bind(path)
        os.chmod(path, 0o600)
        each.listen()
    found = listeners(passed(*reversed(renamed)), paths, UID)
    assert found == dict(zip(paths, renamed, strict=True))
    assert all(not each.getblocking() for each in renamed)


def bound(
    path: Path, kind: int = socket.SOCK_STREAM, *, mode: int = 0o600, listening: bool = True
) -> socket.socket:
    made = socket.socket(socket.AF_UNIX, kind)
    made.bind(str(path))
    path.chmod(mode)
    if listening:
        made.listen()
    return made


def test_one_by_another_way_to_the_same_file_is_the_same(tmp_path: Path, made: list[socket.socket]) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "way").symlink_to("real")
    made.append(bound(tmp_path / "real" / "s"))
    path = str(tmp_path / "way" / "s")
    assert listeners(passed(*made), [path], UID) == {path: made[0]}


@pytest.mark.parametrize(
    "wrong", ["datagram", "deaf", "elsewhere", "twice", "gone", "replaced", "open", "internet"]
)
def test_what_we_would_not_have_bound_is_refused(
    wrong: str, tmp_path: Path, made: list[socket.socket]
) -> None:
    path = tmp_path / "s"
    match wrong:
        case "datagram":
            made.append(bound(path, socket.SOCK_DGRAM, listening=False))
        case "deaf":
            made.append(bound(path, listening=False))
        case "elsewhere":
            made.append(bound(tmp_path / "other"))
        case "twice":
            made.append(bound(path))
            made.append(made[0].dup())
        case "gone":
            made.append(bound(path))
            path.unlink()
        case "replaced":
            made.append(bound(path))
            path.unlink()
            path.write_text("precious")
        case "open":
            made.append(bound(path, mode=0o660))
        case "internet":
            made.append(socket.create_server(("127.0.0.1", 0)))
    with pytest.raises(ActivationError):
        listeners(passed(*made), [str(path)], UID)


def test_a_socket_of_another_user_is_refused(tmp_path: Path, made: list[socket.socket]) -> None:
    made.append(bound(tmp_path / "s"))
    with pytest.raises(ActivationError):
        listeners(passed(*made), [str(tmp_path / "s")], UID + 1)


def test_variables_are_taken_out_whoever_they_are_for() -> None:
    meant = {"LISTEN_PID": "1", "WATCHDOG_PID": "1", "SYSTEMD_EXEC_PID": "1"}
    said = {"LISTEN_FDS": "2", "LISTEN_FDNAMES": "a:b", "WATCHDOG_USEC": "5", "NOTIFY_SOCKET": "/n"}
    environ = {"HOME": "/", "INVOCATION_ID": "x", **meant, **said}
    assert take(environ) == Passed()
    assert environ == {"HOME": "/"}


def test_what_is_for_this_process_is_taken() -> None:
    own = str(os.getpid())
    status = os.fstat(2)
    taken = take(
        {
            "SYSTEMD_EXEC_PID": own,
            "NOTIFY_SOCKET": "/n",
            "WATCHDOG_PID": own,
            "WATCHDOG_USEC": "30000000",
            "JOURNAL_STREAM": f"{status.st_dev}:{status.st_ino}",
        }
    )
    assert taken == Passed("/n", 30.0, (), is_journal=True)


def test_stderr_that_leads_elsewhere_is_no_journal() -> None:
    assert not take({"JOURNAL_STREAM": "1:1"}).is_journal


@pytest.mark.parametrize(
    "environ",
    [
        {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "two"},
        {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "-1"},
        {"WATCHDOG_USEC": "1e6"},
    ],
)
def test_numbers_that_are_none_are_told(environ: dict[str, str]) -> None:
    with pytest.raises(ActivationError):
        take(environ)


@pytest.mark.parametrize("is_abstract", [False, True])
def test_a_word_is_one_datagram(is_abstract: bool, tmp_path: Path) -> None:
    name = f"\0mcppd-{os.getpid()}" if is_abstract else str(tmp_path / "n")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(name)
        receiver.settimeout(10)
        notify(name.replace("\0", "@"), "READY=1", "STATUS=grüß dich")
        assert receiver.recv(100) == "READY=1\nSTATUS=grüß dich".encode()


@pytest.mark.parametrize("address", ["vsock:2:9999", "relative", ""])
def test_an_address_that_is_none_is_an_error(address: str) -> None:
    with pytest.raises(OSError, match="address"):
        notify(address, "READY=1")


def test_a_listener_removes_its_own_file_and_no_other(tmp_path: Path, made: list[socket.socket]) -> None:
    path = tmp_path / "s"
    mine = Listener(str(path), None)
    made.append(mine.socket)
    path.unlink()
    made.append(bound(path))
    mine.remove()
    assert path.is_socket()
    passed_on = Listener(str(path), made[-1])
    passed_on.remove()
    assert path.is_socket()
    made.append((own := Listener(str(path), None)).socket)
    own.remove()
    assert not path.exists()
    own.remove()
