"""The prompts, resources and resource templates of a manifest (CONTRACT.md, Manifest).

One bad one never takes the others with it (DESIGN D15): it is kept apart with its fault.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any, Final
from urllib.parse import quote

from mcppd.core import uri_templates
from mcppd.core.documents import Document
from mcppd.core.faults import Fault
from mcppd.core.items import KEYS, WORDS, Item, make_item, path_inside
from mcppd.core.kinds import Kind
from mcppd.core.shapes import (
    ICONS,
    MAX_INTEGER,
    Each,
    Members,
    Number,
    Path,
    misfits,
    not_json,
    place_text,
    pruned,
    shown,
)

MAX_ENUM: Final = 10_000
"""Values that an argument is completed from: all of them are looked at for every key that is pressed."""

# MCP, schema: Prompt, PromptArgument, Resource, ResourceTemplate, Annotations. Clients drop the whole list for one that
# differs. `enum`, `file` and `variables` are ours.
_COMMON: Final[Mapping[str, Any]] = {
    "name": str,
    "title": str,
    "description": str,
    "icons": ICONS,
    "_meta": dict,
}
_ARGUMENT: Final = Members(
    {"name": str, "title": str, "description": str, "required": bool, "enum": [str]}, required=("name",)
)
_ANNOTATIONS: Final = Members(
    {"audience": [("user", "assistant")], "priority": Number(0, 1), "lastModified": str}
)
_CONTENT: Final[Mapping[str, Any]] = {**_COMMON, "mimeType": str, "annotations": _ANNOTATIONS}
_SIZE: Final = Number(0, MAX_INTEGER, whole=True)
SHAPES: Final[Mapping[Kind, Members]] = {
    "prompts": Members({**_COMMON, "arguments": [_ARGUMENT]}),
    "resources": Members({**_CONTENT, "uri": str, "size": _SIZE, "file": str}, required=("name",)),
    "resourceTemplates": Members(
        {**_CONTENT, "uriTemplate": str, "variables": Each(Members({"enum": [str]}))}, required=("name",)
    ),
}

_MEANT: Final[Mapping[Kind, Mapping[str, str]]] = {
    "prompts": dict.fromkeys(
        ("inputSchema", "parameters", "args", "properties"),
        "a prompt has `arguments:`, a list of `- name: …`, each with `description` and `required`",
    ),
    "resources": {
        **dict.fromkeys(("mime_type", "mimetype", "type"), "it is called `mimeType`"),
        **dict.fromkeys(("path", "text", "content"), "the file that it is read from is named by `file:`"),
        "variables": "only a resource template has variables, which stand in its `uriTemplate`",
    },
    "resourceTemplates": {
        **dict.fromkeys(("mime_type", "mimetype", "type"), "it is called `mimeType`"),
        "file": "a file is one resource: list it under `resources:`, by its `uri`",
        "arguments": "what stands in the `uriTemplate` is described under `variables:`",
    },
}
"""Keys that people write for something else."""

_URI: Final = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):(?P<rest>[^\s\x00-\x1f\x7f]+)")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:.")
_IN_URIS: Final = "%!$&'()*+,;=:@/?#[]~"
_WITH_HOST: Final = frozenset({"http", "https", "ws", "wss", "ftp"})
_HOST: Final = re.compile(r"//[^/?#]")


def parse_items(document: Document, kind: Kind, items: Any, faults: list[Fault]) -> Iterator[Item]:
    """The items of a kind in the order of the file; one without a key of its own is a fault and nothing else."""
    if items is None:
        return
    if not isinstance(items, list):
        wrong = f"`{kind}:` must be a list (`[]` for none), not {shown(items)}"
        faults.append(document.fault((kind,), wrong, at_value=True))
        return
    taken: dict[str, int | None] = {}
    for index, item in enumerate(items):
        path: Path = (kind, index)
        fault = _keyless(document, kind, path, item)
        if fault is None and (key := item[KEYS[kind]]) in taken:
            wrong = f"the {WORDS[kind]} {key[:60]!r} is in line {taken[key]} already, which holds: remove one of them"
            fault = document.fault((*path, KEYS[kind]), wrong)
        if fault is not None:
            faults.append(fault)
            continue
        taken[item[KEYS[kind]]] = document.fault(path, "").line
        yield _item(document, kind, path, item)


def likely_mistakes(document: Document, kind: Kind, items: Any) -> Iterator[Fault]:
    """Members that are passed on as any unknown one, or mean nothing, but were hardly meant so."""
    for index, item in enumerate(items if isinstance(items, list) else ()):
        if not isinstance(item, dict):
            continue
        for key in item.keys() & _MEANT[kind].keys():
            wrong = f"`{key}` means nothing in a {WORDS[kind]}: {_MEANT[kind][key]}"
            yield document.fault((kind, index, key), wrong)
        variables, text = item.get("variables"), item.get("uriTemplate")
        if kind == "resourceTemplates" and isinstance(variables, dict) and isinstance(text, str):
            for name in variables.keys() - {*_names_in(text)}:
                wrong = f"the uriTemplate has no variable {name[:60]!r}: write {{{name[:60]}}} into it, or remove this"
                yield document.fault((kind, index, "variables", name), wrong)


def _names_in(text: str) -> tuple[str, ...]:
    try:
        return uri_templates.parse(text).names
    except ValueError:  # said at its own place
        return ()


def _keyless(document: Document, kind: Kind, path: Path, item: Any) -> Fault | None:
    key, word = KEYS[kind], WORDS[kind]
    if not isinstance(item, dict):
        return document.fault(path, f"a {word} is a mapping with `{key}:`, not {shown(item)}")
    match item.get(key):
        case str() as text if text.strip():
            return None
        case None if key not in item:
            return document.fault(path, f"this {word} has no {key}: add `{key}:`")
        case other:
            wrong = f"the `{key}` of a {word} must be a text that isn't empty, not {shown(other)}"
            return document.fault((*path, key), wrong)


def _item(document: Document, kind: Kind, path: Path, item: Mapping[str, Any]) -> Item:
    definition: dict[str, Any] = pruned(item, SHAPES[kind])
    wrong = next(chain(misfits(definition, SHAPES[kind]), not_json(definition)), None)
    wrong = wrong or next(_OWN_RULES[kind](definition), None)
    fault = None
    if wrong is not None:
        where = f"`{place_text(wrong[0])}` " if wrong[0] else "it "
        told = f"{WORDS[kind]} {item[KEYS[kind]][:60]!r}: {where}{wrong[1]}"
        fault = document.fault((*path, *wrong[0]), told, at_value=bool(wrong[0]))
    return make_item(kind, definition, fault=fault)


def _prompt_rules(prompt: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    names: set[str] = set()
    for index, argument in enumerate(prompt.get("arguments", ())):
        name = argument["name"]
        if not name.strip() or name in names:
            yield (
                ("arguments", index, "name"),
                "must be a text that isn't empty, and no other argument's name",
            )
        names.add(name)
        yield from _enum_rules(argument, ("arguments", index))


def _resource_rules(resource: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    if wrong := uri_fault(resource["uri"]):
        yield ("uri",), wrong
    if "file" in resource:
        try:
            path_inside(resource["file"])
        except ValueError as error:
            yield ("file",), str(error)


def _template_rules(template: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    try:
        uri_templates.parse(template["uriTemplate"])
    except ValueError as error:
        yield ("uriTemplate",), f"can't be read: {error}"
    for name, variable in template.get("variables", {}).items():
        yield from _enum_rules(variable, ("variables", name))


_OWN_RULES: Final = {
    "prompts": _prompt_rules,
    "resources": _resource_rules,
    "resourceTemplates": _template_rules,
}


def _enum_rules(argument: Mapping[str, Any], path: Path) -> Iterator[tuple[Path, str]]:
    if len(argument.get("enum", ())) > MAX_ENUM:
        yield (*path, "enum"), f"has more than {MAX_ENUM} values: write a function `complete` instead"


def _as_uri(text: str) -> str:
    """What may be meant by a text that is no URI."""
    if _SCHEME.match(text):
        return quote(text, safe=_IN_URIS)
    return f"notes://{re.sub('[^A-Za-z0-9]+', '-', text).strip('-') or 'all'}"


def uri_fault(uri: str) -> str | None:
    """Why clients don't take a text for a URI (RFC 3986), with what to do; many drop the whole list for one."""
    found = _URI.fullmatch(uri)
    if found is None:
        return f"must be a URI without blanks, such as {_as_uri(uri)[:60]}"
    if found["scheme"].lower() in _WITH_HOST and not _HOST.match(found["rest"]):
        return f"must name a host after {found['scheme']}://"
    return None
