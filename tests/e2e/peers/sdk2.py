"""A client of the package `mcp` 2.x, in its default mode or, told `handshake`, in its mode for older servers."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from mcp import Client, StdioServerParameters  # type: ignore[import-not-found]  # only in the peer's environment

from tests.e2e.peers.line import News, complaints_to, serve


class Sdk:
    """A connected client."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.revision: str = client.protocol_version

    async def names(self) -> list[str]:
        return [tool.name for tool in (await self._client.list_tools()).tools]

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        return await self._client.call_tool(name, arguments)

    def listen(self) -> Any:
        return self._client.listen(tools_list_changed=True)


async def main(mode: str, command: str, *arguments: str) -> None:
    news = News()
    complaints_to(news)
    server = StdioServerParameters(command=command, args=list(arguments))
    options = {"mode": "legacy"} if mode == "handshake" else {}
    async with Client(server, message_handler=news.note, **options) as client:
        await serve(Sdk(client), news)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
