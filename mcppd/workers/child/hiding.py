"""Keeping secrets out of what we write to the module's log: the values that the registry gives its environment."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Mapping
from typing import Final

SHORTEST: Final = 4
"""Characters of the shortest value that is kept out; "1" and "no" are no secrets, and stand everywhere."""
HIDDEN: Final = "***"
"""What stands where a secret was."""


class Secrets:
    """The variables whose values no log may have."""

    def __init__(self, names: Collection[str], variables: Callable[[], Mapping[bytes, bytes]]) -> None:
        self._names = [os.fsencode(name) for name in names]
        self._variables = variables  # those of the call that runs

    def hide(self, text: str) -> str:
        """The text without the secrets, also as `repr` and JSON write them."""
        variables = self._variables()
        values = {os.fsdecode(variables[name]) for name in self._names if name in variables}
        for value in sorted(values, key=len, reverse=True):  # one may be the beginning of another
            if len(value) >= SHORTEST:
                for written in (value, repr(value)[1:-1], json.dumps(value)[1:-1]):
                    text = text.replace(written, HIDDEN)
        return text
