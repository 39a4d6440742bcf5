"""A terminal of a size, and what is to be seen on it: as much of a VT100 as the live view speaks."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

LIMIT = 20.0

SEQUENCE = re.compile(rb"\x1b\[([?0-9;]*)([A-Za-z])")


class Grid:
    """The characters of one screen."""

    def __init__(self, columns: int, lines: int) -> None:
        self.columns, self.lines = columns, lines
        self.rows = [[" "] * columns for _ in range(lines)]
        self.row = self.column = 0
        self.scrolled = 0

    def home(self) -> None:
        self.row = self.column = 0

    def put(self, character: str) -> None:
        match character:
            case "\r":
                self.column = 0
            case "\n":
                self._feed()
            case _:
                if self.column == self.columns:  # the line before is full
                    self.column = 0
                    self._feed()
                self.rows[self.row][self.column] = character
                self.column += 1

    def _feed(self) -> None:
        if self.row < self.lines - 1:
            self.row += 1
            return
        self.scrolled += 1
        self.rows = [*self.rows[1:], [" "] * self.columns]

    def shown(self) -> list[str]:
        return ["".join(row).rstrip() for row in self.rows]


class Screen:
    """A process on a terminal of its own, which is the controlling one as a person's is."""

    def __init__(
        self, command: list[str], environ: dict[str, str], cwd: Path, columns: int, lines: int
    ) -> None:
        self._master, slave = pty.openpty()
        self._size(columns, lines)
        self.before = termios.tcgetattr(slave)
        self.process = subprocess.Popen(
            command,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environ,
            cwd=cwd,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509 - no other thread holds a lock here
        )
        self._slave = slave  # held, so that its settings can be looked at when the process has ended
        self.usual = Grid(columns, lines)
        self.other: Grid | None = None  # the alternate screen, while it is shown
        self.cursor = True
        self.scrolled = 0  # lines that any alternate screen has lost
        self._rest = b""

    @property
    def grid(self) -> Grid:
        return self.other or self.usual

    @property
    def lines(self) -> list[str]:
        """What is to be seen."""
        return self.grid.shown()

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def settings(self) -> list[Any]:
        """How the terminal treats what is typed."""
        return termios.tcgetattr(self._slave)

    def resize(self, columns: int, lines: int) -> None:
        """Take another size, as a window does; what was shown is lost."""
        self._read(0.0)
        self.usual = Grid(columns, lines)
        self.other = self.other and Grid(columns, lines)
        self._size(columns, lines)

    def type(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def typed(self) -> bytes:
        """What was typed and nobody has read."""
        return os.read(self._slave, 1000) if select.select([self._slave], [], [], 0.0)[0] else b""

    def wait(self, holds: Callable[[], Any], what: str) -> None:
        """Read until something holds."""
        deadline = time.monotonic() + LIMIT
        while not holds():
            assert time.monotonic() < deadline, f"never: {what}; there is\n{self.text}"
            self._read(0.05)

    def wait_for(self, *words: str) -> None:
        """Read until all of these are to be seen at once."""
        self.wait(lambda: all(each in self.text for each in words), f"{words}")

    def line(self, word: str) -> str:
        """The line in which something is to be seen."""
        return next(line for line in self.lines if word in line)

    def end(self) -> int:
        """The exit status."""
        self.wait(lambda: self.process.poll() is not None, "the end")
        self._read(0.0)
        return self.process.returncode

    def hang_up(self) -> int:
        """Close the terminal, as a window is closed; the exit status."""
        os.close(self._master)
        os.close(self._slave)
        self._master = self._slave = -1
        return self.process.wait(LIMIT)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        for descriptor in (self._master, self._slave):
            if descriptor >= 0:
                os.close(descriptor)

    def _size(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("4H", lines, columns, 0, 0))

    def _read(self, limit: float) -> None:
        while select.select([self._master], [], [], limit)[0]:
            try:
                self._take(self._rest + os.read(self._master, 65536))
            except OSError:  # EIO: nobody has the other side any more
                return
            limit = 0.0

    def _take(self, data: bytes) -> None:
        position = 0
        while position < len(data):
            if data[position : position + 1] == b"\x1b":
                found = SEQUENCE.match(data, position)
                if found is None:
                    break  # the rest of it is still to come
                self._obey(found[1].decode(), found[2].decode())
                position = found.end()
                continue
            length = _length(data[position])
            if position + length > len(data):
                break
            self.grid.put(data[position : position + length].decode())
            position += length
        self._rest = data[position:]

    def _obey(self, values: str, command: str) -> None:
        match command, values:
            case "m", _:
                pass  # colors
            case "H", "" | "1;1" | "0;0":
                self.grid.home()
            case "h", "?1049":
                self.other = Grid(self.usual.columns, self.usual.lines)
            case "l", "?1049":
                assert self.other is not None
                self.scrolled += self.other.scrolled
                self.other = None
            case (("h" | "l"), "?25"):
                self.cursor = command == "h"
            case _:
                raise AssertionError(f"an unknown sequence: {values}{command}")


def _length(first: int) -> int:
    """Bytes of a character in UTF-8, by its first."""
    return 1 if first < 0x80 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4


def state_of(pid: int) -> str:
    """A process's state: T after Ctrl-Z, Z when it has ended but isn't reaped (proc(5), stat)."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def go_on(pid: int) -> None:
    os.kill(pid, signal.SIGCONT)
