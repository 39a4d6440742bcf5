"""The database, in the directory above this one."""

import os
import sqlite3

from ..store import texts

PATH = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "keeper.db")


def _open():
    connection = sqlite3.connect(PATH)
    connection.execute("PRAGMA journal_mode=WAL")
    return connection


def create():
    connection = _open()
    with connection:
        connection.execute(texts.TABLE)
    connection.close()


def add(title, note):
    from .texts import INSERT

    connection = _open()
    with connection:
        number = connection.execute(INSERT, (title, note)).lastrowid
        (count,) = connection.execute("SELECT count(*) FROM tasks").fetchone()
    connection.close()
    return number, count


def every():
    connection = _open()
    rows = connection.execute("SELECT id, title, note FROM tasks ORDER BY id").fetchall()
    connection.close()
    return rows
