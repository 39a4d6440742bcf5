"""Steps of an installation: each is done and printed; a dry run prints what it would do."""

from __future__ import annotations

import os
import select
import signal
from pathlib import Path
from typing import Final

from mcppd.cli import systemctl
from mcppd.cli.errors import CommandError
from mcppd.cli.output import say

END_LIMIT: Final = 60.0
"""Seconds until a daemon must be gone that was told to end: the calls that run get 10 s of them."""


class Steps:
    """Does one thing after the other, and says so."""

    def __init__(self, *, dry: bool) -> None:
        self.dry = dry

    def note(self, label: str, text: str) -> None:
        """Print a line about what is, or was done."""
        say(f"{label:<12} {text}")

    def write(self, path: Path, text: str, before: str | None) -> bool:
        """Have a file say this; whether it said something else. What it said is kept beside it."""
        if text == before:
            self.note("kept", str(path))
            return False
        if before is not None:
            kept = path.with_name(f"{path.name}.old")
            self._did("keep", f"{kept} (what {path.name} said before)")
            if not self.dry:
                path.replace(kept)
        self._did("write", str(path))
        if not self.dry:
            path.parent.mkdir(parents=True, exist_ok=True)
            part = path.with_name(f".{path.name}.part")  # systemd reads no hidden file
            part.write_text(text)
            part.replace(path)
        return True

    def remove(self, path: Path) -> None:
        """Remove a file."""
        self._did("remove", str(path))
        if not self.dry:
            path.unlink(missing_ok=True)

    def order(self, *words: str) -> None:
        """Have systemd do something; raises CommandError."""
        self._did("run", f"systemctl --user {' '.join(words)}")
        if not self.dry:
            systemctl.order(*words)

    def end(self, pid: int) -> None:
        """End a daemon that systemd doesn't know, when its running calls have ended; raises CommandError."""
        self._did("stop", f"the daemon that runs without systemd: pid {pid}")
        if not self.dry:
            end_process(pid, END_LIMIT)

    def _did(self, verb: str, text: str) -> None:
        past = {"keep": "kept", "run": "ran", "stop": "stopped", "write": "wrote"}.get(verb, f"{verb}d")
        self.note(f"would {verb}" if self.dry else past, text)


def end_process(pid: int, limit: float) -> None:
    """Send SIGTERM to a process and wait until it is gone; raises CommandError."""
    try:
        process = os.pidfd_open(pid)
        signal.pidfd_send_signal(process, signal.SIGTERM)
    except ProcessLookupError:
        return
    except PermissionError:
        raise CommandError(f"process {pid} is another user's: end it, then try again", status=1) from None
    ended, _, _ = select.select([process], [], [], limit)
    os.close(process)
    if not ended:
        raise CommandError(f"process {pid} still runs after {limit:g} s: end it, then try again", status=1)
