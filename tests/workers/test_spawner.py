"""The spawner (D2): it makes workers, and leaves nothing behind however many."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.workers.child_peer import CHILD, interpreter, wait_until, write_module
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


def test_a_worker_answers(spawner: Spawner, module: Path, command: list[str] | None) -> None:
    worker = spawner.spawn(module, command)
    assert worker.prepare(run=True)["fault"] is None
    assert worker.call(arguments=value("os.getpid()")).value == worker.pid


@pytest.mark.parametrize("version", ["3.10", "3.12", "3.13"])
def test_another_interpreter_is_a_worker_too(spawner: Spawner, module: Path, version: str) -> None:
    python = interpreter(version)
    if python is None:
        pytest.skip(f"optional: there is no Python {version}")
    worker = spawner.spawn(module, [python, *PYTHON[1:]])
    assert worker.call(arguments=value("'%d.%d' % sys.version_info[:2]")).text == version


def test_a_worker_holds_its_three_descriptors_and_the_wire(
    spawner: Spawner, module: Path, command: list[str] | None
) -> None:
    others = [spawner.spawn(module, command) for _ in range(3)]
    worker = spawner.spawn(module, command)
    worker.call()
    links = {
        int(name): os.readlink(f"/proc/{worker.pid}/fd/{name}")
        for name in os.listdir(f"/proc/{worker.pid}/fd")
    }
    assert links.pop(0) == "/dev/null"
    assert links.pop(1) == links.pop(2)
    assert [link.partition(":")[0] for link in links.values()] == ["socket"]
    assert len(others) == 3


def test_a_worker_leads_a_session_of_its_own(
    spawner: Spawner, module: Path, command: list[str] | None
) -> None:
    worker = spawner.spawn(module, command)
    assert worker.call(arguments=value("[os.getsid(0), os.getpgid(0)]")).value == [worker.pid] * 2


def test_a_worker_has_the_signals_of_a_program_that_was_just_started(
    spawner: Spawner, module: Path, command: list[str] | None
) -> None:
    worker = spawner.spawn(module, command)
    worker.call(arguments=value("1"))
    asked = "{n: str(signal.getsignal(n)) for n in sorted(signal.valid_signals())}"
    expected = subprocess.run(
        [sys.executable, "-c", f"import signal, json; print(json.dumps({asked}))"],
        capture_output=True,
        check=True,
        restore_signals=True,
    )
    handlers = worker.call(arguments=value(asked)).text.replace(" ", "")
    assert _without_addresses(handlers) == _without_addresses(
        expected.stdout.decode().strip().replace(" ", "")
    )
    assert worker.call(arguments=value("list(signal.pthread_sigmask(signal.SIG_BLOCK, ()))")).value == []


def _without_addresses(text: str) -> str:
    return text.partition("0x")[0]


def test_a_worker_has_the_umask_of_whoever_started_the_spawner(tmp_path: Path, module: Path) -> None:
    before = os.umask(0o027)
    try:
        with Spawner(tmp_path) as spawner:
            assert spawner.spawn(module).call(arguments=value("os.umask(0)")).value == 0o027
    finally:
        os.umask(before)


def test_a_worker_has_the_environment_that_was_ordered(
    tmp_path: Path, module: Path, command: list[str] | None
) -> None:
    with Spawner(tmp_path, env={"BASE": "1"}) as spawner:
        assert spawner.spawn(module, command).call(arguments=value("os.environ.get('BASE')")).text == "1"
        worker = spawner.spawn(module, command, env={"OWN": "2"})
        own = worker.call(arguments=value("[os.environ.get('BASE'), os.environ.get('OWN')]")).value
        assert own == [None, "2"]


def test_a_fork_has_nothing_of_the_spawner_to_see(spawner: Spawner, module: Path) -> None:
    worker = spawner.spawn(module)
    asked = "[sys.argv, hasattr(sys.modules['__main__'], '__file__'), 'mcppd' in sys.modules]"
    assert worker.call(arguments=value(asked)).value == [[""], False, False]


def test_a_fork_can_import_what_the_daemon_has_installed(spawner: Spawner, module: Path) -> None:
    worker = spawner.spawn(module)
    assert worker.call(arguments=value("__import__('yaml').safe_load('a: [1]')")).value == {"a": [1]}


def test_a_command_that_cannot_be_started_is_told(spawner: Spawner, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no program")
    (tmp_path / "text").chmod(0o755)
    for command in (["/no/such/python", "3"], [str(tmp_path), "3"], [str(tmp_path / "text"), "3"]):
        worker = spawner.order(command)
        error = spawner.report("failed", worker.number)["error"]
        assert command[0] in error
    assert spawner.children() == []


def test_a_request_without_a_descriptor_fails(spawner: Spawner) -> None:
    spawner.send({"op": "spawn", "worker": 7, "log": "/dev/null", "command": None, "env": None})
    assert spawner.report("failed", 7)["error"]


def test_an_exhausted_process_limit_is_told(tmp_path: Path) -> None:
    if os.getuid() == 0:
        pytest.skip("optional: root has no limit of processes")
    with Spawner(tmp_path) as spawner:
        resource.prlimit(spawner.pid, resource.RLIMIT_NPROC, (1, 1))
        worker = spawner.order()
        assert spawner.report("failed", worker.number)["error"]


def test_an_exhausted_descriptor_limit_is_told_and_passes(tmp_path: Path, module: Path) -> None:
    with Spawner(tmp_path) as spawner:
        held, (_, hard) = spawner.descriptors(), resource.prlimit(spawner.pid, resource.RLIMIT_NOFILE)
        for room in range(6):
            resource.prlimit(spawner.pid, resource.RLIMIT_NOFILE, (held + room, hard))
            worker = spawner.order()
            wait_until(lambda: spawner_said(spawner), "an answer")
            if spawner.reports[0]["op"] == "failed":
                assert spawner.report("failed", worker.number)["error"]
            else:
                spawner.report("spawned", worker.number)
                spawner.end(worker)
        resource.prlimit(spawner.pid, resource.RLIMIT_NOFILE, (hard, hard))
        assert spawner.spawn(module).call().text == "null"


def spawner_said(spawner: Spawner) -> bool:
    import json

    if not spawner.reports:
        spawner.reports.append(json.loads(spawner.control.recv(1 << 20)))
    return True


def test_what_is_not_understood_is_not_fatal(spawner: Spawner, module: Path) -> None:
    spawner.send({"op": "sing"})
    spawner.send({"op": "end", "worker": 12345})
    assert spawner.spawn(module).call().text == "null"


def test_installed_packages_keep_their_bytecode_caches_in_a_fork(
    spawner: Spawner, module: Path, tmp_path: Path
) -> None:
    installed = write_module(tmp_path / "site-packages", "", installed="A = 1")
    worker = spawner.spawn()
    worker.load(module, search=[str(installed)])
    assert Path(worker.call(arguments=value("__import__('installed').__cached__")).text).is_file()


@pytest.mark.slow
def test_hundreds_of_workers_leave_nothing_behind(spawner: Spawner, module: Path, tmp_path: Path) -> None:
    first = spawner.spawn(module)
    first.call()
    spawner.end(first)
    first.socket.close()
    held, files = spawner.descriptors(), sorted(map(str, tmp_path.rglob("*")))
    for round_ in range(50):
        workers = [spawner.order() for _ in range(6)]
        for worker in workers:
            if round_ % 2:
                spawner.report("spawned", worker.number)
            worker.socket.close() if round_ % 3 else spawner.send({"op": "end", "worker": worker.number})
        for worker in workers:
            spawner.death(worker)
            worker.socket.close()
    assert spawner.children() == []
    assert spawner.descriptors() == held
    assert sorted(map(str, tmp_path.rglob("*"))) == files


def test_reports_wait_for_a_daemon_that_does_not_read(spawner: Spawner) -> None:
    workers = [spawner.order() for _ in range(100)]
    for worker in workers:
        spawner.send({"op": "end", "worker": worker.number})
    wait_until(lambda: spawner.children() == [], "all of them are gone")
    for worker in workers:
        assert spawner.death(worker)["status"] in (signal.SIGKILL, 0)


def test_a_fork_is_a_version_of_the_same_bytes_as_its_first(spawner: Spawner, tmp_path: Path) -> None:
    """A new worker given new bytes runs them, one given the old bytes runs those, whatever the disk says."""
    source = "from helper import VALUE\ndef execute(t, a): return {'success': True, 'result': VALUE}\n"
    module = write_module(tmp_path / "module", source, helper="VALUE = 'aaa'")
    held = {str(path): path.read_bytes() for path in module.rglob("*.py")}
    times = os.stat(module / "helper.py")
    assert spawner.spawn(module).call().text == "aaa"
    (module / "helper.py").write_text("VALUE = 'bbb'")
    os.utime(module / "helper.py", ns=(times.st_atime_ns, times.st_mtime_ns))
    new, old = spawner.spawn(module), spawner.spawn()
    old.load(module, held)
    answers: list[Any] = [new.call().text, old.call().text]
    assert answers == ["bbb", "aaa"]
