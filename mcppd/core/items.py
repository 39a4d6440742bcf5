"""Items: the prompts, resources and resource templates of a module, as it offers them (CONTRACT.md, Manifest)."""

from __future__ import annotations

import hashlib
import mimetypes
import posixpath
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from mcppd.core.faults import Fault
from mcppd.core.jsonrpc import encode_value
from mcppd.core.kinds import Kind

MAX_PATH: Final = 1024
"""Characters of a file's path inside its module: a quarter of the kernel's; each directory on it is watched."""

ITEM_KINDS: Final[tuple[Kind, ...]] = ("prompts", "resources", "resourceTemplates")
"""The keys of a manifest that hold items."""

KEYS: Final[Mapping[Kind, str]] = {
    "tools": "name",
    "prompts": "name",
    "resources": "uri",
    "resourceTemplates": "uriTemplate",
}
"""The member by which one of a kind is known."""

WORDS: Final[Mapping[Kind, str]] = {
    "tools": "tool",
    "prompts": "prompt",
    "resources": "resource",
    "resourceTemplates": "resource template",
}
"""What one of a kind is called in messages."""

OWN: Final = frozenset({"file", "variables"})
"""Members of ours, which clients are not sent; `enum` of a prompt's argument is another."""


@dataclass(frozen=True, slots=True)
class Item:
    """A prompt, a resource or a template on offer, before names are settled between modules.

    With a fault it is quarantined: not listed, and whoever asks for it is told why.
    """

    kind: Kind
    key: str  # a prompt's own name, a resource's uri, a template's uriTemplate
    definition: Mapping[str, Any]  # as the author wrote it
    shown: Mapping[str, Any]  # as clients get it, but for a prompt's name
    digest: str  # of `shown`
    fault: Fault | None = None
    file: str | None = None  # what a static resource is read from, without any code; absolute in a module
    enums: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # argument or variable -> its values


def needs(tools: Sequence[Any], items: Iterable[Item]) -> tuple[str, ...]:
    """The functions that `mcpptool.py` must have for what a module offers; none where all of it is files."""
    run = [item for item in items if item.fault is None and item.file is None]
    of_items = ("get_prompt" if item.kind == "prompts" else "read_resource" for item in run)
    return tuple(dict.fromkeys([*(["execute"] if tools else []), *of_items]))


def make_item(kind: Kind, definition: Mapping[str, Any], *, fault: Fault | None = None) -> Item:
    """An item on offer, out of a definition that fits its kind or has a fault."""
    key = definition[KEYS[kind]]
    if fault is not None:
        return Item(kind, key, definition, definition, "", fault)
    shown = {name: value for name, value in definition.items() if name not in OWN}
    file = path_inside(definition["file"]) if kind == "resources" and "file" in definition else None
    if file is not None and "mimeType" not in shown and (guessed := mimetypes.guess_type(file)[0]):
        shown["mimeType"] = guessed
    arguments = definition.get("arguments", ()) if kind == "prompts" else ()
    if arguments:
        shown["arguments"] = [_without_enum(each) for each in arguments]
    variables = definition.get("variables", {}) if kind == "resourceTemplates" else {}
    named = {each["name"]: each for each in arguments} | variables
    enums = {name: tuple(each["enum"]) for name, each in named.items() if "enum" in each}
    digest = hashlib.sha256(encode_value(shown)).hexdigest()
    return Item(kind, key, definition, shown, digest, None, file, enums)


def reported_name(kind: Kind, key: str) -> str:
    """How a line names something: a tool by its name, a prompt as `prompt:name`, the others by their URI."""
    return f"prompt:{key}" if kind == "prompts" else key


def in_directory(item: Item, directory: str) -> Item:
    """The item with its file as an absolute path."""
    return item if item.file is None else replace(item, file=posixpath.join(directory, item.file))


def path_inside(written: str) -> str:
    """A path that a manifest names, relative to the module's directory. Raises ValueError where it leads elsewhere."""
    if len(written) > MAX_PATH:
        raise ValueError(
            f"is longer than {MAX_PATH} characters: put the file nearer to the module, or a link to it"
        )
    path = posixpath.normpath(written)
    if "\0" in written or path == "." or written.endswith("/"):
        raise ValueError("must be a path relative to the module's directory, such as notes.md")
    if path.startswith(("/", "../")) or path == "..":
        raise ValueError("leads out of the module's directory: put the file into it, or a link to the file")
    return path


def _without_enum(argument: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in argument.items() if key != "enum"}
