"""The daemon's end of a worker's wire, for tests: real processes, real frames, every wait bounded."""

from __future__ import annotations

import json
import os
import select
import shutil
import socket
import struct
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import pytest

import mcppd.workers.child

CHILD = str(Path(mcppd.workers.child.__file__).parent)
LIMIT = 20.0  # seconds any wait may take
HEADER = struct.Struct(">II")


def interpreter(version: str) -> str | None:
    """The path of a Python of that version, if the machine has one."""
    if sys.version_info[:2] == tuple(map(int, version.split("."))):
        return sys.executable
    found = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python{version}"))
    python = str(found[-1]) if found else shutil.which(f"python{version}")
    if python is None:
        return None
    # a name on the PATH may be a version manager's that leads nowhere
    works = subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0
    return python if works else None


INTERPRETERS = [
    pytest.param(interpreter(version), id=version)
    if interpreter(version)
    else pytest.param(
        None, id=version, marks=pytest.mark.skip(reason=f"optional: there is no Python {version}")
    )
    for version in dict.fromkeys(("3.10", "3.13", f"{sys.version_info[0]}.{sys.version_info[1]}"))
]
"""The oldest and the newest Python that tools may run on, and this one."""
ENDS = INTERPRETERS[:2] if interpreter("3.10") or interpreter("3.13") else INTERPRETERS
"""The oldest and the newest alone, for what hardly depends on it; this one is what the spawner forks."""


def write_module(directory: Path, *source: str, **files: str) -> Path:
    """Write a module: its entry file out of parts, and others by their names without `.py`, `__` for `/`."""
    parts = "\n".join(map(textwrap.dedent, source))
    for name, text in {"mcpptool": parts, **files}.items():
        path = directory / (
            name.replace("__init__", "init").replace("__", "/").replace("init", "__init__") + ".py"
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    return directory


def wait_until(condition: Callable[[], Any], what: str) -> Any:
    """The first true value of a condition."""
    end = time.monotonic() + LIMIT
    while not (value := condition()):
        assert time.monotonic() < end, f"not within {LIMIT} s: {what}"
        select.select([], [], [], 0.005)
    return value


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that has only not been reaped doesn't."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


@dataclass
class Result:
    """A worker's answer to a call."""

    head: dict[str, Any]
    blob: bytes

    @property
    def error(self) -> bool:
        return bool(self.head["error"])

    @property
    def content(self) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = json.loads(self.blob[: self.head["content"]], parse_constant=_refuse)
        return items

    @property
    def structured(self) -> Any:
        if self.head["structured"] is None:
            assert len(self.blob) == self.head["content"]
            return None
        return json.loads(self.blob[self.head["content"] :], parse_constant=_refuse)

    @property
    def text(self) -> str:
        return str(self.content[0]["text"])

    @property
    def body(self) -> Any:
        """The whole answer of a function that isn't `execute`."""
        assert not self.error, self.text
        return json.loads(self.blob, parse_constant=_refuse)

    @property
    def value(self) -> Any:
        assert not self.error, self.text
        return json.loads(self.text, parse_constant=_refuse)


def _refuse(constant: str) -> Any:
    raise AssertionError(f"{constant} is no JSON")


@dataclass
class Wire:
    """The daemon's end of one wire."""

    socket: socket.socket
    said: list[tuple[dict[str, Any], bytes]] = field(default_factory=list)  # everything but the replies
    calls: int = 0

    def load(
        self,
        directory: Path,
        files: Mapping[str, bytes] | None = None,
        search: Sequence[str] = (),
        name: str = "mcpp_tools.tested",
        needs: Sequence[str] = ("execute",),
    ) -> None:
        """Hand over a generation: the files given, else the sources that lie in the directory."""
        if files is None:
            files = {str(path): path.read_bytes() for path in sorted(directory.rglob("*.py"))}
        head = {
            "op": "load",
            "module": "tested",
            "directory": str(directory),
            "entry": str(directory / "mcpptool.py"),
            "files": [[path, len(content)] for path, content in files.items()],
            "search": list(search),
            "needs": list(needs),
            "secrets": ["SECRET", "SHORT"],
            "import_name": name,
        }
        self.send(head, b"".join(files.values()))

    def prepare(self, *, run: bool) -> dict[str, Any]:
        self.send({"op": "prepare", "run": run})
        return self.reply("prepared")[0]

    def call(self, tool: str = "tool", arguments: Mapping[str, Any] | None = None, **request: Any) -> Result:
        return self.result(self.begin(tool, arguments, **request))

    def begin(self, tool: str = "tool", arguments: Mapping[str, Any] | None = None, **request: Any) -> int:
        self.calls += 1
        head = {
            "op": "call",
            "id": self.calls,
            "kind": "execute",
            "given": [tool, dict(arguments or {})] if request.get("kind", "execute") == "execute" else [],
            "context": {"workspace_dir": "/w", "module_dir": "/m", "module_scope": "local"},
            "env": None,
            "cwd": None,
            "structured": False,
            "progress": False,
            "log": "debug",
        }
        self.send(head | request)
        return self.calls

    def result(self, number: int) -> Result:
        head, blob = self.reply("result")
        assert head["id"] == number
        return Result(head, blob)

    def cancel(self, number: int) -> None:
        self.send({"op": "cancel", "id": number})

    def ask(self, function: str, *given: Any, **request: Any) -> Result:
        """Call one of the module's other functions."""
        return self.call(kind=function, given=given, **request)

    def question(self) -> dict[str, Any]:
        """The next questions that its call asks."""
        return self.reply("ask")[0]

    def answer(self, question: Mapping[str, Any], **reply: Any) -> None:
        """Answer questions: with `result=[…]` or `error="…"`."""
        self.send({"op": "reply", "id": question["id"], "question": question["question"], **reply})

    @property
    def logged(self) -> list[tuple[str, Any]]:
        """The log messages so far: level and data."""
        return [(head["level"], json.loads(blob)) for head, blob in self.said if head["op"] == "log"]

    def ops(self, name: str) -> list[dict[str, Any]]:
        return [head for head, _ in self.said if head["op"] == name]

    @property
    def joined(self) -> dict[str, bytes]:
        files: dict[str, bytes] = {}
        for head, blob in self.said:
            start = 0
            for path, size in head["files"] if head["op"] == "joined" else ():
                files[path] = blob[start : start + size]
                start += size
        return files

    def send(self, head: Mapping[str, Any], blob: bytes = b"") -> None:
        text = json.dumps(head).encode()
        self.socket.sendall(HEADER.pack(len(text), len(blob)) + text + blob)

    def reply(self, op: str) -> tuple[dict[str, Any], bytes]:
        """The next frame of a kind; those before it are kept in `said`."""
        while (frame := self.receive())[0]["op"] != op:
            self.said.append(frame)
        return frame

    def receive(self) -> tuple[dict[str, Any], bytes]:
        text_size, blob_size = HEADER.unpack(self._exactly(HEADER.size))
        text = self._exactly(text_size)
        return json.loads(text.decode(), parse_constant=_refuse), self._exactly(blob_size)

    def is_silent(self) -> bool:
        return not select.select([self.socket], [], [], 0)[0]

    def _exactly(self, size: int) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            part = self.socket.recv(min(size - len(parts), 1 << 20))
            if not part:
                raise EOFError
            parts += part
        return bytes(parts)


class Child(Wire):
    """A worker process started the way another interpreter starts it."""

    def __init__(
        self, directory: Path, python: str = sys.executable, env: Mapping[str, str] | None = None
    ) -> None:
        ours, theirs = socket.socketpair()
        ours.settimeout(LIMIT)
        super().__init__(ours)
        self.python = python
        self.log = directory / "output.log"
        with theirs, self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [python, "-E", "-B", CHILD, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(theirs.fileno(),),
                env={"PATH": os.environ["PATH"], "HOME": str(directory)} | dict(env or {}),
                cwd="/",
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()
        try:
            self.process.wait(LIMIT)
        finally:
            self.process.kill()
            self.process.wait(LIMIT)

    @property
    def output(self) -> str:
        return self.log.read_text(errors="replace")

    def write_and_load(self, *source: str, needs: Sequence[str] = ("execute",), **files: str) -> Path:
        """Write a module and hand it over."""
        module = write_module(self.log.parent / "module", *source, **files)
        self.load(module, needs=needs)
        return module

    def end(self) -> int:
        """Close the wire: its exit status."""
        self.socket.close()
        return self.process.wait(LIMIT)
