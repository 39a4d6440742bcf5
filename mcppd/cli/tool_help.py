"""What `mcppd call TOOL --help` says: a tool's description and its options."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from typing import Any, Final

import click

from mcppd.cli.output import printable
from mcppd.cli.tool_options import KINDS, Option, kinds_of, options_of

WIDEST: Final = 100  # columns; longer lines are hard to read however wide the terminal is

_WORDS: Final = {
    "string": "TEXT",
    "integer": "INTEGER",
    "number": "NUMBER",
    "boolean": "true|false",
    "array": "JSON",
    "object": "JSON",
    "null": "null",
}
_BOUNDS: Final = (
    ("minimum", "at least {}"),
    ("exclusiveMinimum", "more than {}"),
    ("maximum", "at most {}"),
    ("exclusiveMaximum", "less than {}"),
    ("minLength", "at least {} characters"),
    ("maxLength", "at most {} characters"),
    ("minItems", "at least {} of them"),
    ("maxItems", "at most {} of them"),
    ("pattern", "matching {}"),
    ("format", "format {}"),
)


def tool_help(name: str, tool: Mapping[str, Any]) -> str:
    """The whole text."""
    schema = tool.get("inputSchema")
    options = options_of(schema if isinstance(schema, Mapping) else {})
    width = min(shutil.get_terminal_size().columns, WIDEST)
    formatter = click.HelpFormatter(width=width - 2)
    formatter.write_usage(f"mcppd call {name}", "[--args JSON] [OPTIONS]" if options else "[--help]")
    description = tool.get("description")
    if isinstance(description, str) and description.strip():
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(printable(description.strip()))
    with formatter.section("Options"):
        formatter.write_dl([*map(_row, options), *_ours(options)])
    return formatter.getvalue()


def _ours(options: tuple[Option, ...]) -> list[tuple[str, str]]:
    rows = []
    if options:
        rows.append(
            (
                "--args JSON",
                "All arguments as one JSON object, or - to read it; other options are put into it.",
            )
        )
    if not any(option.name == "help" for option in options):
        rows.append(("--help", "Show this text."))
    return rows


def _row(option: Option) -> tuple[str, str]:
    names = (
        f"{option.flag} / --no-{option.flag[2:]}"
        if option.kinds == {"boolean"}
        else f"{option.flag} {_value(option)}"
    )
    return printable(names), printable(" ".join(filter(None, [_text(option), _notes(option)])))


def _value(option: Option) -> str:
    """What stands for the option's value."""
    if option.choices:
        return "[" + "|".join(_plain(choice) for choice in option.choices) + "]"
    if option.kinds == {"array"}:
        return _kind_words(kinds_of(option.items, option.root)) + "..."
    return _kind_words(option.kinds)


def _kind_words(kinds: frozenset[str]) -> str:
    if kinds == KINDS:
        return "VALUE"
    if "number" in kinds:
        kinds -= {"integer"}
    return "|".join(dict.fromkeys(word for kind, word in _WORDS.items() if kind in kinds))


def _text(option: Option) -> str:
    description = option.schema.get("description")
    return " ".join(description.split()) if isinstance(description, str) else ""


def _notes(option: Option) -> str:
    """In brackets: required, repeatable, bounds, default."""
    notes = ["required"] if option.is_required else []
    if "array" in option.kinds and option.kinds != KINDS:
        notes.append("repeat it for more, or give a JSON array")
    notes += [words.format(_plain(option.schema[key])) for key, words in _BOUNDS if key in option.schema]
    if "default" in option.schema:
        notes.append(f"default: {_plain(option.schema['default'])}")
    return f"[{'; '.join(notes)}]" if notes else ""


def _plain(value: Any) -> str:
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)
