"""Random requests, right and wrong, in all five revisions: each has one right answer, valid in its schema."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcppd.core.effects import Send, Work
from mcppd.core.eras import REVISIONS
from mcppd.core.errors import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    UNSUPPORTED_PROTOCOL_VERSION,
)
from mcppd.core.log_levels import LEVELS
from tests.core.conversation import (
    CAPABILITIES,
    CLIENT,
    LOG_LEVEL,
    NEWEST,
    VERSION,
    Conversation,
    notification,
    request,
)
from tests.core.test_session_random import fitting

texts = st.text(max_size=8)
no_texts = st.none() | st.integers() | st.booleans() | st.lists(texts, max_size=2)
no_objects = st.integers() | texts | st.booleans() | st.lists(texts, max_size=2)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
ids = texts | st.integers()
no_ids = (
    st.none() | st.floats(allow_nan=False, allow_infinity=False) | st.booleans() | st.lists(ids, max_size=1)
)


@dataclass(frozen=True)
class Method:
    """A method: the params that it takes, and for each of them those that it doesn't."""

    takes: dict[str, st.SearchStrategy[Any]]
    refuses: dict[str, st.SearchStrategy[Any]]  # "" = the params without that member
    legacy: bool = True
    modern: bool = True


cursors = {"cursor": texts | st.none()}
objects = st.dictionaries(texts, json_values, max_size=3) | st.none()
strings = st.dictionaries(texts, texts, max_size=3) | st.none()
named = {"name": texts, "arguments": strings}
references = st.fixed_dictionaries({"type": st.just("ref/prompt"), "name": texts}) | st.fixed_dictionaries(
    {"type": st.just("ref/resource"), "uri": texts}
)
MISSING: Final = object()
no_cursor = {"cursor": st.integers() | st.lists(texts, max_size=1)}

METHODS: Final = {
    "ping": Method({}, {}, modern=False),
    "shutdown": Method({}, {}, modern=False),
    "tools/list": Method(cursors, no_cursor),
    "prompts/list": Method(cursors, no_cursor),
    "resources/list": Method(cursors, no_cursor),
    "resources/templates/list": Method(cursors, no_cursor),
    "tools/call": Method(
        {"name": texts, "arguments": objects}, {"name": no_texts | st.just(MISSING), "arguments": no_objects}
    ),
    "prompts/get": Method(
        named,
        {
            "name": no_texts | st.just(MISSING),
            "arguments": st.sampled_from([[], "x", 1, {"a": 1}, {"a": "b", "c": None}, {"a": ["b"]}]),
        },
    ),
    "resources/read": Method({"uri": texts}, {"uri": no_texts | st.just(MISSING)}),
    "resources/subscribe": Method({"uri": texts}, {"uri": no_texts | st.just(MISSING)}, modern=False),
    "resources/unsubscribe": Method({"uri": texts}, {"uri": no_texts | st.just(MISSING)}, modern=False),
    "logging/setLevel": Method(
        {"level": st.sampled_from(LEVELS)},
        {"level": no_texts | st.just("loud") | st.just(MISSING)},
        modern=False,
    ),
    "completion/complete": Method(
        {"ref": references, "argument": st.fixed_dictionaries({"name": texts, "value": texts})},
        {
            "ref": json_values.filter(lambda value: not isinstance(value, dict)) | st.just(MISSING),
            "argument": no_objects
            | st.fixed_dictionaries({"name": texts, "value": no_texts})
            | st.just(MISSING),
        },
    ),
    "server/discover": Method({}, {}, legacy=False),
    "subscriptions/listen": Method(
        {
            "notifications": st.fixed_dictionaries(
                {},
                optional={
                    "toolsListChanged": st.booleans(),
                    "promptsListChanged": st.booleans(),
                    "resourcesListChanged": st.booleans(),
                    "resourceSubscriptions": st.lists(texts, max_size=3),
                },
            )
        },
        {
            "notifications": no_objects
            | st.fixed_dictionaries(
                {"toolsListChanged": no_objects.filter(lambda value: not isinstance(value, bool))}
            )
            | st.fixed_dictionaries({"resourceSubscriptions": st.lists(no_texts, min_size=1, max_size=2)})
            | st.just(MISSING)
        },
        legacy=False,
    ),
}


@st.composite
def params_of(draw: st.DrawFn, method: Method, *, right: bool) -> dict[str, Any]:
    """Params that a method takes, or with one member that it doesn't."""
    params = {name: draw(values) for name, values in method.takes.items()}
    if not right:
        wrong = draw(st.sampled_from(sorted(method.refuses)))
        params[wrong] = draw(method.refuses[wrong])
    extra = draw(st.dictionaries(st.sampled_from(["x", "y"]), json_values, max_size=1))
    return {name: value for name, value in (params | extra).items() if value is not MISSING}


@st.composite
def requests(draw: st.DrawFn, revision: str) -> tuple[dict[str, Any], int | None]:
    """A request of a revision, and the code of the error that it has to be answered with, None for a result."""
    name = draw(st.sampled_from(sorted(METHODS)))
    method = METHODS[name]
    is_modern = revision == NEWEST
    right = not method.refuses or draw(st.booleans())
    message = request(draw(ids), name, draw(params_of(method, right=right)))
    code = None if right else INVALID_PARAMS
    if not (method.modern if is_modern else method.legacy):
        code = METHOD_NOT_FOUND if is_modern else INVALID_PARAMS  # a modern method without its envelope
    if is_modern:
        code = draw(enveloped(message["params"])) or code
    return draw(spoiled(message, code))


@st.composite
def enveloped(draw: st.DrawFn, params: dict[str, Any]) -> int | None:
    """Give params an envelope, mostly a right one; the code of the error that it has to be answered with."""
    meta: dict[str, Any] = {VERSION: NEWEST, CAPABILITIES: {}}
    meta.update(
        draw(st.fixed_dictionaries({}, optional={LOG_LEVEL: st.sampled_from(LEVELS), "progressToken": ids}))
    )
    params["_meta"] = meta
    match draw(st.sampled_from(["right"] * 6 + ["version", "kind", "capabilities", "client", "level"])):
        case "version":
            meta[VERSION] = draw(texts)
            return UNSUPPORTED_PROTOCOL_VERSION
        case "kind":
            meta[VERSION] = draw(no_texts)
        case "capabilities":
            meta[CAPABILITIES] = draw(no_objects)
        case "client":
            meta[CLIENT] = draw(no_objects)
        case "level":
            meta[LOG_LEVEL] = draw(no_texts | st.just("loud"))
        case _:
            return None
    return INVALID_PARAMS


@st.composite
def spoiled(draw: st.DrawFn, message: dict[str, Any], code: int | None) -> tuple[dict[str, Any], int | None]:
    """A message, now and then made one that is no request; the code that is right for it."""
    match draw(st.sampled_from(["right"] * 12 + ["id", "version", "method", "name", "array", "params"])):
        case "id":
            return {**message, "id": draw(no_ids)}, INVALID_REQUEST
        case "version":
            return {
                **message,
                "jsonrpc": draw(no_objects.filter(lambda value: value != "2.0")),
            }, INVALID_REQUEST
        case "method":
            return {**message, "method": draw(no_texts)}, INVALID_REQUEST
        case "name" if code is None:
            return {
                **message,
                "method": message["method"] + draw(st.sampled_from(["s", "/", " "])),
            }, METHOD_NOT_FOUND
        case "array":
            return {**message, "params": draw(st.lists(json_values, max_size=2))}, INVALID_PARAMS
        case "params":
            return {**message, "params": draw(texts | st.integers() | st.booleans())}, INVALID_REQUEST
        case _:
            return message, code


@st.composite
def talks(draw: st.DrawFn) -> tuple[str, list[tuple[dict[str, Any], int | None]]]:
    """A revision, and requests in it."""
    revision = draw(st.sampled_from(list(REVISIONS)))
    return revision, draw(st.lists(requests(revision), min_size=1, max_size=8))


@settings(
    max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(talks())
def test_every_request_has_one_right_answer_in_every_revision(
    talk: tuple[str, list[tuple[dict[str, Any], int | None]]],
) -> None:
    revision, asked = talk
    client = Conversation()
    if revision != NEWEST:
        client.shake_hands(revision)
    for message, code in asked:
        (effect,) = client.send(message)  # one answer at once, or one piece of work
        assert isinstance(effect, Send | Work)
        answer = (
            client.read(effect.data)
            if isinstance(effect, Send)
            else client.finish(effect.ticket, fitting(effect))
        )
        if answer.get("method") == "notifications/subscriptions/acknowledged":
            assert code is None
            client.send(notification("notifications/cancelled", {"requestId": message["id"]}))
            continue
        assert answer.get("error", {}).get("code") == code, answer
        assert ("result" in answer) is (code is None)
        is_id = type(message["id"]) in (str, int)
        assert (type(answer["id"]), answer["id"]) == (
            (type(message["id"]), message["id"]) if is_id else (type(None), None)
        )
        assert client.session.in_flight == 0
