"""A person's home in a temporary directory: a registry, modules, and the daemon and the shims that serve them."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from bench.agents import Agent, ServerGoneError
from bench.processes import family, usage

ROOT: Final = Path(__file__).resolve().parent.parent
SHIM: Final = [sys.executable, "-I", "-S", str(ROOT / "shim" / "__main__.py")]
"""The command that README gives agents."""
DAEMON: Final = [sys.executable, str(ROOT / "mcppd" / "__main__.py"), "serve", "--background"]
"""As `mcppd start` and the shim run it: it logs to its file."""
LIMIT: Final = 30.0
"""Seconds for a daemon to come, to come to rest, or to go: only one that hangs takes so long."""
RESTING: Final = 0.02
"""Of a core: what the watcher takes is a quarter of it."""

ECHO: Final = """\
VALUE = "{value}"


def execute(tool_name, arguments, context=None):
    return {{"success": True, "result": VALUE + arguments.get("text", "")}}
"""


class Home:
    """Everything of one person."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.project = path / "project"
        self.modules = path / "config" / "mcppd" / "tools"
        for directory in (self.project, self.modules):
            directory.mkdir(parents=True)
        (path / "run").mkdir(mode=0o700)
        self.registry = self.modules.parent / "tools.yaml"
        self.registry.write_text("modules:\n  - path: tools/*\n")
        self.control = path / "run" / "mcppd" / "control.sock"
        self.cache = path / "cache" / "mcppd"
        self.environment = environment(path)
        self._output = path / "output"
        self._daemon: subprocess.Popen[bytes] | None = None

    def add_module(self, name: str, tools: Sequence[Mapping[str, Any]], value: str = "") -> Path:
        """A module whose every tool answers `value` and its argument `text`."""
        directory = self.modules / name
        directory.mkdir()
        (directory / "mcpptool.py").write_text(ECHO.format(value=value))
        (directory / "tool.yaml").write_text(manifest(name, tools))
        return directory

    def add_modules(self, count: int, tools: int) -> None:
        """So many modules of so many tools, as large as tools usually are, each with schemas of its own."""
        for number in range(count):
            name = f"module_{number:03}"
            self.add_module(name, [ordinary_tool(name, each) for each in range(tools)])

    def agent(self) -> Agent:
        """An agent that starts a shim, which starts a daemon if there is none."""
        return Agent(SHIM, self.environment, self.project)

    def start_daemon(self) -> int:
        """Start the daemon, and wait until all that follows from that is over: its process id."""
        self.launch_daemon()
        pid = self.daemon_pid()
        wait_until(lambda: _is_at_rest(pid))
        return pid

    def launch_daemon(self) -> float:
        """Start the daemon: the seconds until it has answered what it is asked about itself."""
        started = time.perf_counter()
        with self._output.open("ab") as output:
            self._daemon = subprocess.Popen(
                DAEMON,
                env=self.environment,
                cwd=self.path,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        wait_until(self.control.exists)
        self.daemon_pid()
        return time.perf_counter() - started

    def daemon_pid(self) -> int:
        """The process id of the daemon, however it was started, once all that is on the disk is served."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(LIMIT)
            connection.connect(str(self.control))
            connection.sendall(b'{"jsonrpc":"2.0","id":1,"method":"mcppd/status"}\n')
            with connection.makefile("rb") as lines:
                return int(json.loads(lines.readline())["result"]["pid"])

    def stop_daemon(self) -> None:
        """End the daemon, if there is one, and wait until it is gone."""
        if not self.control.exists():
            return
        gone = os.pidfd_open(self.daemon_pid())
        try:
            signal.pidfd_send_signal(gone, signal.SIGTERM)
            if not select.select([gone], [], [], LIMIT)[0]:
                raise ServerGoneError("a daemon that was told to end did not")
        finally:
            os.close(gone)
        if self._daemon is not None:
            self._daemon.wait(LIMIT)
            self._daemon = None


@contextlib.contextmanager
def new_home() -> Iterator[Home]:
    """A home that is gone afterwards, with the daemon that ran there."""
    with tempfile.TemporaryDirectory(
        prefix="mcppd-bench-", dir="/tmp"
    ) as directory:  # a socket's path is short
        home = Home(Path(directory))
        try:
            yield home
        finally:
            home.stop_daemon()


def environment(home: Path) -> dict[str, str]:
    """Variables that keep everything of a user below a directory, and no others."""
    places = {"RUNTIME_DIR": "run", "STATE_HOME": "state", "CACHE_HOME": "cache", "CONFIG_HOME": "config"}
    return {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "USER": "bench",
        "LANG": "C.UTF-8",
        **{f"XDG_{name}": str(home / place) for name, place in places.items()},
    }


def manifest(name: str, tools: Sequence[Mapping[str, Any]]) -> str:
    """A manifest as people write it."""
    return yaml.safe_dump({"name": name, "tools": list(tools)}, sort_keys=False)


def echo_tool(description: str = "Says what it is told.") -> dict[str, Any]:
    """The tool `echo`, which peers have too."""
    text = {"type": "string", "description": "What to say"}
    schema = {"type": "object", "properties": {"text": text}, "required": ["text"]}
    return {"name": "echo", "description": description, "inputSchema": schema}


def ordinary_tool(module: str, number: int) -> dict[str, Any]:
    """A tool as there are many: three arguments, a sentence for each."""
    name = f"{module}_tool_{number}"
    properties = {
        "text": {"type": "string", "description": f"The text that {name} works on"},
        "limit": {"type": "integer", "minimum": 1, "maximum": 100, "description": "How many results at most"},
        "mode": {"type": "string", "enum": ["fast", "exact"], "description": "How to look for it"},
    }
    return {
        "name": name,
        "description": f"Looks {name} up in what the project has, and returns what was found, best first.",
        "inputSchema": {"type": "object", "properties": properties, "required": ["text"]},
    }


def _is_at_rest(pid: int) -> bool:
    """Whether neither the daemon nor a worker does anything for a moment."""
    seconds = 0.3
    members = family(pid)
    before = usage(members)
    time.sleep(seconds)
    return members == family(pid) and usage(members).since(before).seconds < RESTING * seconds


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    limit = time.monotonic() + LIMIT
    while not condition():
        if time.monotonic() > limit:
            raise ServerGoneError(f"{condition} did not come true in {LIMIT:g} s")
        time.sleep(0.002)
