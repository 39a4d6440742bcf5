"""The database of the bundled module `plan`: where it lies, who may use it, how it is made, migrated and replaced."""

from __future__ import annotations

import fcntl
import os
import shutil
import sqlite3
import stat
import threading
from contextlib import closing
from pathlib import Path

import pytest

from tests.tools.plan_asking import Person, rows_of
from tests.tools.plan_files import modes, umask
from tools.plan import database, places
from tools.plan.database import Database, connect
from tools.plan.errors import PlanError
from tools.plan.mcpptool import DATABASE
from tools.plan.migrations import MIGRATIONS
from tools.plan.places import find_place, named_path

LAST = len(MIGRATIONS)
pytestmark = pytest.mark.usefixtures("path")


# where it lies, and who may use it


@pytest.mark.parametrize("mask", [0, 0o022, 0o077, 0o777])
def test_by_default_it_is_the_user_s_alone(
    ada: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mask: int
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("MCPPD_PLAN_DB")
    with umask(mask & 0o077):  # a directory of one's own has to be of use to oneself
        ada.ask("plan_task_new", name="fix")
    kept = tmp_path / "home" / ".config" / "plan"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o700
    assert modes(kept) == dict.fromkeys(("plan.db", "plan.db-wal", "plan.db-shm"), 0o600)


def test_an_empty_variable_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert named_path({"MCPPD_PLAN_DB": ""}) == named_path({})
    monkeypatch.setenv("HOME", "/home/ada")
    assert named_path({"MCPPD_PLAN_DB": "~/plan.db"}) == "/home/ada/plan.db"


@pytest.mark.parametrize("said", ["plan.db", "./plan.db", "~nobody-of-that-name/plan.db"])
def test_a_path_that_depends_on_where_one_is_is_refused(
    ada: Person, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    monkeypatch.setenv("MCPPD_PLAN_DB", said)
    assert "absolute" in ada.error("plan_task_status")


def test_a_directory_that_isn_t_there_is_told_and_not_made(
    ada: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MCPPD_PLAN_DB", str(tmp_path / "tpyo" / "plan.db"))
    assert str(tmp_path / "tpyo") in ada.error("plan_task_status")
    assert not (tmp_path / "tpyo").exists()


@pytest.mark.parametrize("mask", [0, 0o022, 0o077])
@pytest.mark.parametrize("mode", [0o2770, 0o2750, 0o770, 0o775])
def test_in_a_directory_of_a_group_it_is_the_group_s(ada: Person, path: Path, mode: int, mask: int) -> None:
    path.parent.chmod(mode)
    with umask(mask):
        ada.ask("plan_task_new", name="fix")
    assert modes(path.parent) == dict.fromkeys(("plan.db", "plan.db-wal", "plan.db-shm"), 0o660)


@pytest.mark.parametrize("mode", [0o700, 0o755, 0o1777, 0o777])
def test_in_any_other_directory_it_is_the_user_s_alone(ada: Person, path: Path, mode: int) -> None:
    path.parent.chmod(mode)
    ada.ask("plan_task_new", name="fix")
    assert set(modes(path.parent).values()) == {0o600}


def test_one_s_own_database_is_shared_when_its_directory_becomes_a_group_s(ada: Person, path: Path) -> None:
    ada.ask("plan_task_new", name="fix")
    path.parent.chmod(0o2770)
    DATABASE.close()
    ada.ask("plan_task_status")
    assert set(modes(path.parent).values()) == {0o660}


@pytest.mark.skipif(os.geteuid() != 0, reason="optional: only root can give a file to any group")
def test_without_the_directory_s_mark_its_group_is_given_all_the_same(ada: Person, path: Path) -> None:
    os.chown(path.parent, -1, 70_000)
    path.parent.chmod(0o770)
    ada.ask("plan_task_new", name="fix")
    assert {each.stat().st_gid for each in path.parent.iterdir()} == {70_000}


def test_a_link_to_a_database_is_that_database(
    ada: Person, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada.ask("plan_task_new", name="fix")
    link = tmp_path / "link.db"
    link.symlink_to(path)
    monkeypatch.setenv("MCPPD_PLAN_DB", str(link))
    assert ada.ask("plan_task_status")["active_task"]["name"] == "fix"
    other = path.with_name("other.db")
    link.unlink()
    link.symlink_to(other)
    assert ada.ask("plan_task_status")["active_task"] is None
    assert other.exists()


# a file that changes under us


def test_a_database_that_was_removed_is_made_anew(ada: Person, path: Path) -> None:
    ada.ask("plan_task_new", name="fix")
    shutil.rmtree(path.parent)
    path.parent.mkdir()
    assert ada.ask("plan_task_status")["active_task"] is None
    ada.ask("plan_task_new", name="fix")


def test_of_one_that_was_removed_alone_the_log_is_not_taken_for_the_new_one_s(
    ada: Person, path: Path
) -> None:
    ada.ask("plan_task_new", name="fix")
    path.unlink()
    assert path.with_name("plan.db-wal").exists()
    assert ada.ask("plan_task_status")["active_task"] is None
    assert rows_of(path).keys() == {"users", "projects"}


def test_a_database_that_was_put_in_its_place_is_the_one_that_answers(ada: Person, path: Path) -> None:
    ada.ask("plan_task_new", name="old")
    DATABASE.close()
    copy = path.with_name("copy.db")
    shutil.copy(path, copy)
    ada.ask("plan_task_new", name="new")
    DATABASE.close()
    ada.ask("plan_task_status")  # it is open
    copy.replace(path)
    assert ada.ask("plan_task_status")["active_task"]["name"] == "old"


def test_an_older_content_under_an_open_connection_is_noticed(ada: Person, path: Path) -> None:
    ada.ask("plan_task_new", name="old")
    with closing(sqlite3.connect(path)) as other:
        other.execute("PRAGMA user_version = 0")
    assert "call again" in ada.error("plan_task_status")


def test_each_path_has_its_own_database(
    ada: Person, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two", "one", "two"):
        monkeypatch.setenv("MCPPD_PLAN_DB", str(path.with_name(f"{name}.db")))
        active = ada.ask("plan_task_status")["active_task"]
        assert active is None or active["name"] == name
        if active is None:
            ada.ask("plan_task_new", name=name)


# files that are no database of ours


def test_what_is_no_database_is_told_and_left_as_it_is(ada: Person, path: Path) -> None:
    path.write_bytes(b"no database at all, whatever its name says" * 100)
    before = path.read_bytes()
    assert "no SQLite database" in ada.error("plan_task_new", name="fix")
    assert path.read_bytes() == before


def test_a_database_of_something_else_is_told_and_left_as_it_is(ada: Person, path: Path) -> None:
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE theirs (id)")
    before = path.read_bytes()
    assert "something else" in ada.error("plan_task_new", name="fix")
    assert path.read_bytes() == before


def test_one_of_a_newer_version_is_told_what_to_do_about_and_left_as_it_is(ada: Person, path: Path) -> None:
    ada.ask("plan_task_new", name="fix")
    DATABASE.close()
    with closing(sqlite3.connect(path)) as other:
        other.execute(f"PRAGMA user_version = {LAST + 1}")
    before = path.read_bytes()
    for tool, arguments in (("plan_task_status", {}), ("plan_task_new", {"name": "x"})):
        error = ada.error(tool, **arguments)
        assert "mcppd restart" in error
        assert str(path) in error
    assert path.read_bytes() == before


def test_one_that_becomes_newer_under_an_open_connection_is_told_too(ada: Person, path: Path) -> None:
    ada.ask("plan_task_new", name="fix")
    with closing(sqlite3.connect(path)) as other:
        other.execute(f"PRAGMA user_version = {LAST + 1}")
    assert "mcppd restart" in ada.error("plan_task_new", name="x")
    with closing(sqlite3.connect(path)) as other:
        other.execute(f"PRAGMA user_version = {LAST}")
    assert [task["name"] for task in ada.ask("plan_task_list")["tasks"]] == ["fix"]


def test_a_damaged_database_is_told(ada: Person, path: Path) -> None:
    ada.ask("plan_task_new", name="fix", steps=["x" * 400] * 200)
    DATABASE.close()
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (size - 4096))
    assert "damaged" in ada.error("plan_task_show")


def test_a_directory_in_its_place_is_told(ada: Person, path: Path) -> None:
    path.mkdir()
    assert str(path) in ada.error("plan_task_status")


def test_where_wal_can_t_be_set_it_is_told(path: Path) -> None:
    place = find_place(str(path))
    with pytest.raises(PlanError, match="network file system"):
        connect(place, "mode=rw&vfs=unix-dotfile")  # it has no memory that processes share


# others at the same time


def test_whoever_writes_for_too_long_is_told_of_and_not_waited_for_for_ever(
    ada: Person, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.1)
    ada.ask("plan_task_new", name="fix")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        other.execute("UPDATE tasks SET title = 'theirs'")
        assert "call again" in ada.error("plan_step_new", title="x")
        assert ada.ask("plan_task_status")["active_task"]["title"] == "fix"  # reading goes on
        other.execute("COMMIT")
    ada.ask("plan_step_new", title="x")


def test_opening_waits_for_whoever_is_opening(ada: Person, path: Path) -> None:
    descriptor = os.open(path.parent, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    threading.Timer(0.2, os.close, (descriptor,)).start()
    ada.ask("plan_task_status")


def test_whoever_opens_for_too_long_is_told_of(
    ada: Person, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "LOCK_SECONDS", 0.05)
    descriptor = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        assert "call again" in ada.error("plan_task_status")
    finally:
        os.close(descriptor)
    ada.ask("plan_task_status")


# an error leaves nothing


def test_an_error_after_something_was_written_leaves_nothing_of_it(path: Path) -> None:
    kept = Database()
    place = str(path)
    with kept.transaction(place, writes=True) as connection:
        connection.execute("INSERT INTO users (login) VALUES ('ada')")
    with pytest.raises(sqlite3.IntegrityError), kept.transaction(place, writes=True) as connection:
        connection.executemany("INSERT INTO users (login) VALUES (?)", [("bob",), (None,)])
    with kept.transaction(place, writes=False) as connection:
        assert connection.execute("SELECT login FROM users").fetchall() == [("ada",)]
    kept.close()


def test_a_disk_that_is_full_is_told_and_leaves_the_database_whole(ada: Person, path: Path) -> None:
    import resource

    ada.ask("plan_task_new", name="fix")
    before = rows_of(path)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.with_name("plan.db-wal").stat().st_size + 5000, hard))
    try:
        assert ada.error("plan_task_new", name="big", steps=["x" * 500] * 300)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert rows_of(path) == before
    ada.ask("plan_task_new", name="big", steps=["x" * 500] * 300)
