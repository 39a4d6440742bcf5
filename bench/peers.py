"""The other servers that stand beside mcppd, each in a virtual environment of its own."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

SERVERS: Final = Path(__file__).with_name("servers")
JSON_LOOP: Final = [sys.executable, str(SERVERS / "json_loop.py")]
"""The floor of a call: a loop of the standard library that answers what an MCP server has to."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A server that is measured beside ours."""

    name: str
    command: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Peers:
    """Those that are there; `missing` says why another is not."""

    servers: tuple[Peer, ...]
    hot: Peer | None  # mcp-hmr, which reloads too
    missing: tuple[str, ...]

    def named(self, name: str) -> Peer | None:
        """One of the servers."""
        return next((peer for peer in self.servers if peer.name.startswith(name)), None)


def find_peers(directory: Path | None) -> Peers:
    """The peers that `.ci/peers DIR` made, and mcp-hmr if somebody made `DIR/mcp-hmr` with Python 3.12."""
    found: list[Peer] = []
    missing: list[str] = []
    for name, venv, script in (("mcp", "mcp2", "mcp_server.py"), ("fastmcp", "fastmcp", "fastmcp_server.py")):
        python = _python(directory, venv)
        if python is None:
            missing.append(f"{name} is left out: `.ci/peers DIR` makes DIR/{venv}, and --peers DIR names it")
        else:
            found.append(Peer(f"{name} {_version(python, name)}", (python, str(SERVERS / script))))
    hot = _hot(directory)
    if hot is None:
        missing.append(
            "mcp-hmr is left out: it needs Python 3.12; python3.12 -m venv DIR/mcp-hmr && "
            "DIR/mcp-hmr/bin/pip install mcp-hmr"
        )
    return Peers(tuple(found), hot, tuple(missing))


def _hot(directory: Path | None) -> Peer | None:
    python = _python(directory, "mcp-hmr")
    if python is None:
        return None
    return Peer(f"mcp-hmr {_version(python, 'mcp_hmr')}", (python, "-m", "mcp_hmr", "hot_app.py:app"))


def _python(directory: Path | None, venv: str) -> str | None:
    python = directory / venv / "bin" / "python" if directory is not None else None
    return str(python) if python is not None and python.exists() else None


def _version(python: str, package: str) -> str:
    """From the directory that pip made; asking the interpreter would take a second."""
    places = Path(python).parent.parent.glob(f"lib/python3*/site-packages/{package}-*.dist-info")
    return next((place.name.removesuffix(".dist-info").rpartition("-")[2] for place in places), "?")
