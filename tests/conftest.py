"""Where MCPPD_NO_SKIPS is set, as in CI, a skipped test fails the whole run.

A reason that begins with `optional:` is let pass: what such a test needs can't be had everywhere.
"""

from __future__ import annotations

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

# A fresh checkout builds hypothesis' tables of characters first, which takes seconds; CI's machines are slow at times.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

# A shell's job in the background ignores Ctrl-C, and so would all that is started here; some tests send it.
signal.signal(signal.SIGINT, signal.default_int_handler)

OPTIONAL = "optional:"


class NoSkips:
    """Takes down what is skipped and fails the run at its end."""

    def __init__(self) -> None:
        self.skipped: list[str] = []

    def note(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if not report.skipped or hasattr(report, "wasxfail"):
            return
        text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reason = text.removeprefix("Skipped: ")
        if not reason.startswith(OPTIONAL):
            self.skipped.append(f"{report.nodeid}: {reason}")

    pytest_runtest_logreport = note
    pytest_collectreport = note

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.skipped and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.skipped:
            terminalreporter.section("skipped, and MCPPD_NO_SKIPS is set", red=True)
        for line in self.skipped:
            terminalreporter.line(line, red=True)


def pytest_configure(config: pytest.Config) -> None:
    if os.environ.get("MCPPD_NO_SKIPS"):
        config.pluginmanager.register(NoSkips())
