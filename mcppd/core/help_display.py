"""The display of `help`: Markdown for people, short and the worst first, that reads well as plain text too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from mcppd.core.items import WORDS
from mcppd.core.jsonrpc import encode_value
from mcppd.core.kinds import KINDS, Kind
from mcppd.core.modules import Module
from mcppd.core.served import Prompt, Served, Tool

LINE: Final = 100
"""Characters of a description: more is the beginning of a wall of text."""

_BOUNDS: Final = {
    "minimum": "at least",
    "maximum": "at most",
    "minLength": "characters at least",
    "maxLength": "characters at most",
    "pattern": "like",
}
"""What a schema says of a value, in words."""
_URGENCY: Final = ("failed", "backoff", "broken", "ok")
_STATES: Final = {
    "backoff": "paused, its workers died again and again",
    "broken": "broken since {since}, its last good version answers",
    "failed": "failed since {since}, what it offers answers with the error",
}


def overview(
    modules: Sequence[Module],
    offered: Mapping[str, Sequence[Served]],
    notes: Iterable[str],
    last_reload: str | None,
) -> str:
    """Everything there is, after what is wrong."""
    if not modules:
        return "**No modules yet.** List a directory with `tool.yaml` and `mcpptool.py` in `tools.yaml`, and save."
    states = Counter(module.state for module in modules)
    kinds = Counter(kind_of(each) for every in offered.values() for each in every)
    head = ", ".join(_counted(kinds[kind], WORDS[kind]) for kind in KINDS if kinds[kind])
    wrong = [f"**{states[state]} {state}**" for state in _URGENCY[:-1] if states[state]]
    parts = [", ".join([f"**{_counted(len(modules), 'module')}**" + (f": {head}" if head else ""), *wrong])]
    in_order = sorted(modules, key=lambda module: _URGENCY.index(module.state))
    parts += ["\n".join(_module(module, offered.get(module.name, ()))) for module in in_order]
    parts += [f"*{one_line(note)}*" for note in notes]
    parts += [f"*Last reload: {one_line(last_reload)}*"] if last_reload else []
    return "\n\n".join(parts)


def of_module(module: Module, offered: Sequence[Served], info: str, *, whole: bool) -> str:
    """One module, whole or only some of what it offers, and then with arguments."""
    parts = ["\n".join(_module(module, offered))]
    for each in () if whole else offered:
        parts += [text] if len(text := _description(each)) > LINE else []
        arguments = _arguments_of(each)
        if arguments is not None:
            parts.append(
                "\n".join(["**Arguments**", "", *arguments] if arguments else ["It takes no arguments."])
            )
    return "\n\n".join([*parts, *([info] if info else [])])


def kind_of(each: Served) -> Kind:
    """Which list it is in."""
    return "tools" if isinstance(each, Tool) else each.item.kind


def summary(each: Served) -> str:
    """The first line of what it is for."""
    return _description(each).split("\n", 1)[0].strip()


def _description(each: Served) -> str:
    definition = each.offer.definition if isinstance(each, Tool) else each.item.definition
    return str(definition.get("description") or definition.get("title") or "").strip()


def one_line(text: str, limit: int | None = None) -> str:
    """The text in one line, cut where a limit is given."""
    line = " ".join(text.split())
    return line if limit is None or len(line) <= limit else line[: limit - 1] + "…"


def argument_names(prompt: Prompt) -> str:
    """The arguments of a prompt: `code, style?`."""
    arguments = prompt.item.definition.get("arguments", ())
    return ", ".join(each["name"] + ("" if each.get("required") else "?") for each in arguments)


def _module(module: Module, offered: Sequence[Served]) -> Iterator[str]:
    state = _STATES.get(module.state, "").format(since=module.since)
    if module.state == "failed" and module.fault is None:
        state = "failed, its workers died again and again"
    yield f"### {module.name}" + (f": {state}" if state else "")
    if module.about.strip():
        yield one_line(module.about, 2 * LINE)
    faults = [*([module.fault] if module.fault is not None else []), *module.faults]
    if faults or module.condition or module.all_warnings or offered:
        yield ""
    if module.condition is not None:
        yield f"- ✗ {one_line(module.condition.text)} Calls: {module.condition.advice}"
    for fault in faults:
        yield f"- ✗ {one_line(str(fault))}" + (f" `{one_line(fault.source)}`" if fault.source else "")
    for warning in module.all_warnings:
        yield f"- ! {one_line(warning)}"
    for each in offered:
        about = one_line(summary(each), LINE)
        yield f"- {_name(each)}" + (f": {about}" if about else "")


def _name(each: Served) -> str:
    match each:
        case Tool():
            return f"`{each.name}`"
        case Prompt():
            names = argument_names(each)
            return f"prompt `{each.name}`" + (f" ({names})" if names else "")
        case _:
            return f"{WORDS[each.item.kind]} `{each.key}`"


def _arguments_of(each: Served) -> list[str] | None:
    """A line for each argument; None of what has none by its kind."""
    match each:
        case Tool():
            return [*_arguments(each.offer.shown.get("inputSchema"))]
        case Prompt():
            return [*_prompt_arguments(each)]
        case _:
            return None


def _prompt_arguments(prompt: Prompt) -> Iterator[str]:
    for each in prompt.item.definition.get("arguments") or ():
        about = one_line(str(each.get("description") or each.get("title") or ""))
        facts = [*_type_words(each), *(["required"] if each.get("required") else [])]
        yield (
            f"- `{each['name']}`"
            + (f" ({', '.join(facts)})" if facts else "")
            + (f": {about}" if about else "")
        )


def _arguments(schema: Any) -> Iterator[str]:
    """A line for each property of a portable inputSchema."""
    properties = schema.get("properties", {}) if isinstance(schema, Mapping) else {}
    required = schema.get("required", ()) if isinstance(schema, Mapping) else ()
    for name, each in properties.items():
        known = each if isinstance(each, Mapping) else {}
        facts = [*_type_words(known), *(["required"] if name in required else [])]
        if "default" in known:
            facts.append(f"default {one_line(encode_value(known['default']).decode(), LINE // 2)}")
        facts += [f"{words} {known[key]}" for key, words in _BOUNDS.items() if key in known]
        about = one_line(str(known.get("description", "")))
        yield f"- `{name}`" + (f" ({', '.join(facts)})" if facts else "") + (f": {about}" if about else "")


def _type_words(schema: Mapping[str, Any]) -> Iterator[str]:
    match schema:
        case {"enum": [*values]}:
            yield one_line(" | ".join(map(str, values)), LINE // 2)
        case {"type": str(kind)}:
            yield kind
        case {"anyOf": [*forms]}:
            kinds = [form["type"] for form in forms if isinstance(form, Mapping) and "type" in form]
            if len(kinds) == len(forms):
                yield " or ".join(dict.fromkeys(map(str, kinds)))


def _counted(count: int, word: str) -> str:
    return f"{count} {word}{'s'[: count != 1]}"
