"""What a call asks of its client: read out of what the author's code said, and what counts as an answer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from mcppd.core.errors import ToolError
from mcppd.core.forms import read_form, shown_form

_SAMPLING: Final[Mapping[str, tuple[str, tuple[type, ...], str]]] = {
    "max_tokens": ("maxTokens", (int,), "an integer"),
    "system_prompt": ("systemPrompt", (str,), "a string"),
    "temperature": ("temperature", (int, float), "a number"),
    "stop_sequences": ("stopSequences", (list,), "a list of strings"),
    "include_context": ("includeContext", (str,), '"none", "thisServer" or "allServers"'),
    "model_preferences": ("modelPreferences", (dict,), "a mapping"),
    "metadata": ("metadata", (dict,), "a mapping"),
    "tools": ("tools", (list,), "a list of tools"),
    "tool_choice": ("toolChoice", (dict,), "a mapping"),
}
"""The options of `sample` in Python's way of writing names, MCP's, and their types."""

_CAMEL: Final = {written: name for name, (written, _, _) in _SAMPLING.items()}


@dataclass(frozen=True, slots=True)
class Question:
    """A request to a client, as the newest revision has it; eras_questions adapts it to others."""

    kind: str  # the author's word: "elicit", "sample" or "roots"
    method: str
    params: Mapping[str, Any]
    key: str | None = None  # what its author calls it, for a client that is to know it by that
    form: Mapping[str, Any] | None = None  # the schema of what a person fills in, as its author wrote it

    @property
    def digest(self) -> str:
        """What makes it the same question when it is asked again."""
        return digest_of([self.method, self.params, self.form])

    def again(self, faults: Sequence[str]) -> Question:
        """The same form once more, with what was wrong with the last answer."""
        message = "\n".join((str(self.params["message"]), "", "The last answer does not fit:", *faults))
        return replace(self, params={**self.params, "message": message})


def digest_of(value: Any) -> str:
    """A hash of a JSON value, in which the order of an object's members doesn't count."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def read_question(kind: str, said: Mapping[str, Any]) -> Question:
    """The question in what an author's code said. Raises ToolError, for the author, where it is none."""
    key = said.get("key")
    if key is not None and not (isinstance(key, str) and key):
        raise ToolError(f"{kind}: key must be a string, what the question is called")
    return replace(_read(kind, {name: value for name, value in said.items() if name != "key"}), key=key)


def _read(kind: str, said: Mapping[str, Any]) -> Question:
    match kind:
        case "elicit":
            return _elicitation(said)
        case "sample":
            return _sampling(said)
        case "roots":
            return Question("roots", "roots/list", {})
        case _:
            raise ToolError(
                f"there is no kind of question called {kind!r}; there are elicit, sample and roots"
            )


def fault_of_answer(question: Question, answer: Any) -> str | None:
    """What is wrong with a client's answer, None if nothing is; `answer` is a result of MCP's."""
    match question.kind, answer:
        case "elicit", {"action": "accept" | "decline" | "cancel", "content": dict() | None}:
            return None
        case "elicit", {"action": "accept" | "decline" | "cancel"} if "content" not in answer:
            return None
        case "elicit", _:
            return "an elicitation is answered with an action and, when accepted, a content"
        case "sample", {"role": str(), "content": dict() | list(), "model": str()}:
            return None
        case "sample", _:
            return "sampling is answered with a role, a content and a model"
        case _, {"roots": list(roots)} if all(isinstance(root, dict) and "uri" in root for root in roots):
            return None
        case _:
            return "roots/list is answered with a list of roots"


def _elicitation(said: Mapping[str, Any]) -> Question:
    message = said.get("message")
    if not isinstance(message, str):
        raise ToolError("elicit: message must be a string, what the person is asked")
    mode = said.get("mode", "url" if "url" in said else "form")
    if mode == "url":
        url = said.get("url")
        if not isinstance(url, str):
            raise ToolError("elicit: url must be a string, where the person is sent")
        params: dict[str, Any] = {"mode": "url", "message": message, "url": url}
    elif mode == "form":
        form = read_form(said.get("schema", said.get("requestedSchema")))
        params = {"message": message, "requestedSchema": shown_form(form)}
        return Question("elicit", "elicitation/create", params, form=form)
    else:
        raise ToolError('elicit: mode must be "form" or "url"')
    return Question("elicit", "elicitation/create", params)


def _sampling(said: Mapping[str, Any]) -> Question:
    params: dict[str, Any] = {"messages": _messages(said.get("messages")), "maxTokens": 1000}
    for name, value in said.items():
        if name != "messages":
            params.update(_option(name, value))
    return Question("sample", "sampling/createMessage", params)


def _option(name: str, value: Any) -> dict[str, Any]:
    known = _SAMPLING.get(_CAMEL.get(name, name))
    if known is None:
        raise ToolError(f"sample: there is no {name}; there are {', '.join(_SAMPLING)}")
    written, types, expected = known
    if not isinstance(value, types) or isinstance(value, bool):
        raise ToolError(f"sample: {name} must be {expected}")
    return {written: value}


def _messages(said: Any) -> list[dict[str, Any]]:
    """Messages for a model: a text is one of the user's."""
    if isinstance(said, str | dict):
        said = [said]
    if not isinstance(said, list) or not said:
        raise ToolError("sample: messages must be a text or a list of messages")
    return [_message(each, f"messages[{at}]") for at, each in enumerate(said)]


def _message(said: Any, at: str) -> dict[str, Any]:
    match said:
        case str():
            return {"role": "user", "content": _text(said)}
        case {"role": "user" | "assistant", "content": str() | dict() | list() as content}:
            shown = [_item(each) for each in content] if isinstance(content, list) else _item(content)
            return {**said, "content": shown}
        case _:
            raise ToolError(f'sample: {at} must be a text or {{"role": "user" | "assistant", "content": …}}')


def _item(said: Any) -> Any:
    return _text(said) if isinstance(said, str) else said


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}
