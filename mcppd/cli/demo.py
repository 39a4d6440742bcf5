"""`mcppd demo`."""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import click

from mcppd.cli.errors import CommandError
from mcppd.cli.output import print_json, say

if TYPE_CHECKING:
    from mcppd.cli.demo_processes import Interruptions
    from mcppd.cli.demo_steps import Missed, Seen

LONGEST: Final = 60
"""Characters of a temporary directory's path below which the sockets' paths, 36 longer, may be used (107)."""


@click.command("demo")
@click.option("--json", "as_json", is_flag=True, help="Print what was seen as JSON, at the end.")
def command(*, as_json: bool) -> int:
    """Show in a second that a saved change is live.

    In a temporary directory, with a daemon, a shim and a client of its own: lists and calls a
    tool, adds one on disk, edits it, breaks it and repairs it. Each step is a line, with the
    milliseconds that it took, measured at the client: from saving a file to the new answer or to
    the notification.

    Nothing is left behind, and no other daemon is touched. Exit status 0 only if everything was
    seen that has to be; else 1, with what was expected and what came.
    """
    outcome = Outcome()
    _play(outcome, (lambda _: None) if as_json else _print_seen)
    if as_json:
        print_json(outcome.as_json())
    elif outcome.missed is not None:
        missed = outcome.missed
        came = f"expected: {missed.expected}", f"what came: {missed.came}"
        raise CommandError(f"the step {missed.step!r} failed", *came, status=1, quoted=missed.log)
    else:
        say(
            f"All of it was seen, in {outcome.seconds:.1f} s. Nothing is left of it, and no other daemon was touched."
        )
    return 0 if outcome.missed is None else 1


@dataclass(slots=True)
class Outcome:
    """What came of the demo so far."""

    seen: list[Seen] = field(default_factory=list)
    missed: Missed | None = None
    seconds: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """The outcome as `--json` prints it."""
        steps = [
            {"step": seen.step, "ms": round(seen.milliseconds, 1), "what": seen.what} for seen in self.seen
        ]
        missed = self.missed and {
            "step": self.missed.step,
            "expected": self.missed.expected,
            "came": self.missed.came,
            "log": list(self.missed.log),
        }
        return {"ok": missed is None, "seconds": round(self.seconds, 2), "steps": steps, "failed": missed}


def _print_seen(seen: Seen) -> None:
    say(f"{seen.step:<7}{seen.milliseconds:>7.1f} ms  {seen.what}")
    sys.stdout.flush()


def _play(outcome: Outcome, tell: Callable[[Seen], None]) -> None:
    from mcppd.cli.demo_processes import Interruptions, end_children
    from mcppd.cli.start import adopt_orphans

    usual = tempfile.gettempdir()
    place = usual if len(usual) < LONGEST else "/tmp"  # noqa: S108 - the directory made there is private
    adopt_orphans()  # a daemon that a shim starts has no parent, and must not be left behind
    with (
        Interruptions() as interruptions,
        tempfile.TemporaryDirectory(prefix="mcppd-demo-", dir=place) as directory,
    ):
        try:
            asyncio.run(_perform(directory, interruptions, outcome, tell))
        finally:
            end_children()


async def _perform(
    directory: str, interruptions: Interruptions, outcome: Outcome, tell: Callable[[Seen], None]
) -> None:
    from mcppd.cli.demo_stage import Stage
    from mcppd.cli.demo_steps import MissedError, play

    started = time.monotonic()

    async def perform(stage: Stage) -> None:
        try:
            async for seen in play(stage):
                outcome.seen.append(seen)
                outcome.seconds = time.monotonic() - started
                tell(seen)
        except MissedError as error:
            outcome.missed = error.missed

    async with Stage(directory) as stage:
        await interruptions.cancel(perform(stage))
