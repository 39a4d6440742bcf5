"""The tables, and how a database of an older version gets them: step by step, each with a backup before it.

The version is SQLite's `user_version`; `application_id` tells that a database is one of ours.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from typing import Final

from .errors import PlanError
from .places import VARIABLE, Place

APPLICATION: Final = 0x504C414E
"""PLAN, in ASCII."""

BACKUPS: Final = 3
"""Backups that are kept, the newest ones: one for each of the last migrations."""

Migration = Sequence[str]
"""The statements that lead from one version to the next."""

FIRST: Final[Migration] = (
    """CREATE TABLE users (
        id INTEGER PRIMARY KEY,
        login TEXT NOT NULL UNIQUE,
        alias TEXT
    )""",
    """CREATE TABLE projects (
        id INTEGER PRIMARY KEY,
        path TEXT NOT NULL UNIQUE,
        name TEXT NOT NULL,
        description TEXT NOT NULL DEFAULT ''
    )""",
    # planned, started and complete are counts of its steps, kept by the triggers below
    """CREATE TABLE tasks (
        id INTEGER PRIMARY KEY,
        project_id INTEGER NOT NULL REFERENCES projects,
        user_id INTEGER NOT NULL REFERENCES users,
        name TEXT NOT NULL,
        title TEXT NOT NULL,
        created_at TEXT NOT NULL,
        archived_at TEXT,
        planned INTEGER NOT NULL DEFAULT 0 CHECK (planned >= 0),
        started INTEGER NOT NULL DEFAULT 0 CHECK (started IN (0, 1)),
        complete INTEGER NOT NULL DEFAULT 0 CHECK (complete >= 0),
        UNIQUE (project_id, user_id, name),
        UNIQUE (project_id, user_id, id)
    )""",
    """CREATE TABLE active_tasks (
        project_id INTEGER NOT NULL,
        user_id INTEGER NOT NULL,
        task_id INTEGER NOT NULL,
        PRIMARY KEY (project_id, user_id),
        FOREIGN KEY (project_id, user_id, task_id) REFERENCES tasks (project_id, user_id, id)
    ) WITHOUT ROWID""",
    # a deleted step keeps the number that it had
    """CREATE TABLE steps (
        id INTEGER PRIMARY KEY,
        task_id INTEGER NOT NULL REFERENCES tasks,
        number INTEGER NOT NULL,
        title TEXT NOT NULL,
        description TEXT NOT NULL DEFAULT '',
        status TEXT NOT NULL CHECK (status IN ('planned', 'started', 'complete')),
        created_at TEXT NOT NULL,
        completed_at TEXT,
        deleted_at TEXT,
        CHECK ((status = 'complete') = (completed_at IS NOT NULL))
    )""",
    "CREATE UNIQUE INDEX steps_by_number ON steps (task_id, number) WHERE deleted_at IS NULL",
    "CREATE UNIQUE INDEX step_started ON steps (task_id) WHERE status = 'started' AND deleted_at IS NULL",
    "CREATE INDEX steps_planned ON steps (task_id, number) WHERE status = 'planned' AND deleted_at IS NULL",
    """CREATE TABLE notes (
        id INTEGER PRIMARY KEY,
        task_id INTEGER NOT NULL REFERENCES tasks,
        step_id INTEGER REFERENCES steps,
        text TEXT NOT NULL,
        created_at TEXT NOT NULL
    )""",
    "CREATE INDEX notes_by_place ON notes (task_id, step_id)",
    """CREATE TRIGGER step_comes AFTER INSERT ON steps BEGIN
        UPDATE tasks SET
            planned = planned + (new.status = 'planned'),
            started = started + (new.status = 'started'),
            complete = complete + (new.status = 'complete')
        WHERE id = new.task_id;
    END""",
    """CREATE TRIGGER step_changes AFTER UPDATE OF status, deleted_at ON steps BEGIN
        UPDATE tasks SET
            planned = planned + (new.status = 'planned' AND new.deleted_at IS NULL)
                - (old.status = 'planned' AND old.deleted_at IS NULL),
            started = started + (new.status = 'started' AND new.deleted_at IS NULL)
                - (old.status = 'started' AND old.deleted_at IS NULL),
            complete = complete + (new.status = 'complete' AND new.deleted_at IS NULL)
                - (old.status = 'complete' AND old.deleted_at IS NULL)
        WHERE id = new.task_id;
    END""",
)

MIGRATIONS: Final[Sequence[Migration]] = (FIRST,)
"""The first leads from an empty database to version 1, and so on."""


def migrate(
    connection: sqlite3.Connection, place: Place, migrations: Sequence[Migration] = MIGRATIONS
) -> None:
    """Bring a database to the newest version, under the lock of its directory. Raises PlanError, sqlite3.Error."""
    while (version := checked_version(connection, place, len(migrations))) < len(migrations):
        connection.execute("BEGIN IMMEDIATE")
        try:
            if version > 0:
                back_up(place, version)  # nobody can write before this transaction ends
            for statement in migrations[version]:
                connection.execute(statement)
            if connection.execute("PRAGMA foreign_key_check").fetchone() is not None:
                raise PlanError(
                    f"{place.path} can't be brought to version {version + 1}: rows in it don't fit"
                )
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {version + 1}")
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")


def checked_version(connection: sqlite3.Connection, place: Place, newest: int = len(MIGRATIONS)) -> int:
    """The version of a database; 0 of an empty one. Raises PlanError if it is none that we can use."""
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > newest:
        raise PlanError(
            f"{place.path} was made by a newer mcppd (its version is {version}, this one knows up to {newest}). "
            f"Upgrade mcppd and run `mcppd restart`, or name another file with {VARIABLE}."
        )
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    is_empty = version == 0 and connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    if application != APPLICATION and not is_empty:
        raise PlanError(
            f"{place.path} is a database of something else. Nothing in it was changed; "
            f"name another file with {VARIABLE}."
        )
    return version


def back_up(place: Place, version: int) -> None:
    """Copy a database to a file beside it, and see that the copy is whole. Raises PlanError, OSError, sqlite3.Error."""
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    path = f"{place.path}.v{version}-{stamp}.backup"
    draft = f"{path}.draft"
    with suppress(FileNotFoundError):
        os.unlink(draft)
    try:
        make_like(place.path, draft)
        copy(place.path, draft)
        refuse_broken(draft, version)
        sync(draft)
        os.replace(draft, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(draft)
        raise
    prune(place)


def make_like(original: str, path: str) -> None:
    """Make an empty file that the same people may use. Raises OSError."""
    status = os.stat(original)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        if os.fstat(descriptor).st_gid != status.st_gid:
            os.fchown(descriptor, -1, status.st_gid)
        os.fchmod(descriptor, status.st_mode & 0o666)
    finally:
        os.close(descriptor)


def copy(path: str, target: str) -> None:
    """Copy a database as SQLite does it, with what is only in its log yet. Raises sqlite3.Error."""
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(target)) as copied:
        source.backup(copied)
        copied.execute("PRAGMA journal_mode = DELETE")  # one file, that can be put in its place


def refuse_broken(path: str, version: int) -> None:
    """Raise PlanError if a copy isn't whole."""
    with closing(sqlite3.connect(path)) as copied:
        found = [row[0] for row in copied.execute("PRAGMA integrity_check(3)")]
        if found != ["ok"] or copied.execute("PRAGMA user_version").fetchone()[0] != version:
            raise PlanError(
                f"the backup that is made before a migration isn't whole ({'; '.join(found)}), so nothing was changed: "
                "the database itself may be damaged; `sqlite3 FILE .recover` saves what can be read"
            )


def sync(path: str) -> None:
    """Have a file on the disk. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def prune(place: Place) -> None:
    """Remove the backups that are more than are kept, oldest first; those of others may have to stay."""
    prefix = f"{os.path.basename(place.path)}.v"
    found = [
        name for name in os.listdir(place.directory) if name.startswith(prefix) and name.endswith(".backup")
    ]
    found.sort(key=lambda name: name.rpartition("-")[2])
    for name in found[:-BACKUPS]:
        with suppress(OSError):
            os.unlink(os.path.join(place.directory, name))
