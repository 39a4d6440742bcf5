"""`python:` of a module: what is wrong with an interpreter is said clearly, and two never meet (issue, 5; CASES M5)."""

from __future__ import annotations

import json
import sys
import venv
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from tests.harness import Client, Daemon, first_and_slow

BODY = """
import sys, {imported}

def execute(tool_name, arguments, context=None):
    return {{"success": True, "result": [{shown}, sys.prefix]}}
"""


@pytest.fixture
async def daemon(tmp_path: Path) -> AsyncIterator[Daemon]:
    """A daemon that is not started yet."""
    made = Daemon(tmp_path)
    yield made
    if made.process is not None:
        await made.stop()


def write(daemon: Daemon, **pythons: Path | str) -> None:
    """A registry that names an interpreter for each module."""
    entries = [{"path": f"tools/{name}", "python": str(python)} for name, python in pythons.items()]
    daemon.registry.write_text(json.dumps({"modules": entries}))


async def connected(daemon: Daemon) -> Client:
    (daemon.home / "work").mkdir()
    await daemon.start()
    client = await Client.through_shim(daemon, daemon.home / "work")
    await client.handshake()
    return client


def environment(directory: Path, version: str) -> Path:
    """A virtual environment that has a package `pinned` of a version."""
    venv.create(directory, symlinks=True)
    [site] = directory.glob("lib/python*/site-packages")
    (site / "pinned").mkdir()
    (site / "pinned" / "__init__.py").write_text(f"VERSION = {version!r}\n")
    return directory


@pytest.mark.slow
async def test_two_versions_of_one_package_are_both_right_side_by_side(daemon: Daemon) -> None:
    pythons: dict[str, Path | str] = {}
    for name, version in (("one", "1.0"), ("two", "2.0")):
        pythons[name] = environment(daemon.home / f"venv-{name}", version)
        daemon.module(name, BODY.format(imported="pinned", shown="pinned.VERSION"), f"of_{name}")
    write(daemon, **pythons)
    client = await connected(daemon)
    for _ in range(3):
        for name, version in (("one", "1.0"), ("two", "2.0")):
            assert json.loads(await client.text(f"of_{name}")) == [version, str(pythons[name])]
    await client.close()


@pytest.mark.slow
async def test_an_interpreter_may_be_named_by_its_file(daemon: Daemon) -> None:
    directory = environment(daemon.home / "venv", "3.0")
    daemon.module("one", BODY.format(imported="pinned", shown="pinned.VERSION"), "version")
    write(daemon, one=directory / "bin" / "python")
    client = await connected(daemon)
    assert json.loads(await client.text("version")) == ["3.0", str(directory)]
    await client.close()


@pytest.mark.slow
async def test_what_an_environment_lacks_is_said_with_where_to_install_it(daemon: Daemon) -> None:
    directory = environment(daemon.home / "venv", "1.0")
    daemon.module("one", BODY.format(imported="absent", shown="1"), "version")
    write(daemon, one=directory)
    client = await connected(daemon)
    said = await client.failure("version")
    assert "No module named 'absent'" in said
    assert f"sought with {directory}/bin/python" in said
    assert "mcpptool.py:2" in said
    [site] = directory.glob("lib/python*/site-packages")
    (site / "absent.py").write_text("")
    daemon.module("one", BODY.format(imported="absent", shown="'there'"), "version")
    assert json.loads(await client.text("version"))[0] == "there"
    await client.close()


def scripted(name: str, text: str) -> Callable[[Path], Path]:
    """What makes a program of this text, which is no Python."""

    def make(home: Path) -> Path:
        (home / name).write_text(text)
        (home / name).chmod(0o755)
        return home / name

    return make


def unmarked(home: Path) -> Path:
    """A file that is no program."""
    (home / "text").write_text("print()\n")
    return home / "text"


def empty(home: Path) -> Path:
    (home / "empty").mkdir()
    return home / "empty"


def uprooted(home: Path) -> Path:
    """An environment whose interpreter was removed since."""
    directory = environment(home / "uprooted", "1.0")
    for link in (directory / "bin").glob("python*"):
        link.unlink()
        link.symlink_to(home / "removed")
    return directory


ADVICE = "`python:` has to name a Python interpreter or the directory of a virtual environment"
WRONG: dict[str, tuple[Callable[[Path], Path], tuple[str, ...]]] = {
    "none": (lambda home: home / "none", ("/none can't be started: No such file", ADVICE)),
    "an empty directory": (empty, ("/empty/bin/python can't be started: No such file", ADVICE)),
    "a base that is gone": (uprooted, ("/uprooted/bin/python can't be started: No such file", ADVICE)),
    "no program": (unmarked, ("/text can't be started: Permission denied", ADVICE)),
    "one that says nothing": (
        scripted("silent", "#!/bin/sh\nexit 0\n"),
        ("/silent (its `python:`) exited with status 0 during the import",),
    ),
    "one that says something": (
        scripted("loud", "#!/bin/sh\necho what is $1 >&2; exit 2\n"),
        ("/loud (its `python:`) exited with status 2 during the import", "what is -E"),
    ),
    "one that does nothing": (
        scripted("endless", "#!/bin/sh\nexec sleep 1000\n"),
        ("/endless", "longer than 1 s", "`import_timeout`"),
    ),
}


@pytest.mark.parametrize("name", first_and_slow(*WRONG))
async def test_what_is_no_interpreter_is_said_and_harms_no_other(daemon: Daemon, name: str) -> None:
    make, said = WRONG[name]
    daemon.module("one", BODY.format(imported="os", shown="1"), "fails", import_timeout=1)
    daemon.module("two", BODY.format(imported="os", shown="1"), "works")
    write(daemon, one=make(daemon.home), two=sys.executable)
    client = await connected(daemon)
    told = await client.failure("fails")
    for text in said:
        assert text in told
    assert json.loads(await client.text("works"))[0] == 1
    write(daemon, one=sys.executable, two=sys.executable)
    assert json.loads(await client.text("fails"))[0] == 1
    await client.close()


@pytest.mark.slow
async def test_an_interpreter_that_is_too_old_is_said_with_what_is_needed(daemon: Daemon) -> None:
    old = [*(Path.home() / ".pyenv" / "versions").glob("[23].[789].*/bin/python")]
    if not old:
        pytest.skip("optional: there is no Python older than 3.10")
    pythons = {f"with_{number}": python for number, python in enumerate(old)}
    for name in pythons:
        daemon.module(name, BODY.format(imported="os", shown=1), f"fails_{name}")
    write(daemon, **pythons)
    client = await connected(daemon)
    for name, python in pythons.items():
        told = await client.failure(f"fails_{name}")
        assert f"tools need Python 3.10 or newer, and {python} is Python {python.parts[-3]}" in told
    await client.close()
