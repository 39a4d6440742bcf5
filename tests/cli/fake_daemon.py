"""A small MCP and control server that holds a lock, for the command line to talk to.

Run as `fake_daemon.py SOCKET`; prints "ready" when it listens. Every line it gets goes to SOCKET.record.
Knows nothing of mcppd: what it says is written down here once more, from the protocol.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

SOCKET = Path(sys.argv[1])
CONTROL, LOCK, RECORD, ANSWERS = (Path(f"{SOCKET}.{end}") for end in ("control", "lock", "record", "answers"))

Object = dict[str, Any]
Answer = Callable[["Talk", str, Object, Any], Awaitable[Object | None]]

TEXT = {"type": "string"}
TOOLS: list[Object] = [
    {
        "name": "add_note",
        "description": "Writes a note.\n\nInto the project's notes.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "name": {**TEXT, "description": "What the note is called."},
                "times": {"type": "integer", "minimum": 1, "maximum": 9, "default": 1},
                "ratio": {"type": "number"},
                "overwrite": {"type": "boolean", "default": False},
                "steps": {"type": "array", "items": TEXT},
                "options": {"type": "object"},
                "kind": {"enum": ["short", "long"]},
                "max_chars": {"type": "integer"},
            },
            "required": ["name"],
        },
    },
    {"name": "display", "description": "Has a display.", "inputSchema": {"type": "object"}},
    {"name": "fail", "description": "Fails.", "inputSchema": {"type": "object"}},
    {"name": "forget", "description": "Closes the connection.", "inputSchema": {"type": "object"}},
    {
        "name": "help",
        "description": "Says what there is.",
        "inputSchema": {"type": "object", "properties": {"tool": TEXT}},
    },
    {"name": "slow", "description": "Reports progress, then waits.", "inputSchema": {"type": "object"}},
]
HIDDEN: Object = {"name": "a__search", "full_name": "b__search", "module": "b", "description": "Searches."}
HIDDEN_SCHEMA: Object = {"type": "object", "properties": {"words": {"type": "array", "items": TEXT}}}

FAULT: Object = {
    "message": "invalid syntax",
    "file": "/x/bad/mcpptool.py",
    "line": 3,
    "column": 7,
    "source": "  def f(:",
}
NOTHING: Object = {"added": [], "removed": [], "changed": [], "fault": None}
REPORT: Object = {
    "at": "12:00:01",
    "seconds": 0.1234,
    "modules": [
        {**NOTHING, "name": "notes", "old": 3, "new": 4, "added": ["a"], "removed": ["b"], "changed": ["c"]},
        {**NOTHING, "name": "fresh", "old": None, "new": 1, "added": ["d"]},
        {**NOTHING, "name": "gone", "old": 2, "new": None, "removed": ["e"]},
    ],
    "notified": 2,
}


def module(name: str, state: str = "ok", **more: Any) -> Object:
    return {
        "name": name,
        "directory": f"/x/{name}",
        "state": state,
        "generation": 4,
        "digest": "0123456789ab",
        "scope": "local",
        "about": "",
        "tools": ["add_note", "display"],
        "workers": 1,
        "fault": None,
        "since": None,
        "faults": [],
        "warnings": [],
        **more,
    }


STATUS: Object = {
    "pid": os.getpid(),
    "version": "0.1.0",
    "registry": "/x/tools.yaml",
    "registry_fault": None,
    "socket": str(SOCKET),
    "control": str(CONTROL),
    "uptime_seconds": 7384.5,
    "sessions": [
        {
            "client": {"name": "claude-code", "version": "2.1"},
            "workspace": "/home/x",
            "connected_seconds": 61.0,
            "calls": 9,
            "in_flight": 1,
        }
    ],
    "modules": [
        module("notes", prompts=["review"], resources=["notes://all", "notes://new"], resourceTemplates=[]),
        module("bad", "broken", fault=FAULT, since="12:00:00", warnings=["tool.yaml:2:1: `on` is text"]),
        module("never", "failed", generation=None, fault={**FAULT, "file": "/x/never/tool.yaml"}, tools=[]),
    ],
    "shadowed": [
        {"kind": "tools", "name": "search", "module": "b", "listed_as": "b__search"},
        {"kind": "resources", "name": "notes://all", "module": "b", "listed_as": None},
    ],
    "last_reload": REPORT,
    "watching": {"mode": "inotify", "directories": 12},
    "warnings": ["/x/tools.yaml:4:1: unknown key `modulse`"],
}


class RefusedError(Exception):
    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def text(value: str, audience: str | None = None) -> Object:
    item: Object = {"type": "text", "text": value}
    return {**item, "annotations": {"audience": [audience]}} if audience else item


class Talk:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answer: Answer) -> None:
        self.reader, self.writer, self.answer = reader, writer, answer
        self.cancelled: dict[Any, asyncio.Event] = {}
        self.hello: Object = {}

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            while line := await self.reader.readline():
                message = json.loads(line)
                with RECORD.open("a") as record:
                    record.write(json.dumps(message) + "\n")
                if message["method"] == "mcppd/hello":
                    self.hello = message["params"]
                elif message["method"] == "notifications/cancelled":
                    self.cancelled[message["params"]["requestId"]].set()
                else:
                    tasks.create_task(self.serve(message))
        self.writer.close()

    async def serve(self, message: Object) -> None:
        self.cancelled[message["id"]] = asyncio.Event()
        try:
            result = await self.answer(self, message["method"], message.get("params", {}), message["id"])
        except RefusedError as refused:
            self.send({"id": message["id"], "error": {"code": refused.code, "message": str(refused)}})
        else:
            if result is not None:
                self.send({"id": message["id"], "result": result})

    def send(self, message: Object) -> None:
        with contextlib.suppress(OSError):
            self.writer.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


async def agents(talk: Talk, method: str, params: Object, ident: Any) -> Object | None:
    if "io.modelcontextprotocol/protocolVersion" not in params.get("_meta", {}):
        raise RefusedError(-32602, "no _meta")
    match method:
        case "tools/list":
            page = params.get("cursor")
            tools = TOOLS[3:] if page else TOOLS[:3]
            return {"tools": tools, "resultType": "complete", **({} if page else {"nextCursor": "p2"})}
        case "tools/call":
            return await call(talk, params, ident)
        case _:
            raise RefusedError(-32601, f"unknown method {method}")


async def call(talk: Talk, params: Object, ident: Any) -> Object | None:
    name, arguments, token = params["name"], params["arguments"], params["_meta"].get("progressToken")
    match name:
        case "add_note" | "b__search":
            answer = {"arguments": arguments, "workspace": talk.hello["workspace"], "cwd": talk.hello["cwd"]}
            return {"content": [text(json.dumps(answer))], "resultType": "complete"}
        case "display":
            display = text("# Title\n\nsome *words*\n", "user")
            return {"content": [display, text('{"a": 1}', "assistant"), text("Notice: old")]}
        case "help":
            display = text("## Help\n\nof " + arguments.get("tool", "all"), "user")
            return {"content": [display, text("raw", "assistant")]}
        case "fail":
            return {"content": [text("Error: no \x1b[31msuch thing")], "isError": True}
        case "forget":
            talk.writer.close()
            return None
        case "slow":
            if token is not None:
                step = {"progress": 1, "total": 4, "message": "one \x1b]0;of\x07 four"}
                talk.send({"method": "notifications/progress", "params": {"progressToken": token, **step}})
            await talk.cancelled[ident].wait()
            return None
        case _:
            raise RefusedError(-32602, f"unknown tool {name}: it was removed by the reload at 12:00:00")


async def control(talk: Talk, method: str, params: Object, ident: Any) -> Object | None:
    answers = json.loads(ANSWERS.read_text()) if ANSWERS.exists() else {}
    match method:
        case "mcppd/status":
            return {**STATUS, **answers.get("status", {})}
        case "mcppd/list":
            listed = [{**tool, "full_name": f"notes__{tool['name']}", "module": "notes"} for tool in TOOLS]
            return {"tools": [*listed, {**HIDDEN, "inputSchema": HIDDEN_SCHEMA}], **answers.get("list", {})}
        case "mcppd/reload":
            return {**REPORT, **answers.get("reload", {})}
        case "mcppd/stop":
            ending = signal.SIGKILL if "stop" in answers else signal.SIGTERM
            asyncio.get_running_loop().call_later(0.5, os.kill, os.getpid(), ending)  # it takes its time
            return {}
        case _:
            raise RefusedError(-32601, f"unknown method {method}")


async def main() -> None:
    lock = LOCK.open("w")
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.umask(0o177)
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    for path, answer in ((SOCKET, agents), (CONTROL, control)):

        async def connected(
            reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answer: Answer = answer
        ) -> None:
            with contextlib.suppress(ConnectionError):
                await Talk(reader, writer, answer).run()

        await asyncio.start_unix_server(connected, str(path))
    print("ready", flush=True)  # noqa: T201 - the test waits for it
    await ended.wait()
    for path in (SOCKET, CONTROL):
        path.unlink()


asyncio.run(main())
