"""Where the demo plays: a home of its own, a module in it, a daemon, and a client that comes through a shim."""

from __future__ import annotations

import asyncio
import os
import site
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from mcppd_shim import places

import mcppd
from mcppd.cli.demo_processes import end_with_parent
from mcppd.client import Client

CHANGED: Final = "notifications/tools/list_changed"
ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"

STOP_LIMIT: Final = 5.0
"""Seconds that each of the two processes has to end by itself; nothing runs that it would have to wait for."""

RETRY: Final = (
    0.005  # seconds between two looks for the socket: they are part of the time that a start is said to take
)

LOG_LINES: Final = 10  # the reason for an end is the last thing in a log

KEPT: Final = ("PATH", "LANG", "LC_ALL", "PYTHONPATH")
"""Of the environment, what the daemon needs to be found, and to run like this command."""


class Stage:
    """A context; nothing of it is left at its end but files in its directory."""

    def __init__(self, directory: str) -> None:
        self.directory = Path(directory)
        self.module = self.directory / "tools" / "greeting"
        self.changes = 0  # notifications that the list of tools has changed
        self.changed_at = 0.0  # when the last one came, in seconds of the monotonic clock
        self._log = self.directory / "log"
        self._socket = self.directory / "mcp.sock"
        self._registry = self.directory / "tools.yaml"
        self._environment = _environment(self.directory)
        self._news = asyncio.Event()
        self._is_acknowledged = False
        self._processes: list[subprocess.Popen[bytes]] = []
        self._client: Client | None = None
        self._listening: asyncio.Task[Any] | None = None

    async def __aenter__(self) -> Self:
        (self.directory / "run").mkdir(mode=0o700)
        self.module.mkdir(parents=True)
        self._registry.write_text("modules:\n  - path: tools/*\n")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.gather(self._listening, return_exceptions=True)
        if self._client is not None:
            await self._client.close()
        for process in reversed(self._processes):
            await _end(process)

    @property
    def client(self) -> Client:
        """The client; there after `connect`."""
        assert self._client is not None
        return self._client

    async def start(self) -> None:
        """Start the daemon; until it listens, or has ended."""
        program = Path(mcppd.__file__).with_name("__main__.py")
        words = "serve", "--config", self._registry, "--socket", self._socket
        daemon = self._spawn(sys.executable, program, *words)
        while not self._socket.exists() and daemon.poll() is None:  # noqa: ASYNC110 - another process's doing
            await asyncio.sleep(RETRY)
        if daemon.returncode is not None:
            raise OSError(f"the daemon ended with status {daemon.returncode}")

    async def connect(self) -> None:
        """Connect a client through a shim, as an agent does, and let it be told of changes."""
        shim = Path(places.__file__).with_name("__main__.py")
        words = "-I", "-S", shim, "--config", self._registry, "--socket", self._socket
        ours, theirs = socket.socketpair()
        with theirs:
            self._client = await Client.attach(ours)
            self._client.notifications = self._take
            self._spawn(sys.executable, *words, pipe=theirs.fileno())
        wanted = {"notifications": {"toolsListChanged": True}}
        request = self._client.request("subscriptions/listen", wanted, limit=None)
        self._listening = asyncio.create_task(request)
        self._listening.add_done_callback(lambda _: self._news.set())
        await self._until(lambda: self._is_acknowledged)

    def save(self, name: str, text: str) -> float:
        """Save a file of the module as editors do, by renaming; when that began."""
        new = self.module / f".{name}.new"
        new.write_text(text)
        began = time.monotonic()
        new.rename(self.module / name)
        return began

    async def next_change(self) -> None:
        """Wait until the client is told once more that the list of tools has changed."""
        before = self.changes
        await self._until(lambda: self.changes > before)

    def last_words(self) -> tuple[str, ...]:
        """The last lines of what the daemon and the shim have written."""
        lines = self._log.read_text(errors="replace").splitlines() if self._log.exists() else []
        return tuple(lines[-LOG_LINES:])

    def _take(self, method: str, _: dict[str, Any]) -> None:
        if method == CHANGED:
            self.changes += 1
            self.changed_at = time.monotonic()
        elif method == ACKNOWLEDGED:
            self._is_acknowledged = True
        self._news.set()

    async def _until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            if self._listening is not None and self._listening.done():
                self._listening.result()
                raise OSError("the daemon listens to nothing more")
            self._news.clear()
            await self._news.wait()

    def _spawn(self, *words: str | Path, pipe: int | None = None) -> subprocess.Popen[bytes]:
        """Start a process in a session of its own: the terminal's Ctrl-C is for us, who end it in order.

        In one step, not asyncio's many: an interruption between them would leave a process that nobody knows.
        """
        with self._log.open("ab") as log:
            process = subprocess.Popen(
                words,
                cwd=self.directory,
                env=self._environment,
                stdin=subprocess.DEVNULL if pipe is None else pipe,
                stdout=log if pipe is None else pipe,
                stderr=log,
                start_new_session=True,
                preexec_fn=end_with_parent,  # noqa: PLW1509 - no thread of ours runs yet
            )
        self._processes.append(process)
        return process


async def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        await asyncio.to_thread(process.wait, STOP_LIMIT)
    except subprocess.TimeoutExpired:
        process.kill()
        await asyncio.to_thread(process.wait)


def _environment(home: Path) -> dict[str, str]:
    """An environment in which everything of a person's lies in a directory, but what Python has installed for them."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    own = {
        "HOME": home,
        "XDG_RUNTIME_DIR": home / "run",
        "XDG_CONFIG_HOME": home / "config",
        "XDG_STATE_HOME": home / "state",
        "XDG_CACHE_HOME": home / "cache",
        "PYTHONUSERBASE": site.getuserbase(),
    }
    return kept | {name: str(path) for name, path in own.items()}
