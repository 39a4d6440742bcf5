"""Completion of arguments: from what the manifest says they may be, else by the module."""

from __future__ import annotations

from mcppd.core.catalog import Catalog, Prompt, Resource, Template
from mcppd.core.completing import complete_from
from mcppd.core.effects import Complete, Encoded, Reference
from mcppd.core.errors import INVALID_PARAMS, ProtocolError, ToolError
from mcppd.core.jsonrpc import encode_value
from mcppd.serving import prompts
from mcppd.serving.attempts import Seen, attempted, text_of_fault
from mcppd.serving.callers import Origin
from mcppd.serving.seams import Calls, Served


class Completions:
    """Answers completion/complete."""

    def __init__(self, served: Served, calls: Calls) -> None:
        self._served = served
        self._calls = calls

    async def complete(self, origin: Origin, effect: Complete) -> Encoded:
        """Values that an argument may have. Raises ToolError, ProtocolError where there is nothing of that name."""

        async def use(seen: Seen) -> Encoded:
            found = _look_up(seen.catalog, effect.ref)
            return Encoded("completion", await self._values(origin, found, effect))

        return await attempted(
            self._served,
            lambda catalog: found.module if (found := _find(catalog, effect.ref)) else None,
            use,
            f"what {effect.ref.name} belongs to",
        )

    async def _values(self, origin: Origin, found: Prompt | Resource | Template, effect: Complete) -> bytes:
        module = found.module
        if (values := found.item.enums.get(effect.argument)) is not None:
            return encode_value(complete_from(values, effect.value))
        if module.state == "failed":
            raise ToolError(text_of_fault(module))
        argument = {"name": effect.argument, "value": effect.value, "arguments": effect.known}
        return await self._calls.complete(module, _reference(found), argument, await origin.context(module))


def _find(catalog: Catalog, ref: Reference) -> Prompt | Resource | Template | None:
    """What a reference names; of a resource the template of that text, or whatever that URI is read from."""
    if ref.kind == "ref/prompt":
        return catalog.find_prompt(ref.name)
    if (template := catalog.find_template(ref.name)) is not None:
        return template
    found = catalog.find_resource(ref.name)
    return found[0] if found is not None else None


def _look_up(catalog: Catalog, ref: Reference) -> Prompt | Resource | Template:
    """What a reference names. Raises ProtocolError (MCP, server/utilities/completion, Error Handling)."""
    if ref.kind == "ref/prompt":
        return prompts.look_up(catalog, ref.name)
    found = _find(catalog, ref)
    if found is None:
        text = f"There is no resource or resource template {ref.name}"
        raise ProtocolError(INVALID_PARAMS, text, {"uri": ref.name})
    return found


def _reference(found: Prompt | Resource | Template) -> dict[str, str]:
    """What the author's code is told is being completed: by its own name, whatever it is listed under."""
    if isinstance(found, Prompt):
        return {"type": "ref/prompt", "name": found.own_name}
    return {"type": "ref/resource", "uri": found.key}
