"""A legacy client's root is the workspace of its calls, and what happens when that directory isn't there."""

from __future__ import annotations

from pathlib import Path

from tests.harness import Client, Daemon, until

WHERE = """
import os

def execute(tool_name, arguments, context):
    return {"success": True, "result": {"cwd": os.getcwd(), "workspace": context["workspace_dir"]}}
"""


async def rooted(daemon: Daemon, *roots: Path) -> Client:
    """A client that is plain MCP, with these roots."""
    client = await Client.on_socket(daemon.socket)
    await client.handshake(capabilities={"roots": {}})
    await until(lambda: client.requests)
    result = {"roots": [{"uri": root.as_uri()} for root in roots]}
    client.send({"jsonrpc": "2.0", "id": client.requests[0]["id"], "result": result})
    return client


async def test_calls_run_in_the_only_root(daemon: Daemon, tmp_path: Path) -> None:
    daemon.module("here", WHERE, "where")
    root = tmp_path / "a project"
    root.mkdir()
    client = await rooted(daemon, root)
    assert await client.text("where") == f'{{"cwd":"{root}","workspace":"{root}"}}'
    await client.close()


async def test_only_a_local_tool_needs_a_root_that_is_there(daemon: Daemon, tmp_path: Path) -> None:
    daemon.module("here", WHERE, "where")
    daemon.module("anywhere", WHERE, "wherever", scope="global")
    gone = tmp_path / "gone"
    client = await rooted(daemon, gone)
    assert str(gone) in await client.failure("where")
    assert await client.text("wherever") == f'{{"cwd":"/","workspace":"{gone}"}}'
    gone.write_text("a file, no directory")
    assert str(gone) in await client.failure("where")
    assert await client.text("wherever") == f'{{"cwd":"/","workspace":"{gone}"}}'
    gone.unlink()
    gone.mkdir()
    assert await client.text("where") == await client.text("wherever")
    await client.close()
