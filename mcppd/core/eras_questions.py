"""Questions to clients as each revision has them, and what a client must declare to be asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcppd.core.eras import REVISIONS, Revision
from mcppd.core.eras_content import known_item
from mcppd.core.errors import ToolError
from mcppd.core.questions import Question


def missing_capability(
    question: Question, declared: Mapping[str, Any], revision: str
) -> Mapping[str, Any] | None:
    """The ClientCapabilities that a client would have to declare to be asked this, None if it does.

    What the revision doesn't know is not declared, whatever the client says.
    """
    known = REVISIONS[revision]
    match question.method:
        case "elicitation/create":
            return _missing_elicitation(question, declared.get("elicitation"), known)
        case "sampling/createMessage":
            return _missing_sampling(question, declared.get("sampling"), known)
        case _:
            return None if isinstance(declared.get("roots"), Mapping) else {"roots": {}}


def adapt_params(question: Question, revision: str, ident: str) -> dict[str, Any]:
    """The params of a question as the revision knows them; `ident` is for an elicitation that has an id.

    Raises ToolError, for the author, where it can't be asked in this revision.
    """
    known = REVISIONS[revision]
    params = dict(question.params)
    match question.method:
        case "elicitation/create" if "url" in params:
            if known.elicitation_ids:
                params["elicitationId"] = ident
        case "elicitation/create" if not known.knows("elicitation", "choices"):
            form = params["requestedSchema"]
            fields = {name: _plain_field(name, field, known) for name, field in form["properties"].items()}
            params["requestedSchema"] = {**form, "properties": fields}
        case "sampling/createMessage":
            params["messages"] = _known_messages(params["messages"], known)
    return params


def _missing_elicitation(question: Question, declared: Any, known: Revision) -> Mapping[str, Any] | None:
    """A client that names no mode has forms only."""
    if "url" in question.params:
        has = isinstance(declared, Mapping) and "url" in declared and known.knows("elicitation", "url")
        return None if has else {"elicitation": {"url": {}}}
    if not known.knows("questions", question.method) or not isinstance(declared, Mapping):
        return {"elicitation": {}}
    return {"elicitation": {"form": {}}} if "url" in declared and "form" not in declared else None


def _missing_sampling(question: Question, declared: Any, known: Revision) -> Mapping[str, Any] | None:
    if not isinstance(declared, Mapping):
        return {"sampling": {}}
    asks_tools = not question.params.keys().isdisjoint(("tools", "toolChoice"))
    if asks_tools and ("tools" not in declared or not known.knows("sampling", "tools")):
        return {"sampling": {"tools": {}}}
    asks_context = question.params.get("includeContext", "none") != "none"
    if asks_context and "context" not in declared and known.knows("sampling", "context"):
        return {"sampling": {"context": {}}}
    return None


def _plain_field(name: str, field: Mapping[str, Any], known: Revision) -> dict[str, Any]:
    """A field of a form without what came later: titles of choices, defaults, choices of several."""
    match field:
        case {"type": "array"}:
            raise ToolError(
                f"elicit: schema.properties.{name} is a choice of several values, "
                f"which a client of revision {known.name} can't be asked for"
            )
        case {"oneOf": [*choices]}:
            shown = {key: value for key, value in field.items() if key not in ("oneOf", "default")}
            shown["enum"] = [choice.get("const") for choice in choices]
            shown["enumNames"] = [str(choice.get("title", choice.get("const"))) for choice in choices]
            return shown
        case {"type": "boolean"}:
            return dict(field)
        case _:
            return {key: value for key, value in field.items() if key != "default"}


def _known_messages(messages: list[dict[str, Any]], known: Revision) -> list[dict[str, Any]]:
    """Messages with content that the revision knows; of several items, each in a message of its own."""
    if known.knows("sampling", "lists"):
        return messages
    return [
        {"role": message["role"], "content": known_item(item, known)}
        for message in messages
        for item in (message["content"] if isinstance(message["content"], list) else [message["content"]])
    ]
