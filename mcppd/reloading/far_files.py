"""Far files: what lies on a file system over a network is looked at in a thread, since a look may never end (D19)."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Container, Iterable, Mapping

from mcppd.reloading.stamps import NOTHING_SEEN, Stamp, stamp


class FarFiles:
    """Looks at them, one look at a time: one that hangs holds one thread, however many ask."""

    def __init__(self) -> None:
        self._look: asyncio.Future[dict[str, Stamp]] | None = None

    async def look(self, paths: Iterable[str], far: Container[str]) -> Mapping[str, Stamp]:
        """The stamps, as they are after now, of those paths that lie in one of the directories `far`.

        To be called with a limit; a look that is given up goes on, and whoever comes next waits for it first.
        """
        wanted = [path for path in paths if path in far or os.path.dirname(path) in far]
        if not wanted:
            return NOTHING_SEEN
        while self._look is not None and not self._look.done():
            await asyncio.wait({self._look})
        self._look = asyncio.ensure_future(asyncio.to_thread(_stamps, wanted))
        return await asyncio.shield(self._look)


def _stamps(paths: Iterable[str]) -> dict[str, Stamp]:
    return {path: stamp(path) for path in paths}
