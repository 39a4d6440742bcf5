"""A client of the package `fastmcp`, in its default mode."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from fastmcp import Client  # type: ignore[import-not-found]  # only in the peer's environment
from fastmcp.client.transports import StdioTransport  # type: ignore[import-not-found]
from mcp.client.subscriptions import listen  # type: ignore[import-not-found]

from tests.e2e.peers.line import News, complaints_to, serve


class Sdk:
    """A connected client."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.revision: str = client.protocol_version

    async def names(self) -> list[str]:
        return [tool.name for tool in await self._client.list_tools()]

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        return await self._client.call_tool_mcp(name, arguments)

    def listen(self) -> Any:
        """Of the SDK that it stands on: fastmcp itself has no word for it."""
        return listen(self._client.session, tools_list_changed=True)


async def main(_: str, command: str, *arguments: str) -> None:
    news = News()
    complaints_to(news, "fastmcp")
    transport = StdioTransport(command, list(arguments))
    async with Client(transport, message_handler=news.note) as client:
        await serve(Sdk(client), news)
    await transport.close()  # it keeps its server for the next client


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
