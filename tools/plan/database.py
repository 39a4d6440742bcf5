"""The connection to the database: opened once, looked at before each call, and one transaction for a call."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .errors import PlanError
from .migrations import MIGRATIONS, checked_version, migrate
from .places import LOCK_PAUSE, VARIABLE, Place, find_place, locked, make_file, share

BUSY_SECONDS: Final = 10.0
"""How long a call waits for others who write: they take milliseconds each, and a call has 30 seconds in all."""

WHY: Final = {
    sqlite3.SQLITE_BUSY: f"others have been writing to it for {BUSY_SECONDS:g} s; call again",
    sqlite3.SQLITE_LOCKED: "others are changing it; call again",
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_READONLY: "you may not write to it or to its side files (-wal, -shm); see who owns them",
    sqlite3.SQLITE_CANTOPEN: "it or its side files (-wal, -shm) can't be opened; see who owns them",
    sqlite3.SQLITE_PERM: "you may not use it; see who owns it",
    sqlite3.SQLITE_IOERR: "the disk can't be read or written",
    sqlite3.SQLITE_NOTADB: f"it is no SQLite database; move it away, or name another file with {VARIABLE}",
    sqlite3.SQLITE_CORRUPT: "it is damaged; put a copy in its place, or save what `sqlite3 FILE .recover` can read",
}
"""What SQLite's errors mean, by the code; nothing of a call is left after any of them."""

PASSING: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL})
"""Those after which the connection is as good as before."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A connection, and the file that it is of."""

    place: Place
    identity: tuple[int, int] | None
    connection: sqlite3.Connection


class ReplacedError(PlanError):
    """The file has other content than it had; to open it anew puts that right."""


class Database:
    """The database that was used last, whichever is named from one call to the next."""

    def __init__(self) -> None:
        self._opened: Opened | None = None

    @contextmanager
    def transaction(self, named: str, *, writes: bool) -> Iterator[sqlite3.Connection]:
        """All that a call does with the database of that path: either the whole of it, or nothing. Raises PlanError."""
        opened = self._open(named)
        connection = opened.connection
        try:
            with self._explained(opened.place):
                begin(opened, writes=writes)
                yield connection
                connection.execute("COMMIT")
        except BaseException:
            self._undo(connection)
            raise

    def close(self) -> None:
        """Close the connection, if there is one."""
        opened, self._opened = self._opened, None
        if opened is not None:
            with suppress(sqlite3.Error):  # its file may be gone
                opened.connection.close()

    def _open(self, named: str) -> Opened:
        """The connection to the very file that lies at a path now."""
        opened = self._opened
        if opened is None or opened.place.named != named or identity(named) != opened.identity:
            self.close()
            place = find_place(named)
            with self._explained(place):
                opened = self._opened = connect(place)
        return opened

    def _undo(self, connection: sqlite3.Connection) -> None:
        try:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        except sqlite3.Error:  # it is closed, or it can't be told what to do any more
            self.close()

    @contextmanager
    def _explained(self, place: Place) -> Iterator[None]:
        """Say what an error of SQLite's or of the system's means; the next call opens the database anew."""
        try:
            yield
        except ReplacedError:
            self.close()
            raise
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code not in PASSING:
                self.close()
            if code not in WHY:
                raise
            raise PlanError(f"the database {place.path} can't be used: {WHY[code]} ({error})") from error
        except OSError as error:
            self.close()
            raise PlanError(f"the database {place.path} can't be used: {error}") from error


def begin(opened: Opened, *, writes: bool) -> None:
    """Begin a transaction of a database that is still what it was. Raises PlanError, sqlite3.Error."""
    connection = opened.connection
    connection.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
    if checked_version(connection, opened.place) != len(MIGRATIONS):
        raise ReplacedError(
            f"{opened.place.path} was overwritten with an older one while it was in use; call again"
        )


def identity(path: str) -> tuple[int, int] | None:
    """Which file lies at a path."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def connect(place: Place, query: str = "mode=rw") -> Opened:
    """Open a database, made or migrated if need be. Raises PlanError, OSError, sqlite3.Error."""
    with locked(place.directory):
        make_file(place)
        found = identity(
            place.path
        )  # before it is opened: if another takes its place meanwhile, that is noticed
        address = f"{Path(place.path).as_uri()}?{query}"
        connection = sqlite3.connect(address, uri=True, isolation_level=None, timeout=BUSY_SECONDS)
        try:
            checked_version(connection, place)  # before anything is changed
            use_wal(connection, place)
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute(
                "PRAGMA synchronous = NORMAL"
            )  # in WAL mode a crash of the machine damages nothing
            migrate(connection, place)
            share(place)
        except BaseException:
            connection.close()
            raise
        return Opened(place, found, connection)


def use_wal(connection: sqlite3.Connection, place: Place) -> None:
    """Have readers and writers not wait for each other. Raises PlanError, sqlite3.Error."""
    limit = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        except sqlite3.OperationalError as error:
            # SQLite doesn't wait here if somebody is reading in the mode of before
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > limit:
                raise
            time.sleep(LOCK_PAUSE)
        else:
            break
    if mode != "wal":
        raise PlanError(
            f"{place.path} can't be used by several at once (SQLite's WAL mode can't be set, it stays {mode!r}): "
            f"it lies on a network file system, perhaps. Name a file on a local disk with {VARIABLE}."
        )
