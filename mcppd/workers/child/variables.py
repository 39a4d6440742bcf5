"""The environment of a call: what os.environ says, what C and the programs that are started see, and the time zone."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping
from typing import Any

from .hearing import Hearing


class Variables:
    """The variables of this process; each call gets its own."""

    def __init__(self, hearing: Hearing) -> None:
        self._environ = os.environ
        self._wanted = dict(_data(os.environ))
        self._touched: set[bytes] = set()  # names that anybody has set or taken away, past os.environ as well
        hearing.on("os.putenv", self._heard)
        hearing.on("os.unsetenv", self._heard)

    def wanted(self) -> Mapping[bytes, bytes]:
        """Those of the call, as they were given; before the first, the process's own."""
        return self._wanted

    def enter(self, env: Mapping[str, str] | None) -> None:
        """Have exactly these; None: those of the call before."""
        if env is not None:
            self._wanted = _encoded(env)
        if self._touched or _data(self._environ) != self._wanted:
            self._change()

    def restore(self) -> None:
        """Put os.environ back in its place: a tool may have put a dict there."""
        os.environ = self._environ  # noqa: B003

    def _change(self) -> None:
        """Change only what differs: each variable costs a call into C."""
        environ, wanted, present = self._environ, self._wanted, _data(self._environ)
        for name in present.keys() - wanted.keys():
            del environ[os.fsdecode(name)]
        for name, value in wanted.items():
            if present.get(name) != value:
                environ[os.fsdecode(name)] = os.fsdecode(value)
        for name in list(self._touched):
            with contextlib.suppress(OSError, ValueError):  # a name that can't be one
                os.putenv(name, wanted[name]) if name in wanted else os.unsetenv(name)
        if b"TZ" in self._touched:
            time.tzset()
        self._touched.clear()

    def _heard(self, args: tuple[Any, ...]) -> None:
        self._touched.add(args[0])


def _encoded(env: Mapping[str, str]) -> dict[bytes, bytes]:
    """The variables that the system can hold, as it holds them."""
    variables = {}
    for name, value in env.items():
        if name and "=" not in name and "\0" not in name + value:
            with contextlib.suppress(UnicodeEncodeError):  # a lone surrogate
                variables[os.fsencode(name)] = os.fsencode(value)
    return variables


def _data(environ: Any) -> dict[bytes, bytes]:
    """The mapping behind os.environ: to read it through os.environ takes longer than all the rest of a call."""
    variables: dict[bytes, bytes] = environ._data  # noqa: SLF001
    return variables
