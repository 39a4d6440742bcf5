"""Real SDKs go through everything that a client can do, against the conformance modules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.serving import conformance_daemon
from tests.e2e.peers.agent import LEGACY, Kind
from tests.e2e.peers.tapped import Tap
from tests.e2e.peers.tour import NEW_TEXT, WORDS
from tests.harness import MODERN, REPOSITORY, Daemon, first_and_slow, outcome_of

KINDS = [
    Kind("mcp-2", "mcp2", "tour2", "default", MODERN),
    Kind("mcp-2-handshake", "mcp2", "tour2", "handshake", LEGACY),
    Kind("mcp-1", "mcp1", "tour1", "default", LEGACY),
]
MISSING = {MODERN: -32602, LEGACY: -32002}
"""The code of an error about a resource that isn't there."""


@pytest.mark.parametrize("kind", first_and_slow(*KINDS), ids=lambda kind: kind.name)
async def test_an_sdk_can_do_everything_that_it_knows(kind: Kind, tmp_path: Path) -> None:
    async with conformance_daemon(tmp_path) as daemon:
        found = await tour(kind, daemon, tmp_path)
    assert found.pop("faults") == []
    assert "test_simple_text" in found.pop("tools")
    assert found == expected(kind.revision, (tmp_path / "work").as_uri())


def expected(revision: str, root: str) -> dict[str, Any]:
    """What a client of a revision finds, whose one root is this."""
    prompts = [
        "test_input_required_result_prompt",
        "test_prompt_with_arguments",
        "test_prompt_with_embedded_resource",
        "test_prompt_with_image",
        "test_simple_prompt",
        "test_standing_prompt",
    ]
    said = "Prompt with arguments: arg1='tea', arg2='time'"
    roots = json.dumps([{"uri": root, "name": "tour"}])
    data = {"id": "123", "templateTest": True, "data": "Data for ID: 123"}
    return {
        "revision": revision,
        "prompts": prompts,
        "resources": ["test://static-binary", "test://static-text", "test://watched-resource"],
        "templates": ["test://template/{id}/data"],
        "prompt": [{"role": "user", "content": {"type": "text", "text": said}}],
        "image": "image/png",
        "text": [
            {
                "uri": "test://static-text",
                "mimeType": "text/plain",
                "text": "This is the content of the static text resource.\n",
            }
        ],
        "binary": "iVBORw0K",
        "template": [
            {
                "uri": "test://template/123/data",
                "mimeType": "application/json",
                "text": json.dumps(data, separators=(",", ":")),
            }
        ],
        "missing": MISSING[revision],
        "no prompt": -32602,
        "arguments": ["test", "testing", "tea"],
        "ids": ["123", "124"],
        "progress": [[done, 100, f"Completed step {done} of 100"] for done in (0, 50, 100)],
        "logged": [
            ["info", "Tool execution started"],
            ["info", "Tool processing data"],
            ["info", "Tool execution completed"],
        ],
        "failed": True,
        "sampling": f"LLM response: {WORDS}",
        "elicitation": 'User response: action=accept, content={"username": "ada", "email": "ada@example.org"}',
        "roots": f"Roots: {roots}",
        "rounds": "Ada likes blue.",
        "three": f"{WORDS} Ada of {roots}",
        "asking prompt": 'Use this context: action=accept, content={"context": "the tour"}',
        "updated": [True, NEW_TEXT],
        "changed": [True, ["test_changed_prompt", *prompts]],
    }


async def tour(kind: Kind, daemon: Daemon, home: Path) -> dict[str, Any]:
    """What an SDK tells of its tour; all that the daemon said on it is valid."""
    directory = home / "work"
    directory.mkdir()
    tap = Tap(daemon, home / "wire")
    status, said, errors = await outcome_of(
        *(kind.python(), "-m", f"tests.e2e.peers.{kind.script}", kind.mode, tap.program),
        cwd=directory,
        environment=daemon.environment | {"PYTHONPATH": str(REPOSITORY)},
    )
    assert status == 0, errors
    tap.check()
    assert tap.revision == kind.revision
    found: dict[str, Any] = json.loads(said)
    return found
