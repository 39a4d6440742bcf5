"""What a module is made of: all it imports of the person's own, what it looked for in vain, and what `watch:` names."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.e2e.conftest import Connect
from tests.harness import Daemon, texts

SAYS_X = "def execute(tool_name, arguments, context=None):\n    return {'success': True, 'result': X}\n"


def _shared(daemon: Daemon) -> Path:
    shared = daemon.home / "shared"
    shared.mkdir()
    return shared


def _importing(shared: Path, statement: str) -> str:
    return f"import sys\nsys.path.append({str(shared)!r})\n{statement}\n{SAYS_X}"


FORMS = {
    "a file": ("from lib import X", "lib.py"),
    "a package": ("from lib import X", "lib/__init__.py"),
    "a file of a package": ("from lib.part import X", "lib/part.py"),
    "a namespace package": ("from space.part import X", "space/part.py"),
    "importlib": ("import importlib\nX = importlib.import_module('lib').X", "lib.py"),
}


@pytest.mark.parametrize(("statement", "name"), FORMS.values(), ids=FORMS)
async def test_saving_what_failed_to_be_imported_repairs_the_module(
    daemon: Daemon, connect: Connect, statement: str, name: str
) -> None:
    shared = _shared(daemon)
    daemon.module("one", _importing(shared, statement), "first")
    client = await connect()
    assert "ModuleNotFoundError" in await client.failure("first")
    path = shared / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("X = 'v1'\n")
    assert await client.text("first") == "v1"
    path.write_text("X = 'v2'\n")
    assert await client.text("first") == "v2"


@pytest.mark.parametrize(("statement", "name"), FORMS.values(), ids=FORMS)
async def test_the_watcher_alone_sees_that_what_failed_to_be_imported_is_there(
    daemon: Daemon, connect: Connect, statement: str, name: str
) -> None:
    shared = _shared(daemon)
    daemon.module("one", SAYS_X.replace("X", "'v0'"), "first")
    client = await connect()
    assert await client.text("first") == "v0"
    daemon.module("one", _importing(shared, statement), "first")
    await daemon.said("BROKEN", 1)
    assert "ModuleNotFoundError" in texts(await client.call("first"))
    before = daemon.output.count("reload: one")
    path = shared / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("X = 'v1'\n")
    await daemon.said("reload: one", before + 1)
    assert await client.text("first") == "v1"


WITHOUT = "try:\n    {statement}\nexcept ImportError:\n    X = 'without'\n"


@pytest.mark.parametrize(
    ("name", "gone"),
    [("near.py", "near.py"), ("part/near.py", "part/near.py"), ("part/deep/near.py", "part")],
    ids=["a file", "a file of a package", "a package"],
)
async def test_a_file_that_is_deleted_is_imported_no_more(
    daemon: Daemon, connect: Connect, name: str, gone: str
) -> None:
    statement = f"from .{name.removesuffix('.py').replace('/', '.')} import X"
    directory = daemon.module("one", WITHOUT.format(statement=statement) + SAYS_X, "first")
    client = await connect()
    for value in ("v1", "v2"):
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(f"X = {value!r}\n")
        assert await client.text("first") == value
        _delete(directory / gone)
        assert await client.text("first") == "without"


@pytest.mark.parametrize("gone", ["mcpptool.py", "near.py"])
async def test_a_file_that_is_needed_and_deleted_is_told(daemon: Daemon, connect: Connect, gone: str) -> None:
    directory = daemon.module("one", f"from .near import X\n{SAYS_X}", "first")
    (directory / "near.py").write_text("X = 'near'\n")
    client = await connect()
    assert await client.text("first") == "near"
    content = (directory / gone).read_bytes()
    (directory / gone).unlink()
    assert texts(await client.call("first")).startswith("near\nNotice: ")
    (directory / gone).write_bytes(content)
    assert await client.text("first") == "near"


async def test_a_namespace_package_that_was_done_without_is_found_when_it_comes(
    daemon: Daemon, connect: Connect
) -> None:
    shared, elsewhere = _shared(daemon), daemon.home / "elsewhere"
    code = WITHOUT.format(statement="from space.part.lib import X")
    daemon.module("one", f"import sys\nsys.path.append({str(shared)!r})\n{code}{SAYS_X}", "first")
    client = await connect()
    assert await client.text("first") == "without"
    for value in ("v1", "v2"):
        (elsewhere / "part").mkdir(parents=True)
        (elsewhere / "part" / "lib.py").write_text(f"X = {value!r}\n")
        elsewhere.rename(shared / "space")
        assert await client.text("first") == value
        shutil.rmtree(shared / "space")
        assert await client.text("first") == "without"


def _delete(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


@pytest.mark.slow
async def test_what_a_call_imports_lazily_is_live_and_may_come_later(
    daemon: Daemon, connect: Connect
) -> None:
    shared = _shared(daemon)
    body = f"""
    import sys
    sys.path.append({str(shared)!r})
    def execute(tool_name, arguments, context=None):
        try:
            import lazily
        except ImportError:
            return {{"success": True, "result": "without"}}
        return {{"success": True, "result": lazily.X}}
    """
    directory = daemon.module("one", body, "first")
    client = await connect()
    assert await client.text("first") == "without"
    (shared / "lazily.py").write_text("X = 'shared'\n")
    assert await client.text("first") == "shared"
    (shared / "lazily.py").write_text("X = 'other'\n")
    assert await client.text("first") == "other"
    (directory / "lazily.py").write_text("X = 'sibling'\n")
    assert await client.text("first") == "sibling"
    (directory / "lazily.py").unlink()
    assert await client.text("first") == "other"


async def test_a_shared_file_reloads_exactly_the_modules_that_use_it(
    daemon: Daemon, connect: Connect
) -> None:
    shared = _shared(daemon)
    (shared / "lib.py").write_text("X = 'v1'\n")
    for name in ("one", "two"):
        daemon.module(name, _importing(shared, "from lib import X"), f"tool_{name}")
    daemon.module("three", SAYS_X.replace("X", "'three'"), "tool_three")
    client = await connect()
    for name, value in (("one", "v1"), ("two", "v1"), ("three", "three")):
        assert await client.text(f"tool_{name}") == value
    before = await _generations(daemon)
    (shared / "lib.py").write_text("X = 'v2'\n")
    assert await client.text("tool_one") == "v2"
    assert await client.text("tool_two") == "v2"
    assert await client.text("tool_three") == "three"
    after = await _generations(daemon)
    assert {name for name in before if after[name] != before[name]} == {"one", "two"}


async def _generations(daemon: Daemon) -> dict[str, int]:
    status = await daemon.control("mcppd/status")
    return {module["name"]: module["generation"] for module in status["modules"]}


COUNTS = """
import pathlib
FOUND = sorted(path.name + path.read_text() for path in pathlib.Path(__file__).parent.rglob("*.txt"))
def execute(tool_name, arguments, context=None):
    return {"success": True, "result": " ".join(FOUND)}
"""


@pytest.mark.slow
async def test_data_files_that_watch_names_are_live(daemon: Daemon, connect: Connect) -> None:
    daemon.registry.write_text("modules:\n  - {path: tools/one, watch: ['tools/one/data/**/*.txt']}\n")
    directory = daemon.module("one", COUNTS, "first")
    data = directory / "data"
    data.mkdir()
    (data / "a.txt").write_text("1")
    client = await connect()
    assert await client.text("first") == "a.txt1"
    (data / "a.txt").write_text("2")
    assert await client.text("first") == "a.txt2"
    (data / "b.txt").write_text("1")
    assert await client.text("first") == "a.txt2 b.txt1"
    (data / "deep" / "er").mkdir(parents=True)
    (data / "deep" / "er" / "c.txt").write_text("1")
    assert await client.text("first") == "a.txt2 b.txt1 c.txt1"
    (data / "b.txt").unlink()
    assert await client.text("first") == "a.txt2 c.txt1"
    before = await _generations(daemon)
    (data / "other.json").write_text("{}")
    assert await client.text("first") == "a.txt2 c.txt1"
    assert await _generations(daemon) == before


@pytest.mark.slow
async def test_the_watcher_alone_sees_data_files_come_and_go(daemon: Daemon, connect: Connect) -> None:
    daemon.registry.write_text("modules:\n  - {path: tools/one, watch: ['data/**/*.txt']}\n")
    daemon.module("one", SAYS_X.replace("X", "'x'"), "first")
    client = await connect()
    assert await client.text("first") == "x"
    data = daemon.root / "data"
    for number, name in enumerate(("a.txt", "deep/b.txt", "deep/er/c.txt", "deep/er/c.txt"), 2):
        (data / name).parent.mkdir(parents=True, exist_ok=True)
        (data / name).write_text(str(number))
        await daemon.said(f"→{number} ", 1)
    (data / "a.txt").unlink()
    await daemon.said("→6 ", 1)


async def test_a_module_that_writes_beside_its_code_is_not_reloaded_by_that(
    daemon: Daemon, connect: Connect
) -> None:
    body = """
    import pathlib
    def execute(tool_name, arguments, context=None):
        directory = pathlib.Path(__file__).parent
        with (directory / "log.txt").open("a") as log:
            log.write("called\\n")
        (directory / "journal").touch()
        (directory / "journal").unlink()
        return {"success": True, "result": "done"}
    """
    daemon.module("one", body, "first")
    client = await connect()
    for _ in range(5):
        assert await client.text("first") == "done"
    assert daemon.output.count("reload: one") == 1
