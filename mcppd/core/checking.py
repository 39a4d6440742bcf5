"""What the checking worker runs: the checks that obey what authors wrote, such as regular expressions (D1).

A module by the contract: the daemon loads it into a worker of its own and calls it like any other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from mcppd.core.arguments import accept, check_value
from mcppd.core.schemas import check_input_schema, check_output_schema

_KINDS: Final[dict[str, Callable[[Any], str | None]]] = {
    "input": check_input_schema,
    "output": check_output_schema,
}


def execute(tool_name: str, arguments: dict[str, Any], context: Any = None) -> dict[str, Any]:  # noqa: ARG001
    """One check: `validate`, `check_value` or `check_schemas`."""
    match tool_name, arguments:
        case "validate", {"schema": schema, "arguments": dict(given)}:
            accepted, faults = accept(schema, given)
            converted = accepted if accepted != given else None
            return _success({"arguments": converted, "faults": faults})
        case "check_value", {"schema": schema, "value": value}:
            return _success({"faults": check_value(schema, value)})
        case "check_schemas", {"schemas": list(schemas)}:
            return _success({"verdicts": [_verdict(each) for each in schemas]})
    return {"success": False, "error": f"no check {tool_name!r} with the arguments {sorted(arguments)}"}


def _success(result: dict[str, Any]) -> dict[str, Any]:
    return {"success": True, "result": result}


def _verdict(item: Any) -> str | None:
    """What is wrong with one schema of `{"kind": "input" | "output", "schema": …}`."""
    match item:
        case {"kind": "input" | "output" as kind, "schema": schema}:
            return _KINDS[kind](schema)
    return "$: neither an input nor an output schema"
