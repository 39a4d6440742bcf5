"""Ten thousand calls in a row, a random one of every ten of which brings its worker down."""

from __future__ import annotations

import random
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.e2e.conftest import Connect
from tests.harness import Daemon, processes_below, texts, until

CALLS = 10_000
WORKERS = 2
SETTLED = 2000
"""Calls after which everything has been used that is kept: from here on memory is compared."""
GROWTH = 4 * 1024**2
"""Bytes that the memory of either process may differ by; a leak of 1 KB for each call would be twice that."""

BODY = """
import ctypes, os, signal

def execute(tool_name, arguments, context=None):
    with open(arguments["log"], "a") as file:
        file.write(f"{arguments['number']}\\n")
    match arguments["end"]:
        case "exit":
            os._exit(7)
        case "abort":
            os.abort()
        case "segfault":
            ctypes.string_at(0)
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "close":
            os.closerange(3, 1024)
            signal.pause()
    return {"success": True, "result": f"answer {arguments['number']}"}
"""
ENDS = {
    "exit": "exited with status 7",
    "abort": "was killed by SIGABRT",
    "segfault": "was killed by SIGSEGV",
    "kill": "was killed by SIGKILL",
    "close": "closed the worker's connection",
}


def memory(pid: int) -> int:
    """Bytes that a process has to itself."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Private_"))


def descriptors(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


@pytest.mark.slow
@pytest.mark.timeout(1200)
async def test_no_answer_is_lost_or_doubled_and_memory_stays_what_it_was(
    daemon: Daemon, connect: Connect, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon.module("deadly", BODY, "deadly", workers=WORKERS)
    client, log = await connect(), tmp_path / "calls"
    chance = random.Random(5)
    figures: list[dict[str, int]] = []
    ends: Counter[str] = Counter()
    for number in range(CALLS):
        if number % 10 == 0:
            deadly = number + chance.randrange(10)
        end = chance.choice(list(ENDS)) if number == deadly else ""
        arguments = {"number": number, "end": end, "log": str(log)}
        result = await client.call("deadly", arguments)
        ends[end] += 1
        if end:
            assert ENDS[end] in texts(result)
            assert result["isError"]
        else:
            assert texts(result) == f"answer {number}"
        if number + 1 in (SETTLED, CALLS):
            figures.append(await figures_of(daemon.pid))
    assert sorted(map(int, log.read_text().split())) == list(range(CALLS))
    assert client.count("unasked") == 0
    assert sum(ends.values()) - ends[""] == CALLS // 10
    with capsys.disabled():
        sys.stdout.write(f"\n{CALLS} calls, {dict(ends)}\n" + "".join(f"  {each}\n" for each in figures))
    for (name, before), after in zip(figures[0].items(), figures[1].values(), strict=True):
        assert after <= before + (GROWTH if "memory" in name else 1), name


async def figures_of(daemon: int) -> dict[str, int]:
    """What the daemon and its spawner have, once no worker is on its way."""
    [spawner] = [pid for pid in processes_below(daemon) if parent(pid) == daemon]
    await until(lambda: len(processes_below(spawner)) <= WORKERS)
    return {
        f"{what} of the {name}": count(pid)
        for name, pid in (("daemon", daemon), ("spawner", spawner))
        for what, count in (("memory", memory), ("descriptors", descriptors))
    }


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
