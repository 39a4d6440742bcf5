"""The Python client of mcppd: what the command line speaks with, and what anybody may speak with.

async with await Client.connect(path_of_mcp_sock) as client:
    tools = await client.list_tools()
    result = await client.call_tool("help", {})
"""

from mcppd.client.client import Client
from mcppd.client.errors import ClientError, ConnectionLostError, NoAnswerError, RefusedError, RemoteError

__all__ = ["Client", "ClientError", "ConnectionLostError", "NoAnswerError", "RefusedError", "RemoteError"]
