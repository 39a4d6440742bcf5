"""What the tests of the shim stand on: real shims, and a real listening socket in the daemon's place."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final, TypeAlias

ROOT: Final = Path(__file__).resolve().parents[2]
SHIM: Final = ROOT / "shim"
PLAIN: Final = (sys.executable, "-I", "-S", str(SHIM / "__main__.py"))
MODULE: Final = (sys.executable, "-m", "shim")
END: Final = b'{"jsonrpc":"2.0","method":"mcppd/end"}\n'
IDLE: Final = "import time; time.sleep(1000)"  # a daemon that is started and never serves
LIMIT: Final = 20.0  # seconds; far above anything measured, so only a fault reaches it
STDERR_LIMIT: Final = 4096  # F5

File: TypeAlias = int | IO[bytes]


def eventually(condition: Callable[[], bool], what: str, seconds: float = LIMIT) -> None:
    """Wait until the condition holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        select.select([], [], [], 0.005)


def is_running(pid: int) -> bool:
    """A process that can still do something; one that only waits to be reaped can't."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def _marks(pid: int) -> bytes:
    """What tells whose a process is."""
    try:
        return b"".join([Path(f"/proc/{pid}/{name}").read_bytes() for name in ("cmdline", "environ")])
    except OSError:
        return b""


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Peer:
    """The daemon's end of one shim's connection."""

    def __init__(self, connection: socket.socket) -> None:
        connection.settimeout(LIMIT)
        self.connection = connection
        self.buffer = b""

    def read_line(self) -> bytes:
        while b"\n" not in self.buffer:
            data = self.connection.recv(65536)
            assert data, f"the shim ended within a line: {self.buffer[-200:]!r}"
            self.buffer += data
        line, _, self.buffer = self.buffer.partition(b"\n")
        return line + b"\n"

    def read_hello(self) -> dict[str, Any]:
        line = self.read_line()
        assert line.isascii()
        hello: dict[str, Any] = json.loads(line)
        assert {key: hello[key] for key in ("jsonrpc", "method")} == {
            "jsonrpc": "2.0",
            "method": "mcppd/hello",
        }
        assert set(hello) == {"jsonrpc", "method", "params"}
        params: dict[str, Any] = hello["params"]
        return params

    def read_rest(self) -> bytes:
        """Everything up to the end of what the shim sends."""
        parts = [self.buffer]
        self.buffer = b""
        while data := self.connection.recv(1 << 20):
            parts.append(data)
        return b"".join(parts)

    def send(self, data: bytes) -> None:
        self.connection.sendall(data)

    def echo(self) -> None:
        """Send back all that comes, as fast as it is taken; then close."""
        while data := self.buffer or self.connection.recv(65536):
            self.buffer = b""
            self.send(data)
        self.close()

    def is_closed(self) -> bool:
        """Whether the shim is gone (what it sent before is thrown away)."""
        self.connection.setblocking(False)
        try:
            while self.connection.recv(65536):
                pass
        except BlockingIOError:
            return False
        except ConnectionResetError:
            return True
        finally:
            self.connection.settimeout(LIMIT)
        return True

    def close(self) -> None:
        self.connection.close()


class Listener:
    """A socket where a daemon's would be."""

    def __init__(self, path: str, backlog: int = 64) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.bind(path)
        self.socket.listen(backlog)
        self.socket.settimeout(LIMIT)
        self.peers: list[Peer] = []

    def accept(self) -> Peer:
        peer = Peer(self.socket.accept()[0])
        self.peers.append(peer)
        return peer

    def close(self) -> None:
        for peer in self.peers:
            peer.close()
        self.socket.close()


class Host:
    """An agent that has started a shim."""

    def __init__(self, command: Sequence[str], options: Mapping[str, Any]) -> None:
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115  # closed in `close`
        self.process = subprocess.Popen(command, stderr=self.errors, **options)

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def stdin(self) -> IO[bytes]:
        assert self.process.stdin is not None
        return self.process.stdin

    @property
    def stdout(self) -> IO[bytes]:
        assert self.process.stdout is not None
        return self.process.stdout

    def write(self, data: bytes) -> None:
        self.stdin.write(data)
        self.stdin.flush()

    def wait(self) -> int:
        return self.process.wait(LIMIT)

    def stderr(self) -> str:
        self.errors.seek(0)
        return self.errors.read().decode()

    def close(self) -> None:
        """End it, and hold it to what holds for every shim at any time."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(LIMIT)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None and not pipe.closed:
                pipe.close()
        said = self.stderr()
        self.errors.close()
        assert len(said) < STDERR_LIMIT
        assert "Traceback" not in said


class World:
    """One user's directories (by a short path: a socket takes 107 bytes), all that was started there."""

    def __init__(self) -> None:
        self.base = Path(tempfile.mkdtemp(prefix="ms-", dir="/tmp"))
        self.runtime = self.base / "run"
        self.home = self.base / "home"
        self.state = self.base / "state"
        self.tree = self.base / "tree"
        for directory in (self.runtime, self.home, self.state, self.runtime / "mcppd"):
            directory.mkdir(0o700)
        self.environ = {
            "HOME": str(self.home),
            "LANG": "C.UTF-8",  # else Python sets LC_CTYPE in its own environment (PEP 538)
            "PATH": "/usr/bin:/bin",
            "XDG_RUNTIME_DIR": str(self.runtime),
            "XDG_STATE_HOME": str(self.state),
        }
        self.closing: list[Host | Listener] = []

    @property
    def socket_path(self) -> str:
        return str(self.runtime / "mcppd" / "mcp.sock")

    @property
    def log(self) -> Path:
        return self.state / "mcppd" / "daemon.log"

    def listen(self, path: str | None = None, backlog: int = 64) -> Listener:
        listener = Listener(path or self.socket_path, backlog)
        self.closing.append(listener)
        return listener

    def listen_again(self) -> Listener:
        """In the place of a listener that was closed, whose file is still there."""
        Path(self.socket_path).unlink()
        return self.listen()

    def start(
        self,
        *arguments: str,
        form: Sequence[str] = PLAIN,
        environ: Mapping[str, str] | Mapping[bytes, bytes] | None = None,
        stdin: File = subprocess.PIPE,
        stdout: File = subprocess.PIPE,
        **options: Any,
    ) -> Host:
        options.setdefault("cwd", ROOT if form is MODULE else self.home)
        environ = self.environ if environ is None else environ
        host = Host(
            [*form, *arguments],
            {"env": environ, "stdin": stdin, "stdout": stdout, "restore_signals": True, **options},
        )
        self.closing.append(host)
        return host

    def connect(self, *arguments: str, **options: Any) -> tuple[Host, Peer]:
        """A shim and a daemon's end that has read its hello."""
        listener = self.listen()
        host = self.start(*arguments, **options)
        peer = listener.accept()
        peer.read_hello()
        return host, peer

    def plant(self, daemon: str = IDLE, **constants: float) -> Sequence[str]:
        """A tree of its own with the shim and another daemon beside it; how to start that shim.

        Constants of the shim can be made shorter there, so that a test needn't wait for what people wait for.
        """
        shutil.copytree(SHIM, self.tree / "shim", ignore=shutil.ignore_patterns("__pycache__"))
        for name, value in constants.items():
            (file,) = [
                path
                for path in (self.tree / "shim").glob("*.py")
                if f"\n{name}: Final = " in path.read_text()
            ]
            text = file.read_text()
            (line,) = [line for line in text.splitlines() if line.startswith(f"{name}: ")]
            file.write_text(text.replace(line, f"{name} = {value}"))
        (self.tree / "mcppd").mkdir()
        (self.tree / "mcppd" / "__main__.py").write_text(daemon)
        return (sys.executable, "-I", "-S", str(self.tree / "shim" / "__main__.py"))

    def starts(self) -> list[dict[str, Any]]:
        """What each daemon out of the planted tree wrote down about itself."""
        return [json.loads(path.read_text()) for path in sorted(self.tree.glob("started-*.json"))]

    def _end_planted(self) -> bool:
        """Kill the daemons of our own place, which no other process names; whether none was left."""
        mark = os.fsencode(self.base)
        left = [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if mark in _marks(pid)]
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return not left

    def close(self) -> None:
        faults: list[BaseException] = []
        for each in sorted(
            self.closing, key=lambda each: isinstance(each, Listener)
        ):  # nobody starts a daemon then
            try:
                each.close()
            except AssertionError as fault:
                faults.append(fault)
        eventually(self._end_planted, "what was started in the tree has ended")
        shutil.rmtree(self.base)
        if faults:
            raise faults[0]
