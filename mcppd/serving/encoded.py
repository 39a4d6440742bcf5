"""JSON texts of workers, where something has to be read from them or put into them."""

from __future__ import annotations

import json
from typing import Any

import orjson


def read_json(text: bytes) -> Any:
    """The value of a worker's JSON text; whatever Python writes is read, also what orjson refuses (D13)."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return json.loads(text)


def with_element(array: bytes, element: bytes) -> bytes:
    """A JSON array with one more element at its end, without reading the others."""
    body = array.strip()[1:-1].strip()
    return b"[" + (body + b"," if body else b"") + element + b"]"
