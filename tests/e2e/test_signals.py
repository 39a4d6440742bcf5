"""Signals to a daemon with a person before it: a terminal that closes, Ctrl-C again (CASES K19)."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pty
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from mcppd.cli.commands import NO_READER
from mcppd.handing_over import DRAIN_LIMIT
from tests.e2e.counting import COUNTING, TOOLS, began
from tests.e2e.home import MCPPD, Home
from tests.harness import LIMIT, texts, until


@pytest.fixture
async def home() -> AsyncIterator[Home]:
    made = Home()
    made.module("counting", COUNTING, *TOOLS)
    yield made
    await made.close()


class Terminal:
    """A command that runs in a terminal of its own, as the first of its session."""

    def __init__(self, home: Home, *words: str) -> None:
        self.text = b""
        self._end, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-c", IN_TERMINAL, *MCPPD, *words],
            env=home.environment | {"TERM": "xterm"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        asyncio.get_running_loop().add_reader(self._end, self._read)

    def _read(self) -> None:
        with contextlib.suppress(OSError):  # EIO: nobody has it open any more
            self.text += os.read(self._end, 65536)

    def type(self, keys: bytes) -> None:
        os.write(self._end, keys)

    def close(self) -> None:
        if self._end >= 0:
            asyncio.get_running_loop().remove_reader(self._end)
            os.close(self._end)
            self._end = -1

    async def ended(self) -> int:
        """The exit status."""
        async with asyncio.timeout(LIMIT):
            while self.process.poll() is None:
                await asyncio.sleep(0.01)
        return self.process.returncode


# Its stdin becomes the terminal of its session (tty_ioctl(4)).
IN_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.fixture
async def in_terminal(home: Home) -> AsyncIterator[Callable[..., Awaitable[Terminal]]]:
    """Runs a command in a terminal, till it listens."""
    terminals: list[Terminal] = []

    async def run(*words: str) -> Terminal:
        terminals.append(Terminal(home, *words))
        await until((home.runtime / "mcppd" / "mcp.sock").exists)
        return terminals[-1]

    yield run
    for each in terminals:
        if each.process.poll() is None:
            each.process.kill()
            await each.ended()
        each.close()


InTerminal = Callable[..., Awaitable[Terminal]]


@pytest.mark.parametrize("words", [["serve"], ["dev"], ["dev", "--plain"]], ids=" ".join)
async def test_a_daemon_ends_with_the_terminal_that_it_runs_in(
    home: Home, in_terminal: InTerminal, words: list[str]
) -> None:
    terminal = await in_terminal(*words)
    client = await home.shim()
    await client.handshake()
    running = client.ask("tools/call", {"name": "gated", "arguments": {"mark": "a"}})
    await began(home, "a")
    terminal.close()
    (home.path / "go-a").touch()
    async with asyncio.timeout(LIMIT):
        assert texts((await running)["result"]) == "done a"
    assert await terminal.ended() in (0, NO_READER)
    if words == ["serve"]:  # nobody has said that they want none
        assert await client.text("quick", {"mark": "b"}) == "done b"
        assert (await home.status())["pid"] != terminal.process.pid


@pytest.mark.slow
async def test_a_hang_up_whose_terminal_is_still_there_is_a_reload(
    home: Home, in_terminal: InTerminal
) -> None:
    terminal = await in_terminal("serve")
    client = await home.shim()
    assert "quick" in await client.tools()
    socket = home.runtime / "mcppd" / "mcp.sock"
    socket.unlink()
    terminal.process.send_signal(signal.SIGHUP)
    await until(socket.exists)  # it looks at that too
    assert "quick" in await client.tools()
    terminal.process.terminate()
    assert await terminal.ended() == 0


@pytest.mark.slow
async def test_a_second_interrupt_does_not_wait_for_calls(home: Home, in_terminal: InTerminal) -> None:
    terminal = await in_terminal("serve")
    client = await home.shim()
    await client.handshake()
    running = client.ask("tools/call", {"name": "gated", "arguments": {"mark": "a"}})
    await began(home, "a")
    terminal.type(b"\x03")
    await until(lambda: b"is stopping" in terminal.text)
    await client.result("ping")
    assert not running.done()  # it would be waited for
    terminal.type(b"\x03")
    async with asyncio.timeout(DRAIN_LIMIT / 2):
        assert (await running)["result"]["isError"]
        assert await terminal.ended() == 0
    assert home.sockets() == []
