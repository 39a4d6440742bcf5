"""A real `systemd --user` of a test's own, also on a machine that wasn't booted by systemd (a container, CI)."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness import LIMIT, REPOSITORY, clean_environment

SYSTEMD = next(
    (path for path in ("/usr/lib/systemd/systemd", "/lib/systemd/systemd") if Path(path).exists()), ""
)
BOOTED = Path("/run/systemd/system")
"""The mark of a machine that systemd has booted (sd_booted(3)); no systemd starts without."""

CGROUPS = (Path("/sys/fs/cgroup/unified"), Path("/sys/fs/cgroup/systemd"), Path("/sys/fs/cgroup"))
"""Where systemd keeps its own hierarchy of control groups: the hybrid, the legacy and the unified layout."""

MCPPD = [sys.executable, str(REPOSITORY / "mcppd" / "__main__.py")]


class UserSystemd:
    """A person's systemd, their home, and commands that they give."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.runtime = home / "run"
        self.environment = clean_environment(home) | {
            "DBUS_SESSION_BUS_ADDRESS": f"unix:path={self.runtime / 'bus'}"
        }
        self.units = home / "config" / "systemd" / "user"
        self.log = home / "systemd.log"
        self.sockets = self.runtime / "mcppd"

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a command as this person."""
        return subprocess.run(
            command, env=self.environment, capture_output=True, text=True, timeout=LIMIT * 3, check=False
        )

    def mcppd(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run `mcppd`."""
        return self.run(*MCPPD, *words)

    def systemctl(self, *words: str) -> str:
        """What `systemctl --user` prints for a command that succeeds."""
        done = self.run("systemctl", "--user", "--no-pager", *words)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def show(self, unit: str, name: str) -> str:
        """A property of a unit."""
        return self.systemctl("show", unit, f"--property={name}", "--value")

    @property
    def pid(self) -> int:
        """The process id of the daemon; 0 if there is none."""
        return int(self.show("mcppd.service", "MainPID"))

    def drop_in(self, unit: str, text: str) -> None:
        """Change a unit, as `systemctl edit` does."""
        directory = self.units / f"{unit}.d"
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "test.conf").write_text(text)
        self.systemctl("daemon-reload")


@contextlib.contextmanager
def user_systemd() -> Iterator[UserSystemd]:
    """One that runs; it and all that it started are ended afterwards. Skips the test where it can't be had."""
    for program in ("dbus-daemon", "systemctl", "systemd-analyze"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} isn't installed")
    if not SYSTEMD:
        pytest.skip("systemd isn't installed")
    home = Path(tempfile.mkdtemp(prefix="us-", dir="/tmp"))  # short: a socket's path takes 107 bytes
    try:
        with _booted(), _cgroup() as group:
            yield from _running(UserSystemd(home), group)
    finally:
        _end_those_at(home)
        shutil.rmtree(home)


def _running(person: UserSystemd, group: Path | None) -> Iterator[UserSystemd]:
    person.runtime.mkdir(mode=0o700)
    bus = subprocess.Popen(
        [
            "dbus-daemon",
            "--session",
            f"--address=unix:path={person.runtime / 'bus'}",
            "--nofork",
            "--nopidfile",
        ],
        env=person.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    with person.log.open("wb") as log:
        systemd = subprocess.Popen(
            [
                "sh",
                "-c",
                'test -z "$1" || echo $$ >"$1/cgroup.procs"; exec "$0" --user --log-target=console',
                SYSTEMD,
                str(group or ""),
            ],
            env=person.environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        _wait_for(person, systemd)
        yield person
    finally:
        systemd.terminate()  # it stops all units first (systemd(1))
        try:
            systemd.wait(LIMIT)
        except subprocess.TimeoutExpired:
            systemd.kill()
            systemd.wait()
        bus.terminate()
        bus.wait()


def _wait_for(person: UserSystemd, systemd: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + LIMIT
    while person.run("systemctl", "--user", "list-units").returncode:
        if systemd.poll() is not None or time.monotonic() > deadline:
            said = person.log.read_text(errors="replace").strip().splitlines()
            why = said[-1] if said else "it says nothing"
            pytest.skip(f"{'' if os.getuid() == 0 else 'optional: '}no systemd --user runs here: {why}")
        time.sleep(0.01)


def _end_those_at(home: Path) -> None:
    """End what was started in a home without its systemd."""
    mark = f"HOME={home}\0".encode()
    for directory in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended, or is of somebody else
            if mark in (directory / "environ").read_bytes():
                os.kill(int(directory.name), signal.SIGKILL)


@contextlib.contextmanager
def _booted() -> Iterator[None]:
    """The mark of a booted machine; only root can make it."""
    made = not BOOTED.is_dir()
    if made:
        try:
            BOOTED.mkdir(parents=True)
        except OSError as error:
            pytest.skip(
                f"optional: systemd has not booted this machine, and {BOOTED} can't be made: {error.strerror}"
            )
    try:
        yield
    finally:
        if made:
            with contextlib.suppress(OSError):
                BOOTED.rmdir()


@contextlib.contextmanager
def _cgroup() -> Iterator[Path | None]:
    """A control group for this systemd alone: two in one would kill each other's services. None without the right."""
    hierarchy = next((path for path in CGROUPS if (path / "cgroup.procs").exists()), None)
    group = hierarchy / f"mcppd-test-{os.getpid()}" if hierarchy and os.getuid() == 0 else None
    try:
        if group is not None:
            group.mkdir(exist_ok=True)
    except OSError:
        group = None
    try:
        yield group
    finally:
        if group is not None:
            for hierarchy in CGROUPS:  # systemd makes it in each of them
                _remove(hierarchy / group.name)


def _remove(group: Path) -> None:
    """Remove a control group, and whoever is left in it; one that has just ended keeps it for a moment."""
    deadline = time.monotonic() + LIMIT
    while group.is_dir() and time.monotonic() < deadline:
        for directory, _, _ in os.walk(group, topdown=False):
            with contextlib.suppress(OSError):
                for pid in Path(directory, "cgroup.procs").read_text().split():
                    os.kill(int(pid), signal.SIGKILL)
                os.rmdir(directory)
        time.sleep(0.005)
