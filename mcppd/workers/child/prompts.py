"""What `get_prompt` and `complete` returned, as MCP's results (server/prompts, server/utilities/completion)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from .items import WrongResultError, content_item, keys, made_plain, shown, text_item
from .results import Outcome, bounded, failed
from .values import encode

MAX_VALUES: Final = 100
"""Values in one completion (MCP, CompleteResult); of more, the first are sent, and how many there are."""

_ROLES: Final = ("user", "assistant")
_PROMPT: Final = (
    'Expected: a text, a list of messages ({"role": "user" or "assistant", "content": …}), '
    'or a dict {"messages": […], "description"?: …}.'
)
_COMPLETION: Final = 'Expected: a list of texts, or a dict {"values": […], "total"?: …, "hasMore"?: …}.'


def prompt_outcome(value: object) -> Outcome:
    """The outcome of what `get_prompt` returned: a whole GetPromptResult."""
    try:
        return bounded(Outcome(encode(_prompt(value))))
    except WrongResultError as error:
        return failed(f"Error: {error}")


def completion_outcome(value: object) -> Outcome:
    """The outcome of what `complete` returned: the `completion` of a CompleteResult."""
    try:
        return bounded(Outcome(encode(_completion(value))))
    except WrongResultError as error:
        return failed(f"Error: {error}")


def _prompt(value: object) -> dict[str, Any]:
    whole = _as_dict(value, "messages", (str, list, tuple), "get_prompt", _PROMPT)
    messages = whole.get("messages")
    if isinstance(messages, str):
        messages = [messages]
    if not isinstance(messages, list | tuple):
        raise WrongResultError(
            f"get_prompt returned a dict with {_told(whole, 'messages')} as `messages`. {_PROMPT}"
        )
    prompt: dict[str, Any] = {}
    if whole.get("description") is not None:
        prompt["description"] = _text(whole["description"], "description")
    if whole.get("_meta") is not None:
        prompt["_meta"] = made_plain(whole["_meta"], "_meta")
    prompt["messages"] = [
        each for at, message in enumerate(messages) for each in _messages(message, f"messages[{at}]")
    ]
    return prompt


def _messages(message: object, path: str) -> list[dict[str, Any]]:
    """The messages that an author's one stands for: one for each item of its content."""
    if isinstance(message, str):
        message = {"content": message}
    elif not isinstance(message, Mapping):
        message = made_plain(message, path)
    if not isinstance(message, Mapping):
        raise WrongResultError(f"`{path}` is {shown(message)}; expected a text or a dict with `content`.")
    role = message.get("role", "user")
    if role not in _ROLES:
        raise WrongResultError(f"`{path}.role` is {shown(role)}; expected one of {', '.join(_ROLES)}.")
    if "content" not in message:
        raise WrongResultError(f"`{path}` has no `content` (its keys: {keys(message)}).")
    content = message["content"]
    if isinstance(content, list | tuple):
        return [_message(role, item, f"{path}.content[{at}]") for at, item in enumerate(content)]
    return [_message(role, content, f"{path}.content")]


def _message(role: str, content: object, path: str) -> dict[str, Any]:
    if isinstance(content, str):
        return {"role": role, "content": text_item(made_plain(content, path))}
    return {"role": role, "content": content_item(content, path)}


def _completion(value: object) -> dict[str, Any]:
    if value is None:
        return {"values": []}
    whole = _as_dict(value, "values", (list, tuple), "complete", _COMPLETION)
    values = made_plain(whole.get("values"), "values")
    if not isinstance(values, list):
        raise WrongResultError(
            f"complete returned a dict with {_told(whole, 'values')} as `values`. {_COMPLETION}"
        )
    texts = [_text(each, f"values[{at}]") for at, each in enumerate(values)]
    completion: dict[str, Any] = {"values": texts[:MAX_VALUES]}
    total, more = made_plain(whole.get("total"), "total"), whole.get("hasMore")
    if total is not None and (isinstance(total, bool) or not isinstance(total, int)):
        raise WrongResultError(f"`total` is {shown(total)}; expected a whole number.")
    if more is not None and not isinstance(more, bool):
        raise WrongResultError(f"`hasMore` is {shown(more)}; expected True or False.")
    if len(texts) > MAX_VALUES:
        total, more = total if total is not None else len(texts), True
    return completion | {
        name: said for name, said in (("total", total), ("hasMore", more)) if said is not None
    }


def _as_dict(
    value: object, name: str, kinds: tuple[type, ...], function: str, expected: str
) -> Mapping[Any, Any]:
    """What a function returned as a dict; one of these kinds stands for its most important member."""
    given = value
    if not isinstance(value, (Mapping, *kinds)):
        value = made_plain(value, "result")  # an object may give a dict of itself
    if isinstance(value, Mapping):
        return value
    if isinstance(value, kinds):
        return {name: value}
    raise WrongResultError(f"{function} returned {shown(given)}. {expected}")


def _told(whole: Mapping[Any, Any], name: str) -> str:
    return shown(whole[name]) if name in whole else f"nothing (its keys: {keys(whole)})"


def _text(value: object, path: str) -> str:
    text = made_plain(value, path)
    if not isinstance(text, str):
        raise WrongResultError(f"`{path}` is {shown(value)}; expected text.")
    return text
