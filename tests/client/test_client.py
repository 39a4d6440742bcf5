"""The client against a server's side that each test plays itself, on a real socket."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Protocol

import pytest

from mcppd import __version__
from mcppd.client import Client, ConnectionLostError, NoAnswerError, RefusedError, RemoteError
from mcppd.client import client as module

Soon = Callable[[Awaitable[Any]], Awaitable[Any]]


class Peer(Protocol):
    path: str
    writer: asyncio.StreamWriter

    async def receive(self) -> dict[str, Any]: ...
    def send(self, message: dict[str, Any]) -> None: ...
    def answer(self, request: dict[str, Any], result: Any) -> None: ...
    async def at_end(self) -> bool: ...
    async def chunk(self) -> bytes: ...


async def test_a_request_carries_the_envelope_of_the_modern_era(peer: Peer, soon: Soon) -> None:
    async with await Client.connect(peer.path) as client:
        task = asyncio.create_task(client.request("tools/list", {"cursor": "x"}))
        request = await peer.receive()
        peer.answer(request, {"tools": []})
        assert await soon(task) == {"tools": []}
    assert request == {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/list",
        "params": {
            "cursor": "x",
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": {"name": "mcppd-cli", "version": __version__},
            },
        },
    }


async def test_a_control_request_carries_no_envelope(peer: Peer, soon: Soon) -> None:
    async with await Client.control(peer.path) as client:
        task = asyncio.create_task(client.request("mcppd/status"))
        request = await peer.receive()
        peer.answer(request, {"pid": 1})
        assert await soon(task) == {"pid": 1}
    assert request == {"jsonrpc": "2.0", "id": 1, "method": "mcppd/status"}


async def test_the_hello_is_the_first_line(peer: Peer, soon: Soon) -> None:
    async with await Client.connect(
        peer.path, b'{"jsonrpc":"2.0","method":"mcppd/hello","params":{}}\n'
    ) as client:
        task = asyncio.create_task(client.request("server/discover"))
        assert (await peer.receive())["method"] == "mcppd/hello"
        peer.answer(await peer.receive(), {})
        await soon(task)


async def test_the_hello_leaves_in_one_write_with_the_first_request(peer: Peer, soon: Soon) -> None:
    """A daemon that refuses a hello closes; a write after that would lose the reason."""
    client = await Client.connect(peer.path, b'{"jsonrpc":"2.0","method":"mcppd/hello","params":{}}\n')
    async with client:
        task = asyncio.create_task(client.list_tools())
        first = await soon(peer.chunk())
        assert first.count(b"\n") == 2
        peer.send({"id": None, "error": {"code": -32600, "message": "another registry"}})
        peer.writer.close()
        with pytest.raises(RefusedError):
            await soon(task)


async def test_answers_find_their_requests_in_any_order(peer: Peer, soon: Soon) -> None:
    async with await Client.connect(peer.path) as client:
        tasks = [asyncio.create_task(client.request(name)) for name in ("a", "b", "c")]
        requests = [await peer.receive() for _ in tasks]
        for request in reversed(requests):
            peer.answer(request, {"of": request["method"]})
        assert [await soon(task) for task in tasks] == [{"of": "a"}, {"of": "b"}, {"of": "c"}]


async def test_an_error_is_raised_with_its_code_and_data(peer: Peer, soon: Soon) -> None:
    async with await Client.connect(peer.path) as client:
        task = asyncio.create_task(client.request("x"))
        request = await peer.receive()
        peer.send({"id": request["id"], "error": {"code": -32601, "message": "no", "data": {"a": 1}}})
        with pytest.raises(RemoteError) as raised:
            await soon(task)
    assert (raised.value.code, raised.value.message, raised.value.data) == (-32601, "no", {"a": 1})


@pytest.mark.parametrize("answer", [{"result": [1]}, {"error": "text"}, {"error": {"code": "x"}}])
async def test_an_answer_of_no_known_form_is_an_error_and_no_hang(
    peer: Peer, soon: Soon, answer: dict[str, Any]
) -> None:
    async with await Client.connect(peer.path) as client:
        task = asyncio.create_task(client.request("x"))
        peer.send({"id": (await peer.receive())["id"], **answer})
        with pytest.raises(RemoteError):
            await soon(task)


async def test_the_list_goes_on_while_there_are_pages(peer: Peer, soon: Soon) -> None:
    async with await Client.connect(peer.path) as client:
        task = asyncio.create_task(client.list_tools())
        first = await peer.receive()
        peer.answer(first, {"tools": [{"name": "a"}], "nextCursor": ""})  # an empty cursor is a cursor
        second = await peer.receive()
        peer.answer(second, {"tools": [{"name": "b"}]})
        assert await soon(task) == [{"name": "a"}, {"name": "b"}]
    assert "cursor" not in first["params"]
    assert second["params"]["cursor"] == ""


async def test_a_list_without_end_is_an_error(
    peer: Peer, soon: Soon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PAGE_LIMIT", 3)
    async with await Client.connect(peer.path) as client:
        task = asyncio.create_task(client.list_tools())
        for _ in range(3):
            peer.answer(await peer.receive(), {"tools": [], "nextCursor": "again"})
        with pytest.raises(RemoteError):
            await soon(task)


async def test_progress_reaches_the_call_that_it_is_of(peer: Peer, soon: Soon) -> None:
    seen: list[Any] = []
    async with await Client.connect(peer.path) as client:
        task = asyncio.create_task(client.call_tool("t", {"a": 1}, lambda *step: seen.append(step)))
        request = await peer.receive()
        token = request["params"]["_meta"]["progressToken"]
        for params in (
            {"progressToken": token, "progress": 1},
            {"progressToken": "another", "progress": 9},
            {"progressToken": token, "progress": 2.5, "total": 4, "message": "m"},
            {"progressToken": token, "progress": "much"},
        ):
            peer.send({"method": "notifications/progress", "params": params})
        peer.answer(request, {"content": []})
        peer.send({"method": "notifications/progress", "params": {"progressToken": token, "progress": 3}})
        assert await soon(task) == {"content": []}
        peer.answer({"id": "late"}, {})
    assert request["params"]["name"] == "t"
    assert request["params"]["arguments"] == {"a": 1}
    assert seen == [(1, None, None), (2.5, 4, "m")]


async def test_a_call_without_a_progress_callback_asks_for_none(peer: Peer, soon: Soon) -> None:
    async with await Client.connect(peer.path) as client:
        task = asyncio.create_task(client.call_tool("t", {}))
        request = await peer.receive()
        peer.answer(request, {})
        await soon(task)
    assert "progressToken" not in request["params"]["_meta"]


async def test_other_notifications_go_to_the_callback(peer: Peer, soon: Soon) -> None:
    seen: list[Any] = []
    async with await Client.connect(peer.path) as client:
        client.notifications = lambda method, params: seen.append((method, params))
        task = asyncio.create_task(client.request("x"))
        request = await peer.receive()
        peer.send({"method": "notifications/tools/list_changed", "params": {"a": 1}})
        peer.answer(request, {})
        await soon(task)
    assert seen == [("notifications/tools/list_changed", {"a": 1})]


async def test_a_request_of_the_server_is_declined_and_does_no_harm(peer: Peer, soon: Soon) -> None:
    async with await Client.connect(peer.path) as client:
        task = asyncio.create_task(client.request("x"))
        request = await peer.receive()
        peer.send({"id": "r", "method": "roots/list"})
        answer = await peer.receive()
        peer.answer(request, {})
        await soon(task)
    assert (answer["id"], answer["error"]["code"]) == ("r", -32601)


async def test_a_cancelled_task_cancels_its_request_and_only_that(peer: Peer, soon: Soon) -> None:
    async with await Client.connect(peer.path) as client:
        first = asyncio.create_task(client.call_tool("slow", {}))
        second = asyncio.create_task(client.call_tool("quick", {}))
        requests = [await peer.receive(), await peer.receive()]
        first.cancel()
        cancelled = await peer.receive()
        peer.answer(requests[0], {"too": "late"})
        peer.answer(requests[1], {"in": "time"})
        assert await soon(second) == {"in": "time"}
        with pytest.raises(asyncio.CancelledError):
            await first
    assert cancelled["method"] == "notifications/cancelled"
    assert cancelled["params"]["requestId"] == requests[0]["id"]


async def test_a_request_that_is_answered_is_not_cancelled_afterwards(peer: Peer, soon: Soon) -> None:
    async with await Client.connect(peer.path) as client:
        task = asyncio.create_task(client.request("x"))
        peer.answer(await peer.receive(), {})
        await soon(task)
    assert await peer.at_end()


async def test_an_answer_that_does_not_come_in_time_is_cancelled(peer: Peer, soon: Soon) -> None:
    async with await Client.connect(peer.path) as client:
        task = asyncio.create_task(client.request("x", limit=0.01))
        request = await peer.receive()
        with pytest.raises(NoAnswerError):
            await soon(task)
        cancelled = await peer.receive()
    assert cancelled["params"]["requestId"] == request["id"]


async def test_a_call_outlasts_every_limit_while_the_daemon_is_alive(
    peer: Peer, soon: Soon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PROBE_EVERY", 0.01)
    async with await Client.connect(peer.path) as client:
        task = asyncio.create_task(client.call_tool("slow", {}))
        call = await peer.receive()
        for _ in range(3):
            probe = await peer.receive()
            assert probe["method"] == "server/discover"
            peer.send({"id": probe["id"], "error": {"code": -32601, "message": "any answer will do"}})
        peer.answer(call, {"content": []})
        assert await soon(task) == {"content": []}


async def test_a_call_ends_when_the_daemon_shows_no_life(
    peer: Peer, soon: Soon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PROBE_EVERY", 0.01)
    monkeypatch.setattr(Client.request, "__kwdefaults__", {"limit": 0.01, "progress": None})
    async with await Client.connect(peer.path) as client:
        with pytest.raises(ConnectionLostError):
            await soon(client.call_tool("slow", {}))


async def test_everything_under_way_fails_when_the_connection_ends(peer: Peer, soon: Soon) -> None:
    async with await Client.connect(peer.path) as client:
        tasks = [asyncio.create_task(client.request(name)) for name in ("a", "b")]
        for _ in tasks:
            await peer.receive()
        peer.writer.close()
        for task in tasks:
            with pytest.raises(ConnectionLostError):
                await soon(task)
        with pytest.raises(ConnectionLostError):
            await soon(client.request("c"))


async def test_an_error_without_an_id_is_the_reason_why_the_connection_ended(peer: Peer, soon: Soon) -> None:
    async with await Client.connect(peer.path) as client:
        task = asyncio.create_task(client.request("a"))
        await peer.receive()
        peer.send({"id": None, "error": {"code": -32600, "message": "mcppd: another registry"}})
        peer.writer.close()
        with pytest.raises(RefusedError) as raised:
            await soon(task)
    assert str(raised.value) == "another registry"


async def test_lines_that_are_no_messages_are_passed_over(peer: Peer, soon: Soon) -> None:
    async with await Client.connect(peer.path) as client:
        task = asyncio.create_task(client.request("a"))
        request = await peer.receive()
        peer.writer.write(b'\n{"half\n[]\n{"jsonrpc":"2.0","id":null,"result":{}}\n42\n')
        peer.answer(request, {"fine": True})
        assert await soon(task) == {"fine": True}


async def test_values_beyond_64_bits_and_lone_surrogates_arrive(peer: Peer, soon: Soon) -> None:
    async with await Client.connect(peer.path) as client:
        task = asyncio.create_task(client.call_tool("t", {"big": 10**30, "text": "ä\U0001f600"}))
        request = await peer.receive()
        peer.writer.write(
            b'{"jsonrpc":"2.0","id":%d,"result":{"a":"\\ud83d","b":1%s}}\n' % (request["id"], b"0" * 30)
        )
        assert await soon(task) == {"a": "\ud83d", "b": 10**30}
    assert request["params"]["arguments"] == {"big": 10**30, "text": "ä\U0001f600"}


async def test_an_answer_beyond_the_limit_of_a_line_ends_the_connection(peer: Peer, soon: Soon) -> None:
    async with await Client.connect(peer.path) as client:
        task = asyncio.create_task(client.request("a"))
        request = await peer.receive()
        peer.writer.write(b'{"jsonrpc":"2.0","id":%d,"result":{"a":"' % request["id"] + b"x" * (65 * 2**20))
        with pytest.raises(ConnectionLostError):
            await soon(task)
    peer.writer.transport.abort()


async def test_connecting_to_nothing_raises_what_the_system_says(tmp_path: Path) -> None:
    with pytest.raises(OSError) as raised:
        await Client.connect(str(tmp_path / "nothing.sock"))
    assert raised.value.errno == errno.ENOENT
