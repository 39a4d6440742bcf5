"""Clients that run on Node.js, and the one that is a program of its own: where `.ci/peers` put them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

CONFORMANCE = "@modelcontextprotocol/conformance/dist/index.js"
INSPECTOR = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
CLAUDE = "@anthropic-ai/claude-code/bin/claude.exe"


def node(script: str) -> list[str]:
    """The beginning of a command that runs a script of an installed package."""
    return [str(_installed("node", "bin", "node")), str(_installed("npm", "node_modules", script))]


def program(path: str) -> list[str]:
    """The beginning of a command that runs a program of an installed package."""
    return [str(_installed("npm", "node_modules", path))]


def python_script(venv: str, name: str) -> list[str]:
    """The beginning of a command that runs a script of a virtual environment."""
    return [str(_installed(venv, "bin", name))]


def _installed(*parts: str) -> Path:
    """A file below MCPPD_PEERS; skips the test where it isn't."""
    peers = os.environ.get("MCPPD_PEERS")
    if not peers:
        pytest.skip("MCPPD_PEERS names no directory of real clients: `.ci/peers DIR` makes one")
    path = Path(peers, *parts)
    if not path.exists():
        pytest.skip(f"there is no {path}: `.ci/peers {peers}` makes it")
    return path
