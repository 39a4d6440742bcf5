"""Resources: looked up by their URI, read from a file or by their module."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from mcppd.core.effects import Encoded, ReadResource
from mcppd.core.errors import ResourceNotFoundError, ToolError
from mcppd.core.jsonrpc import encode_value
from mcppd.core.modules import Module
from mcppd.serving.attempts import Seen, attempted, text_of_fault
from mcppd.serving.callers import Origin
from mcppd.serving.encoded import with_element
from mcppd.serving.files import read_contents
from mcppd.serving.live_resources import LiveResources
from mcppd.serving.seams import Calls, Served
from mcppd.serving.stored_results import StoredResults

NOTICE_URI: Final = "mcppd://notice"
"""Of the contents that say that those before them are of an older version (D7); theirs stay what they are."""


@dataclass(frozen=True, slots=True)
class _Source:
    """What a module reads a resource by."""

    module: Module
    uri: str
    variables: Mapping[str, str]
    mime_type: str | None


class Resources:
    """Answers resources/read."""

    def __init__(self, served: Served, calls: Calls, live: LiveResources, stored: StoredResults) -> None:
        self._served = served
        self._calls = calls
        self._live = live
        self._stored = stored

    async def read(self, origin: Origin, effect: ReadResource) -> Encoded:
        """The contents of a resource. Raises ToolError, ProtocolError, InputRequiredError."""
        uri = effect.uri
        if (kept := self._stored.find(uri)) is not None:
            return Encoded("contents", await read_contents(uri, kept.path, kept.mime_type))

        async def use(seen: Seen) -> Encoded:
            body = await self._declared(origin, seen, uri)
            if body is None and (found := await self._live.find(origin, seen.catalog, uri)) is not None:
                source = _Source(found.module, uri, {}, found.definition.get("mimeType"))
                body = await self._read(origin, source, seen)
            if body is None:
                raise ResourceNotFoundError(uri)
            return Encoded("contents", body)

        return await attempted(
            self._served,
            lambda catalog: found[0].module if (found := catalog.find_resource(uri)) else None,
            use,
            f"resource {uri}",
        )

    async def _declared(self, origin: Origin, seen: Seen, uri: str) -> bytes | None:
        """What a manifest declares under a URI, by itself or by a template."""
        found = seen.catalog.find_resource(uri)
        if found is None:
            return None
        resource, variables = found
        item = resource.item
        if item.fault is not None:
            raise ToolError(f"this resource can't be read: {item.fault}")
        mime_type = item.shown.get("mimeType")
        if item.file is not None:  # it lies on the disk, whatever became of the module's code
            return await read_contents(uri, item.file, mime_type)
        return await self._read(origin, _Source(resource.module, uri, variables, mime_type), seen)

    async def _read(self, origin: Origin, source: _Source, seen: Seen) -> bytes | None:
        """What the code of a module reads, with the notice of an older version; None where there is nothing."""
        module = source.module
        notice = seen.notice(module)
        if module.state == "failed":
            raise ToolError(text_of_fault(module))
        try:
            context = await origin.context(module)
            body = await self._calls.read_resource(
                module, source.uri, source.variables, source.mime_type, context
            )
        except ToolError as error:
            raise ToolError(f"{error.text}\n{notice}" if notice else error.text) from None
        if body is None or notice is None:
            return body
        noticed = {"uri": NOTICE_URI, "mimeType": "text/plain", "text": notice}
        return with_element(body, encode_value(noticed))
