"""What a worker meets: modules that it looks for in vain, and files that its own code writes; each is told once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workers.child_peer import INTERPRETERS, Child, write_module


@pytest.fixture(params=INTERPRETERS)
def python(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def _met(child: Child, key: str) -> set[str]:
    return {path for head in child.ops("met") for path in head[key]}


def test_an_import_that_fails_tells_where_it_looked(child: Child, module: Path, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    write_module(module, f"import sys\nsys.path.append({str(shared)!r})\nfrom nosuch import execute")
    child.load(module)
    assert child.prepare(run=True)["fault"]["message"].startswith("ModuleNotFoundError")
    wanted = {
        str(place / name)
        for place in (module, shared)
        for name in ("nosuch", "nosuch.py", "nosuch/__init__.py")
    }
    assert _met(child, "missed") >= wanted
    assert not [path for path in _met(child, "missed") if "site-packages" in path]


def test_a_lazy_import_that_fails_is_told_after_its_call_and_once(child: Child, module: Path) -> None:
    write_module(
        module,
        """
        def execute(tool_name, arguments, context=None):
            try:
                from .later import VALUE
            except ImportError:
                VALUE = None
            import json, decimal
            return {"success": True, "result": VALUE}
        """,
    )
    child.load(module)
    assert child.prepare(run=True)["fault"] is None
    assert child.ops("met") == []
    for _ in range(3):
        assert child.call().value is None
    [told] = child.ops("met")
    assert told == {
        "op": "met",
        "missed": [str(module / name) for name in ("later", "later.py", "later/__init__.py")],
        "written": [],
    }


def test_what_its_code_writes_is_told_once_and_nothing_that_it_reads(child: Child, module: Path) -> None:
    write_module(
        module,
        """
        import os, pathlib
        HERE = pathlib.Path(__file__).parent
        (HERE / "at import").write_text("x")
        def execute(tool_name, arguments, context=None):
            (HERE / "read").exists() and (HERE / "at import").read_text()
            with open(HERE / "appended", "a") as file:
                file.write("x")
            descriptor = os.open(HERE / "by descriptor", os.O_CREAT | os.O_RDWR)
            with open(descriptor, "w") as file:
                file.write("x")
            os.chdir(HERE)
            pathlib.Path("part").write_text("x")
            os.replace("part", b"renamed")
            return {"success": True, "result": 1}
        """,
    )
    child.load(module)
    assert child.prepare(run=True)["fault"] is None
    assert _met(child, "written") == {str(module / "at import")}
    for _ in range(3):
        assert child.call().value == 1
    names = ("at import", "appended", "by descriptor", "part", "renamed")
    assert _met(child, "written") == {str(module / name) for name in names}
    told = [path for head in child.ops("met") for path in head["written"]]
    assert len(told) == len(set(told))


def test_a_tool_that_writes_very_many_files_is_told_of_some(child: Child, module: Path) -> None:
    write_module(
        module,
        """
        import pathlib
        def execute(tool_name, arguments, context=None):
            place = pathlib.Path(__file__).parent / "many"
            place.mkdir()
            for number in range(1000):
                (place / str(number)).touch()
            return {"success": True, "result": 1}
        """,
    )
    child.load(module)
    assert child.call().value == 1
    assert 0 < len(_met(child, "written")) <= 200
