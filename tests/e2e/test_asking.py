"""Tools, prompts and resources that ask their client: the same author's code in both eras, and nobody else is asked."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.conftest import Connect
from tests.harness import Client, Daemon, modern, texts, until

BODY = """
import asyncio

FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def execute(tool_name, arguments, context):
    if tool_name == "greet":
        return {"success": True, "result": "Hello " + ask(context)}
    if tool_name == "both":
        person, roots = context["ask_all"]([("elicit", {"message": "Who?", "schema": FORM}), ("roots", {})])
        return {"success": True, "result": [person["content"]["name"], roots]}
    if tool_name == "think":
        return {"success": True, "result": context["sample"]("Hi", max_tokens=5)["content"]["text"]}
    if tool_name == "twice":
        return {"success": True, "result": ask(context) + " and " + ask(context)}
    if tool_name == "patient":
        try:
            return {"success": True, "result": ask(context)}
        except RuntimeError as error:
            return {"success": True, "result": f"no answer: {error}"}


def ask(context):
    answer = context["elicit"]("Who?", FORM)
    return answer["content"]["name"] if answer["action"] == "accept" else answer["action"]


def get_prompt(name, arguments, context):
    return "Greet " + ask(context)


def read_resource(uri, variables, context):
    return "Read by " + ask(context)
"""
TOOLS = ["greet", "both", "think", "twice", "patient"]
EVERYTHING: dict[str, Any] = {"elicitation": {}, "sampling": {}, "roots": {}}
ROOTS = {"roots": [{"uri": "file:///", "name": "here"}]}  # where calls run too, so it is there
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"


def name(text: str) -> dict[str, Any]:
    return {"action": "accept", "content": {"name": text}}


@pytest.fixture
def asking(daemon: Daemon) -> Daemon:
    daemon.module(
        "asking",
        BODY,
        *TOOLS,
        scope="global",
        prompts=[{"name": "greeting", "description": "greets"}],
        resources=[{"uri": "note://read", "name": "read"}],
    )
    return daemon


async def asked(client: Client, count: int = 1) -> dict[str, Any]:
    """Wait until the client has been asked so many times; the last question."""
    await until(lambda: len(client.requests) >= count)
    return client.requests[count - 1]


def respond(client: Client, question: dict[str, Any], **members: Any) -> None:
    client.send({"jsonrpc": "2.0", "id": question["id"], **members})


def enveloped(capabilities: dict[str, Any] | None = None, **params: Any) -> dict[str, Any]:
    declared = EVERYTHING if capabilities is None else capabilities
    return modern(**params, _meta={CAPABILITIES: declared})


REQUESTS = [
    ("tools/call", {"name": "greet", "arguments": {}}),
    ("prompts/get", {"name": "greeting"}),
    ("resources/read", {"uri": "note://read"}),
]


def text_of(result: dict[str, Any]) -> str:
    """The one text of an answer."""
    if "messages" in result:
        return str(result["messages"][0]["content"]["text"])
    return str(result["contents"][0]["text"]) if "contents" in result else texts(result)


@pytest.mark.parametrize(("method", "params"), REQUESTS)
async def test_a_legacy_client_answers_while_the_request_waits(
    asking: Daemon, connect: Connect, method: str, params: dict[str, Any]
) -> None:
    client = await connect(capabilities={"elicitation": {}})
    other = await connect(capabilities={"elicitation": {}})
    waiting = client.ask(method, params)
    question = await asked(client)
    assert question["method"] == "elicitation/create"
    assert question["params"]["message"] == "Who?"
    respond(other, question, result=name("Eve"))  # somebody else's answer is none
    assert await other.result("ping") == {}
    assert not waiting.done()
    respond(client, question, result=name("Ann"))
    assert text_of((await waiting)["result"]).endswith("Ann")
    assert other.requests == []


@pytest.mark.parametrize(("method", "params"), REQUESTS)
async def test_a_modern_client_is_answered_with_the_question_and_sends_the_answer_with_the_request(
    asking: Daemon, connect: Connect, method: str, params: dict[str, Any]
) -> None:
    client = await connect(revision=None)
    client.revision = "2026-07-28"
    first = await client.result(method, enveloped(**params))
    assert first["resultType"] == "input_required"
    ((key, question),) = first["inputRequests"].items()
    assert question["params"]["message"] == "Who?"
    state = first["requestState"]
    second = await client.result(
        method, enveloped(**params, inputResponses={key: name("Bob"), "odd": 1}, requestState=state)
    )
    assert second["resultType"] == "complete"
    assert text_of(second).endswith("Bob")
    assert client.requests == []
    hostile = {**params, "inputResponses": {key: name("Bob")}, "requestState": state[:-3] + "AAA"}
    assert (await client.error(method, enveloped(**hostile)))["code"] == -32602
    assert (await client.error(method, enveloped({}, **params)))["data"] == {
        "requiredCapabilities": {"elicitation": {}}
    }


@pytest.mark.slow
async def test_several_questions_at_once_come_at_once_in_both_eras(asking: Daemon, connect: Connect) -> None:
    client = await connect(capabilities=EVERYTHING)
    respond(client, await asked(client), result=ROOTS)  # the session's own question, for the workspace
    waiting = client.ask("tools/call", {"name": "both", "arguments": {}})
    await asked(client, 3)
    for question, result in zip(client.requests[1:], (name("Ann"), ROOTS), strict=True):
        respond(client, question, result=result)
    legacy = texts((await waiting)["result"])
    client.revision = None  # from here on both
    first = await client.result("tools/call", enveloped(name="both", arguments={}))
    elicit, roots = first["inputRequests"]
    half = await client.result(
        "tools/call",
        enveloped(
            name="both", arguments={}, inputResponses={roots: ROOTS}, requestState=first["requestState"]
        ),
    )
    assert list(half["inputRequests"]) == [elicit]
    last = await client.result(
        "tools/call",
        enveloped(
            name="both", arguments={}, inputResponses={elicit: name("Ann")}, requestState=half["requestState"]
        ),
    )
    assert texts(last) == legacy == '["Ann",[{"uri":"file:///","name":"here"}]]'


@pytest.mark.slow
async def test_rounds_of_a_modern_call_outlive_the_daemon(asking: Daemon, connect: Connect) -> None:
    client = await connect(revision=None)
    first = await client.result("tools/call", enveloped(name="twice", arguments={}))
    (one,) = first["inputRequests"]
    second = await client.result(
        "tools/call",
        enveloped(
            name="twice", arguments={}, inputResponses={one: name("A")}, requestState=first["requestState"]
        ),
    )
    (two,) = second["inputRequests"]
    await client.close()
    await asking.stop()
    await asking.start()
    client = await connect(revision=None)
    last = enveloped(
        name="twice", arguments={}, inputResponses={two: name("B")}, requestState=second["requestState"]
    )
    assert texts(await client.result("tools/call", last)) == "A and B"


@pytest.mark.slow
async def test_sampling_is_answered_by_the_clients_model(asking: Daemon, connect: Connect) -> None:
    client = await connect(capabilities={"sampling": {}})
    waiting = client.ask("tools/call", {"name": "think", "arguments": {}})
    question = await asked(client)
    assert question["params"] == {
        "messages": [{"role": "user", "content": {"type": "text", "text": "Hi"}}],
        "maxTokens": 5,
    }
    respond(
        client,
        question,
        result={"role": "assistant", "content": {"type": "text", "text": "Ho"}, "model": "m"},
    )
    assert texts((await waiting)["result"]) == "Ho"


async def test_a_client_that_refuses_is_told_to_the_authors_code(asking: Daemon, connect: Connect) -> None:
    client = await connect(capabilities={"elicitation": {}})
    waiting = client.ask("tools/call", {"name": "patient", "arguments": {}})
    respond(client, await asked(client), error={"code": -1, "message": "User rejected"})
    assert "no answer: " in (said := texts((await waiting)["result"]))
    assert "User rejected" in said


async def test_a_legacy_client_that_can_not_be_asked_gets_an_error_that_says_so(
    asking: Daemon, connect: Connect
) -> None:
    client = await connect()
    said = await client.failure("greet")
    assert "elicitation" in said
    assert "capability" in said
    assert client.requests == []


async def test_a_cancelled_call_takes_its_question_back_and_a_late_answer_harms_nobody(
    asking: Daemon, connect: Connect
) -> None:
    client = await connect(capabilities={"elicitation": {}})
    waiting = client.ask("tools/call", {"name": "greet", "arguments": {}}, ident="c")
    question = await asked(client)
    client.notify("notifications/cancelled", {"requestId": "c"})
    [cancelled] = await client.notified("notifications/cancelled")
    assert cancelled["params"]["requestId"] == question["id"]
    respond(client, question, result=name("late"))
    again = client.ask("tools/call", {"name": "greet", "arguments": {}})
    respond(client, await asked(client, 2), result=name("Ann"))
    assert texts((await again)["result"]) == "Hello Ann"
    assert not waiting.done()


async def test_questions_that_wait_take_no_worker_and_no_time_of_the_call(
    asking: Daemon, connect: Connect
) -> None:
    asking.module("asking", BODY, *TOOLS, scope="global", workers=1, timeout=1)
    client = await connect(capabilities={"elicitation": {}})
    waiting = [client.ask("tools/call", {"name": "greet", "arguments": {}}) for _ in range(3)]
    await asked(client, 3)
    for question in client.requests:
        respond(client, question, result=name("Ann"))
    assert [texts((await each)["result"]) for each in waiting] == ["Hello Ann"] * 3


async def test_a_question_to_an_agent_that_has_ended_is_waited_for_no_longer(
    asking: Daemon, connect: Connect
) -> None:
    client = await connect(capabilities={"elicitation": {}})
    waiting = client.ask("tools/call", {"name": "patient", "arguments": {}})
    await asked(client)
    if client.process is None:
        client.notify("mcppd/end")
    else:
        client._writer.write_eof()  # the shim says it
    assert "has ended" in texts((await waiting)["result"])
