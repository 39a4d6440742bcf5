"""The manifest, `tool.yaml`: what a module is called and which tools it has (CONTRACT.md, Manifest).

One bad tool never takes the others with it (DESIGN D15): it is kept apart with its fault. Whether a
schema is a valid one isn't asked here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final, Literal, TypeAlias

from mcppd.core.errors import FaultError
from mcppd.core.faults import Fault
from mcppd.core.names import nearest
from mcppd.core.yaml import Document

Scope: TypeAlias = Literal["local", "global"]
Path: TypeAlias = tuple[str | int, ...]

EXTRAS: Final = ("prompts", "resources", "resourceTemplates")
KEYS: Final = ("name", "scope", "about", "tools", "timeout", *EXTRAS)

MAX_SECONDS: Final = 10.0**8
"""Three years; timers of the loop and the kernel overflow far above, so more than this is no limit."""

MAX_INTEGER: Final = 2**64
"""JSON itself has no bound, but the encoder of every list has this one."""

# MCP, schema: Tool, ToolAnnotations, ToolExecution, Icon. Clients drop the whole list for one that differs.
# A type, some words to choose from, a list of one shape, or a mapping's known members.
_TOOL: Final[Mapping[str, Any]] = {
    "description": str,
    "title": str,
    "inputSchema": dict,
    "outputSchema": dict,
    "annotations": {
        "title": str,
        "readOnlyHint": bool,
        "destructiveHint": bool,
        "idempotentHint": bool,
        "openWorldHint": bool,
    },
    "execution": {"taskSupport": ("forbidden", "optional", "required")},
    "icons": [{"src": str, "mimeType": str, "sizes": [str], "theme": ("light", "dark")}],
    "_meta": dict,
    "portable": bool,
}
_MEANT: Final[Mapping[str, str]] = {
    **dict.fromkeys(("input_schema", "inputschema", "parameters", "schema"), "it is called `inputSchema`"),
    **dict.fromkeys(("type", "properties", "required"), "it belongs under `inputSchema:`, indented below it"),
}
"""Keys that people write where MCP has `inputSchema`."""
_REQUIRED: Final = "src"  # the only one of the members above that has to be there
KINDS: Final[Mapping[type, str]] = {str: "a text", bool: "true or false", dict: "a mapping", list: "a list"}


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """One tool of a manifest; with a fault it is quarantined: not listed, and a call says why."""

    name: str
    definition: Mapping[str, Any]  # as written, without `portable` and without keys of no value
    portable: bool
    fault: Fault | None
    file: str
    line: int | None


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a module offers; no two tools have the same name."""

    name: str
    scope: Scope
    about: str | None
    tools: tuple[ToolDefinition, ...]
    timeout: float | None  # seconds, 0.0 for no limit, None if the manifest doesn't say
    faults: tuple[Fault, ...]  # those that no tool of `tools` carries
    warnings: tuple[Fault, ...]
    extras: Mapping[str, Any] = field(default_factory=dict)  # prompts, resources and templates, as written


def parse_manifest(document: Document) -> Manifest:
    """Read a manifest. Raises FaultError where nothing can be served."""
    top = _top(document)
    faults: list[Fault] = []
    return Manifest(
        name=_module_name(document, top),
        scope=_scope(document, top.get("scope"), faults),
        about=_about(document, top.get("about"), faults),
        tools=_tools(document, top.get("tools"), faults),
        timeout=_timeout(document, top.get("timeout"), faults),
        faults=tuple(faults),
        warnings=(
            *document.warnings,
            *unknown_keys(document, (), top, KEYS),
            *_likely_mistakes(document, top.get("tools")),
        ),
        extras={key: top[key] for key in EXTRAS if top.get(key) is not None},
    )


def seconds(value: Any) -> float:
    """A limit as it is written in both files: 0.0 for no limit. Raises ValueError."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:  # noqa: PLR0124 - .nan
        raise ValueError(f"a number of seconds is wanted, not {shown(value)}; 0 is no limit")
    return 0.0 if value <= 0 or value > MAX_SECONDS else float(value)


def unknown_keys(
    document: Document, path: Path, found: Mapping[str, Any], known: tuple[str, ...]
) -> Iterator[Fault]:
    """A warning for each key that means nothing here, with the one that may be meant."""
    for key in found:
        if key not in known:
            near = nearest(key, known, 1)
            advice = f"did you mean {near[0]!r}?" if near else f"the keys here are {', '.join(known)}"
            yield document.fault((*path, key), f"the key {key[:60]!r} is not known and is ignored: {advice}")


def shown(value: Any) -> str:
    """What a value is, for a message."""
    match value:
        case None:
            return "nothing"
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case str():
            return f"the text {value[:60]!r}"
        case bool():
            return "true" if value else "false"
        case _:
            return f"the number {str(value)[:60]}"


def _top(document: Document) -> dict[str, Any]:
    match document.value:
        case dict() as top:
            return top
        case None:
            raise FaultError(document.fault((), "the manifest is empty: it needs `name:` and `tools:`"))
        case other:
            wrong = f"a manifest is a mapping with `name:` and `tools:`, not {shown(other)}"
            raise FaultError(document.fault((), wrong))


def _module_name(document: Document, top: Mapping[str, Any]) -> str:
    match top.get("name"):
        case str() as name if name.strip():
            return name
        case None if "name" not in top:
            raise FaultError(document.fault((), "the module has no name: add `name:`"))
        case other:
            wrong = f"the module's name must be a text that isn't empty, not {shown(other)}"
            raise FaultError(document.fault(("name",), wrong))


def _scope(document: Document, value: Any, faults: list[Fault]) -> Scope:
    match value:
        case None | "local":
            return "local"
        case "global":
            return "global"
        case _:
            wrong = (
                f"the scope is `local` or `global`, not {shown(value)}; `local` is used until it is corrected"
            )
            faults.append(document.fault(("scope",), wrong, at_value=True))
            return "local"


def _about(document: Document, value: Any, faults: list[Fault]) -> str | None:
    if value is None or isinstance(value, str):
        return value
    wrong = f"`about` must be a text, not {shown(value)}: put it in quotes"
    faults.append(document.fault(("about",), wrong, at_value=True))
    return None


def _timeout(document: Document, value: Any, faults: list[Fault]) -> float | None:
    try:
        return None if value is None else seconds(value)
    except ValueError as error:
        wrong = f"`timeout` is ignored: {error}"
        faults.append(document.fault(("timeout",), wrong, at_value=True))
        return None


def _tools(document: Document, items: Any, faults: list[Fault]) -> tuple[ToolDefinition, ...]:
    """The tools in the order of the file; one without a name of its own is a fault and nothing else."""
    if not isinstance(items, list):
        wrong = f"`tools:` must be a list of tools (`[]` for none), not {shown(items)}"
        raise FaultError(document.fault(("tools",), wrong))
    tools: dict[str, ToolDefinition] = {}
    for index, item in enumerate(items):
        path: Path = ("tools", index)
        fault = _nameless(document, path, item)
        if fault is None and item["name"] in tools:
            line = tools[item["name"]].line
            wrong = (
                f"the tool {item['name'][:60]!r} is in line {line} already, which holds: rename one of them"
            )
            fault = document.fault((*path, "name"), wrong)
        if fault is None:
            tools[item["name"]] = _tool(document, path, item)
        else:
            faults.append(fault)
    return tuple(tools.values())


def _likely_mistakes(document: Document, items: Any) -> Iterator[Fault]:
    """Members of tools that are passed on as any unknown one, but were hardly meant to be."""
    for index, item in enumerate(items):
        for key in item if isinstance(item, dict) else ():
            if key in _MEANT and "inputSchema" not in item:
                yield document.fault(("tools", index, key), f"`{key}` means nothing in a tool: {_MEANT[key]}")


def _nameless(document: Document, path: Path, item: Any) -> Fault | None:
    match item:
        case {"name": str() as name} if name.strip():
            return None
        case {"name": other}:
            wrong = f"a tool's name must be a text that isn't empty, not {shown(other)}"
            return document.fault((*path, "name"), wrong)
        case dict():
            return document.fault(path, "this tool has no name: add `name:`")
        case _:
            return document.fault(path, f"a tool is a mapping with `name:`, not {shown(item)}")


def _tool(document: Document, path: Path, item: Mapping[str, Any]) -> ToolDefinition:
    definition: dict[str, Any] = _pruned(item, _TOOL)
    wrong = next(chain(_misfits(definition, _TOOL, ()), _not_json(definition, ())), None)
    fault = None
    if wrong is not None:
        where = "".join(f"[{step}]" if isinstance(step, int) else f".{step[:60]}" for step in wrong[0])
        fault = document.fault((*path, *wrong[0]), f"`{where[1:]}` {wrong[1]}", at_value=True)
    portable = definition.pop("portable", True) is not False
    line = document.fault(path, "").line
    return ToolDefinition(item["name"], definition, portable, fault, document.file, line)


def _pruned(value: Any, shape: Any) -> Any:
    """The value without null members: clients refuse an optional key that is there and null."""
    match value, shape:
        case dict(), dict():
            return {k: _pruned(member, shape.get(k)) for k, member in value.items() if member is not None}
        case list(), [item]:
            return [_pruned(each, item) for each in value]
        case _:
            return value


def _misfits(value: Any, shape: Any, path: Path) -> Iterator[tuple[Path, str]]:
    """The places that don't fit a shape."""
    match shape:
        case tuple():
            if value not in shape:
                yield path, f"must be one of {', '.join(shape)}, not {shown(value)}"
        case type() as kind:
            if not isinstance(value, kind):
                yield path, f"must be {KINDS[kind]}, not {shown(value)}"
        case list() if isinstance(value, list):
            for index, item in enumerate(value):
                yield from _misfits(item, shape[0], (*path, index))
        case dict() if isinstance(value, dict):
            for key, member in shape.items():
                if key in value:
                    yield from _misfits(value[key], member, (*path, key))
                elif key == _REQUIRED:
                    yield path, f"needs `{key}:`"
        case _:
            yield path, f"must be {KINDS[type(shape)]}, not {shown(value)}"


def _not_json(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    """The places of numbers that no encoder of JSON takes."""
    match value:
        case dict():
            for key, member in value.items():
                yield from _not_json(member, (*path, key))
        case list():
            for index, member in enumerate(value):
                yield from _not_json(member, (*path, index))
        case float() if not math.isfinite(value):
            yield path, f"is {value}, which JSON can't hold: write a finite number"
        case int() if not -MAX_INTEGER // 2 <= value < MAX_INTEGER:
            yield path, "needs more than 64 bits: write a smaller integer, or a number such as 1e30"
        case _:
            pass  # every other value is one of JSON's
