"""Lists: pages of what the catalog holds, and of what modules know at run time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from mcppd.core import builtin
from mcppd.core.catalog import Catalog
from mcppd.core.effects import List, Page
from mcppd.core.eras import advertise
from mcppd.core.jsonrpc import encode_value
from mcppd.core.kinds import Kind
from mcppd.core.pages import page_of
from mcppd.serving.attempts import Seen, attempted
from mcppd.serving.callers import Origin
from mcppd.serving.live_resources import LiveResources
from mcppd.serving.seams import Served

Items: TypeAlias = list[tuple[str, bytes]]


class Lists:
    """Answers tools/list, prompts/list, resources/list and resources/templates/list."""

    def __init__(self, served: Served, live: LiveResources) -> None:
        self._served = served
        self._live = live
        self._first: dict[
            tuple[Kind, str, int], tuple[Items, Page]
        ] = {}  # by kind, revision and tools of ours

    async def page(self, origin: Origin, effect: List) -> Page:
        """A page of a list. Raises ProtocolError for a cursor that isn't ours."""
        shown = _shown(origin) if effect.kind == "tools" else ()

        async def use(seen: Seen) -> Page:
            items = seen.catalog.encoded(effect.kind, effect.ticket.revision, shown)
            if effect.kind == "resources":
                items = await self._with_live(origin, seen.catalog, items)
            if effect.cursor is not None:
                return page_of(effect.kind, items, effect.cursor)
            return self._first_page(effect, len(shown), items)

        return await attempted(self._served, None, use, "what is listed")

    def _first_page(self, effect: List, shown: int, items: Items) -> Page:
        """The page that a list begins with; of the same items, which the catalog keeps, it is put together once."""
        place = (effect.kind, effect.ticket.revision, shown)
        known = self._first.get(place)
        if known is None or known[0] is not items:
            known = self._first[place] = (items, page_of(effect.kind, items, None))
        return known[1]

    async def _with_live(self, origin: Origin, catalog: Catalog, declared: Items) -> Items:
        """The resources, with those that modules list at run time among them."""
        revision = origin.ticket.revision
        live = {
            each.uri: encode_value(advertise("resources", each.definition, revision))
            for each in await self._live.listed(origin, catalog)
        }
        # what a manifest declares wins: that is also what is read
        return sorted((live | dict(declared)).items()) if live else declared


def _shown(origin: Origin) -> Sequence[Mapping[str, Any]]:
    """The tools of ours that the client is shown."""
    client = origin.ticket.client
    return builtin.definitions(client.name if client else "", meta_tools=origin.caller.meta_tools)
