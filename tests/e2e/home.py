"""The home of one person who has not used mcppd yet, and everything that runs there."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.harness import LIMIT, REPOSITORY, Client, clean_environment, processes_of, until

SHIM = [sys.executable, "-I", "-S", str(REPOSITORY / "shim" / "__main__.py")]
MCPPD = [sys.executable, str(REPOSITORY / "mcppd" / "__main__.py")]


class Home:
    """A directory that the environment of everything that runs there names as HOME."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="mh-", dir="/tmp"))  # short: a socket's path takes 107 bytes
        self.runtime = self.path / "run"
        self.runtime.mkdir(mode=0o700)
        self.environment = clean_environment(self.path)
        self.work = self.path / "work"
        self.work.mkdir()
        self.log = self.path / "state" / "mcppd" / "daemon.log"
        self._clients: list[Client] = []

    def module(self, name: str, body: str, *tools: str | dict[str, Any]) -> None:
        """A registry of their own with a module; a tool is a name or a mapping."""
        directory = self.path / "config" / "mcppd" / "tools" / name
        directory.mkdir(parents=True)
        (directory.parent.parent / "tools.yaml").write_text("modules:\n  - path: tools/*\n")
        (directory / "mcpptool.py").write_text(body)
        listed = [tool if isinstance(tool, dict) else {"name": tool} for tool in tools]
        (directory / "tool.yaml").write_text(json.dumps({"name": name, "tools": listed}))

    async def shim(self, *options: str) -> Client:
        """A shim as an agent starts it: a leader of its group, in a project."""
        process = await asyncio.create_subprocess_exec(
            *SHIM,
            *options,
            cwd=self.work,
            env=self.environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,
            limit=2**27,
        )
        assert process.stdout is not None
        client = Client(process.stdout, process.stdin, process)
        self._clients.append(client)
        return client

    def mcppd(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command."""
        return subprocess.run(
            [*MCPPD, *words], env=self.environment, capture_output=True, text=True, timeout=LIMIT, check=False
        )

    async def status(self) -> dict[str, Any]:
        """What the daemon says of itself."""
        client = await Client.on_socket(self.runtime / "mcppd" / "control.sock")
        try:
            status: dict[str, Any] = await client.result("mcppd/status")
        finally:
            await client.close()
        return status

    def sockets(self) -> list[Path]:
        """The files of all sockets."""
        return [path for path in self.runtime.rglob("*") if path.is_socket()]

    def processes(self) -> dict[int, bytes]:
        """Everything that runs in this home, with its command line."""
        return processes_of(self.path)

    def daemons(self) -> list[int]:
        """Every daemon, and every one that is about to see that there is one already."""
        return [pid for pid, command in self.processes().items() if b"\0serve\0" in command]

    def all_but_shims(self) -> list[int]:
        """The daemons and all of theirs."""
        return [pid for pid, command in self.processes().items() if b"/shim/__main__.py" not in command]

    async def close(self) -> None:
        """End everything."""
        for client in self._clients:
            await client.close()
        await until(self._is_empty)
        said = self.log.read_text() if self.log.exists() else ""
        shutil.rmtree(self.path)
        assert "Traceback" not in said
        assert "Warning" not in said

    def _is_empty(self) -> bool:
        left = self.processes()
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return not left
