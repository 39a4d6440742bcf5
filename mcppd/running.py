"""The process of a daemon: its event loop, its limits and its terminal."""

from __future__ import annotations

import asyncio
import os
import platform
import resource
from collections.abc import Coroutine
from typing import Any

from mcppd.threads import Threads


def run_loop(main: Coroutine[Any, Any, None]) -> None:
    """On uvloop where it is installed (D18), else on asyncio's own loop."""
    factory = None
    if platform.python_implementation() == "CPython":
        try:
            import uvloop  # noqa: PLC0415 - not everywhere there
        except ImportError:
            pass  # it has no build for this machine
        else:
            factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.get_loop().set_default_executor(Threads())
        runner.run(main)


def raise_descriptor_limit() -> None:
    """As many descriptors as the system lets us have: one for each agent, three for each worker."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


class Terminal:
    """The terminal that this process was started in, if there is one (tty(4))."""

    def __init__(self) -> None:
        self._was_there = _has_terminal()

    @property
    def is_gone(self) -> bool:
        """Whether there was one and isn't any more: it was closed, or its line was lost."""
        return self._was_there and not _has_terminal()

    def forget(self) -> None:
        """Write no more to what is gone, where every write fails: not the last lines, nor the interpreter's end."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for descriptor in (1, 2):
            try:
                os.write(descriptor, b"")
            except OSError:  # EIO, even of nothing (tty_io.c, hung_up_tty_write)
                os.dup2(nowhere, descriptor)
        os.close(nowhere)


def _has_terminal() -> bool:
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY))
    except OSError:  # ENXIO: the process has none, or none any more
        return False
    return True
