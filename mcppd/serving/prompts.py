"""Prompts: looked up, their arguments checked, got from their module."""

from __future__ import annotations

from collections.abc import Mapping

from mcppd.core.catalog import Catalog, Prompt
from mcppd.core.effects import Encoded, GetPrompt
from mcppd.core.errors import INVALID_PARAMS, SHOWN, ProtocolError, ToolError
from mcppd.core.jsonrpc import encode_value
from mcppd.serving.attempts import Seen, attempted, text_of_fault
from mcppd.serving.callers import Origin
from mcppd.serving.encoded import read_json
from mcppd.serving.helping import nearest_text
from mcppd.serving.seams import Calls, Served


class Prompts:
    """Answers prompts/get."""

    def __init__(self, served: Served, calls: Calls) -> None:
        self._served = served
        self._calls = calls

    async def get(self, origin: Origin, effect: GetPrompt) -> Encoded:
        """The prompt's messages. Raises ToolError, ProtocolError, InputRequiredError.

        A prompt's words are sent on as its user's, so no notice stands among them: it is in the description (D7).
        """

        async def use(seen: Seen) -> Encoded:
            prompt = look_up(seen.catalog, effect.name)
            notice = seen.notice(prompt.module)
            try:
                body = await self._get(origin, prompt, effect.arguments)
            except ToolError as error:
                raise ToolError(f"{error.text}\n{notice}" if notice else error.text) from None
            return Encoded("prompt", body if notice is None else _with_notice(body, notice))

        return await attempted(
            self._served,
            lambda catalog: prompt.module if (prompt := catalog.find_prompt(effect.name)) else None,
            use,
            f"prompt {effect.name!r}",
        )

    async def _get(self, origin: Origin, prompt: Prompt, arguments: Mapping[str, str]) -> bytes:
        module = prompt.module
        if module.state == "failed":
            raise ToolError(text_of_fault(module))
        if prompt.item.fault is not None:
            raise ToolError(f"this prompt can't be had: {prompt.item.fault}")
        _check_arguments(prompt, arguments)
        return await self._calls.get_prompt(prompt, arguments, await origin.context(module))


def look_up(catalog: Catalog, name: str) -> Prompt:
    """The prompt of a listed, full or author's name. Raises ProtocolError (MCP, server/prompts, Error Handling)."""
    prompt = catalog.find_prompt(name)
    if prompt is None:
        nearest = catalog.nearest_prompts(name)
        data = {"name": name, "nearest": nearest}
        raise ProtocolError(INVALID_PARAMS, f"Unknown prompt: {name[:SHOWN]}{nearest_text(nearest)}", data)
    return prompt


def _check_arguments(prompt: Prompt, arguments: Mapping[str, str]) -> None:
    """Raise ProtocolError where one that is required isn't there (MCP, server/prompts, Error Handling)."""
    if missing := prompt.missing(arguments):
        text = f"Missing required arguments of prompt {prompt.name!r}: {', '.join(missing)}"
        raise ProtocolError(INVALID_PARAMS, text, {"name": prompt.name, "missing": missing})


def _with_notice(body: bytes, notice: str) -> bytes:
    result = read_json(body)
    said = result.get("description")
    return encode_value(result | {"description": f"{said}\n\n{notice}" if said else notice})
