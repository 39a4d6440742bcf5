"""The terminal while a view has it: its other screen, no cursor, no echo; and as it was before, whatever happens."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import termios
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

from rich.console import Console, ConsoleDimensions, RenderableType
from rich.live import Live

from mcppd.cli.dev_pen import Pen

USUAL: Final = os.terminal_size((80, 24))
"""The size of a terminal that doesn't know its own."""

_IFLAG, _LFLAG = 0, 3  # where they are in what tcgetattr(3) gives


class Screen:
    """A context in which pictures are drawn on the whole terminal."""

    def __init__(self, pen: Pen) -> None:
        self._descriptor = sys.stdout.fileno()
        self._pen = pen
        self._console = Console(
            file=_Paper(pen),
            force_terminal=True,
            markup=False,
            emoji=False,
            highlight=False,
            legacy_windows=False,
        )
        self._live = Live(
            console=self._console,
            screen=True,
            auto_refresh=False,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._before: list[int | list[bytes | int]] | None = None

    def __enter__(self) -> Self:
        self._take()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._give_back()

    def draw(self, make: Callable[[os.terminal_size], RenderableType]) -> None:
        """Fill the screen with what is made for its size; as soon as the terminal takes it, and in the pen's thread."""

        def fill() -> None:
            size = self._size()
            self._console.size = ConsoleDimensions(size.columns, size.lines)
            self._live.update(make(size), refresh=True)

        self._pen.do(fill)

    def suspend(self) -> None:
        """Stop this process, as Ctrl-Z does, with the terminal given back until it goes on."""
        self._give_back()
        os.kill(os.getpid(), signal.SIGSTOP)
        self._take()

    def _take(self) -> None:
        with contextlib.suppress(termios.error):  # it hung up
            self._before = termios.tcgetattr(self._descriptor)
            mode = termios.tcgetattr(self._descriptor)
            mode[_LFLAG] &= ~(termios.ECHO | termios.ECHONL)  # keys would be written into the picture
            mode[_IFLAG] &= ~termios.IXON  # Ctrl-S has nothing to hold that scrolls
            termios.tcsetattr(self._descriptor, termios.TCSANOW, mode)
        self._pen.do(self._live.start)

    def _give_back(self) -> None:
        self._pen.do(self._live.stop)
        self._pen.finish()
        with contextlib.suppress(termios.error):
            termios.tcflush(self._descriptor, termios.TCIFLUSH)  # keys that were meant for the view
            if self._before is not None:
                termios.tcsetattr(self._descriptor, termios.TCSANOW, self._before)

    def _size(self) -> os.terminal_size:
        """Columns and lines, as they are now."""
        try:
            size = os.get_terminal_size(self._descriptor)
        except OSError:  # it hung up
            return USUAL
        return size if size.columns and size.lines else USUAL


class _Paper(io.StringIO):
    """What rich writes on; whenever it has finished something, that is written in one piece."""

    def __init__(self, pen: Pen) -> None:
        super().__init__()
        self._pen = pen

    def flush(self) -> None:
        text = self.getvalue()
        self.seek(0)
        self.truncate()
        if text:
            self._pen.write(text)
