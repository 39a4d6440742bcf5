from __future__ import annotations

import json
from typing import Any

import pytest

from mcppd.core.checking import execute


def result(tool: str, arguments: dict[str, Any]) -> Any:
    answer = execute(tool, arguments, None)
    assert answer["success"] is True
    json.dumps(answer)
    return answer["result"]


def test_arguments_are_validated_and_converted() -> None:
    schema = {"properties": {"n": {"type": "integer"}, "s": {"pattern": "^a"}}}
    assert result("validate", {"schema": schema, "arguments": {"n": "5", "s": "a"}}) == {
        "arguments": {"n": 5, "s": "a"},
        "faults": [],
    }
    assert len(result("validate", {"schema": schema, "arguments": {"s": "b"}})["faults"]) == 1


def test_a_value_is_checked() -> None:
    assert result("check_value", {"schema": {"uniqueItems": True}, "value": [1, 2]}) == {"faults": []}
    assert len(result("check_value", {"schema": {"uniqueItems": True}, "value": [1, 1]})["faults"]) == 1


def test_each_schema_gets_its_own_verdict() -> None:
    items = [
        {"kind": "input", "schema": {}},
        {"kind": "input", "schema": {"type": "array"}},
        {"kind": "output", "schema": {"type": "array"}},
        {"kind": "output", "schema": {"pattern": "(("}},
        {"kind": "other", "schema": {}},
        5,
    ]
    verdicts = result("check_schemas", {"schemas": items})["verdicts"]
    assert [verdict is None for verdict in verdicts] == [True, False, True, False, False, False]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("other", {}),
        ("validate", {"schema": {}}),
        ("check_schemas", {"schemas": 5}),
        ("validate", {"schema": {}, "arguments": 5}),
    ],
)
def test_a_check_that_is_not_there_fails(tool: str, arguments: dict[str, Any]) -> None:
    answer = execute(tool, arguments)
    assert answer["success"] is False
    assert isinstance(answer["error"], str)
