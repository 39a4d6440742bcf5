"""The help text of a tool."""

from __future__ import annotations

import pytest

from mcppd.cli.tool_help import tool_help

TOOL = {
    "description": "Fetches a page.\n\nOnly http and https.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "max_chars": {"type": "integer", "minimum": 1, "maximum": 200000, "default": 20000},
            "url": {"type": "string", "description": "The page's\naddress."},
            "raw": {"type": "boolean"},
            "headers": {"type": "array", "items": {"type": "string"}},
            "form": {"type": "object"},
            "kind": {"enum": ["get", "post"]},
            "ids": {"type": "array", "items": {"type": "integer"}},
            "at": {"type": ["number", "integer", "null"]},
            "extra": {},
        },
        "required": ["url"],
    },
}

TEXT = """\
Usage: mcppd call fetch_page [--args JSON] [OPTIONS]

  Fetches a page.

  Only http and https.

Options:
  --url TEXT           The page's address. [required]
  --max-chars INTEGER  [at least 1; at most 200000; default: 20000]
  --raw / --no-raw
  --headers TEXT...    [repeat it for more, or give a JSON array]
  --form JSON
  --kind [get|post]
  --ids INTEGER...     [repeat it for more, or give a JSON array]
  --at NUMBER|null
  --extra VALUE
  --args JSON          All arguments as one JSON object, or - to read it; other
                       options are put into it.
  --help               Show this text.
"""


@pytest.fixture(autouse=True)
def _columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "82")


def test_the_help_shows_description_and_options_with_types_defaults_and_choices() -> None:
    assert tool_help("fetch_page", TOOL) == TEXT


def test_a_tool_without_arguments_has_only_help() -> None:
    assert tool_help("ping", {"inputSchema": {"type": "object"}}) == (
        "Usage: mcppd call ping [--help]\n\nOptions:\n  --help  Show this text.\n"
    )


def test_a_tool_with_an_option_called_help_keeps_it() -> None:
    text = tool_help("x", {"inputSchema": {"properties": {"help": {"type": "string"}}}})
    assert text.count("--help") == 1


@pytest.mark.parametrize(
    "tool", [{}, {"inputSchema": None}, {"inputSchema": {"properties": {"a": 5}}, "description": 7}]
)
def test_a_definition_of_no_use_has_a_help_text_too(tool: dict[str, object]) -> None:
    assert tool_help("x", tool).startswith("Usage: mcppd call x")


def test_control_characters_of_a_description_do_not_reach_the_terminal() -> None:
    tool = {"description": "a\x1b[31mb", "inputSchema": {"properties": {"n\x07": {"description": "c\x9bd"}}}}
    assert not {"\x1b", "\x07", "\x9b"} & set(tool_help("x", tool))
