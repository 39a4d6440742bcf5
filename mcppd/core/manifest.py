"""The manifest, `tool.yaml`: what a module is called and what it has to offer (CONTRACT.md, Manifest).

One bad tool never takes the others with it (DESIGN D15): it is kept apart with its fault. Whether a
schema is a valid one isn't asked here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final, Literal, TypeAlias

from mcppd.core.documents import Document
from mcppd.core.errors import FaultError
from mcppd.core.faults import Fault
from mcppd.core.items import ITEM_KINDS, Item
from mcppd.core.limits import CONVERT, LIMITS, PROMISED, TOOL_LIMITS, TOOL_UNSAID, Limits, ToolLimits
from mcppd.core.manifest_items import likely_mistakes, parse_items
from mcppd.core.names import nearest
from mcppd.core.shapes import ICONS, Members, Path, misfits, not_json, place_text, pruned, shown

Scope: TypeAlias = Literal["local", "global"]

KEYS: Final = ("name", "scope", "about", "tools", *LIMITS, *ITEM_KINDS)

# MCP, schema: Tool, ToolAnnotations, ToolExecution. Clients drop the whole list for one that differs.
_ANNOTATIONS: Final = Members(
    {
        "title": str,
        "readOnlyHint": bool,
        "destructiveHint": bool,
        "idempotentHint": bool,
        "openWorldHint": bool,
    }
)
_TOOL: Final = Members(
    {
        "description": str,
        "title": str,
        "inputSchema": dict,
        "outputSchema": dict,
        "annotations": _ANNOTATIONS,
        "execution": Members({"taskSupport": ("forbidden", "optional", "required")}),
        "icons": ICONS,
        "_meta": dict,
        "portable": bool,
    }
)
_MEANT: Final[Mapping[str, str]] = {
    **dict.fromkeys(("input_schema", "inputschema", "parameters", "schema"), "it is called `inputSchema`"),
    **dict.fromkeys(("type", "properties", "required"), "it belongs under `inputSchema:`, indented below it"),
}
"""Keys that people write where MCP has `inputSchema`."""


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """One tool of a manifest; with a fault it is quarantined: not listed, and a call says why."""

    name: str
    definition: Mapping[str, Any]  # as written, without `portable`, its limits and keys of no value
    portable: bool
    fault: Fault | None
    file: str
    line: int | None
    limits: ToolLimits = TOOL_UNSAID


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a module offers; no two tools have the same name, nor two items of a kind the same key."""

    name: str
    scope: Scope
    about: str | None
    tools: tuple[ToolDefinition, ...]
    limits: Limits
    faults: tuple[Fault, ...]  # those that no tool of `tools` carries
    warnings: tuple[Fault, ...]
    items: tuple[Item, ...] = ()  # prompts, resources and templates, each kind in the order of the file


def parse_manifest(document: Document) -> Manifest:
    """Read a manifest. Raises FaultError where nothing can be served."""
    top = _top(document)
    faults: list[Fault] = []
    items = tuple(item for kind in ITEM_KINDS for item in parse_items(document, kind, top.get(kind), faults))
    return Manifest(
        name=_module_name(document, top),
        scope=_scope(document, top.get("scope"), faults),
        about=_about(document, top.get("about"), faults),
        tools=_tools(document, top, faults),
        limits=Limits(**_limits(document, (), top, LIMITS, faults)),
        faults=tuple(faults),
        warnings=(
            *document.warnings,
            *unknown_keys(document, (), top, KEYS),
            *_likely_mistakes(document, top.get("tools") or ()),
            *(fault for kind in ITEM_KINDS for fault in likely_mistakes(document, kind, top.get(kind))),
        ),
        items=items,
    )


def unknown_keys(
    document: Document, path: Path, found: Mapping[str, Any], known: tuple[str, ...]
) -> Iterator[Fault]:
    """A warning for each key that means nothing here, with the one that may be meant."""
    for key in found:
        if key not in known:
            near = nearest(key, known, 1)
            advice = f"did you mean {near[0]!r}?" if near else f"the keys here are {', '.join(known)}"
            yield document.fault((*path, key), f"the key {key[:60]!r} is not known and is ignored: {advice}")


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


def _limits(
    document: Document, path: Path, found: Mapping[str, Any], names: Sequence[str], faults: list[Fault]
) -> dict[str, Any]:
    """The usable limits in a mapping; the others leave it at what holds anyway."""
    limits: dict[str, Any] = {}
    for name in names:
        if (value := found.get(name)) is not None:
            try:
                limits[name] = CONVERT[name](value)
            except ValueError as error:
                wrong = f"`{name}` is ignored: {error}"
                faults.append(document.fault((*path, name), wrong, at_value=True))
    return limits


def _tools(document: Document, top: Mapping[str, Any], faults: list[Fault]) -> tuple[ToolDefinition, ...]:
    """The tools in the order of the file; one without a name of its own is a fault and nothing else."""
    items = top.get("tools")
    if items is None and any(top.get(kind) for kind in ITEM_KINDS):
        return ()
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
            tools[item["name"]] = _tool(document, path, item, faults)
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


def _tool(document: Document, path: Path, item: Mapping[str, Any], faults: list[Fault]) -> ToolDefinition:
    limits = _limits(document, path, item, TOOL_LIMITS, faults)
    offered = {key: value for key, value in item.items() if key not in TOOL_LIMITS}
    definition: dict[str, Any] = pruned(offered, _TOOL)
    wrong = next(chain(misfits(definition, _TOOL), not_json(definition)), None)
    fault = None
    if wrong is not None:
        fault = document.fault((*path, *wrong[0]), f"`{place_text(wrong[0])}` {wrong[1]}", at_value=True)
    portable = definition.pop("portable", True) is not False
    line = document.fault(path, "").line
    said = ToolLimits(**limits, chars=None if fault else _promised(definition))
    return ToolDefinition(item["name"], definition, portable, fault, document.file, line, said)


def _promised(definition: Mapping[str, Any]) -> int | None:
    """The characters that clients are promised a result may have."""
    chars = definition.get("_meta", {}).get(PROMISED)
    return chars if type(chars) is int and chars > 0 else None
