"""Where the database lies, who may use its files, and the lock under which it is opened.

By default it is the user's own. Where MCPPD_PLAN_DB names a file in a directory of a group, all of the group may use
it, whatever the umask of whoever was first.
"""

from __future__ import annotations

import fcntl
import os
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final

from .errors import PlanError

VARIABLE: Final = "MCPPD_PLAN_DB"

DEFAULT: Final = "~/.config/plan/plan.db"

SIDE_FILES: Final = ("-wal", "-shm")
"""What SQLite keeps beside a database in WAL mode; whoever can't write them can't even read."""

LOCK_SECONDS: Final = 8.0
"""How long another may take to open or migrate: that takes milliseconds, and a call has 30 seconds in all."""

LOCK_PAUSE: Final = 0.005


@dataclass(frozen=True, slots=True)
class Place:
    """Where a database lies."""

    named: str  # the path as it was said
    path: str  # the same, links resolved: the side files lie beside it
    group: int | None = None  # the group that shares it

    @property
    def directory(self) -> str:
        """The directory of the database and its side files."""
        return os.path.dirname(self.path)

    @property
    def mode(self) -> int:
        """The permissions of its files."""
        return 0o600 if self.group is None else 0o660


def named_path(environ: Mapping[str, str]) -> str:
    """The path of the database as the environment names it. Raises PlanError."""
    said = environ.get(VARIABLE, "")
    path = os.path.expanduser(said or DEFAULT)
    if not os.path.isabs(path):
        raise PlanError(f"{VARIABLE} is {said!r}: it has to be an absolute path, such as /srv/team/plan.db")
    return path


def find_place(named: str) -> Place:
    """Where the database of that path lies; the default one's directory is made. Raises PlanError."""
    path = os.path.realpath(named)
    is_default = named == os.path.expanduser(DEFAULT)
    directory = os.path.dirname(path)
    if is_default:
        make_private(directory)
    try:
        status = os.stat(directory)
    except OSError as error:
        raise PlanError(
            f"{VARIABLE} is {named}, and {directory} can't be used: {error.strerror}. "
            "Make that directory, or name another file."
        ) from None
    return Place(named, path, None if is_default else group_of(status))


def group_of(directory: os.stat_result) -> int | None:
    """The group whose directory it is, if it is one's and we are of that group."""
    if directory.st_mode & stat.S_IWOTH or not directory.st_mode & (stat.S_ISGID | stat.S_IWGRP):
        return None
    is_member = os.geteuid() == 0 or directory.st_gid in {os.getegid(), *os.getgroups()}
    return directory.st_gid if is_member else None


def make_private(directory: str) -> None:
    """Make a directory, and those above it, for the user alone. Raises PlanError."""
    try:
        os.makedirs(os.path.dirname(directory), 0o700, exist_ok=True)
        with suppress(FileExistsError):
            os.mkdir(directory, 0o700)
    except OSError as error:
        raise PlanError(
            f"{directory} can't be made for the database: {error.strerror}. {VARIABLE} can name another file."
        ) from None


def make_file(place: Place) -> None:
    """Make an empty database file with its permissions, if there is none. Raises OSError."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        # not opened if it is there: to close it again would end the locks that SQLite holds on it
        descriptor = os.open(place.path, flags, 0o600)
    except FileExistsError:
        return
    try:
        if place.group is not None:
            os.fchown(descriptor, -1, place.group)
        os.fchmod(descriptor, place.mode)
    finally:
        os.close(descriptor)


def share(place: Place) -> None:
    """Let all of the group use the database and its side files, as far as they are ours to change."""
    if place.group is None:
        return
    for suffix in ("", *SIDE_FILES):
        with suppress(
            OSError
        ):  # there is none at the moment, or it belongs to somebody else, who has done it
            share_file(place.path + suffix, place.group, place.mode)


def share_file(path: str, group: int, mode: int) -> None:
    """Give a file its group and permissions, where it lacks them. Raises OSError."""
    status = os.stat(path)
    if status.st_gid != group:
        os.chown(path, -1, group)
    if stat.S_IMODE(status.st_mode) & mode != mode:
        os.chmod(path, mode)


@contextmanager
def locked(directory: str) -> Iterator[None]:
    """Be the only one who opens a database in this directory. Raises PlanError."""
    try:
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise PlanError(f"{directory}, where the database lies, can't be used: {error.strerror}") from None
    try:
        wait_for_lock(descriptor, directory)
        yield
    finally:
        os.close(descriptor)


def wait_for_lock(descriptor: int, directory: str) -> None:
    """Take the lock of a directory as soon as nobody has it. Raises PlanError."""
    limit = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > limit:
                raise PlanError(
                    f"somebody has been opening the database in {directory} for {LOCK_SECONDS:g} s; call again"
                ) from None
            time.sleep(LOCK_PAUSE)
        except OSError as error:
            raise PlanError(
                f"{directory} can't be locked ({error.strerror}): a database needs a local file system. "
                f"{VARIABLE} can name another file."
            ) from None
        else:
            return
