"""What a person fills in wrongly: told to the code that asked in the legacy era, asked again in the modern one."""

from __future__ import annotations

from tests.e2e.conftest import Connect
from tests.e2e.test_asking import asked, enveloped, respond
from tests.harness import Daemon, texts

BODY = """
ZIP = {"properties": {"zip": {"type": "string", "pattern": "^[0-9]+$"}}, "required": ["zip"]}


def execute(tool_name, arguments, context):
    try:
        return {"success": True, "result": context["elicit"]("Where?", ZIP)["content"]["zip"]}
    except RuntimeError as error:
        return {"success": True, "result": f"no answer: {error}"}
"""
WRONG = {"action": "accept", "content": {"zip": "here"}}
RIGHT = {"action": "accept", "content": {"zip": "123"}}


async def test_the_code_that_asked_a_legacy_client_is_told(daemon: Daemon, connect: Connect) -> None:
    daemon.module("asking", BODY, "where", scope="global")
    client = await connect(capabilities={"elicitation": {}})
    waiting = client.ask("tools/call", {"name": "where"})
    respond(client, await asked(client), result=WRONG)
    assert "$.zip" in texts((await waiting)["result"]).partition("no answer")[2]


async def test_a_modern_client_is_asked_again(daemon: Daemon, connect: Connect) -> None:
    daemon.module("asking", BODY, "where", scope="global")
    client = await connect(revision=None)
    client.revision = "2026-07-28"
    first = await client.result("tools/call", enveloped(name="where"))
    (key,) = first["inputRequests"]
    assert "pattern" not in str(first["inputRequests"])  # forms have none: it is ours to check
    second = await client.result(
        "tools/call",
        enveloped(name="where", inputResponses={key: WRONG}, requestState=first["requestState"]),
    )
    assert second["resultType"] == "input_required"
    assert "$.zip" in second["inputRequests"][key]["params"]["message"]
    last = await client.result(
        "tools/call",
        enveloped(name="where", inputResponses={key: RIGHT}, requestState=second["requestState"]),
    )
    assert texts(last) == "123"
