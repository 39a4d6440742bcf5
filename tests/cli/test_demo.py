"""`mcppd demo`: what it shows, what it leaves behind (nothing), and that it tells when something isn't so."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.harness import first_and_slow

ROOT = Path(__file__).parents[2]
LIMIT = 60.0

Wait = Callable[[Callable[[], Any], str], None]

TRANSCRIPT = """\
start # ms a daemon, a shim and a client are up, in DIRECTORY
list # ms the tools are greet, help
call # ms greet says: Hello, Ada! The first call starts a worker.
add # ms a tool added and saved → notifications/tools/list_changed
list # ms the tools are greet, help, part
call # ms part says: Goodbye, Ada!
edit # ms code edited and saved → greet says: Good morning, Ada! No notification.
break # ms a mistake saved → Good morning, Ada! Notice: greeting/mcpptool.py:4:48: SyntaxError: expected ':'
repair # ms repaired and saved → greet says: Welcome, Ada! The notice is gone.
All of it was seen, in # s. Nothing is left of it, and no other daemon was touched.
"""


class Demo:
    """Runs demos in a home and a temporary directory of their own."""

    def __init__(self) -> None:
        self.place = Path(
            tempfile.mkdtemp(prefix="md-", dir="/tmp")
        )  # short: a socket's path takes 107 bytes
        self.home = self.place / "home"
        self.home.mkdir()
        self.temporary = self.place / "t"
        self.temporary.mkdir()
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "TMPDIR": str(self.temporary),
            "LANG": "C.UTF-8",
        }

    def start(self, *words: str, tree: Path = ROOT) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, str(tree / "mcppd" / "__main__.py"), "demo", *words],
            env=self.environ,
            cwd=self.place,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, *words: str, tree: Path = ROOT) -> subprocess.CompletedProcess[str]:
        process = self.start(*words, tree=tree)
        out, errors = process.communicate(timeout=LIMIT)
        return subprocess.CompletedProcess(words, process.returncode, out, errors)

    def left(self) -> list[str]:
        """Every file, and every process that has a directory of the demo's in its environment."""
        files = [str(path) for path in (*self.temporary.iterdir(), *self.home.iterdir())]
        return files + [str(pid) for pid in self.processes()]

    def processes(self) -> set[int]:
        found = set()
        for directory in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if f"{self.temporary}/".encode() in (directory / "environ").read_bytes():
                    found.add(int(directory.name))
        return found

    def close(self) -> None:
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.place)


@pytest.fixture
def demo() -> Iterator[Demo]:
    demo = Demo()
    yield demo
    demo.close()


def read_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    assert select.select([process.stdout], [], [], LIMIT)[0]
    return process.stdout.readline()


def masked(demo: Demo, text: str) -> str:
    """The transcript without what differs each time."""
    text = re.sub(rf"{demo.temporary}/mcppd-demo-\w+", "DIRECTORY", text)
    return re.sub(
        r" +\d+\.\d (ms +|s)", lambda found: f" # {found[1].strip()}" + " " * (found[1][0] == "m"), text
    )


@pytest.mark.slow
def test_each_step_is_a_line_with_its_time(demo: Demo) -> None:
    done = demo.run()
    assert (done.returncode, done.stderr) == (0, "")
    assert masked(demo, done.stdout) == TRANSCRIPT
    assert demo.left() == []


@pytest.mark.slow
def test_the_steps_are_numbers_too(demo: Demo) -> None:
    done = demo.run("--json")
    assert (done.returncode, done.stderr) == (0, "")
    outcome = json.loads(done.stdout)
    assert (outcome["ok"], outcome["failed"]) == (True, None)
    assert [step["step"] for step in outcome["steps"]] == [
        line.split()[0] for line in TRANSCRIPT.splitlines()
    ][:-1]
    assert all(0 < step["ms"] < LIMIT * 1000 for step in outcome["steps"])
    assert 0 < outcome["seconds"] < LIMIT


def test_the_transcript_of_the_readme_is_one_of_a_demo(demo: Demo) -> None:
    readme = (ROOT / "README.md").read_text()
    [shown] = re.findall(r"^\$ mcppd demo\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
    shown = re.sub(r"/tmp/mcppd-demo-\w+", f"{demo.temporary}/mcppd-demo-x", shown)
    assert masked(demo, shown) == TRANSCRIPT


@pytest.mark.slow
def test_a_long_temporary_directory_is_no_obstacle(demo: Demo) -> None:
    long = demo.temporary / ("d" * 90)
    long.mkdir()
    demo.environ["TMPDIR"] = str(long)
    done = demo.run()
    assert (done.returncode, done.stderr) == (0, "")
    assert list(long.iterdir()) == []
    [directory] = re.findall(r"/tmp/mcppd-demo-\w+", done.stdout)
    assert not Path(directory).exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("after", first_and_slow(0, 1, 6))
def test_nothing_is_left_where_it_is_interrupted(
    demo: Demo, number: signal.Signals, after: int, wait_for: Wait
) -> None:
    process = demo.start()
    for _ in range(after):
        assert read_line(process)
    wait_for(lambda: list(demo.temporary.glob("*/*")), "the beginning")
    for _ in range(3):  # a person presses Ctrl-C until it is over
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
    _, errors = process.communicate(timeout=LIMIT)
    assert (process.returncode, errors) == (130, "mcppd: interrupted\n")
    assert demo.left() == []


@pytest.mark.slow
def test_no_process_is_left_where_it_is_killed(demo: Demo, wait_for: Wait) -> None:
    process = demo.start()
    for _ in range(3):
        assert read_line(process)
    processes = demo.processes()
    assert len(processes) >= 4  # the daemon, the spawner, a worker, the shim
    homes = [
        re.findall(rb"(?:^|\0)HOME=([^\0]*)", Path(f"/proc/{pid}/environ").read_bytes()) for pid in processes
    ]
    assert all(home.startswith(f"{demo.temporary}/".encode()) for [home] in homes)
    process.kill()
    process.communicate(timeout=LIMIT)
    wait_for(lambda: not demo.processes(), "the end of all")


@pytest.mark.slow
def test_a_daemon_of_the_same_person_is_left_alone(demo: Demo) -> None:
    run = demo.place / "r"
    run.mkdir(mode=0o700)
    demo.environ["XDG_RUNTIME_DIR"] = str(run)
    mcppd = [sys.executable, str(ROOT / "mcppd" / "__main__.py")]

    def told(*words: str) -> str:
        return subprocess.run(
            [*mcppd, *words], env=demo.environ, capture_output=True, text=True, timeout=LIMIT, check=True
        ).stdout

    told("start")
    try:
        before = json.loads(told("status", "--json"))
        assert demo.run().returncode == 0
        after = json.loads(told("status", "--json"))
        assert {**before, "uptime_seconds": 0, "sessions": []} == {
            **after,
            "uptime_seconds": 0,
            "sessions": [],
        }
    finally:
        told("stop")


DAMAGES = {
    "the daemon does not start": ("start", "mcppd/daemon.py", 'raise OSError("no daemon today")'),
    "a tool is not listed": (
        "list",
        "mcppd/core/catalog.py",
        "Catalog.listed = property(lambda self: iter(()))",
    ),
    "every call fails": (
        "call",
        "mcppd/serving/tools.py",
        """
async def call(self, *_): raise ToolError("out of order")
ToolCalls.call = call
""",
    ),
    "the shim ends at a call": (
        "call",
        "shim/traffic.py",
        """
_take_line = Traffic._take_line
def take_line(self, line):
    if b"tools/call" in line: posix._exit(3)
    _take_line(self, line)
Traffic._take_line = take_line
""",
    ),
    "nobody is notified": ("add", "mcppd/serving/server.py", "AgentServer.broadcast = lambda self, *_: 0"),
    "everybody is notified twice": (
        "list",
        "mcppd/serving/server.py",
        """
_broadcast = AgentServer.broadcast
AgentServer.broadcast = lambda self, *what: _broadcast(self, *what) + _broadcast(self, *what)
""",
    ),
    "a changed body is notified": (
        "edit",
        "mcppd/reloading/publisher.py",
        """
_publish = Publisher.publish
def publish(self, *all):
    old = self.catalog.fingerprints
    done = _publish(self, *all)
    if done and self.catalog.fingerprints == old: self.tell(["tools"])
    return done
Publisher.publish = publish
""",
    ),
    "a call does not wait for a save": (
        "edit",
        "mcppd/reloading/reloader.py",
        """
_settled = Reloader.settled
async def settled(self, name): return True if name else await _settled(self, name)
Reloader.settled = settled
""",
    ),
    "no notice tells of a broken save": (
        "break",
        "mcppd/core/catalog.py",
        "Module.notice = property(lambda self: None)",
    ),
    "a notice stays": (
        "repair",
        "mcppd/core/catalog.py",
        """
_notice = Module.notice
_seen = []
def notice(self):
    _seen.extend(filter(None, [_notice.fget(self)]))
    return _seen[-1] if _seen else None
Module.notice = property(notice)
""",
    ),
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the program, in which a step that fails does so soon."""
    tree = tmp_path_factory.mktemp("tree")
    for name in ("mcppd", "shim"):
        shutil.copytree(ROOT / name, tree / name)
    with (tree / "mcppd" / "cli" / "demo_steps.py").open("a") as file:
        file.write("\nSTEP_LIMIT = 6.0\n")
    return tree


@pytest.mark.parametrize("damage", first_and_slow(*DAMAGES))
def test_a_damaged_program_fails_at_the_step_that_shows_it(demo: Demo, tree: Path, damage: str) -> None:
    step, file, code = DAMAGES[damage]
    before = (tree / file).read_text()
    (tree / file).write_text(f"{before}\n{code}\n")
    try:
        done = demo.run(tree=tree)
        told = json.loads(demo.run("--json", tree=tree).stdout)
    finally:
        (tree / file).write_text(before)
    assert done.returncode == 1
    assert [line.split(": ")[1] for line in done.stderr.splitlines()[:3]] == [
        f"the step {step!r} failed",
        "expected",
        "what came",
    ]
    assert (told["ok"], told["failed"]["step"]) == (False, step)
    assert told["failed"]["expected"]
    assert told["failed"]["came"]
    assert step not in {seen["step"] for seen in told["steps"]} or step in ("list", "call")
    assert demo.left() == []


def test_a_daemon_that_does_not_start_has_its_last_words_shown(demo: Demo, tree: Path) -> None:
    file = tree / "mcppd" / "daemon.py"
    before = file.read_text()
    file.write_text('raise OSError("no daemon today")\n')
    try:
        done = demo.run(tree=tree)
    finally:
        file.write_text(before)
    assert (done.returncode, done.stdout) == (1, "")
    assert "no daemon today" in done.stderr
    assert "Traceback" not in done.stderr.splitlines()[0]


@pytest.mark.slow
def test_a_step_that_takes_too_long_ends(demo: Demo, tree: Path) -> None:
    file = tree / "mcppd" / "serving" / "tools.py"
    before = file.read_text()
    slow = "import asyncio\nasync def _run(self, *_): await asyncio.sleep(600)\nToolCalls._run = _run\n"
    file.write_text(f"{before}\n{slow}")
    started = time.monotonic()
    try:
        done = demo.run(tree=tree)
    finally:
        file.write_text(before)
    assert done.returncode == 1
    assert "the step 'call' failed" in done.stderr
    assert time.monotonic() - started < LIMIT / 2
    assert demo.left() == []
