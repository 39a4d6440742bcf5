"""The key of request states: one, whole, and nobody else's to read."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mcppd.core.request_state import KEY_SIZE
from mcppd.signing import signing_key


def key_file(state: Path) -> Path:
    return state / "request-state.key"


def test_a_key_is_made_once_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    state = tmp_path / "a" / "state"
    key = signing_key(str(state))
    assert len(key) == KEY_SIZE
    assert key_file(state).stat().st_mode & 0o777 == 0o600
    assert signing_key(str(state)) == key
    assert os.listdir(state) == ["request-state.key"]


def test_two_directories_have_two_keys(tmp_path: Path) -> None:
    assert signing_key(str(tmp_path / "a")) != signing_key(str(tmp_path / "b"))


@pytest.mark.parametrize("damage", ["open to others", "cut short", "empty", "too long", "a link"])
def test_a_key_that_can_not_be_trusted_is_replaced(tmp_path: Path, damage: str) -> None:
    key = signing_key(str(tmp_path))
    file = key_file(tmp_path)
    match damage:
        case "open to others":
            file.chmod(0o640)
        case "a link":
            file.rename(tmp_path / "elsewhere")
            file.symlink_to("elsewhere")
        case _:
            file.write_bytes({"cut short": key[:-1], "empty": b"", "too long": key + b"x"}[damage])
    other = signing_key(str(tmp_path))
    assert other != key
    assert len(other) == KEY_SIZE
    assert file.stat().st_mode & 0o777 == 0o600
    assert not file.is_symlink()
    assert signing_key(str(tmp_path)) == other


def test_what_a_daemon_left_that_died_while_making_it_is_no_hindrance(tmp_path: Path) -> None:
    (tmp_path / f"request-state.key.{os.getpid()}").write_bytes(b"half")
    assert len(signing_key(str(tmp_path))) == KEY_SIZE


def test_daemons_that_start_together_have_one_key(tmp_path: Path) -> None:
    code = "import sys; from mcppd.signing import signing_key; print(signing_key(sys.argv[1]).hex())"
    started = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE)
        for _ in range(4)
    ]
    assert len({process.communicate()[0] for process in started}) == 1


def test_a_directory_that_refuses_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError):
        signing_key(str(tmp_path / "file" / "state"))
