"""What `help` says: a text for the model, and beside it a display for people (CONTRACT.md, help)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from mcppd.core import help_display
from mcppd.core.catalog import Catalog, Module, Tool
from mcppd.core.items import WORDS
from mcppd.core.kinds import KINDS
from mcppd.core.served import Prompt, Served


@dataclass(frozen=True, slots=True)
class HelpText:
    """An answer of `help`."""

    text: str
    display: str


def overview(
    catalog: Catalog,
    last_reload: str | None,
    notes: Iterable[str] = (),
    modules: Sequence[Module] | None = None,
) -> HelpText:
    """What `help` says without an argument; `notes` are what else there is to know.

    `modules` are the catalog's with how their workers are now.
    """
    offered = offered_by(catalog)
    modules = catalog.modules if modules is None else modules
    parts = [_module_text(module, offered.get(module.name, [])) for module in modules]
    if not parts:
        parts = ["No modules yet: list a directory with tool.yaml and mcpptool.py in tools.yaml, and save."]
    shadowed = [*_shadowed(catalog)]
    warnings = [f"Warning: {warning}" for warning in catalog.warnings]
    more = [*notes]
    reload = [f"Last reload: {last_reload}"] if last_reload else []
    display = help_display.overview(modules, offered, [*shadowed, *warnings, *more], last_reload)
    return HelpText("\n\n".join([*parts, *shadowed, *warnings, *reload, *more]), display)


def of_module(catalog: Catalog, module: Module, info: str) -> HelpText:
    """What `help` says of a module; `info` are its own words."""
    return _said(module, offered_by(catalog).get(module.name, []), info, whole=True)


def of_some(module: Module, some: Sequence[Served], info: str) -> HelpText:
    """What `help` says of some of what a module offers: a tool, a prompt, a resource, a template."""
    return _said(module, some, info, whole=False)


def of_builtin(definition: Mapping[str, Any]) -> HelpText:
    """What `help` says of a tool that is always there."""
    schema = _json(f"Input schema of `{definition['name']}`", definition["inputSchema"])
    text = f"`{definition['name']}`: {definition['description']}"
    return HelpText(f"{text}\n\n{schema}", text)


def _said(module: Module, offered: Sequence[Served], info: str, *, whole: bool) -> HelpText:
    told = [_definition_text(each) for each in offered if isinstance(each, Tool) or not whole]
    parts = [_module_text(module, offered), *([info] if info else []), *told]
    return HelpText("\n\n".join(parts), help_display.of_module(module, offered, info, whole=whole))


def offered_by(catalog: Catalog) -> dict[str, list[Served]]:
    """All that is listed, by the name of its module: tools first, each kind in order."""
    offered: dict[str, list[Served]] = {}
    for kind in KINDS:
        for each in catalog.of_kind(kind):
            offered.setdefault(each.module.name, []).append(each)
    return offered


def _module_text(module: Module, offered: Iterable[Served]) -> str:
    lines = [f"## {module.name}" + (f" — {module.about.strip()}" if module.about else "")]
    lines += _state_lines(module)
    for each in offered:
        about = help_display.summary(each)
        lines.append(f"- {_name(each)}" + (f": {about}" if about else ""))
    return "\n".join(lines)


def _name(each: Served) -> str:
    match each:
        case Tool() | Prompt():
            word = "prompt " if isinstance(each, Prompt) else ""
            also = f" (also `{each.full_name}`)" if each.full_name != each.name else ""
            names = help_display.argument_names(each) if isinstance(each, Prompt) else ""
            return f"{word}`{each.name}`{also}" + (f" with the arguments {names}" if names else "")
        case _:
            return f"{WORDS[each.item.kind]} `{each.key}`"


def _shadowed(catalog: Catalog) -> Iterator[str]:
    """What isn't listed under its own name, or not at all, since another module comes first."""
    for tool in catalog.listed:
        if tool.is_shadowed:
            yield _behind(tool, catalog.find(tool.own_name))
    for prompt in catalog.prompts:
        if prompt.is_shadowed:
            yield _behind(prompt, catalog.find_prompt(prompt.own_name))
    for each in catalog.shadowed:
        owner = catalog.owner_of(each)
        whose = (
            f"module {owner.module.name} comes first with it"
            if owner
            else "another module comes first with it"
        )
        yield f"The {WORDS[each.item.kind]} `{each.key}` of module {each.module.name} is not served: {whose}."


def _behind(each: Tool | Prompt, owner: Tool | Prompt | None) -> str:
    word = "The prompt " if isinstance(each, Prompt) else ""
    whose = f"module {owner.module.name}" if owner else "mcppd"
    what = f"{word}`{each.own_name}` of module {each.module.name}"
    return f"{what} is listed as `{each.name}`: the plain name belongs to {whose}."


def _state_lines(module: Module) -> Iterator[str]:
    match module.state:
        case "broken":
            yield f"BROKEN since {module.since}: {module.fault}"
            if module.fault is not None and module.fault.source:
                yield f"    {module.fault.source.strip()}"
            yield "The last good version answers until the file is repaired and saved."
        case "failed" if module.fault is not None:
            yield f"FAILED since {module.since}: {module.fault}"
            if module.fault.source:
                yield f"    {module.fault.source.strip()}"
            yield "Its tools answer with this error until the file is repaired and saved."
    if module.condition is not None:
        yield f"{module.condition.state.upper()}: {module.condition.text}"
        yield f"Calls: {module.condition.advice}"
    for fault in module.faults:
        yield f"Left out: {fault}"
    for warning in module.all_warnings:
        yield f"Warning: {warning}"


def _definition_text(each: Served) -> str:
    """What one has to know to use it."""
    if isinstance(each, Tool):
        schema = each.input_schema if each.input_schema is not None else {}
        return _json(f"Input schema of `{each.name}`", schema)
    return _json(f"Definition of the {WORDS[each.item.kind]} `{each.key}`", dict(each.advertised))


def _json(title: str, value: Any) -> str:
    text = orjson.dumps(value, option=orjson.OPT_INDENT_2, default=str).decode()
    return f"{title}:\n```json\n{text}\n```"
