"""Own changes: a module whose own code changes the files it is made of would be reloaded for ever; that is ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from mcppd.core.faults import Fault

TIMES: Final = 3
"""Reloads after which a file that the module writes itself counts no longer: one or two may be meant."""
WITHIN: Final = 2.0
"""Seconds in which they come, besides those that their imports take: nobody saves as often by hand."""


@dataclass(slots=True)
class _Module:
    written: set[str] = field(default_factory=set)  # by its own code
    reloads: list[tuple[float, str]] = field(default_factory=list)  # (when, which path had changed)
    prepared: float = 0.0  # seconds that all of them took
    ignored: frozenset[str] = frozenset()


class OwnChanges:
    """Counts how often modules are reloaded because of what they write, by their directories."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._modules: dict[str, _Module] = {}

    @property
    def ignored(self) -> dict[str, frozenset[str]]:
        """The files of each module that count no longer."""
        return {directory: module.ignored for directory, module in self._modules.items() if module.ignored}

    def written(self, directory: str, paths: Iterable[str]) -> bool:
        """The module's code has written files; whether one more is ignored for that."""
        module = self._modules.setdefault(directory, _Module())
        module.written.update(paths)
        return self._judge(module)

    def reloaded(self, directory: str, changed: frozenset[str]) -> None:
        """A module is made of something else now; a file that it doesn't write was saved by somebody."""
        module = self._modules.setdefault(directory, _Module())
        if not changed <= module.written:
            module.ignored = frozenset()
        now = self._clock() - module.prepared
        module.reloads = [each for each in module.reloads if now - each[0] < WITHIN]
        module.reloads += [(now, path) for path in changed]
        self._judge(module)

    def prepared(self, directory: str, seconds: float) -> None:
        """A version was prepared, which took so long: meanwhile it could not be reloaded, however often it would be."""
        if directory in self._modules:
            self._modules[directory].prepared += seconds

    def forget(self, directories: Iterable[str] | None = None) -> None:
        """Let everything count again; of these modules, or of all."""
        for directory in list(self._modules) if directories is None else directories:
            self._modules.pop(directory, None)

    def warnings(self) -> Iterator[Fault]:
        """What to tell of the files that are ignored."""
        for directory, module in sorted(self._modules.items()):
            for path in sorted(module.ignored):
                text = (
                    f"the module in {directory} changes this file itself, so it would be reloaded again and again: "
                    "what changes in it is ignored until another of its files is saved or `mcppd reload` is run"
                )
                yield Fault(text, path)

    @staticmethod
    def _judge(module: _Module) -> bool:
        paths = [path for _, path in module.reloads if path in module.written]
        often = frozenset(path for path in paths if paths.count(path) >= TIMES)
        if often <= module.ignored:
            return False
        module.ignored |= often
        return True
