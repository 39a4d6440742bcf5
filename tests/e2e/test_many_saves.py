"""Many saves in a row while many sessions call: no call lost, no stale answer after a save, and nothing grows."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from mcppd.core.modules import DEFAULT_WORKERS
from tests.harness import Client, Daemon, processes_below, running, texts, until

SAVES = int(os.environ.get("MCPPD_SAVES", "150"))
"""A thousand take minutes: as many by `MCPPD_SAVES=1000`."""
SESSIONS = 20
BODY = "def execute(tool_name, arguments, context=None):\n    return {'success': True, 'result': VALUE}\n"


def _weight(daemon: Daemon) -> dict[str, int]:
    """What must not grow: processes, and of the daemon its descriptors, threads and memory in MiB."""
    proc = Path(f"/proc/{daemon.pid}")
    status = dict(line.split(":", 1) for line in (proc / "status").read_text().splitlines())
    return {
        "processes": len(processes_below(daemon.pid)),
        "descriptors": len(os.listdir(proc / "fd")),
        "threads": int(status["Threads"]),
        "memory": int(status["VmRSS"].split()[0]) // 1024,
    }


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_many_saves_under_many_calling_sessions(tmp_path: Path) -> None:
    async with running(tmp_path) as daemon:
        path = daemon.module("one", f"{BODY}VALUE = 0\n", "first") / "mcpptool.py"
        (tmp_path / "work").mkdir()
        clients = [await Client.through_shim(daemon, tmp_path / "work") for _ in range(SESSIONS)]
        for client in clients:
            await client.handshake()
        idle = _weight(daemon)
        saved = answered = 0
        is_over = False

        async def keep_calling(client: Client) -> None:
            nonlocal answered
            while not is_over:
                least = saved  # what was saved before the call began
                result = await client.call("first")
                assert not result.get("isError"), result
                assert least <= int(texts(result)) <= saved + 1
                answered += 1

        async def save(number: int) -> None:
            nonlocal saved
            new = path.with_suffix(".new")
            new.write_text(f"{BODY}VALUE = {number}\n")
            new.replace(path)
            saved = number
            before = answered
            await until(lambda: answered >= before + SESSIONS // 2)

        tasks = [asyncio.create_task(keep_calling(client)) for client in clients]
        for number in range(1, SAVES // 3):
            await save(number)
        before = _weight(daemon)
        for number in range(SAVES // 3, SAVES + 1):
            await save(number)
        is_over = True
        await asyncio.gather(*tasks)
        assert await clients[0].text("first") == str(SAVES)
        await until(lambda: _weight(daemon)["processes"] <= idle["processes"] + DEFAULT_WORKERS)
        after = _weight(daemon)
        assert (
            after["descriptors"] <= before["descriptors"] + 16
        )  # the wires of as many workers as there may be
        assert after["threads"] <= before["threads"] + 4
        assert after["memory"] <= before["memory"] + 16
        status = await daemon.control("mcppd/status")
        assert status["warnings"] == []
        for client in clients:
            await client.close()
        assert "BROKEN" not in daemon.output
