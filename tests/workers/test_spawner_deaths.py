"""The spawner (D2): how workers end, and all that they started with them (CASES A2, I6)."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.workers.child_peer import CHILD, is_alive, wait_until, write_module
from tests.workers.spawner_peer import Spawner

MODULE = """
    import ctypes, os, resource, signal, subprocess, sys, threading, time
    def sleeper(**options):
        return subprocess.Popen(["sleep", "1000"], **options).pid
    def double_forked():
        \"\"\"A process whose parent has ended, in a session of its own.\"\"\"
        code = "import os, subprocess, sys; os.setsid(); " \\
               "print(subprocess.Popen(['sleep', '1000'], start_new_session=True, stdout=2).pid)"
        return int(subprocess.check_output([sys.executable, "-c", code]))
    def execute(tool_name, arguments, context=None):
        if "run" in arguments:
            exec(arguments["run"], globals())
        return {"success": True, "result": eval(arguments.get("value", "None"))}
"""
PYTHON = [sys.executable, "-E", "-B", CHILD, "3"]


@pytest.fixture
def module(tmp_path: Path) -> Path:
    return write_module(tmp_path / "module", MODULE)


@pytest.fixture(params=["forked", "executed"])
def command(request: pytest.FixtureRequest) -> list[str] | None:
    return None if request.param == "forked" else PYTHON


def run(code: str) -> dict[str, str]:
    return {"run": code}


def value(code: str) -> dict[str, str]:
    return {"value": code}


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("os._exit(7)", 7 << 8),
        ("os._exit(0)", 0),
        ("ctypes.string_at(0)", signal.SIGSEGV),
        ("os.kill(os.getpid(), signal.SIGKILL)", signal.SIGKILL),
        ("os.abort()", signal.SIGABRT),
        ("os.kill(os.getpid(), signal.SIGTERM)", signal.SIGTERM),
    ],
)
def test_a_death_is_reported_with_its_status(
    spawner: Spawner, module: Path, command: list[str] | None, code: str, status: int
) -> None:
    worker = spawner.spawn(module, command)
    worker.begin(arguments=run(code))
    assert spawner.death(worker)["status"] & ~0x80 == status  # 0x80: a core was dumped


def test_the_end_of_the_wire_is_a_death_of_its_own_will(
    spawner: Spawner, module: Path, command: list[str] | None
) -> None:
    worker = spawner.spawn(module, command)
    worker.call()
    worker.socket.close()
    assert spawner.death(worker)["status"] == 0


def test_the_last_output_is_in_the_report(spawner: Spawner, module: Path) -> None:
    worker = spawner.spawn(module)
    worker.begin(arguments=run("print('é' * 3000 + 'last words', flush=True); os._exit(1)"))
    output = spawner.death(worker)["output"]
    assert output.endswith("é" * 100 + "last words\n")
    assert len(output) == 2000


def test_a_crash_is_reported_with_where_it_was(spawner: Spawner, module: Path) -> None:
    worker = spawner.spawn(module)
    worker.begin(arguments=run("ctypes.string_at(0)"))
    assert "execute" in spawner.death(worker)["output"]


@pytest.mark.parametrize(
    "code",
    [
        "while True: pass",
        "time.sleep(1000)",
        "threading.Lock().acquire(); (lambda l: (l.acquire(), l.acquire()))(threading.Lock())",
        "subprocess.run(['sleep', '1000'])",
        "signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(1000)",
        "os.kill(os.getpid(), signal.SIGSTOP)",
        "ctypes.CDLL(None).sleep(1000)",
    ],
)
def test_a_worker_is_ended_whatever_it_does(spawner: Spawner, module: Path, code: str) -> None:
    worker = spawner.spawn(module)
    worker.prepare(run=True)
    worker.begin(arguments=run(code))
    assert spawner.end(worker)["status"] == signal.SIGKILL
    assert not is_alive(worker.pid)
    assert spawner.children() == []


def test_a_worker_can_be_ended_at_any_moment_of_its_start(
    spawner: Spawner, command: list[str] | None
) -> None:
    for _ in range(30):
        worker = spawner.order(command)
        assert spawner.end(worker)["status"] == signal.SIGKILL
    assert spawner.children() == []


LEFT = {
    "a child": "sleeper()",
    "a child in a group of its own": "sleeper(process_group=0)",
    "a child in a session of its own": "sleeper(start_new_session=True)",
    "an orphan": "double_forked()",
}


@pytest.mark.parametrize("left", LEFT)
def test_what_a_worker_started_is_gone_when_its_end_is_reported(
    spawner: Spawner, module: Path, command: list[str] | None, left: str
) -> None:
    worker = spawner.spawn(module, command)
    pid = worker.call(arguments=value(LEFT[left])).value
    assert is_alive(pid)
    spawner.end(worker)
    assert not Path(f"/proc/{pid}").exists()


@pytest.mark.parametrize("left", LEFT)
def test_what_a_worker_started_is_gone_when_its_own_death_is_reported(
    spawner: Spawner, module: Path, command: list[str] | None, left: str
) -> None:
    worker = spawner.spawn(module, command)
    pid = worker.call(arguments=value(LEFT[left])).value
    worker.begin(arguments=run("os._exit(1)"))
    spawner.death(worker)
    assert not Path(f"/proc/{pid}").exists()


def test_an_orphan_stays_below_its_worker(spawner: Spawner, module: Path, command: list[str] | None) -> None:
    worker = spawner.spawn(module, command)
    pid = worker.call(arguments=value("double_forked()")).value
    stat = Path(f"/proc/{pid}/stat").read_text()
    assert int(stat.rpartition(")")[2].split()[1]) == worker.pid


def test_a_tree_that_forks_on_and_on_is_gone_with_its_worker(
    spawner: Spawner, module: Path, tmp_path: Path
) -> None:
    mark = f"breeding-{os.getpid()}"
    code = (
        "import os, sys, time\n"
        "end = time.monotonic() + 30\n"
        "while time.monotonic() < end:\n"
        "    if os.fork(): os._exit(0)\n"
        "    os.setsid()\n"
    )
    worker = spawner.spawn(module)
    worker.call(arguments=run(f"subprocess.Popen([sys.executable, '-c', {code!r}, {mark!r}])"))
    wait_until(lambda: _with_argument(mark), "it breeds")
    spawner.end(worker)
    assert _with_argument(mark) == []


def _with_argument(mark: str) -> list[int]:
    found = []
    for name in os.listdir("/proc"):
        try:
            if name.isdecimal() and mark.encode() in Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0"):
                found.append(int(name))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def test_what_other_workers_started_is_left_alone(spawner: Spawner, module: Path) -> None:
    one, other = spawner.spawn(module), spawner.spawn(module)
    pids = [other.call(arguments=value(LEFT[left])).value for left in LEFT]
    one.call(arguments=value("double_forked()"))
    spawner.end(one)
    assert all(map(is_alive, pids))
    assert other.call().text == "null"


def test_a_process_that_holds_the_output_open_does_not_delay_the_report(
    spawner: Spawner, module: Path, tmp_path: Path
) -> None:
    """Not even one that is nobody's child here: the descriptor is handed over a socket."""
    path = tmp_path / "hand.sock"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()
        worker = spawner.spawn(module)
        code = f"import socket; s = socket.socket(socket.AF_UNIX); s.connect({str(path)!r}); "
        worker.call(arguments=run(code + "socket.send_fds(s, [b'x'], [1]); print('handed over')"))
        connection, _ = listening.accept()
        with connection:
            _, descriptors, _, _ = socket.recv_fds(connection, 1, 1)
            report = spawner.end(worker)
            assert "handed over" in report["output"]
            with pytest.raises(BrokenPipeError):
                os.write(descriptors[0], b"too late")
            os.close(descriptors[0])


# the spawner's own end


def everything(spawner: Spawner, module: Path) -> list[int]:
    """A forked and an executed worker, busy, with all that they can leave."""
    pids = [spawner.pid]
    for command in (None, PYTHON):
        worker = spawner.spawn(module, command)
        pids += [worker.pid, *(worker.call(arguments=value(LEFT[left])).value for left in LEFT)]
        worker.begin(arguments=run("time.sleep(1000)"))
    return pids


def test_the_end_of_the_control_socket_ends_everything(spawner: Spawner, module: Path) -> None:
    pids = everything(spawner, module)
    spawner.control.close()
    assert spawner.process.wait(20) == 0
    assert [pid for pid in pids if is_alive(pid)] == []


@pytest.mark.slow
def test_a_daemon_that_is_killed_takes_everything_with_it(tmp_path: Path, module: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from tests.workers.spawner_peer import Spawner\n"
        "from tests.workers.test_spawner_deaths import everything\n"
        "print(*everything(Spawner(Path(sys.argv[1])), Path(sys.argv[2])), flush=True); time.sleep(1000)"
    )
    root = str(Path(__file__).parents[2])
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path), str(module)], stdout=subprocess.PIPE, text=True, cwd=root
    ) as daemon:
        assert daemon.stdout is not None
        pids = list(map(int, daemon.stdout.readline().split()))
        assert len(pids) == 11
        daemon.kill()
    wait_until(lambda: not any(map(is_alive, pids)), "all of them are gone")


def test_the_workers_die_with_a_spawner_that_is_killed(spawner: Spawner, module: Path) -> None:
    workers = [spawner.spawn(module, command) for command in (None, PYTHON)]
    for worker in workers:
        worker.begin(arguments=run("time.sleep(1000)"))
    spawner.process.kill()
    wait_until(lambda: not any(is_alive(worker.pid) for worker in workers), "the workers are gone")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_the_daemons_group_does_not_end_the_spawner(
    spawner: Spawner, module: Path, number: signal.Signals
) -> None:
    os.kill(spawner.pid, number)
    assert spawner.spawn(module).call().text == "null"
