"""A review: what can be told about a registry and its modules from their files alone, each thing at its place.

Errors are what isn't served as it is written. Warnings are what clients refuse, what other readers of YAML
take for something else, and what means nothing here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from mcppd.core.catalog import RESERVED, Catalog
from mcppd.core.documents import Document
from mcppd.core.faults import Fault
from mcppd.core.findings import Finding, length_warning, place_of
from mcppd.core.instructions import room_left
from mcppd.core.items import KEYS, WORDS, Item
from mcppd.core.kinds import Kind
from mcppd.core.manifest import Manifest
from mcppd.core.names import MAX_NAME, wire_name
from mcppd.core.registry import Registry
from mcppd.core.review_tools import review_tool
from mcppd.core.served import Prompt, Resource, Template, Tool

__all__ = ["Finding"]

SHORT_NAME: Final = 40
"""Characters of a name that no client shortens or drops, whatever prefix it puts in front (PROTOCOL 4.4)."""


def review_registry(document: Document, registry: Registry) -> Iterator[Finding]:
    """What there is to say about a registry that can be read."""
    yield from _errors(registry.faults)
    yield from _warnings((*registry.warnings, *document.yaml11_warnings))
    if (left := room_left(registry.instructions)) < 0:
        wrong = f"`instructions` is {-left} characters too long, and is cut: shorten it"
        yield Finding(False, document.fault(("instructions",), wrong))


def review_manifest(document: Document, manifest: Manifest) -> Iterator[Finding]:
    """What there is to say about a manifest that can be read, and the schemas in it."""
    yield from _errors(manifest.faults)
    yield from _warnings((*manifest.warnings, *document.yaml11_warnings))
    if wire_name(manifest.name) != manifest.name:
        wrong = (
            f"clients take only names of 1 to {MAX_NAME} of A-Z a-z 0-9 _ -: full names of tools get an alias"
        )
        yield Finding(False, document.fault(("name",), wrong, at_value=True))
    for tool in manifest.tools:
        yield from review_tool(document, tool)
    for item in manifest.items:
        yield from _review_item(document, item)


def review_names(catalog: Catalog, documents: Mapping[str, Document]) -> Iterator[Finding]:
    """What becomes of names and URIs when all modules are served; `documents` are manifests by directory."""
    for tool in catalog.listed:
        if wrong := _name_warning(tool, catalog.find(tool.own_name), RESERVED):
            yield from _named(documents, tool, "tools", tool.own_name, wrong)
    for prompt in catalog.prompts:
        if wrong := _name_warning(prompt, catalog.find_prompt(prompt.own_name)):
            yield from _named(documents, prompt, "prompts", prompt.own_name, wrong)
    for each in catalog.shadowed:
        owner = catalog.owner_of(each)
        wrong = f"{_owner_words(owner)} comes first with this, so this one is not served: give it another"
        yield from _named(documents, each, each.item.kind, each.key, wrong)


def _review_item(document: Document, item: Item) -> Iterator[Finding]:
    if item.fault is not None:
        yield Finding(True, item.fault)
        return
    path = place_of(document, item.kind, item.key)
    text = item.definition.get("description", "")
    told = f"{WORDS[item.kind]} {item.key[:60]!r}: "
    if not text.strip():
        wrong = "it has no description, by which people and agents choose it: add `description:`"
        yield Finding(False, document.fault(path, told + wrong))
    elif wrong := length_warning(text) or "":
        yield Finding(False, document.fault((*path, "description"), told + wrong))


def _errors(faults: Iterable[Fault]) -> Iterator[Finding]:
    return (Finding(True, fault) for fault in faults)


def _warnings(faults: Iterable[Fault]) -> Iterator[Finding]:
    return (Finding(False, fault) for fault in faults)


def _named(
    documents: Mapping[str, Document],
    found: Tool | Prompt | Resource | Template,
    kind: Kind,
    key: str,
    wrong: str,
) -> Iterator[Finding]:
    """A warning at a name or URI."""
    document = documents.get(found.module.directory)
    if document is not None:
        where = (*place_of(document, kind, key), KEYS[kind])
        yield Finding(False, document.fault(where, f"{WORDS[kind]} {key[:60]!r}: {wrong}", at_value=True))


def _owner_words(owner: Tool | Prompt | Resource | Template | None) -> str:
    if owner is None:
        return "another module"
    return f"module {owner.module.name!r} in {owner.module.directory}"


def _name_warning(
    found: Tool | Prompt, owner: Tool | Prompt | None, reserved: frozenset[str] = frozenset()
) -> str | None:
    """Why a tool or prompt isn't listed under its own name, or may not be by a client."""
    if wire_name(found.own_name) in reserved:
        return f"mcppd has a tool of this name itself, so this one is listed as {found.name}"
    if found.is_shadowed:
        return f"{_owner_words(owner)} comes first with this name, so this one is listed as {found.name}"
    if found.name != found.own_name:
        wrong = f"clients take only names of 1 to {MAX_NAME} of A-Z a-z 0-9 _ -"
        return f"{wrong}, so this one is listed as {found.name}"
    if len(found.name) > SHORT_NAME:
        wrong = f"the name has {len(found.name)} characters, and clients put a prefix in front"
        return f"{wrong}; some shorten or drop one of more than {SHORT_NAME}"
    return None if found.name[0].isalpha() else "some models take only names that begin with a letter"
