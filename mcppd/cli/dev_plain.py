"""The view as lines: one for each thing that happens, for pipes, files and terminals that show nothing else."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from mcppd.cli.answers import Module, Place, Status, counted, duration
from mcppd.cli.dev_news import News, Warned, Warnings, clock, error_lines, one_line, took, waited_words
from mcppd.cli.dev_pen import Bell, Pen
from mcppd.core.events import CallEnded, Event, Reloaded, SessionEnded, SessionStarted, Stopping
from mcppd.core.report_words import stages_words

KEPT: Final = 10_000
"""Lines that wait for a reader that stands still; of more the oldest are lost."""


class PlainView:
    """Lines on stdout."""

    def __init__(self, pen: Pen) -> None:
        self._pen = pen
        self._bell = Bell()
        self._untold: deque[tuple[str, News]] = deque(maxlen=KEPT)
        self._faults = Faults()
        self.is_followed = False  # another daemon has taken the place of this one
        self._is_shown = False

    def attach(self, log: logging.Logger) -> None:
        """Take in the log's warnings too."""
        log.addHandler(Warnings(self._warn))

    def tell(self, event: Event) -> None:
        """Take in what happened."""
        self._untold.append((clock(), event))
        self.is_followed = event == Stopping(is_followed=True) or self.is_followed
        self._bell.ring()

    async def show(self, status: Callable[[], Mapping[str, Any]]) -> None:
        """Write lines until cancelled, or until nobody reads them any more."""
        self._is_shown = True
        self._say([_line(clock(), "started", *_about(Status.read(status())))])
        try:
            while self._pen.has_reader:
                if not (is_behind := not self._pen.is_idle):
                    self._write(status)
                await self._bell.wait(is_behind=is_behind)
        finally:
            self._is_shown = False
            if self._pen.finish():
                self._write(status)

    def _warn(self, warned: Warned) -> bool:
        self._untold.append((clock(), warned))  # may come from another thread, so the next tick has to do
        return self._is_shown

    def _write(self, status: Callable[[], Mapping[str, Any]]) -> None:
        lines = []
        while self._untold:
            at, news = self._untold.popleft()
            lines += [_line(at, *each) for each in words(news)]
        lines += [_line(clock(), *each) for each in self._faults.changes(Status.read(status()))]
        if lines:
            self._say(lines)

    def _say(self, lines: list[str]) -> None:
        self._pen.do(lambda: self._pen.write("".join(lines)))


class Faults:
    """What was said last of each module, of the registry and of its warnings."""

    def __init__(self) -> None:
        self._said: dict[str, tuple[tuple[str, ...], ...]] = {}

    def changes(self, status: Status) -> Iterator[tuple[str, ...]]:
        """What there is to say now that was not said last; a line each."""
        states = {f"module {module.name}": _state(module) for module in map(Module.read, status.modules)}
        if status.registry_fault:
            states["registry"] = (("registry", status.registry_fault),)
        states |= {text: (("warning", text),) for text in status.warnings if text != status.registry_fault}
        for name, lines in states.items():
            if self._said.get(name) != lines:
                yield from lines
        if "registry" in self._said and "registry" not in states:
            yield "registry", "ok"
        self._said = states


def words(news: News) -> list[tuple[str, ...]]:
    """What happened, in lines: of each the kind, then the words. The kind of a line that only goes on is empty."""
    match news:
        case CallEnded(agent, tool, _, outcome, error):
            first, *more = error_lines(error) or [""]
            time = ", ".join(filter(None, [took(news.ran), waited_words(news)]))
            head = f"{tool} by {agent}: {outcome} in {time}" + (f": {first}" if first else "")
            return [("call", head), *(("", line) for line in more)]
        case Reloaded(report):
            told = f", {counted(report.notified, 'session')} notified" if report.list_changed else ""
            changes = "; ".join(" ".join([change.step, *change.marks]) for change in report.modules)
            stages = f" ({words})" if (words := stages_words(report.stages)) else ""
            return [("reload", f"{changes} in {took(report.seconds)}{stages}{told}")]
        case SessionStarted(agent, workspace):
            return [("session", f"{agent} came, workspace {workspace or '(none)'}")]
        case SessionEnded(agent, calls, seconds):
            return [("session", f"{agent} went after {duration(seconds)}, {counted(calls, 'call')}")]
        case Stopping(is_followed=True):
            return [("stopping", "another daemon has taken the place of this one")]
        case Stopping():
            return [("stopping", "this daemon ends; calls that run may end first")]
        case Warned(level, text):
            return [(level, text)]


def _state(module: Module) -> tuple[tuple[str, ...], ...]:
    place = Place.read(module.fault) if module.fault else None
    told = str(place) if place is not None else ", ".join(module.tools)
    lines = [("module", f"{module.name} {module.state}" + (f": {told}" if told else ""))]
    if place is not None and place.source.strip():
        lines.append(("", f"| {place.source}"))
    lines += [("fault", f"{module.name}: {text}") for text in module.faults]
    lines += [("warning", f"{module.name}: {text}") for text in module.warnings]
    return tuple(lines)


def _about(status: Status) -> tuple[str, ...]:
    return (f"mcppd {status.version}, pid {status.pid}, registry {status.registry}, socket {status.socket}",)


def _line(at: str, kind: str, *texts: str) -> str:
    return f"{at} {kind:<8} {one_line(' '.join(texts))}\n"
