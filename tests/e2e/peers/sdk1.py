"""A client of the package `mcp` 1.x."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from mcp import ClientSession, StdioServerParameters, stdio_client  # type: ignore[import-not-found]  # as in sdk2.py

from tests.e2e.peers.line import News, complaints_to, serve


class Sdk:
    """A connected client."""

    def __init__(self, session: Any, revision: str) -> None:
        self._session = session
        self.revision = revision

    async def names(self) -> list[str]:
        return [tool.name for tool in (await self._session.list_tools()).tools]

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        return await self._session.call_tool(name, arguments)

    def listen(self) -> Any:
        raise NotImplementedError("SDK 1.x knows no revision that has it")


async def main(_: str, command: str, *arguments: str) -> None:
    news = News()
    complaints_to(news)
    server = StdioServerParameters(command=command, args=list(arguments))
    async with (
        stdio_client(server) as (reading, writing),
        ClientSession(reading, writing, message_handler=news.note) as session,
    ):
        agreed = await session.initialize()
        await serve(Sdk(session, str(agreed.protocolVersion)), news)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
