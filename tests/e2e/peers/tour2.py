"""The tour with the package `mcp` 2.x, in its default mode or, told `handshake`, in its mode for older servers."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator
from typing import Any

import mcp_types as types  # comes with `mcp`
from mcp import Client, StdioServerParameters  # type: ignore[import-not-found]  # only in the peer's environment

from tests.e2e.peers.tour import ANSWER, ROOT, WORDS, Log, go


class Sdk:
    """A connected client."""

    def __init__(self, client: Any, *, modern: bool) -> None:
        self._client = client
        self._modern = modern
        self.revision: str = client.protocol_version

    async def tools(self) -> Any:
        return await self._client.list_tools()

    async def call(self, name: str, arguments: dict[str, Any], on_progress: Any = None) -> Any:
        return await self._client.call_tool(name, arguments, progress_callback=on_progress)

    async def prompts(self) -> Any:
        return await self._client.list_prompts()

    async def prompt(self, name: str, arguments: dict[str, str]) -> Any:
        return await self._client.get_prompt(name, arguments)

    async def resources(self) -> Any:
        return await self._client.list_resources()

    async def templates(self) -> Any:
        return await self._client.list_resource_templates()

    async def read(self, uri: str) -> Any:
        return await self._client.read_resource(uri)

    async def complete(self, kind: str, name: str, argument: str, value: str) -> Any:
        prompt = kind == "ref/prompt"
        ref = types.PromptReference(name=name) if prompt else types.ResourceTemplateReference(uri=name)
        return await self._client.complete(ref, {"name": argument, "value": value})

    @contextlib.asynccontextmanager
    async def watching(self, uri: str) -> AsyncIterator[None]:
        if self._modern:
            async with self._client.listen(prompts_list_changed=True, resource_subscriptions=[uri]):
                yield
            return
        await self._client.subscribe_resource(uri)
        yield
        await self._client.unsubscribe_resource(uri)


async def sample(_: Any, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
    content = types.TextContent(text=WORDS)
    return types.CreateMessageResult(role="assistant", content=content, model="none", stop_reason="endTurn")


async def elicit(_: Any, params: Any) -> types.ElicitResult:
    return types.ElicitResult(
        action="accept", content={name: ANSWER[name] for name in params.requested_schema["properties"]}
    )


async def roots(_: Any) -> types.ListRootsResult:
    return types.ListRootsResult(roots=[types.Root.model_validate({"uri": ROOT, "name": "tour"})])


async def main(mode: str, command: str, *arguments: str) -> None:
    log = Log()
    server = StdioServerParameters(command=command, args=list(arguments))
    options: dict[str, Any] = {"mode": "legacy"} if mode == "handshake" else {"log_level": "info"}
    async with Client(
        server,
        message_handler=log.note,
        logging_callback=log.log,
        sampling_callback=sample,
        elicitation_callback=elicit,
        list_roots_callback=roots,
        **options,
    ) as client:
        if mode == "handshake":
            await client.set_logging_level("info")
        await go(Sdk(client, modern=mode != "handshake"), log)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
