"""What the live view shows: the daemon's state and what has happened, as sections that fit any terminal."""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final

from mcppd_shim.places import home_directory
from rich.console import Group
from rich.text import Text

from mcppd.cli.answers import Module, Place, Session, Status, counted, duration
from mcppd.cli.dev_layout import Row, Section, row, section_lines
from mcppd.cli.dev_news import News, Warned, error_lines, one_line, took, waited_words
from mcppd.cli.output import STYLES
from mcppd.core.events import CallEnded, Reloaded, Stopping
from mcppd.core.reports import ModuleChange, Report

KEPT: Final = 200
"""Calls and reloads that are remembered: more than any terminal has lines."""

WIDE: Final = 150
"""Columns from which on state and happenings stand side by side."""

BETWEEN: Final = " │ "

CHANGES_SHOWN: Final = 3
"""Modules of one reload that are shown; a branch switch may change a hundred."""

OUTCOMES: Final = {"ok": "green", "failed": "bold red", "cancelled": "yellow"}
MARKS: Final = {"+": "green", "-": "red", "~": "yellow"}
URGENCY: Final = ("failed", "backoff", "broken", "checking")
"""The states of modules that come first."""


@dataclass(slots=True)
class Story:
    """What has happened, the newest first."""

    calls: deque[tuple[str, CallEnded]] = field(default_factory=lambda: deque(maxlen=KEPT))
    reloads: deque[Report] = field(default_factory=lambda: deque(maxlen=KEPT))
    warnings: deque[tuple[str, Warned]] = field(default_factory=lambda: deque(maxlen=KEPT))
    outcomes: Counter[str] = field(default_factory=Counter)
    is_stopping: bool = False

    def take(self, at: str, news: News) -> None:
        """Remember something."""
        match news:
            case CallEnded(outcome=outcome):
                self.calls.appendleft((at, news))
                self.outcomes[outcome] += 1
            case Reloaded(report):
                self.reloads.appendleft(report)
            case Warned():
                self.warnings.appendleft((at, news))
            case Stopping():
                self.is_stopping = True
            case _:
                pass  # sessions are shown as they are

    def copy(self) -> Story:
        """The same, which doesn't change when this does."""
        return replace(
            self,
            calls=self.calls.copy(),
            reloads=self.reloads.copy(),
            warnings=self.warnings.copy(),
            outcomes=self.outcomes.copy(),
        )


def picture(status: Status, story: Story, shim: str, width: int, height: int) -> Group:
    """Everything, in lines of a width, no more than a height; `shim` is what agents have to start."""
    short = Shortener(status)
    room = height - 1
    state = [_modules(status, short, room), _sessions(status, short, shim, room)]
    happened = [_reloads(story, short, room), _calls(story, short, room)]
    if story.warnings:
        happened.append(_warnings(story, room))
    if width < WIDE:
        lines = section_lines([*state, *happened], width, room)
    else:
        half = (width - len(BETWEEN)) // 2
        rest = width - len(BETWEEN) - half
        lines = _beside(section_lines(state, half, room), section_lines(happened, rest, room), half)
    return Group(_title(status, story, short, width), *lines)


class Shortener:
    """Makes paths short: those of modules begin with the module's directory, others below home with `~`."""

    def __init__(self, status: Status) -> None:
        parents = {os.path.dirname(Module.read(each).directory) for each in status.modules}
        self._prefixes = sorted(f"{parent}/" for parent in parents if len(parent) > 1)
        self._home = home_directory(os.environ).rstrip("/") + "/"

    def __call__(self, text: str) -> str:
        """The text as one line, with what it names shortened."""
        for prefix in reversed(self._prefixes):  # the longest of those that begin alike comes first
            text = text.replace(prefix, "")
        return self.home(text)

    def home(self, text: str) -> str:
        """The text as one line, with only the person's home shortened."""
        return one_line(text.replace(self._home, "~/") if len(self._home) > 1 else text)


def _title(status: Status, story: Story, short: Shortener, width: int) -> Text:
    line = Text(no_wrap=True).append(f" mcppd {status.version}", style="bold")
    about = [f"up {duration(status.uptime_seconds)}", f"pid {status.pid}", short.home(status.registry)]
    line.append("  ".join(["", *about]))
    if story.is_stopping:
        calls = sum(Session.read(each).in_flight for each in status.sessions)
        end = Text(f"stopping, {counted(calls, 'call')} may end ", style="bold yellow")
    else:
        end = Text("Ctrl-C stops it ", style="dim")
    line.truncate(max(0, width - end.cell_len - 2), overflow="ellipsis", pad=True)
    line.append("  ").append_text(end)
    line.truncate(width, overflow="ellipsis")
    return line


def _beside(left: Sequence[Text], right: Sequence[Text], half: int) -> list[Text]:
    lines = []
    for number in range(max(len(left), len(right))):
        line = left[number].copy() if number < len(left) else Text(no_wrap=True)
        line.truncate(half, pad=True)
        lines.append(line.append(BETWEEN, style="dim"))
        if number < len(right):
            line.append_text(right[number])
    return lines


# state


def _modules(status: Status, short: Shortener, room: int) -> Section:
    modules = sorted(map(Module.read, status.modules), key=_urgency)
    states = Counter(module.state for module in modules)
    summary = ", ".join(f"{count} {state}" for state, count in states.items())
    rows = [_of_registry("bold red", status.registry_fault, short)] if status.registry_fault else []
    for module in modules[:room]:
        rows += _module_rows(module, short)
    others = [text for text in status.warnings if text != status.registry_fault]
    rows += [_of_registry("yellow", text, short) for text in others[:room]]
    more = max(0, len(modules) - room) + max(0, len(others) - room)
    return Section("modules", summary or "none yet: list one in the registry", tuple(rows), more)


def _of_registry(style: str, text: str, short: Shortener) -> Row:
    return row(("registry", style), (short(text), style))


def _urgency(module: Module) -> int:
    if module.state in URGENCY:
        return URGENCY.index(module.state)
    return len(URGENCY) + (not (module.faults or module.warnings))


def _module_rows(module: Module, short: Shortener) -> Iterator[Row]:
    loaded = "nothing loaded" if module.generation is None else f"generation {module.generation}"
    where = (short.home(module.directory), "dim")
    yield row(
        (module.state, STYLES.get(module.state, "")),
        one_line(module.name),
        loaded,
        module.offers,
        module.workforce,
        where,
    )
    if module.fault:
        place = Place.read(module.fault)
        yield row((short(str(place)), STYLES.get(module.state, "")))
        if place.source.strip():
            yield row((f"| {one_line(place.source)}", "dim"))
    yield from (row((short(text), "red")) for text in module.faults)
    yield from (row((short(text), "yellow")) for text in module.warnings)


def _sessions(status: Status, short: Shortener, shim: str, room: int) -> Section:
    rows = []
    for session in sorted(map(Session.read, status.sessions), key=lambda each: -each.connected_seconds)[
        :room
    ]:
        calls = counted(session.calls, "call")
        if session.in_flight:
            calls += f", {session.in_flight} in flight"
        where = (short.home(session.workspace or "(no workspace)"), "dim")
        rows.append(row(one_line(session.name), duration(session.connected_seconds), calls, where))
    count = len(status.sessions)
    summary = str(count) if count else f"none: agents start `{one_line(shim)}`"
    return Section("sessions", summary, tuple(rows), count - len(rows))


# happenings


def _reloads(story: Story, short: Shortener, room: int) -> Section:
    rows: list[Row] = []
    for report in islice(story.reloads, room):
        told = f"{report.notified} notified" if report.list_changed else ""
        first, *more = [_change(change, short) for change in report.modules[:CHANGES_SHOWN]]
        rows.append(Row((Text(report.at), Text(took(report.seconds)), Text(told), first)))
        rows += [Row((change,)) for change in more]
        if (hidden := len(report.modules) - CHANGES_SHOWN) > 0:
            rows.append(row((f"and {counted(hidden, 'more module')}", "dim")))
    count = len(story.reloads)
    return Section("reloads", str(count) if rows else "none yet", tuple(rows), max(0, count - room))


def _change(change: ModuleChange, short: Shortener) -> Text:
    line = Text(one_line(change.step))
    for mark in change.marks:
        line.append(f" {one_line(mark)}", style=MARKS[mark[0]])
    if change.fault:
        line.append(f" broken: {short(change.fault)}", style="bold yellow")
    return line


def _calls(story: Story, short: Shortener, room: int) -> Section:
    rows: list[Row] = []
    for at, call in islice(story.calls, room):
        outcome = (call.outcome, OUTCOMES.get(call.outcome, "bold red"))
        time = f"{took(call.ran):>9}"
        waited = (waited_words(call), "yellow")
        rows.append(row(at, time, outcome, one_line(call.tool), (one_line(call.agent), "dim"), waited))
        rows += [row((short(line), "red")) for line in error_lines(call.error)]
    summary = ", ".join(f"{count} {outcome}" for outcome, count in story.outcomes.most_common())
    return Section("calls", summary or "none yet", tuple(rows), max(0, len(story.calls) - room))


def _warnings(story: Story, room: int) -> Section:
    rows = [row(at, (one_line(warned.text), "yellow")) for at, warned in islice(story.warnings, room)]
    return Section("log", "the last warnings", tuple(rows), max(0, len(story.warnings) - room))
