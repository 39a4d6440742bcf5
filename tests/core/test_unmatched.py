"""What a registry says of tools that aren't there."""

from __future__ import annotations

import pytest

from mcppd.core.registry import Entry, parse_registry
from mcppd.core.unmatched import unmatched
from mcppd.core.yaml import read_yaml


def entry_of(tools: str) -> Entry:
    text = f"modules:\n  - path: one\n    tools:\n      {tools}\n"
    registry = parse_registry(
        read_yaml(text.encode(), "/r/tools.yaml"), directory="/r", environ={}, home="/h"
    )
    [entry] = registry.entries
    return entry


@pytest.mark.parametrize(
    ("tools", "column", "words"),
    [
        ("allow: [add, lst]", 20, ("allow", "'lst'", "did you mean list?")),
        ("deny: ['l*', 'z*']", 20, ("deny", "'z*'", "its tools are add, list")),
        ("limits: {add: {timeout: 1}, ad: {timeout: 2}}", 35, ("limits", "'ad'", "did you mean add?")),
    ],
)
def test_a_name_or_glob_that_means_no_tool_is_told_with_its_place(
    tools: str, column: int, words: tuple[str, ...]
) -> None:
    [fault] = unmatched(entry_of(tools), ["list", "add"])
    assert (fault.file, fault.line, fault.column) == ("/r/tools.yaml", 4, column)
    for word in words:
        assert word in fault.message


@pytest.mark.parametrize(
    "tools", ["allow: [add]", "deny: ['*']", "limits: {'a*': {timeout: 1}}", "allow: []"]
)
def test_what_means_a_tool_is_not_told(tools: str) -> None:
    assert not list(unmatched(entry_of(tools), ["list", "add"]))


def test_an_entry_with_no_tools_at_all_says_so() -> None:
    [fault] = unmatched(entry_of("allow: [add]"), [])
    assert "it has no tools" in fault.message


def test_where_they_stand_makes_no_other_entry() -> None:
    assert entry_of("allow: [add]") == entry_of("allow:   [add]")
