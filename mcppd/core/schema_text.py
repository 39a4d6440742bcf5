"""How messages about schemas and values word things: paths, values and errors, each of bounded length."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, Final

MAX_SHOWN: Final = 80
"""Characters of a value in a message."""

MAX_PATH: Final = 160
"""Characters of a path in a message."""

_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, default=lambda value: type(value).__name__)


def path_text(path: Iterable[str | int]) -> str:
    """A JSON path as people write it: `$.a[0]["b c"]`."""
    return short("$" + "".join(map(_step_text, path)), MAX_PATH)


def short(text: str, limit: int) -> str:
    """The text, cut in its middle to about `limit` characters, and fit for UTF-8."""
    if len(text) > limit:
        text = f"{text[: limit // 3]} … {text[-(limit * 2 // 3) :]}"
    return text.encode("utf-8", "backslashreplace").decode()


def shown(value: Any, limit: int) -> str:
    """The beginning of the JSON text of a value, made no further than it is shown."""
    text = ""
    for piece in _ENCODER.iterencode(value[: limit + 1] if isinstance(value, str) else value):
        text += piece[: limit + 1]
        if len(text) > limit:
            break
    return short(text if len(text) <= limit else text[:limit] + "…", limit + 1)


def raised(error: Exception) -> str:
    """What was raised, without the values in it: they may be of any size or depth."""
    text = next((each for each in error.args if isinstance(each, str)), "")
    return f"{type(error).__name__}: {short(text, MAX_SHOWN)}"


def _step_text(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    plain = re.fullmatch(r"[A-Za-z_$][\w$-]*", step)
    return f".{step}" if plain else '["' + step.replace("\\", "\\\\").replace('"', '\\"') + '"]'
