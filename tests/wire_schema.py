"""Holds messages against the official schemas of their revision; every test that sees the wire can use it.

Two judges: the types of `mcp_types`, always, and the JSON Schemas of the specification, where they are there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

import mcp_types.methods as sdk
from jsonschema import Draft7Validator, Draft202012Validator
from jsonschema.protocols import Validator
from mcp_types.jsonrpc import jsonrpc_message_adapter

Direction: TypeAlias = Literal["server", "client"]
"""Who sent a message."""

SCHEMAS = Path(__file__).resolve().parents[2] / "shared" / "mcp-schema"
WHY_NO_SCHEMAS = f"optional: the specification's JSON Schemas are not in {SCHEMAS}"
BATCHES = "2025-03-26"
MAY_ASK = {"tools/call", "prompts/get", "resources/read"}
"""Requests whose answer may be questions (MCP 2026-07-28, multi round-trip requests)."""


def have_schemas() -> bool:
    """Whether the JSON Schemas of the specification can be used too."""
    return SCHEMAS.is_dir()


def check_message(
    direction: Direction, revision: str, message: Any, method: str | None = None, *, closed: bool = False
) -> None:
    """Assert that a decoded message may be sent in this direction in this revision.

    `method` is the method of the request that a response answers; without it a result is only held against
    what all results have in common. A list is a batch of answers. `closed`: nothing may be in the message that
    the revision doesn't name; the schemas themselves let everything pass that is more than they know.
    """
    if isinstance(message, list):
        assert revision == BATCHES, f"{revision} has no batches: {message}"
        assert message, "an empty batch"
        for item in message:
            check_message(direction, revision, item, closed=closed)
        return
    assert isinstance(message, dict), f"not an object: {message!r}"
    jsonrpc_message_adapter.validate_python(message)
    _check_types(direction, revision, message, method)
    if have_schemas():
        for name in _definitions(direction, revision, message, method):
            is_envelope = name.startswith("JSONRPC")
            body = message if is_envelope else _body(message, name)
            _check_schema(revision, name, body, closed=closed and not is_envelope and name != "Result")


def _check_types(direction: Direction, revision: str, message: Mapping[str, Any], method: str | None) -> None:
    """Ask the SDK, which has one set of types for all legacy revisions and one for the modern one."""
    if "method" in message:
        _SDK_PARSERS[direction, "id" in message](message["method"], revision, message.get("params"))
    elif "result" in message and (method, revision) in sdk.SERVER_RESULTS and direction == "server":
        sdk.validate_server_result(str(method), revision, message["result"])
    elif "result" in message and (method, revision) in sdk.CLIENT_RESULTS and direction == "client":
        sdk.validate_client_result(str(method), revision, message["result"])


_SDK_PARSERS: dict[tuple[Direction, bool], Callable[..., object]] = {
    ("server", True): sdk.parse_server_request,
    ("server", False): sdk.parse_server_notification,
    ("client", True): sdk.parse_client_request,
    ("client", False): sdk.parse_client_notification,
}


def _definitions(
    direction: Direction, revision: str, message: Mapping[str, Any], method: str | None
) -> Sequence[str]:
    """The names of the schemas that a message has to fit."""
    if "method" in message:
        kind = "Request" if "id" in message else "Notification"
        name = _named(revision, message["method"])
        assert name in _union(revision, direction.capitalize() + kind), f"{name}: not of a {direction}"
        return [f"JSONRPC{kind}", name]
    if "error" in message:
        return [_known(revision, "JSONRPCErrorResponse", "JSONRPCError")]
    answer = _known(revision, "JSONRPCResultResponse", "JSONRPCResponse")
    if method is None or method not in _methods(revision):
        return [answer, "Result"]
    if message["result"].get("resultType") == "input_required":
        assert method in MAY_ASK, f"{method} may ask nothing"
        return [answer, "InputRequiredResult"]
    return [
        answer,
        _known(revision, _named(revision, method).removesuffix("Request") + "Result", "EmptyResult"),
    ]


def _body(message: Mapping[str, Any], name: str) -> Any:
    """What a schema is about: a result without its envelope, or the message as it is."""
    return message["result"] if name.endswith("Result") else message


def _check_schema(revision: str, name: str, instance: Any, *, closed: bool) -> None:
    if isinstance(instance, dict) and "error" in instance and instance.get("id", 0) is None:
        # JSON-RPC wants null where no id could be read; MCP's schemas leave the id out there
        instance = {**instance, "id": 0}
    faults = [
        f"{fault.json_path}: {fault.message}"
        for fault in _validator(revision, name, closed=closed).iter_errors(instance)
    ]
    assert not faults, f"not a {name} of {revision}: {faults}\n{instance}"


@cache
def _schema(revision: str) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads((SCHEMAS / f"{revision}.json").read_text())
    return schema


def _place(revision: str) -> str:
    return "$defs" if "$defs" in _schema(revision) else "definitions"


def _all(revision: str) -> dict[str, Any]:
    definitions: dict[str, Any] = _schema(revision)[_place(revision)]
    return definitions


@cache
def _validator(revision: str, name: str, *, closed: bool) -> Validator:
    place = _place(revision)
    kind = Draft202012Validator if place == "$defs" else Draft7Validator
    definitions = _all(revision)
    if closed:
        definitions = {each: _closed(definition) for each, definition in definitions.items()}
    return kind({"$ref": f"#/{place}/{name}", place: definitions})


OPEN = frozenset({"inputSchema", "outputSchema", "structuredContent", "_meta", "requestedSchema"})
"""Members in which anything may be."""

ENVELOPE = {"jsonrpc": True, "id": True}
"""Members of requests and notifications that older schemas keep apart."""


def _closed(schema: Any) -> Any:
    """A schema that takes no member that it doesn't name."""
    if isinstance(schema, list):
        return [_closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    shut = {key: _closed(value) for key, value in schema.items() if key != "properties"}
    properties = schema.get("properties")
    if properties:
        inner = {key: value if key in OPEN else _closed(value) for key, value in properties.items()}
        shut["properties"] = {**ENVELOPE, **inner} if "method" in properties else inner
        shut.setdefault("additionalProperties", False)
    return shut


@cache
def _methods(revision: str) -> dict[str, str]:
    """The name of the schema of each method, of requests and of notifications."""
    found = {}
    for name, definition in _all(revision).items():
        if name.endswith(("Request", "Notification")) and not name.startswith(
            ("Client", "Server", "JSONRPC")
        ):
            method = definition.get("properties", {}).get("method", {}).get("const")
            if method is not None:
                found[method] = name
    return found


def _named(revision: str, method: str) -> str:
    assert method in _methods(revision), f"{revision} has no {method}"
    return _methods(revision)[method]


def _known(revision: str, *names: str) -> str:
    return next(name for name in names if name in _all(revision))


def _union(revision: str, name: str) -> set[str]:
    """The names in a union of messages; a union of one is written out in its place."""
    definition = _all(revision).get(name, {"anyOf": []})
    if "anyOf" not in definition:
        return {_named(revision, definition["properties"]["method"]["const"])}
    return {member["$ref"].rpartition("/")[2] for member in definition["anyOf"]}
