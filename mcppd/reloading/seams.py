"""What reloading sees of the workers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from mcppd.core.catalog import Module
from mcppd.core.faults import Fault
from mcppd.core.generation import Generation


class Pool(Protocol):
    """What a reload needs of the worker pool."""

    async def prepare(self, module: Module, *, run: bool) -> Fault | None:
        """Compile a generation, and with `run` import it."""
        ...

    async def hold(self, generation: Generation) -> None:
        """Let no call begin, wait until the workers are gone."""

    def unhold(self, generation: Generation) -> None:
        """Let calls begin again."""

    def retire(self, generation: Generation) -> None:
        """A generation is no longer served."""

    def retire_all_but(self, kept: Iterable[Generation]) -> None:
        """No generation but these is served."""

    def forgive(self, generation: Generation | None = None) -> None:
        """Calls may try again what died again and again: one generation, or without one all of them."""

    def is_proven(self, generation: Generation) -> bool:
        """Whether the generation has been imported without a fault."""
        ...
