"""A bar on stderr for a call that reports its progress."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mcppd.cli.output import printable, rich_console
from mcppd.client.connection import Progress

if TYPE_CHECKING:
    from rich import progress


@contextmanager
def progress_bar(name: str) -> Iterator[Progress | None]:
    """What takes the progress of a call; None where no terminal would show it, so that none is asked for."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield None
        return
    bar = Bar(name)
    try:
        yield bar.advance
    finally:
        bar.end()


class Bar:
    """A bar that appears with the first progress and leaves nothing behind."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._shown: progress.Progress | None = None

    def advance(self, done: float, total: float | None, message: str | None) -> None:
        """Show how far it is; without a total the bar only shows that it moves."""
        if self._shown is None:
            self._shown = _start(self._name)
        task = self._shown.task_ids[0]
        self._shown.update(task, completed=done, total=total, description=printable(message or self._name))

    def end(self) -> None:
        """Take the bar away."""
        if self._shown is not None:
            self._shown.stop()


def _start(name: str) -> progress.Progress:
    from rich import progress

    shown = progress.Progress(
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(),
        progress.TaskProgressColumn(markup=False),
        progress.TimeElapsedColumn(),
        console=rich_console(stderr=True),
        transient=True,
    )
    shown.add_task(name, total=None)
    shown.start()
    return shown
