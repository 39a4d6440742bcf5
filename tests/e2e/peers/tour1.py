"""The tour with the package `mcp` 1.x."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator
from typing import Any

from mcp import ClientSession, StdioServerParameters, stdio_client, types  # type: ignore[import-not-found]
from pydantic import AnyUrl

from tests.e2e.peers.tour import ANSWER, ROOT, WORDS, Log, go


class Sdk:
    """A connected client."""

    def __init__(self, session: Any, revision: str) -> None:
        self._session = session
        self.revision = revision

    async def tools(self) -> Any:
        return await self._session.list_tools()

    async def call(self, name: str, arguments: dict[str, Any], on_progress: Any = None) -> Any:
        return await self._session.call_tool(name, arguments, progress_callback=on_progress)

    async def prompts(self) -> Any:
        return await self._session.list_prompts()

    async def prompt(self, name: str, arguments: dict[str, str]) -> Any:
        return await self._session.get_prompt(name, arguments)

    async def resources(self) -> Any:
        return await self._session.list_resources()

    async def templates(self) -> Any:
        return await self._session.list_resource_templates()

    async def read(self, uri: str) -> Any:
        return await self._session.read_resource(AnyUrl(uri))

    async def complete(self, kind: str, name: str, argument: str, value: str) -> Any:
        prompt = kind == "ref/prompt"
        reference = types.PromptReference if prompt else types.ResourceTemplateReference
        ref = reference(type=kind, **{"name" if prompt else "uri": name})
        return await self._session.complete(ref, {"name": argument, "value": value})

    @contextlib.asynccontextmanager
    async def watching(self, uri: str) -> AsyncIterator[None]:
        await self._session.subscribe_resource(AnyUrl(uri))
        yield
        await self._session.unsubscribe_resource(AnyUrl(uri))


async def sample(_: Any, params: Any) -> Any:
    content = types.TextContent(type="text", text=WORDS)
    return types.CreateMessageResult(role="assistant", content=content, model="none", stopReason="endTurn")


async def elicit(_: Any, params: Any) -> Any:
    content = {name: ANSWER[name] for name in params.requestedSchema["properties"]}
    return types.ElicitResult(action="accept", content=content)


async def roots(_: Any) -> Any:
    return types.ListRootsResult(roots=[types.Root(uri=ROOT, name="tour")])


async def main(_: str, command: str, *arguments: str) -> None:
    log = Log()
    server = StdioServerParameters(command=command, args=list(arguments))
    async with (
        stdio_client(server) as (reading, writing),
        ClientSession(
            reading,
            writing,
            message_handler=log.note,
            logging_callback=log.log,
            sampling_callback=sample,
            elicitation_callback=elicit,
            list_roots_callback=roots,
        ) as session,
    ):
        agreed = await session.initialize()
        await session.set_logging_level("info")
        await go(Sdk(session, str(agreed.protocolVersion)), log)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
