"""The beginning of the way of everything that is asked: settled, then the catalog read once (D19)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from mcppd.core.catalog import Catalog
from mcppd.core.errors import RetiredError, ToolError
from mcppd.core.modules import Module
from mcppd.core.values import value
from mcppd.serving.seams import Served, Wanted

LOOKUPS: Final = 5
"""How often a call that found its generation replaced is looked up again: more saves than that in one wait are
no editing any more."""

R = TypeVar("R")


@value
class Seen:
    """What is served at one moment, and whether that is all that lies on the disk."""

    catalog: Catalog
    is_settled: bool

    def notice(self, module: Module) -> str | None:
        """What an answer of a module's has to say of where it comes from (D7, D19)."""
        if module.notice is not None or self.is_settled:
            return module.notice
        return (
            f"Notice: a newer save of module {module.name!r} is still loading; "
            "this answer is from the version before."
        )


async def attempted(
    served: Served, wanted: Wanted | None, use: Callable[[Seen], Awaitable[R]], what: str
) -> R:
    """What `use` makes of what is served, once that is settled; again where a generation was replaced meanwhile.

    Raises ToolError, in which `what` is called by its name, where that goes on and on.
    """
    for _ in range(LOOKUPS):
        is_settled = await served.settled(wanted)
        try:
            return await use(Seen(served.catalog, is_settled))
        except RetiredError:
            continue
    raise ToolError(f"Error: {what} is being reloaded again and again; ask again in a moment.")


def text_of_fault(module: Module) -> str:
    """Why a module can't answer, with the line in question, for whoever asked."""
    assert module.fault is not None
    source = f"\n    {module.fault.source.strip()}" if module.fault.source else ""
    advice = "It loads by itself as soon as a repaired version is saved; after anything else, `mcppd reload`."
    return f"Error: module {module.name!r} can't be loaded: {module.fault}{source}\n{advice}"
