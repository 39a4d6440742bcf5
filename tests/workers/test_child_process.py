"""The worker as a process: its forks, its end, and what its children inherit."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.workers.child_peer import Child, is_alive, wait_until


def test_a_fork_that_returns_from_execute_never_speaks(child: Child) -> None:
    child.write_and_load(
        """
        import atexit, os
        atexit.register(print, "the exit handler ran")
        def execute(tool_name, arguments, context):
            pid = os.fork()
            context["report_progress"](pid)
            if pid:
                os.waitpid(pid, 0)
            return {"success": True, "result": pid}
        """,
    )
    first, second = child.call(progress=True).value, child.call(progress=True).value
    assert first > 0 < second
    assert [head["progress"] for head in child.ops("progress")] == [first, second]
    wait_until(lambda: not is_alive(first), "the fork is gone")
    assert child.output == ""


def test_a_pool_of_processes_works(child: Child) -> None:
    child.write_and_load(
        """
        import multiprocessing
        def double(n): return 2 * n
        def execute(tool_name, arguments, context=None):
            with multiprocessing.get_context("fork").Pool(2) as pool:
                return {"success": True, "result": pool.map(double, [1, 2, 3])}
        """,
    )
    assert child.call().value == [2, 4, 6]


def test_the_end_of_the_wire_runs_exit_handlers(child: Child, tmp_path: Path) -> None:
    child.write_and_load(
        f"import atexit, pathlib\natexit.register(lambda: pathlib.Path({str(tmp_path / 'left')!r}).touch())\n"
        "def execute(t, a): return {'success': True}",
    )
    child.call()
    assert child.end() == 0
    assert (tmp_path / "left").exists()


def test_a_thread_that_never_ends_does_not_hold_the_worker_at_its_end(child: Child) -> None:
    child.write_and_load(
        "import threading\nthreading.Thread(target=threading.Event().wait).start()\n"
        "def execute(t, a): return {'success': True}",
    )
    child.call()
    assert child.end() == 0


def test_a_wire_that_ends_before_anything_came_ends_the_worker(child: Child) -> None:
    assert child.end() == 0


def test_the_wire_is_hidden_from_what_a_tool_starts(child: Child) -> None:
    child.write_and_load(
        """
        import os, subprocess
        def execute(tool_name, arguments, context=None):
            listed = subprocess.check_output(["ls", "/proc/self/fd"], text=True, close_fds=False)
            own = [fd for fd in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{fd}")]
            sockets = [int(fd) for fd in own if os.readlink(f"/proc/self/fd/{fd}").startswith("socket:")]
            return {"success": True, "result": [sorted(map(int, listed.split())), sockets]}
        """,
    )
    listed, sockets = child.call().value
    assert listed == [0, 1, 2, 3]  # 3 is ls's own look at the directory
    assert len(sockets) == 1
    assert sockets[0] >= 100


def test_an_ended_orphan_is_reaped_when_it_has_been_there_for_long() -> None:
    code = """
        import os, subprocess
        from mcppd.workers.child.orphans import LEFT_ALONE, Orphans
        child = subprocess.Popen(["true"])
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        orphans = Orphans()
        orphans.reap(1000.0)
        orphans.reap(1000.0 + LEFT_ALONE)
        assert os.path.exists(f"/proc/{child.pid}"), "it is left to the tool at first"
        orphans.reap(1001.0 + LEFT_ALONE)
        assert not os.path.exists(f"/proc/{child.pid}"), "then it is reaped"
        orphans.reap(2000.0)
    """
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, cwd=root, timeout=20)


def test_an_interpreter_that_is_too_old_says_so(tmp_path: Path) -> None:
    old = sorted((Path.home() / ".pyenv" / "versions").glob("[23].[6789]*/bin/python"))
    if not old:
        pytest.skip("optional: there is no Python older than 3.10")
    for python in old:
        with Child(tmp_path, os.fspath(python)) as child:
            assert child.process.wait(20) != 0
            assert "3.10" in child.output
        child.log.unlink()
