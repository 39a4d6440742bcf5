"""A client on one end of a pair of sockets, whose other end is the stdin and stdout of a server."""

from __future__ import annotations

import asyncio
import socket
import sys

import pytest

from mcppd.client import Client, ConnectionLostError

SERVER = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    if request["method"] == "end":
        break
    result = {"method": request["method"], "meta": sorted(request["params"]["_meta"])}
    print(json.dumps({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}))
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"""


async def test_a_client_speaks_as_an_agent_with_a_process_until_that_ends() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        server = await asyncio.create_subprocess_exec(
            sys.executable, "-c", SERVER, stdin=theirs.fileno(), stdout=theirs.fileno()
        )
    heard = []
    async with await Client.attach(ours) as client:
        client.notifications = lambda method, _: heard.append(method)
        result = await client.request("server/discover")
        assert result["method"] == "server/discover"
        assert "io.modelcontextprotocol/protocolVersion" in result["meta"]
        assert heard == ["notifications/tools/list_changed"]
        with pytest.raises(ConnectionLostError):
            await client.request("end")
    assert await server.wait() == 0
