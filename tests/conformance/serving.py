"""A daemon that serves the modules of this directory."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

from tests.conformance.bridge import Bridge
from tests.harness import Daemon, running

HERE = Path(__file__).resolve().parent


@contextlib.asynccontextmanager
async def conformance_daemon(home: Path) -> AsyncIterator[Daemon]:
    """A daemon with a copy of the modules, which change on the way."""
    shutil.copytree(
        HERE / "modules", home / "registry" / "modules", ignore=shutil.ignore_patterns("__pycache__")
    )
    async with running(home, registry=(HERE / "tools.yaml").read_text()) as daemon:
        yield daemon


@contextlib.asynccontextmanager
async def conformance_url(home: Path) -> AsyncIterator[str]:
    """The URL at which such a daemon is reached over HTTP, through shims."""
    work = home / "work"
    work.mkdir()
    async with conformance_daemon(home) as daemon, Bridge(daemon, work).serving() as url:
        yield url
