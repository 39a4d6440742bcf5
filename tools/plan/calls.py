"""What a call works with: its transaction, who calls, and in which project. Users and projects come to be here."""

from __future__ import annotations

import os
import pwd
import sqlite3
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class User:
    """Somebody with a login on this machine."""

    id: int
    login: str
    alias: str | None  # the name that they want to be shown by

    @property
    def display_name(self) -> str:
        """The name to show."""
        return self.alias or self.login


@dataclass(frozen=True, slots=True)
class Project:
    """A directory that agents work in."""

    id: int
    path: str
    name: str
    description: str


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool, inside of its transaction."""

    connection: sqlite3.Connection
    user: User
    project: Project
    now: str  # UTC, as it is written into the rows


@lru_cache(maxsize=4)
def login_of(uid: int) -> str:
    """The login of a user of this machine; looking it up takes longer than a call does."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid-{uid}"


def project_path(workspace: str) -> str:
    """The path that a project is known by: without links; what of it is no text is spelled out."""
    return os.fsencode(real_path(workspace)).decode(errors="backslashreplace")


def real_path(directory: str) -> str:
    """The path without links; of the working directory the system knows it, in a tenth of the time."""
    try:
        if os.path.samefile(directory, "."):
            return os.getcwd()
    except OSError:  # one of them is gone
        pass
    return os.path.realpath(directory)


def find_call(connection: sqlite3.Connection, login: str, path: str, now: str) -> Call | None:
    """The call, if both its user and its project are known."""
    row = connection.execute(
        "SELECT users.id, login, alias, projects.id, path, name, description FROM users, projects"
        " WHERE login = ? AND path = ?",
        (login, path),
    ).fetchone()
    return None if row is None else Call(connection, User(*row[:3]), Project(*row[3:]), now)


def make_call(connection: sqlite3.Connection, login: str, path: str, now: str) -> Call:
    """The call; its user and its project are made if they are new."""
    name = os.path.basename(path) or path
    connection.execute("INSERT INTO users (login) VALUES (?) ON CONFLICT DO NOTHING", (login,))
    connection.execute("INSERT INTO projects (path, name) VALUES (?, ?) ON CONFLICT DO NOTHING", (path, name))
    call = find_call(connection, login, path, now)
    assert call is not None
    return call
