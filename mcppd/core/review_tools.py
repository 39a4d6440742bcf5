"""The review of a tool: its description, and what clients make of its schemas."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from mcppd.core.documents import Document
from mcppd.core.eras import is_object_schema
from mcppd.core.findings import Finding, length_warning, place_of
from mcppd.core.manifest import ToolDefinition
from mcppd.core.portable import portable
from mcppd.core.refusals import refused_by
from mcppd.core.schemas import check_input_schema, check_output_schema
from mcppd.core.shapes import Path

_STEP: Final = re.compile(r'\.([A-Za-z_$][\w$-]*)|\[([0-9]+)\]|\["((?:[^"\\]|\\.)*)"\]')
_OUTPUT: Final = "$.properties.output"


def review_tool(document: Document, tool: ToolDefinition) -> Iterator[Finding]:
    """What there is to say about a tool in its manifest, but for its name."""
    return _Review(document, tool).findings()


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


class _Review:
    """One tool in the manifest that it stands in."""

    def __init__(self, document: Document, tool: ToolDefinition) -> None:
        self.document = document
        self.tool = tool
        self.path = place_of(document, "tools", tool.name)

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
        if not text.strip():
            yield self._found((), "it has no description, by which agents choose it: add `description:`")
        elif wrong := length_warning(text):
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
