"""Validation: here if it can't take long, else in a worker of its own, under a call's limit (D1)."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import orjson

import mcppd
from mcppd.core import arguments as inline
from mcppd.core.calls import AgentEnvironment, CallContext
from mcppd.core.errors import ToolError
from mcppd.core.generation import Generation, digest_of
from mcppd.core.modules import Module, Settings
from mcppd.core.results import ToolResult

INLINE_LIMIT: Final = 16 * 1024
"""Bytes of a value that is validated in the daemon. D1 allows 64 KiB, but 32,000 small items of that size took 0.2 s:
so long no other agent may wait."""

Run = Callable[[Module, dict[str, Any], CallContext], Awaitable[ToolResult]]

_DIRECTORY: Final = "/dev/null/mcppd-checking"  # nothing can ever lie there
_ENTRY: Final = f"{_DIRECTORY}/mcpptool.py"
_SOURCE: Final = b"from mcppd.core.checking import execute\n"


CHECKING: Final = Settings(workers=2)
"""How the checking workers are run: two, so that one hostile value doesn't stop everybody's."""


def checking_module() -> Module:
    """The module that a checking worker runs: ours, so it never changes."""
    files = {_ENTRY: _SOURCE}
    root = str(Path(mcppd.__file__).parent.parent)
    name = "mcppd-checking"
    generation = Generation(name, 1, _DIRECTORY, _ENTRY, digest_of(files.items()), files, search=(root,))
    return Module(name, _DIRECTORY, settings=CHECKING, generation=generation)


class CheckingTools:
    """Validates arguments, structured content and schemas."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self.module = checking_module()
        self._context = CallContext("mcppd", "mcppd", mcppd.__version__, "/", AgentEnvironment({}, {}))

    async def accept(
        self, schema: Any, arguments: dict[str, Any], *, plain: bool, size: int
    ) -> tuple[dict[str, Any], list[str]]:
        """The arguments, converted where nothing is lost, and what is wrong with them. Raises ToolError."""
        if schema is None:
            return arguments, []
        if plain and size <= INLINE_LIMIT:
            return inline.accept(schema, arguments)
        said = await self._ask("validate", {"schema": schema, "arguments": arguments})
        converted = said["arguments"]  # null where nothing had to be: then they stay as they came
        return converted if converted is not None else arguments, said["faults"]

    async def check_value(self, schema: Any, value: bytes, *, plain: bool) -> list[str]:
        """What is wrong with structured content, given as JSON text. Raises ToolError."""
        if plain and len(value) <= INLINE_LIMIT:
            return inline.check_value(schema, orjson.loads(value))
        said = await self._ask("check_value", {"schema": schema, "value": orjson.loads(value)})
        return list(said["faults"])

    async def check_schemas(self, schemas: Sequence[Mapping[str, Any]]) -> list[str | None]:
        """A verdict for each {kind: "input" | "output", schema}: None, or what is wrong. Raises ToolError."""
        said = await self._ask("check_schemas", {"schemas": list(schemas)})
        return list(said["verdicts"])

    async def _ask(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        request = {"kind": "execute", "given": [tool, arguments], "structured": False}
        result = await self._run(self.module, request, self._context)
        text = orjson.loads(result.content)[0]["text"]
        if result.is_error:
            raise ToolError(f"the values could not be checked: {text}")
        return json.loads(text)  # orjson reads integers beyond 64 bits as floats (D13)
