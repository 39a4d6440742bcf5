"""A person's first registry is served as soon as it is there."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from tests.harness import REPOSITORY, Client, clean_environment, until


async def test_the_first_registry_of_a_person_takes_over_from_the_bundled_one(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir(mode=0o700)
    socket = tmp_path / "run" / "mcppd" / "mcp.sock"
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(REPOSITORY / "mcppd" / "__main__.py"),
        "serve",
        env=clean_environment(tmp_path),
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        await until(socket.exists)
        client = await Client.on_socket(socket)
        await client.handshake()
        assert "what_add" in await client.tools()
        client.notifications.clear()
        module = tmp_path / "config" / "mcppd" / "mine"
        module.mkdir(parents=True)
        (module / "tool.yaml").write_text("name: mine\ntools:\n  - {name: mine, description: mine}\n")
        (module / "mcpptool.py").write_text(
            "def execute(tool_name, arguments, context=None):\n    return {'success': True, 'result': 'mine'}\n"
        )
        (tmp_path / "config" / "mcppd" / "tools.yaml").write_text("modules: [mine]\n")
        await client.notified("notifications/tools/list_changed")
        assert sorted(await client.tools()) == ["help", "mine"]
        await client.close()
    finally:
        process.terminate()
        await process.wait()
