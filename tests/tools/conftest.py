"""What the tests of the module `plan` are made with: a database of their own, and people who use it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tools.plan_asking import Person
from tools.plan.mcpptool import DATABASE


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the database will be; it is closed afterwards."""
    path = tmp_path / "plan.db"
    monkeypatch.setenv("MCPPD_PLAN_DB", str(path))
    yield path
    DATABASE.close()


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The same in a directory of its own, which only its owner may enter."""
    found = tmp_path / "kept" / "plan.db"
    found.parent.mkdir(0o700)
    monkeypatch.setenv("MCPPD_PLAN_DB", str(found))
    yield found
    DATABASE.close()


@pytest.fixture
def ada(tmp_path: Path) -> Person:
    return Person(tmp_path / "shop")


@pytest.fixture
def bob(tmp_path: Path) -> Person:
    return Person(tmp_path / "shop", "bob")
