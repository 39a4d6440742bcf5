from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.harness import is_left_alone

ROOT = Path(__file__).parents[2]
LIMIT = 20.0


class Terminal:
    """A command that runs on a terminal of its own."""

    def __init__(self, command: list[str], environ: dict[str, str], cwd: Path) -> None:
        self._master, slave = pty.openpty()
        self.process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, env=environ, cwd=cwd, start_new_session=True
        )
        os.close(slave)
        self.shown = ""

    def read_until(self, wanted: str | None = None) -> str:
        """What is shown when the words have come, or at the end."""
        deadline = time.monotonic() + LIMIT
        while wanted is None or wanted not in self.shown:
            if not select.select([self._master], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise AssertionError(f"{wanted!r} never came: {self.shown!r}")
            try:
                data = os.read(self._master, 65536)
            except OSError:  # EIO: nobody has the other side any more
                break
            self.shown += data.decode()
        return self.shown

    def end(self) -> int:
        """The exit status."""
        self.read_until()
        return self.process.wait(LIMIT)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._master)


class Cli:
    """Runs `mcppd` against a daemon at a socket of the test's own."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.socket = directory / "s" / "mcp.sock"
        self.socket.parent.mkdir(mode=0o700)
        self.script = self.install("bin")
        (directory / "home").mkdir()  # another directory than the commands run in: home is no workspace
        self.environ = {
            "PATH": f"{self.script.parent}:{os.environ['PATH']}",
            "HOME": str(directory / "home"),
            "PYTHONPATH": f"{ROOT}:{ROOT / '.ci' / 'links'}",
            "TERM": "xterm",
            "COLUMNS": "100",
        }
        self.terminals: list[Terminal] = []

    def install(self, directory: str) -> Path:
        """The script `mcppd`, as an installer writes it, in a new directory."""
        path = self.directory / directory / "mcppd"
        path.parent.mkdir(parents=True)
        path.write_text(f"#!{sys.executable}\nimport sys\nfrom mcppd.cli import main\nsys.exit(main())\n")
        path.chmod(0o755)
        return path

    def command(self, name: str, *words: str) -> list[str]:
        return [str(self.script), name, "--socket", str(self.socket), *words]

    def run(
        self, name: str, *words: str, text: str = "", environ: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return self.run_plain(*self.command(name, *words)[1:], text=text, environ=environ)

    def run_plain(
        self, *words: str, text: str = "", environ: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.script), *words],
            input=text,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            env=self.environ | (environ or {}),
            cwd=self.directory,
            check=False,
        )

    def start(self, name: str, *words: str, **more: Any) -> subprocess.Popen[bytes]:
        command = self.command(name, *words)
        return subprocess.Popen(command, env=self.environ, cwd=self.directory, start_new_session=True, **more)

    def on_terminal(self, name: str, *words: str, environ: dict[str, str] | None = None) -> Terminal:
        terminal = Terminal(self.command(name, *words), self.environ | (environ or {}), self.directory)
        self.terminals.append(terminal)
        return terminal

    def received(self) -> list[dict[str, Any]]:
        """Every message that the fake daemon has got."""
        record = Path(f"{self.socket}.record")
        return [json.loads(line) for line in record.read_text().splitlines()] if record.exists() else []

    def answer(self, **answers: dict[str, Any]) -> None:
        """What the fake daemon's control answers say from now on."""
        Path(f"{self.socket}.answers").write_text(json.dumps(answers))


@pytest.fixture
def wait_for() -> Callable[[Callable[[], Any], str], None]:
    """Looks at a condition until it holds."""

    def wait(holds: Callable[[], Any], what: str) -> None:
        deadline = time.monotonic() + LIMIT
        while not holds():
            assert time.monotonic() < deadline, f"never: {what}"
            select.select([], [], [], 0.01)

    return wait


@pytest.fixture
def cli(tmp_path: Path, wait_for: Callable[[Callable[[], Any], str], None]) -> Iterator[Cli]:
    cli = Cli(tmp_path)
    yield cli
    for terminal in cli.terminals:
        terminal.close()
    wait_for(lambda: is_left_alone(tmp_path / "home"), "every daemon ended")


@pytest.fixture
def fake(cli: Cli) -> Iterator[subprocess.Popen[str]]:
    """The fake daemon, running."""
    script = str(Path(__file__).parent / "fake_daemon.py")
    process = subprocess.Popen([sys.executable, script, str(cli.socket)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    yield process
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
