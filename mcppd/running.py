"""The process of a daemon: its event loop and its limits."""

from __future__ import annotations

import asyncio
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
