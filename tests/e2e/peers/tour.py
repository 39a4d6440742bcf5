"""Everything that a client can do with a server, once: a real SDK goes through it and tells what it got.

Runs inside the virtual environment of a peer: knows nothing of the project but the line to a test.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Protocol

from tests.e2e.peers.line import Complaints, News

ANSWER = {
    "name": "Ada",
    "username": "ada",
    "email": "ada@example.org",
    "color": "blue",
    "context": "the tour",
}
"""What the user fills into each form: each field that any of them has."""

WORDS = "What the model says."
ROOT = Path.cwd().as_uri()  # a root of a client is the workspace of its calls
WATCHED = "test://watched-resource"
NEW_TEXT = "Nobody has read this yet."
PATIENCE = 20.0
"""Seconds for what comes unasked."""


class Sdk(Protocol):
    """A connected client, in the same words for all SDKs; the values are the SDK's own."""

    revision: str

    async def tools(self) -> Any: ...
    async def call(self, name: str, arguments: dict[str, Any], on_progress: Any = None) -> Any: ...
    async def prompts(self) -> Any: ...
    async def prompt(self, name: str, arguments: dict[str, str]) -> Any: ...
    async def resources(self) -> Any: ...
    async def templates(self) -> Any: ...
    async def read(self, uri: str) -> Any: ...
    async def complete(self, kind: str, name: str, argument: str, value: str) -> Any: ...
    def watching(self, uri: str) -> AbstractAsyncContextManager[Any]:
        """Ask to be told of a changed resource and of changed prompts, as this era does."""
        ...


class Log(News):
    """What came unasked, by its kind."""

    def __init__(self) -> None:
        super().__init__()
        self.logged: list[list[Any]] = []
        self.kinds: list[str] = []
        self._came = asyncio.Condition()
        for name in ("", "mcp"):
            logging.getLogger(name).addHandler(Complaints(self))

    async def note(self, message: Any) -> None:
        """For the SDK: take down a notification or a fault."""
        await super().note(message)
        async with self._came:
            self.kinds.append(type(getattr(message, "root", message)).__name__)
            self._came.notify_all()

    async def log(self, params: Any) -> None:
        """For the SDK: take down a log message."""
        self.logged.append([params.level, params.data])

    async def seen(self, kind: str) -> bool:
        """Wait until a notification of a kind has come."""
        async with asyncio.timeout(PATIENCE), self._came:
            return await self._came.wait_for(lambda: kind in self.kinds)


async def go(sdk: Sdk, log: Log) -> None:
    """Go through everything, and print what came of it as one JSON object."""
    found = {
        "revision": sdk.revision,
        **await lists(sdk),
        **await contents(sdk),
        **await calls(sdk, log),
        **await questions(sdk),
        **await changes(sdk, log),
        "faults": log.faults,
    }
    sys.stdout.write(json.dumps(found) + "\n")


async def lists(sdk: Sdk) -> dict[str, Any]:
    """What is there."""
    return {
        "tools": [tool.name for tool in (await sdk.tools()).tools],
        "prompts": [prompt.name for prompt in (await sdk.prompts()).prompts],
        "resources": [each["uri"] for each in plain(await sdk.resources(), "resources")],
        "templates": [each["uriTemplate"] for each in plain(await sdk.templates(), "resourceTemplates")],
    }


async def contents(sdk: Sdk) -> dict[str, Any]:
    """What prompts and resources hold, and what completes their arguments."""
    prompt = await sdk.prompt("test_prompt_with_arguments", {"arg1": "tea", "arg2": "time"})
    return {
        "prompt": plain(prompt, "messages"),
        "image": plain(await sdk.prompt("test_prompt_with_image", {}), "messages")[0]["content"]["mimeType"],
        "text": plain(await sdk.read("test://static-text"), "contents"),
        "binary": plain(await sdk.read("test://static-binary"), "contents")[0]["blob"][:8],
        "template": plain(await sdk.read("test://template/123/data"), "contents"),
        "missing": await failing(sdk.read("test://nowhere")),
        "no prompt": await failing(sdk.prompt("nothing", {})),
        "arguments": await completion(sdk, "ref/prompt", "test_prompt_with_arguments", "arg1", "te"),
        "ids": await completion(sdk, "ref/resource", "test://template/{id}/data", "id", "12"),
    }


async def calls(sdk: Sdk, log: Log) -> dict[str, Any]:
    """What a call says on its way."""
    progress: list[list[Any]] = []

    async def note(done: float, total: float | None, message: str | None) -> None:
        progress.append([done, total, message])

    await sdk.call("test_tool_with_progress", {}, note)
    await sdk.call("test_tool_with_logging", {})
    failed = await sdk.call("test_error_handling", {})
    return {"progress": progress, "logged": log.logged, "failed": plain(failed, "isError")}


async def questions(sdk: Sdk) -> dict[str, Any]:
    """What comes of a server's questions."""
    said = {
        "sampling": ("test_sampling", {"prompt": "Say something."}),
        "elicitation": ("test_elicitation", {"message": "Who are you?"}),
        "roots": ("test_roots", {}),
        "rounds": ("test_input_required_result_multi_round", {}),
        "three": ("test_input_required_result_multiple_inputs", {}),
    }
    found: dict[str, Any] = {name: text(await sdk.call(*call)) for name, call in said.items()}
    prompt = await sdk.prompt("test_input_required_result_prompt", {})
    return found | {"asking prompt": plain(prompt, "messages")[0]["content"]["text"]}


async def changes(sdk: Sdk, log: Log) -> dict[str, Any]:
    """What is told of a changed resource and of changed prompts."""
    async with sdk.watching(WATCHED):
        await sdk.call("test_trigger_resource_change", {"text": NEW_TEXT})
        updated = await log.seen("ResourceUpdatedNotification")
        await sdk.call("test_trigger_prompt_change", {})
        changed = await log.seen("PromptListChangedNotification")
    return {
        "updated": [updated, plain(await sdk.read(WATCHED), "contents")[0]["text"]],
        "changed": [changed, [prompt.name for prompt in (await sdk.prompts()).prompts]],
    }


async def completion(sdk: Sdk, kind: str, name: str, argument: str, value: str) -> list[str]:
    """The values that are offered."""
    values: list[str] = (await sdk.complete(kind, name, argument, value)).completion.values
    return values


async def failing(work: Any) -> Any:
    """The code of the error that the server answers with."""
    try:
        await work
    except Exception as error:  # noqa: BLE001 - whatever an SDK raises; what isn't of the server has no code
        return getattr(getattr(error, "error", None), "code", repr(error))
    return None


def plain(value: Any, member: str) -> Any:
    """A member of an SDK's value as JSON."""
    return value.model_dump(mode="json", by_alias=True, exclude_none=True).get(member)


def text(result: Any) -> str:
    """All text of a tool's result."""
    return "\n".join(item["text"] for item in plain(result, "content"))
