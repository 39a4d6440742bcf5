"""A review: what can be told about a registry and its modules from their files alone, each thing at its place.

Errors are what isn't served as it is written. Warnings are what clients refuse, what other readers of YAML
take for something else, and what means nothing here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from mcppd.core.catalog import RESERVED, Catalog, Tool
from mcppd.core.eras import is_object_schema
from mcppd.core.faults import Fault
from mcppd.core.manifest import Manifest, Path, ToolDefinition
from mcppd.core.names import MAX_NAME, wire_name
from mcppd.core.portable import portable, refused_by
from mcppd.core.registry import Registry
from mcppd.core.schemas import check_input_schema, check_output_schema
from mcppd.core.yaml import Document

MAX_DESCRIPTION: Final = 2048
"""Bytes of a description from which on clients cut it (PROTOCOL 4.4)."""

SHORT_NAME: Final = 40
"""Characters of a tool's name that no client shortens or drops, whatever prefix it puts in front (PROTOCOL 4.4)."""

_STEP: Final = re.compile(r'\.([A-Za-z_$][\w$-]*)|\[([0-9]+)\]|\["((?:[^"\\]|\\.)*)"\]')
_OUTPUT: Final = "$.properties.output"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found."""

    is_error: bool
    fault: Fault


def review_registry(document: Document, registry: Registry) -> Iterator[Finding]:
    """What there is to say about a registry that can be read."""
    yield from _errors(registry.faults)
    yield from _warnings((*registry.warnings, *document.yaml11_warnings))


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
        yield from _Review(document, tool).findings()


def review_names(catalog: Catalog, documents: Mapping[str, Document]) -> Iterator[Finding]:
    """What becomes of the tools' names when all modules are served; `documents` are manifests by directory."""
    for tool in catalog.tools:
        document = documents.get(tool.module.directory)
        wrong = _name_warning(tool, catalog) if tool.offer.fault is None else None
        if wrong is not None and document is not None:
            where = (*place_of(document, tool.own_name), "name")
            yield Finding(
                False, document.fault(where, f"tool {tool.own_name[:60]!r}: {wrong}", at_value=True)
            )


def place_of(document: Document, tool: str) -> Path:
    """Where a tool stands in its manifest."""
    items = document.value["tools"]
    index = next(at for at, item in enumerate(items) if isinstance(item, dict) and item.get("name") == tool)
    return "tools", index


def steps_of(told: str) -> Path:
    """The path that a sentence about a schema begins with (`$.a[0]["b c"]: …`), as far as it can be followed."""
    path: list[str | int] = []
    at = 1  # after the `$`
    while found := _STEP.match(told, at):
        name, index, quoted = found.groups()
        text = name if name is not None else re.sub(r"\\(.)", r"\1", quoted or "")
        path.append(text if index is None else int(index))
        at = found.end()
    return tuple(path)


def _errors(faults: Iterable[Fault]) -> Iterator[Finding]:
    return (Finding(True, fault) for fault in faults)


def _warnings(faults: Iterable[Fault]) -> Iterator[Finding]:
    return (Finding(False, fault) for fault in faults)


def _name_warning(tool: Tool, catalog: Catalog) -> str | None:
    """Why a tool isn't listed under its own name, or may not be by a client."""
    if wire_name(tool.own_name) in RESERVED:
        return f"mcppd has a tool of this name itself, so this one is listed as {tool.name}"
    if tool.is_shadowed:
        owner = catalog.find(tool.own_name)
        taken = f"module {owner.module.name!r} in {owner.module.directory}" if owner else "another module"
        return f"{taken} comes first with this name, so this one is listed as {tool.name}"
    if tool.name != tool.own_name:
        wrong = f"clients take only names of 1 to {MAX_NAME} of A-Z a-z 0-9 _ -"
        return f"{wrong}, so this one is listed as {tool.name}"
    if len(tool.name) > SHORT_NAME:
        wrong = f"the name has {len(tool.name)} characters, and clients put a prefix in front"
        return f"{wrong}; some shorten or drop one of more than {SHORT_NAME}"
    return None if tool.name[0].isalpha() else "some models take only names that begin with a letter"


class _Review:
    """One tool in the manifest that it stands in."""

    def __init__(self, document: Document, tool: ToolDefinition) -> None:
        self.document = document
        self.tool = tool
        self.path = place_of(document, tool.name)

    def findings(self) -> Iterator[Finding]:
        """What there is to say about it, but for its name."""
        if self.tool.fault is not None:
            yield Finding(True, self.tool.fault)
            return
        yield from self._description()
        yield from self._input()
        yield from self._output()

    def _found(self, where: Path, wrong: str, *, is_error: bool = False) -> Finding:
        told = f"tool {self.tool.name[:60]!r}: {wrong}"
        return Finding(is_error, self.document.fault((*self.path, *where), told, at_value=len(where) > 1))

    def _description(self) -> Iterator[Finding]:
        text: str = self.tool.definition.get("description") or ""
        size = len(text.encode())
        if not text.strip():
            yield self._found((), "it has no description, by which agents choose it: add `description:`")
        elif size >= MAX_DESCRIPTION:
            wrong = f"the description has {size} bytes, and clients cut it at {MAX_DESCRIPTION}: shorten it"
            yield self._found(("description",), wrong)

    def _input(self) -> Iterator[Finding]:
        schema = self.tool.definition.get("inputSchema")
        if schema is None:
            yield self._found(
                (), "it has no inputSchema, so agents can't know its arguments: add `inputSchema:`"
            )
        elif wrong := check_input_schema(schema):
            yield self._of_schema("inputSchema", wrong, is_error=True)
        else:
            yield from self._refused(schema)

    def _refused(self, schema: Any) -> Iterator[Finding]:
        """What clients refuse in the inputSchema; most of it is mended in what they are shown (D15)."""
        left = {_words(told) for told in refused_by(portable(schema))} if self.tool.portable else None
        for told in refused_by(schema):
            is_mended = left is not None and _words(told) not in left
            yield self._of_schema(
                "inputSchema", f"{told} (clients are shown a form they take)" if is_mended else told
            )

    def _output(self) -> Iterator[Finding]:
        schema = self.tool.definition.get("outputSchema")
        if schema is None:
            return
        if wrong := check_output_schema(schema):
            yield self._of_schema("outputSchema", wrong, is_error=True)
            return
        if not is_object_schema(schema):
            wrong = "$: only clients of the revision 2026-07-28 get it; older ones take none without `type: object`"
            yield self._of_schema("outputSchema", wrong)
        # as a property's schema: what models refuse at the root of arguments is nothing to them here
        for told in refused_by({"type": "object", "properties": {"output": schema}}):
            yield self._of_schema("outputSchema", "$" + told.removeprefix(_OUTPUT))

    def _of_schema(self, key: str, told: str, *, is_error: bool = False) -> Finding:
        return self._found((key, *steps_of(told)), f"{key} {told}", is_error=is_error)


def _words(told: str) -> str:
    """A sentence about a schema without the path that it begins with."""
    return told.partition(": ")[2]
