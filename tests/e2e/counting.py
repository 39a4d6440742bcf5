"""A module whose calls leave marks, and agents of both eras that call it."""

from __future__ import annotations

from typing import Any

from tests.e2e.home import Home
from tests.harness import MODERN, Client, modern, until

COUNTING = """
import os, time

def execute(tool_name, arguments, context=None):
    mark = arguments.get("mark", "")
    descriptor = os.open(os.path.join(os.environ["HOME"], "marks"), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, f"{mark}\\n".encode())
    context["log"]("info", "told")
    if tool_name == "slow":
        time.sleep(60)
    if tool_name == "short":
        time.sleep(0.3)
    while tool_name == "gated" and not os.path.exists(os.path.join(os.environ["HOME"], f"go-{mark}")):
        time.sleep(0.01)
    return {"success": True, "result": f"done {mark}"}
"""
MARK = {"type": "object", "properties": {"mark": {"type": "string"}}}
TOOLS = [
    {"name": name, "description": f"is {name}", "inputSchema": MARK}
    for name in ("quick", "short", "slow", "gated")
]


def marks(home: Home) -> list[str]:
    """What the calls have done, in order."""
    file = home.path / "marks"
    return file.read_text().split() if file.exists() else []


async def began(home: Home, mark: str) -> None:
    await until(lambda: mark in marks(home))


def assert_lives(client: Client) -> None:
    """The agent's server never ended, and said nothing twice."""
    assert client.process is not None
    assert client.process.returncode is None
    assert not client.ended.is_set()
    assert client.count("unasked") == 0


async def opened(home: Home, era: str) -> Client:
    """An agent of an era, with everything that it gets held against its schema."""
    client = await home.shim()
    if era == "legacy":
        await client.handshake()
    else:
        client.revision = MODERN
        await client.result("server/discover", modern())
    return client


def params_of(era: str, **params: Any) -> dict[str, Any]:
    return params if era == "legacy" else modern(**params)
