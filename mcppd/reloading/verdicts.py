"""Verdicts on schemas, kept on disk by digest: checking a thousand of them takes a second (D15)."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from mcppd.core.errors import ToolError
from mcppd.core.faults import Fault
from mcppd.core.manifest import Manifest, ToolDefinition
from mcppd.core.modules import Offer, make_offer
from mcppd.core.plain_schemas import is_plain
from mcppd.core.schemas import check_input_schema, check_output_schema
from mcppd.reloading.keeping import write_whole
from mcppd.reloading.loaded import Loaded
from mcppd.reloading.readings import Reading, Readings

KEPT_LIMIT: Final = 20_000
"""Verdicts kept on disk; more tools than anybody has, a few megabytes."""
FORMAT: Final = "1"
"""Part of each key: verdicts of an older rule are not believed."""

AT_ONCE: Final = 12
"""Plain schemas that are checked in the daemon, a millisecond each; more of them, and those that may take long,
go to a checking worker, which takes a fifth of a second to start."""
CHECKS: Final = {"input": check_input_schema, "output": check_output_schema}

Check = Callable[[Sequence[Mapping[str, Any]]], Awaitable[list[str | None]]]


class Verdicts:
    """Knows which schemas are good, asking a checking worker about those it hasn't met."""

    def __init__(self, path: str, check: Check, readings: Readings | None = None) -> None:
        self._path = path
        self._readings = readings
        self._check = check
        self._known = _read(path)

    async def offers(self, modules: Iterable[Loaded]) -> list[tuple[Offer, ...]]:
        """The tools of each module that has a manifest, those with a bad schema quarantined."""
        every = [(loaded, loaded.manifest) for loaded in modules if loaded.manifest is not None]
        unread = [manifest for loaded, manifest in every if loaded.offers is None]
        tools = [tool for manifest in unread for tool in manifest.tools if tool.fault is None]
        await self._learn([schema for tool in tools for schema in _schemas(tool)])
        return await asyncio.to_thread(self._all_offers, every)  # a tenth of a millisecond for each tool

    def _all_offers(self, modules: Iterable[tuple[Loaded, Manifest]]) -> list[tuple[Offer, ...]]:
        return [loaded.offers or self._made(loaded, manifest) for loaded, manifest in modules]

    def _made(self, loaded: Loaded, manifest: Manifest) -> tuple[Offer, ...]:
        offers = tuple(self._offer(tool) for tool in manifest.tools)
        if self._readings is not None:
            path = loaded.manifest_file
            self._readings.keep(path, loaded.files[path], Reading(manifest, offers))
        return offers

    async def _learn(self, schemas: Sequence[tuple[str, str, Any]]) -> None:
        new = {
            key: {"kind": kind, "schema": schema} for key, kind, schema in schemas if key not in self._known
        }
        if not new:
            return
        at_once = [key for key, each in new.items() if is_plain(each["schema"])][:AT_ONCE]
        self._known |= {key: CHECKS[new[key]["kind"]](new.pop(key)["schema"]) for key in at_once}
        if new:
            self._known |= await self._ask(new)
        _write(self._path, self._known)

    async def _ask(self, new: Mapping[str, Mapping[str, Any]]) -> dict[str, str | None]:
        try:
            verdicts = await self._check(list(new.values()))
        except ToolError as error:
            if len(new) == 1:
                return dict.fromkeys(new, error.text)
            # one of them can't be checked in time or kills the checker: the others are not to suffer for it
            found: dict[str, str | None] = {}
            for key, schema in new.items():
                found |= await self._ask({key: schema})
            return found
        return dict(zip(new, verdicts, strict=True))

    def _offer(self, tool: ToolDefinition) -> Offer:
        fault = tool.fault
        for key, kind, _ in _schemas(tool) if fault is None else ():
            if (verdict := self._known.get(key)) is not None:
                fault = Fault(f"its {kind}Schema is not usable: {verdict}", tool.file, tool.line)
                break
        if fault is not None:
            fault = replace(fault, message=f"tool {tool.name!r}: {fault.message}")
        return make_offer(tool.name, tool.definition, portable=tool.portable, fault=fault)


def _schemas(tool: ToolDefinition) -> list[tuple[str, str, Any]]:
    """(key, kind, schema) of the schemas that a tool declares."""
    found = [(kind, tool.definition.get(f"{kind}Schema")) for kind in ("input", "output")]
    return [(_key(kind, schema), kind, schema) for kind, schema in found if schema is not None]


def _key(kind: str, schema: Any) -> str:
    return hashlib.sha256(json.dumps([FORMAT, kind, schema]).encode()).hexdigest()[:32]


def _read(path: str) -> dict[str, str | None]:
    try:
        with open(path, "rb") as file:
            kept = json.load(file)
    except (OSError, ValueError):
        return {}
    good = isinstance(kept, dict) and all(isinstance(verdict, str | None) for verdict in kept.values())
    return kept if good else {}


def _write(path: str, verdicts: Mapping[str, str | None]) -> None:
    """Keep them; a disk that refuses costs only time at the next start."""
    kept = dict(list(verdicts.items())[-KEPT_LIMIT:])
    write_whole(path, json.dumps(kept).encode())
