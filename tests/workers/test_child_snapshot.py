"""One version of a module, whatever the disk says meanwhile (D5, CASES D1, D2): bytes, bytecode, what joins."""

from __future__ import annotations

import os
import py_compile
import shutil
from pathlib import Path

import pytest

from tests.workers.child_peer import INTERPRETERS, Child, write_module


@pytest.fixture(params=INTERPRETERS)
def python(request: pytest.FixtureRequest) -> str:
    return str(request.param)


USES = """
    def execute(tool_name, arguments, context=None):
        return {"success": True, "result": VALUE}
"""


def contents(directory: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(directory.rglob("*.py"))}


def bytecode(directory: Path) -> list[Path]:
    return [*directory.rglob("*.pyc"), *directory.rglob("__pycache__")]


def test_the_snapshot_is_served_whatever_the_disk_says(child: Child, module: Path) -> None:
    write_module(
        module,
        "from helper import VALUE\n",
        USES,
        helper="import deep\nVALUE = deep.A\n",
        deep="A = 'old'",
    )
    held = contents(module)
    write_module(module, "raise RuntimeError\n", helper="raise RuntimeError", deep="A = 'new'")
    child.load(module, held)
    assert child.call().text == "old"


def test_the_snapshot_is_served_when_the_directory_is_gone(child: Child, module: Path) -> None:
    write_module(
        module,
        "from .one import A\nimport two, spread.three\nVALUE = [A, two.B, spread.three.C]\n",
        USES,
        one="A = 1",
        two____init__="B = 2",
        spread__three="C = 3",
    )
    held = contents(module)
    shutil.rmtree(module)
    child.load(module, held)
    assert child.call().value == [1, 2, 3]


def test_an_import_inside_a_function_uses_the_snapshot_though_the_disk_changed(
    child: Child, module: Path
) -> None:
    source = """
        def execute(tool_name, arguments, context=None):
            if tool_name == "early":
                return {"success": True, "result": "nothing imported"}
            from .late import A
            import late_too
            return {"success": True, "result": [A, late_too.A]}
    """
    write_module(module, source, late="A = 'old'", late_too="A = 'old'")
    child.load(module)
    child.call("early")
    write_module(module, source, late="A = 'new'", late_too="A = 'new'")
    assert child.call("late").value == ["old", "old"]


def test_a_same_size_edit_in_the_same_second_is_seen_by_a_new_worker_only(
    child: Child, module: Path, tmp_path: Path
) -> None:
    write_module(module, "from helper import VALUE\n", USES, helper="VALUE = 'aaa'")
    child.load(module)
    assert child.call().text == "aaa"
    times = os.stat(module / "helper.py")
    (module / "helper.py").write_text("VALUE = 'bbb'")
    os.utime(module / "helper.py", ns=(times.st_atime_ns, times.st_mtime_ns))
    assert child.call().text == "aaa"
    (tmp_path / "second").mkdir()
    with Child(tmp_path / "second", child.python) as second:
        second.load(module)
        assert second.call().text == "bbb"


def test_a_stale_bytecode_file_is_ignored_and_none_is_written(child: Child, module: Path) -> None:
    write_module(module, "import helper\nfrom helper import VALUE\n", USES, helper="VALUE = 'stale'")
    for name in ("helper", "mcpptool"):
        source = module / f"{name}.py"
        for version in ("cpython-310", "cpython-311", "cpython-312", "cpython-313"):
            cache = module / "__pycache__" / f"{name}.{version}.pyc"
            py_compile.compile(
                str(source), str(cache), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH
            )
    planted = {path: path.read_bytes() for path in module.rglob("*.pyc")}
    (module / "helper.py").write_text("VALUE = 'fresh'")
    child.load(module)
    assert child.call().text == "fresh"
    assert {path: path.read_bytes() for path in module.rglob("*.pyc")} == planted


def test_no_bytecode_file_of_the_persons_is_ever_written(child: Child, module: Path, tmp_path: Path) -> None:
    write_module(
        module,
        """
        import importlib.util, os, runpy, sys
        from .one import A
        import outside
        sys.dont_write_bytecode = False
        path = os.path.join(os.path.dirname(__file__), "around.py")
        spec = importlib.util.spec_from_file_location("around", path)
        around = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(around)
        VALUE = [A, outside.A, around.A]
        """,
        USES,
        one="A = 1",
        around="A = 3",
    )
    write_module(tmp_path / "more", "", outside="A = 2")
    child.load(module, search=[str(tmp_path / "more")])
    assert child.call().value == [1, 2, 3]
    assert bytecode(module) + bytecode(tmp_path / "more") == []


def test_a_bytecode_file_without_its_source_is_not_imported(child: Child, module: Path) -> None:
    write_module(
        module, "try:\n    import gone\nexcept ImportError:\n    VALUE = 'gone'\n", USES, gone="A = 1"
    )
    py_compile.compile(str(module / "gone.py"), str(module / "gone.pyc"))
    (module / "gone.py").unlink()
    child.load(module)
    assert child.call().text == "gone"


def test_installed_packages_keep_their_bytecode_caches(child: Child, module: Path, tmp_path: Path) -> None:
    installed = write_module(tmp_path / "site-packages", "", installed="A = 1")
    write_module(module, "import installed\nVALUE = installed.__cached__\n", USES)
    child.load(module, search=[str(installed)])
    assert Path(child.call().text).is_file()
    assert child.joined == {}


def test_a_file_that_was_not_in_the_snapshot_joins_it(child: Child, module: Path, tmp_path: Path) -> None:
    write_module(module, "import outside\nimport package.inner\nVALUE = package.inner.B\n", USES)
    more = write_module(tmp_path / "more", "", outside="A = 1", package____init__="", package__inner="B = 2")
    held = {str(module / "mcpptool.py"): (module / "mcpptool.py").read_bytes()}
    child.load(module, held, search=[str(more)])
    assert child.call().value == 2
    assert child.joined == {
        str(more / "outside.py"): b"A = 1",
        str(more / "package" / "__init__.py"): b"",
        str(more / "package" / "inner.py"): b"B = 2",
    }


def test_joined_files_are_told_before_the_result_and_once(child: Child, module: Path) -> None:
    source = """
        def execute(tool_name, arguments, context=None):
            import late
            return {"success": True, "result": late.A}
    """
    write_module(module, source)
    child.load(module)
    (module / "late.py").write_text("A = 1")
    assert child.call().value == 1
    assert child.joined == {str(module / "late.py"): b"A = 1"}
    child.said.clear()
    assert child.call().value == 1
    assert child.said == []


def test_a_file_that_joined_is_part_of_this_version_from_then_on(child: Child, module: Path) -> None:
    source = """
        import sys
        def execute(tool_name, arguments, context=None):
            sys.modules.pop("late", None)
            import late
            return {"success": True, "result": [late.A, late.__loader__.get_source("late")]}
    """
    write_module(module, source)
    child.load(module)
    (module / "late.py").write_text("A = 1")
    assert child.call().value == [1, "A = 1"]
    (module / "late.py").write_text("A = 2")
    assert child.call().value == [1, "A = 1"]


def test_what_the_module_loads_around_the_hook_is_told_too(child: Child, module: Path) -> None:
    write_module(
        module,
        """
        import importlib.util, os, runpy
        here = os.path.dirname(__file__)
        spec = importlib.util.spec_from_file_location("around", os.path.join(here, "around.py"))
        around = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(around)
        run = runpy.run_path(os.path.join(here, "script.py"))
        VALUE = [around.A, run["A"]]
        """,
        USES,
        around="A = 1",
        script="A = 2",
    )
    entry = str(module / "mcpptool.py")
    child.load(module, {entry: Path(entry).read_bytes()})
    assert child.call().value == [1, 2]
    assert child.joined == {str(module / "around.py"): b"A = 1", str(module / "script.py"): b"A = 2"}
