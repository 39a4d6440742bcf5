"""Death of every kind: the caller is told how and why, the next call works, and nobody else notices (issue I, F, D11).

Each is driven through the shim; another agent calls `echo` all the while.
"""

from __future__ import annotations

import asyncio
import os
import signal
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.wild import LEAVE, STAY, WILD, is_alive, left_by, scene
from tests.harness import processes_below, until

SLEEPER = "subprocess.Popen(['sleep', '1000']{})\nos._exit(5)"
HOG = "import sys, time; held = b'x' * {size}; sys.stdout.write('held'); sys.stdout.flush(); time.sleep(1000)"
HOGS = f"""
command = [sys.executable, "-c", {HOG.format(size=60 << 20)!r}]
hogs = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(4)]
for hog in hogs:
    hog.stdout.read(4)
time.sleep(1000)
"""


@dataclass(frozen=True)
class Death:
    """What a tool does to its process, and what its caller is told."""

    code: str
    said: tuple[str, ...]
    options: dict[str, Any] = field(default_factory=dict)  # of the module, in the registry
    is_death: bool = True  # whether the next call has a new worker


DEATHS = {
    "an exception": Death("raise ValueError('bad')", ("ValueError: bad", "mcpptool.py:7"), is_death=False),
    "SystemExit": Death("sys.exit(3)", ("SystemExit: 3",), is_death=False),
    "KeyboardInterrupt": Death("raise KeyboardInterrupt", ("KeyboardInterrupt",), is_death=False),
    "os._exit": Death("os._exit(7)", ("exited with status 7", "its last line")),
    "os._exit(0)": Death("os._exit(0)", ("exited with status 0", "its last line")),
    "abort": Death("os.abort()", ("killed by SIGABRT", "its last line", "Fatal Python error: Aborted")),
    "a segmentation fault": Death(
        "ctypes.string_at(0)", ("killed by SIGSEGV", "Segmentation fault", "mcpptool.py")
    ),
    "a signal of its own": Death("os.kill(os.getpid(), signal.SIGUSR1)", ("killed by SIGUSR1",)),
    "a stack without end": Death(
        "sys.setrecursionlimit(10**9)\ndeep = []\nfor _ in range(10**5): deep = [deep]\nrepr(deep)",
        ("killed by SIGSEGV",),
    ),
    "more memory than there is": Death(
        "held = [b'x' * (16 << 20) for _ in itertools.count()]",
        ("MemoryError", "256M", "`memory`", "tools.yaml"),
        {"memory": "256M"},
        is_death=False,
    ),
    "children that take too much memory": Death(
        HOGS, ("memory", "160M", "`memory`", "tools.yaml"), {"memory": "160M"}
    ),
    "a C loop that holds the interpreter": Death(
        "max(itertools.repeat(0))", ("1 s, its time limit", "`timeout`"), {"timeout": 1}
    ),
    "a stopped process": Death(
        "os.kill(os.getpid(), signal.SIGSTOP)", ("1 s, its time limit", "`timeout`"), {"timeout": 1}
    ),
    "a grandchild that holds the output": Death(SLEEPER.format(""), ("status 5", "its last line")),
    "a grandchild in a session of its own": Death(
        SLEEPER.format(", start_new_session=True"), ("status 5", "its last line")
    ),
    "a closed connection": Death(
        "os.closerange(3, 1024)\ntime.sleep(1000)", ("closed the worker's connection", "its last line")
    ),
    "a closed output": Death(
        "os.closerange(0, 3)\nraise ValueError('bad')", ("ValueError: bad",), is_death=False
    ),
    "a fork bomb": Death(
        "for _ in range(9): os.fork()\ntime.sleep(1000)",
        ("more than 24 processes", "`processes`"),
        {"processes": 24},
    ),
    "processes without end, each in a session of its own": Death(
        "for _ in range(500):\n    time.sleep(0.001)\n    if not os.fork(): os.setsid(); time.sleep(1000)",
        ("more than 24 processes", "`processes`", "tools.yaml"),
        {"processes": 24},
    ),
}


QUICK = ("SystemExit", "os._exit", "a segmentation fault", "a fork bomb", "a closed connection")
"""Witnesses of the table that are seen each time; the whole is slow."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in DEATHS]
)
async def test_a_death_is_told_and_costs_nobody_else(tmp_path: Path, name: str) -> None:
    death = DEATHS[name]
    async with scene(tmp_path, workers=1, **death.options) as there:
        first = await there.worker()
        said = await there.dies(death.code)
        for text in death.said:
            assert text in said
        assert ("unknown" in said) == death.is_death
        assert (await there.worker() != first) == death.is_death
        await until(lambda: not left_by(there.daemon))


async def test_a_worker_that_is_killed_from_outside_is_told_by_its_signal(tmp_path: Path) -> None:
    async with scene(tmp_path, workers=1) as there:
        first = await there.worker()
        running = asyncio.create_task(there.dies("open('began', 'w').close(); time.sleep(1000)"))
        await until((tmp_path / "caller" / "began").exists)
        os.kill(first, signal.SIGKILL)
        said = await running
        assert "killed by SIGKILL" in said
        assert "unknown" in said
        assert await there.worker() != first


@pytest.mark.parametrize(
    ("body", "said", "options"),
    [
        ("while True: pass", ("took longer than 0.5 s", "`import_timeout`"), {"import_timeout": 0.5}),
        ("import os; os._exit(3)", ("exited with status 3 during the import",), {}),
        ("import sys; print('why'); sys.exit(3)", ("SystemExit: 3", "mcpptool.py:1"), {}),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", ("SIGKILL during the import",), {}),
        ("held = [b'x' * 2**24 for _ in iter(int, 1)]", ("MemoryError", "64M: `memory`"), {"memory": "64M"}),
        (
            "import os, time\nfor _ in range(9): os.fork()\ntime.sleep(1000)",
            ("more than 24 processes", "during the import", "`processes`"),
            {"processes": 24},
        ),
    ],
)
async def test_an_import_that_ends_badly_is_told_and_a_save_mends_it(
    tmp_path: Path, body: str, said: tuple[str, ...], options: dict[str, Any]
) -> None:
    async with scene(tmp_path, f"{body}\n{WILD}", **options) as there:
        told = await there.dies()
        for text in said:
            assert text in told
        there.daemon.module("wild", WILD, "run")
        assert await there.worker()
        await until(lambda: not left_by(there.daemon))


IMPORTING = """
import os, pathlib, time
here = pathlib.Path(__file__).parent
(here / "importing").write_text(f"{os.getpid()}\\n")
while not (here / "go on").exists():
    time.sleep(0.01)
"""


@pytest.mark.parametrize("who", ["the worker", "the spawner"])
@pytest.mark.parametrize("is_saved", [True, False], ids=["a save", "a first call"])
async def test_who_is_killed_during_an_import_says_nothing_of_the_module(
    tmp_path: Path, who: str, is_saved: bool
) -> None:
    async with scene(tmp_path, WILD if is_saved else IMPORTING + WILD) as there:
        if is_saved:
            await there.worker()
            there.daemon.module("wild", IMPORTING + WILD, "run")
        call = asyncio.create_task(there.worker())
        told = there.daemon.tools / "wild" / "importing"
        await until(lambda: told.exists() and told.read_text().endswith("\n"))
        await there.quiet()
        os.kill(int(told.read_text()) if who == "the worker" else there.spawner(), signal.SIGKILL)
        (told.parent / "go on").touch()
        assert is_alive(await call)
        status = await there.daemon.control("mcppd/status")
        assert [module["state"] for module in status["modules"] if module["name"] == "wild"] == ["ok"]


async def test_an_import_that_kills_itself_is_tried_again_by_itself(tmp_path: Path) -> None:
    body = (
        "import os, pathlib, signal\nif not pathlib.Path(__file__).with_name('go on').exists():\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    async with scene(tmp_path, body + WILD) as there:
        assert "SIGKILL during the import" in await there.dies()
        (there.daemon.tools / "wild" / "go on").touch()
        await until(lambda: "reload: wild" in there.daemon.output.split("SIGKILL")[-1])
        assert await there.worker()


@pytest.mark.slow
async def test_a_thread_left_spinning_costs_its_worker_and_no_call(tmp_path: Path) -> None:
    async with scene(tmp_path, workers=2) as there:
        code = "def spin():\n    while True: pass\nthreading.Thread(target=spin).start()"
        spinning = int(await there.caller.text("run", {"code": code}))
        await there.quiet()
        await until(lambda: not Path(f"/proc/{spinning}").exists())
        assert await there.worker() != spinning
        assert there.daemon.output.count("though no call ran in it") == 1


@pytest.mark.slow
async def test_processes_without_end_between_calls_are_noticed(tmp_path: Path) -> None:
    async with scene(tmp_path, workers=2, processes=24) as there:
        bomb = (
            "def bomb():\n    time.sleep(0.5)\n    for _ in range(9): os.fork()\n    time.sleep(1000)\n"
            "threading.Thread(target=bomb).start()"
        )
        first = int(await there.caller.text("run", {"code": bomb}))
        await until(lambda: not is_alive(first))
        await until(lambda: not left_by(there.daemon))
        assert await there.worker() != first


@pytest.mark.slow
async def test_a_spawner_that_is_killed_loses_no_queued_call_and_leaves_nothing(tmp_path: Path) -> None:
    async with scene(tmp_path, workers=1) as there:
        running = asyncio.create_task(there.dies(LEAVE + STAY))
        await until((tmp_path / "caller" / "began").exists)
        waiting = [asyncio.create_task(there.worker()) for _ in range(3)]
        old = processes_below(there.daemon.pid)
        assert len(old) >= 6
        await there.quiet()
        os.kill(there.spawner(), signal.SIGKILL)
        assert "unknown" in await running
        assert len({await each for each in waiting}) == 1
        await until(lambda: not any(map(is_alive, old)))
        assert not left_by(there.daemon)


@pytest.mark.slow
async def test_a_daemon_that_is_killed_takes_everything_with_it(tmp_path: Path) -> None:
    async with scene(tmp_path, workers=1) as there:
        running = there.caller.ask("tools/call", {"name": "run", "arguments": {"code": LEAVE + STAY}})
        await until((tmp_path / "caller" / "began").exists)
        started = processes_below(there.daemon.pid)
        assert len(started) >= 6
        await there.quiet()
        for client in (there.caller, there.other):  # they would start another daemon
            await client.close()
        assert not running.done()
        await there.daemon.stop(signal.SIGKILL)
        await until(lambda: not any(map(is_alive, started)))


@pytest.mark.slow
async def test_a_save_whose_import_hangs_leaves_the_last_good_version_and_all_others(tmp_path: Path) -> None:
    async with scene(tmp_path, import_timeout=0.5) as there:
        assert await there.worker()
        there.daemon.module("wild", f"while True: pass\n{WILD}", "run")
        await until(lambda: "longer than 0.5 s" in there.daemon.output)
        said = await there.caller.text("run", {"mark": "good"})
        assert said.startswith("good\nNotice: this answer comes from the last good version")
        assert "`import_timeout`" in said
        there.daemon.module("wild", WILD.replace('"mark"', '"sign"'), "run")
        assert await there.caller.text("run", {"sign": "new"}) == "new"
