"""The tables of the bundled module `plan`: how a database of an older version gets them, and the copies before that."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.tools.plan_asking import Person, rows_of
from tests.tools.plan_files import FIRST, modes, umask
from tools.plan import migrations, places
from tools.plan.errors import PlanError
from tools.plan.mcpptool import DATABASE
from tools.plan.migrations import APPLICATION, MIGRATIONS, migrate
from tools.plan.places import Place, find_place

LAST = len(MIGRATIONS)
pytestmark = pytest.mark.usefixtures("path")


SECOND = ("ALTER TABLE tasks ADD COLUMN colour TEXT", "UPDATE tasks SET colour = 'red'")
THIRD = ("CREATE TABLE colours (name TEXT)", "INSERT INTO colours SELECT colour FROM tasks")
BROKEN = ("UPDATE tasks SET title = 'lost'", "SELECT nothing FROM nowhere")


def backups(path: Path) -> list[str]:
    return sorted(each.name for each in path.parent.iterdir() if "backup" in each.name)


def migrated(place: Place, *further: tuple[str, ...]) -> None:
    """Open a database with further migrations after the real ones."""
    with places.locked(place.directory):
        places.make_file(place)
        with closing(sqlite3.connect(place.path, isolation_level=None)) as connection:
            migrate(connection, place, (*MIGRATIONS, *further))


def test_a_new_database_is_of_the_newest_version_and_needs_no_backup(ada: Person, path: Path) -> None:
    ada.ask("plan_task_status")
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (LAST,)
        assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert backups(path) == []


def test_a_backup_is_made_before_each_migration_of_a_database(ada: Person, path: Path) -> None:
    ada.ask("plan_task_new", name="fix")  # it is in the log only
    migrated(find_place(str(path)), SECOND, THIRD)
    first, second = backups(path)
    assert first.startswith(f"plan.db.v{LAST}-")
    assert second.startswith(f"plan.db.v{LAST + 1}-")
    whole = rows_of(path)
    assert whole["colours"] == [("red",)]
    assert "colours" not in rows_of(path.with_name(second))
    assert rows_of(path.with_name(second))["tasks"] == whole["tasks"]
    assert rows_of(path.with_name(first))["users"] == whole["users"]
    assert "draft" not in "".join(backups(path))


def test_a_backup_can_be_put_in_the_database_s_place(ada: Person, path: Path) -> None:
    ada.ask("plan_task_new", name="fix")
    DATABASE.close()
    migrated(find_place(str(path)), SECOND)
    assert "mcppd restart" in ada.error("plan_task_status")
    DATABASE.close()
    path.with_name(backups(path)[0]).replace(path)
    assert ada.ask("plan_task_status")["active_task"]["name"] == "fix"


@pytest.mark.parametrize(("directory", "mode"), [(0o700, 0o600), (0o2770, 0o660)])
def test_a_backup_is_for_those_that_the_database_is_for(
    ada: Person, path: Path, directory: int, mode: int
) -> None:
    path.parent.chmod(directory)
    ada.ask("plan_task_new", name="fix")
    with umask(0o077):
        migrated(find_place(str(path)), SECOND)
    (backup,) = backups(path)
    assert modes(path.parent)[backup] == mode


def test_a_few_backups_are_kept(ada: Person, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ada.ask("plan_task_new", name="fix")
    DATABASE.close()
    place = find_place(str(path))
    for count in range(1, 7):
        stamp = f"20260101T00000{count}Z"
        monkeypatch.setattr("time.strftime", lambda *_, stamp=stamp: stamp)
        migrated(place, *[("CREATE TABLE t%d (x)" % at,) for at in range(count)])  # noqa: UP031 - one each
    kept = backups(path)
    assert kept == [f"plan.db.v{LAST + at - 1}-20260101T00000{at}Z.backup" for at in (4, 5, 6)]


def test_a_migration_that_fails_leaves_everything_as_it_was(ada: Person, path: Path) -> None:
    ada.ask("plan_task_new", name="fix")
    before = rows_of(path)
    with pytest.raises(sqlite3.OperationalError):
        migrated(find_place(str(path)), BROKEN)
    assert rows_of(path) == before
    ada.ask("plan_task_new", name="more")


def test_a_migration_that_leaves_rows_without_their_others_is_refused(ada: Person, path: Path) -> None:
    ada.ask("plan_task_new", name="fix")
    before = rows_of(path)
    with pytest.raises(PlanError):
        migrated(find_place(str(path)), ("DELETE FROM users",))
    assert rows_of(path) == before


def test_without_a_backup_that_is_whole_nothing_is_migrated(
    ada: Person, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada.ask("plan_task_new", name="fix", steps=["x" * 400] * 200)
    DATABASE.close()
    with path.open("r+b") as file:  # an index that lacks what its table has: copied, it is still so
        data = bytearray(file.read())
        at = data.rindex(b"x" * 400)
        data[at - 200 : at] = b"\xff" * 200
        file.seek(0)
        file.write(data)
    before = path.read_bytes()
    with pytest.raises((PlanError, sqlite3.DatabaseError)):
        migrated(find_place(str(path)), SECOND)
    assert backups(path) == []
    assert path.read_bytes() == before


def test_the_first_version_as_it_shipped_is_migrated(path: Path, ada: Person) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(FIRST.replace("WORKSPACE", str(ada.workspace)))
    shown = ada.ask("plan_task_show")
    assert (shown["task"]["name"], ada.marks()) == ("fix", "cs")
    assert len(backups(path)) == min(LAST - 1, migrations.BACKUPS)
    assert ada.ask("plan_step_notes")["notes"] == [{"at": "2026-01-31T12:00:00Z", "text": "a note"}]
    ada.ask("plan_step_done", number=2)


def test_the_first_migration_makes_for_ever_what_the_first_version_made(path: Path) -> None:
    place = find_place(str(path))
    with closing(sqlite3.connect(":memory:")) as shipped, closing(sqlite3.connect(":memory:")) as made:
        shipped.executescript(FIRST)
        migrate(made, place, MIGRATIONS[:1])
        schemas = [
            set(each.execute("SELECT name, sql FROM sqlite_master").fetchall()) for each in (shipped, made)
        ]
    assert schemas[0] == schemas[1]
