"""Lists: pages of what the catalog holds, and of what modules know at run time."""

from __future__ import annotations

from mcppd.core import builtin
from mcppd.core.catalog import Catalog
from mcppd.core.effects import List, Page
from mcppd.core.eras import advertise
from mcppd.core.jsonrpc import encode_value
from mcppd.core.pages import page_of
from mcppd.serving.attempts import Seen, attempted
from mcppd.serving.callers import Origin
from mcppd.serving.live_resources import LiveResources
from mcppd.serving.seams import Served


class Lists:
    """Answers tools/list, prompts/list, resources/list and resources/templates/list."""

    def __init__(self, served: Served, live: LiveResources) -> None:
        self._served = served
        self._live = live

    async def page(self, origin: Origin, effect: List) -> Page:
        """A page of a list. Raises ProtocolError for a cursor that isn't ours."""

        async def use(seen: Seen) -> Page:
            return page_of(effect.kind, await self._items(origin, seen.catalog, effect), effect.cursor)

        return await attempted(self._served, None, use, "what is listed")

    async def _items(self, origin: Origin, catalog: Catalog, effect: List) -> list[tuple[str, bytes]]:
        """(key, JSON) of all there is of a kind, in order of key."""
        revision = effect.ticket.revision
        match effect.kind:
            case "tools":
                client = effect.ticket.client
                shown = builtin.definitions(
                    client.name if client else "", meta_tools=origin.caller.meta_tools
                )
                return catalog.encoded("tools", revision, shown)
            case "resources":
                live = await self._live.listed(origin, catalog)
                encoded = {
                    each.uri: encode_value(advertise("resources", each.definition, revision)) for each in live
                }
                # what a manifest declares wins: that is also what is read
                return sorted((encoded | dict(catalog.encoded("resources", revision))).items())
            case kind:
                return catalog.encoded(kind, revision)
