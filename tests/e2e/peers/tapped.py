"""What goes between a real client and its shim: written down, and held against the official schemas."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

from tests.harness import MODERN, REPOSITORY, Daemon
from tests.wire_schema import check_message

TAP = Path(__file__).with_name("tap.py")


class Tap:
    """A program that a client can start as its server, and all that was said through it."""

    def __init__(self, daemon: Daemon, record: Path) -> None:
        python = [sys.executable, "-I", "-S"]
        shim = [*python, str(REPOSITORY / "shim" / "__main__.py")]
        options = ["--config", str(daemon.registry), "--socket", str(daemon.socket)]
        command = [*python, str(TAP), str(record), *shim, *options]
        self.program = f"{record}.sh"  # without arguments: some clients would take our options for theirs
        Path(self.program).write_text(f"#!/bin/sh\nexec {shlex.join(command)}\n")
        Path(self.program).chmod(0o700)
        self._record = record

    def messages(self, sender: str) -> list[dict[str, Any]]:
        """All messages of the client or the server, in their order."""
        lines = (json.loads(line) for line in self._record.read_text().splitlines())
        return [json.loads(message) for who, message in lines if who == sender]

    @property
    def revision(self) -> str:
        """The revision that was spoken in the end."""
        agreed = [
            each["result"].get("protocolVersion") for each in self.messages("server") if "result" in each
        ]
        return next((str(revision) for revision in agreed if revision), MODERN)

    def check(self) -> None:
        """Assert that all that the daemon said is valid in that revision; of one client, since ids may come again."""
        methods = {
            each["id"]: each["method"] for each in self.messages("client") if {"id", "method"} <= each.keys()
        }
        said = self.messages("server")
        assert said
        for message in said:
            method = methods.get(message.get("id"))
            probing = method == "server/discover"
            check_message("server", MODERN if probing else self.revision, message, method)
