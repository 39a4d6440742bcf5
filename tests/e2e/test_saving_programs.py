"""The programs that people save with, as they really do: one save is one reload, and a storm is one or two."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from types import FunctionType

import pytest

from tests.e2e.conftest import Connect
from tests.harness import Daemon, first_and_slow

BODY = "def execute(tool_name, arguments, context=None):\n    return {'success': True, 'result': 'VALUE'}\n"
FILES = 3000
"""Files that a checkout changes in the module's directory."""


def _run(*command: str, cwd: Path | None = None, text: str | None = None) -> None:
    environment = {**os.environ, "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1", "TERM": "dumb"}
    done = subprocess.run(
        command, cwd=cwd, input=text, text=True, env=environment, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr


def _vim(path: Path, number: int, *settings: str) -> None:
    _run(
        "vim",
        "-u",
        "NONE",
        "-es",
        *(f"+set {each}" for each in settings),
        f"+%s/v{number - 1}/v{number}/",
        "+wq",
        str(path),
    )


def vim(path: Path, number: int) -> None:
    _vim(path, number, "swapfile", "directory=.")


def vim_with_a_backup_renamed(path: Path, number: int) -> None:
    _vim(path, number, "swapfile", "directory=.", "backup", "backupcopy=no", "backupdir=.")


def vim_with_a_backup_copied(path: Path, number: int) -> None:
    _vim(path, number, "backup", "backupcopy=yes", "backupdir=.")


def emacs(path: Path, number: int) -> None:
    change = f'(progn (find-file "{path}") (replace-string "v{number - 1}" "v{number}") (save-buffer))'
    _run("emacs", "--batch", "-Q", "--eval", change)


def sed(path: Path, number: int) -> None:
    _run("sed", "-i", f"s/v{number - 1}/v{number}/", str(path))


def sed_with_a_backup(path: Path, number: int) -> None:
    _run("sed", "-i.bak", f"s/v{number - 1}/v{number}/", str(path))


def rsync(path: Path, number: int) -> None:
    other = path.parent.parent.parent.parent / "elsewhere"
    other.mkdir(exist_ok=True)
    (other / path.name).write_text(BODY.replace("VALUE", f"v{number}"))
    _run("rsync", "-a", "--checksum", f"{other}/", f"{path.parent}/")


def rsync_in_place(path: Path, number: int) -> None:
    other = path.parent.parent.parent.parent / "other.py"
    other.write_text(BODY.replace("VALUE", f"v{number}"))
    _run("rsync", "--inplace", "--checksum", str(other), str(path))


def install(path: Path, number: int) -> None:
    other = path.parent.parent.parent.parent / "other.py"
    other.write_text(BODY.replace("VALUE", f"v{number}"))
    _run("install", "-m", "644", str(other), str(path))


def tee(path: Path, number: int) -> None:
    _run("tee", str(path), text=BODY.replace("VALUE", f"v{number}"))


def dd(path: Path, number: int) -> None:
    _run("dd", f"of={path}", "bs=7", text=BODY.replace("VALUE", f"v{number}"))


PROGRAMS = [
    *(vim, vim_with_a_backup_renamed, vim_with_a_backup_copied, emacs, sed, sed_with_a_backup),
    *(rsync, rsync_in_place, install, tee, dd),
]


@pytest.mark.parametrize("save", first_and_slow(*PROGRAMS), ids=[save.__name__ for save in PROGRAMS])
async def test_each_program_saves_once(daemon: Daemon, connect: Connect, save: FunctionType) -> None:
    program = save.__name__.partition("_")[0]
    if shutil.which(program) is None:
        pytest.skip(f"optional: there is no {program} here")
    path = daemon.module("one", BODY.replace("VALUE", "v1"), "first") / "mcpptool.py"
    client = await connect()
    assert await client.text("first") == "v1"
    for number in (2, 3):
        save(path, number)
        await daemon.said(f"reload: one {number - 1}→{number} ", 1)  # the watcher alone sees it
        assert await client.text("first") == f"v{number}"
    assert f"→{number + 1}" not in daemon.output
    assert "BROKEN" not in daemon.output


@pytest.mark.slow
async def test_git_checkout_stash_and_rebase_of_thousands_of_files(daemon: Daemon, connect: Connect) -> None:
    if shutil.which("git") is None:
        pytest.skip("optional: there is no git here")
    directory = daemon.module("one", BODY.replace("VALUE", "v1"), "first")

    def git(*words: str) -> None:
        _run(
            "git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "core.fsync=none", *words, cwd=directory
        )

    def write(version: str) -> None:
        (directory / "mcpptool.py").write_text(BODY.replace("VALUE", version))
        for number in range(FILES):
            (directory / f"file{number}.txt").write_text(version)

    write("v1")
    git("init", "-q", "-b", "main")
    git("add", ".")
    git("commit", "-q", "-m", "v1")
    git("checkout", "-q", "-b", "other")
    write("v2")
    git("commit", "-q", "-a", "-m", "v2")
    git("checkout", "-q", "main")
    client = await connect()
    assert await client.text("first") == "v1"
    for words, answer in (
        (("checkout", "-q", "other"), "v2"),
        (("checkout", "-q", "main"), "v1"),
        (("rebase", "-q", "other"), "v2"),
    ):
        before = daemon.output.count("reload: one")
        ping = client.ask("ping")
        git(*words)
        await ping
        assert await client.text("first") == answer
        assert 1 <= daemon.output.count("reload: one") - before <= 2
    write("v3")
    assert await client.text("first") == "v3"
    before = daemon.output.count("reload: one")
    git("stash", "-q")
    assert await client.text("first") == "v2"
    git("stash", "pop", "-q")
    assert await client.text("first") == "v3"
    assert daemon.output.count("reload: one") - before <= 4
    assert "BROKEN" not in daemon.output
