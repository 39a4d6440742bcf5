"""Preparing a generation: compiled without being run, or imported and initialized; faults name the place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.workers.child_peer import Child, write_module

GOOD = """
    def execute(tool_name, arguments, context=None):
        return {"success": True, "result": "fine"}
"""


def prepare(child: Child, module: Path, *, run: bool = False) -> dict[str, Any]:
    child.load(module)
    fault: dict[str, Any] = child.prepare(run=run)["fault"]
    return fault


def place(fault: dict[str, Any]) -> tuple[str, int]:
    return Path(fault["file"]).name, fault["line"]


def test_a_good_module_has_no_fault_and_does_not_run(child: Child, module: Path) -> None:
    write_module(module, GOOD, "print('ran')")
    child.load(module)
    assert child.prepare(run=False) == {"op": "prepared", "fault": None, "warning": None}
    assert child.call().text == "fine"
    assert child.output == "ran\n"


def test_a_syntax_error_is_told_with_file_line_column_and_source(child: Child, module: Path) -> None:
    write_module(module, GOOD, "x = 1\nvalue = (1 +* 2)\n")
    fault = prepare(child, module)
    assert fault["file"] == str(module / "mcpptool.py")
    assert (fault["line"], fault["column"]) == (6, 13)
    assert fault["source"] == "value = (1 +* 2)"
    assert "SyntaxError" in fault["message"]


def test_the_source_line_of_a_fault_is_the_snapshots_not_the_disks(child: Child, module: Path) -> None:
    write_module(module, GOOD)
    held = {str(module / "mcpptool.py"): b"return 1\n\ndef execute(): pass\n"}
    child.load(module, held)
    fault = child.prepare(run=False)["fault"]
    assert (fault["line"], fault["source"]) == (1, "return 1")


@pytest.mark.parametrize(
    "imports",
    [
        "from .helper import x",
        "from . import helper",
        "import helper",
        "from helper import x",
        "import helper as h",
        "def later():\n    from .helper import x",
        "try:\n    import helper\nexcept Exception: pass",
        "import middle",
        "from .package import leaf",
        "import package.leaf",
        "from package.leaf import x",
    ],
)
def test_what_the_entry_file_imports_is_compiled_too(child: Child, module: Path, imports: str) -> None:
    write_module(
        module,
        imports,
        GOOD,
        helper="ok = 1\nbroken broken\n",
        middle="from helper import x",
        package____init__="",
        package__leaf="from ..helper import x\nimport helper",
    )
    assert place(prepare(child, module)) == ("helper.py", 2)


def test_a_broken_file_that_nothing_imports_is_no_fault(child: Child, module: Path) -> None:
    write_module(module, "import json, missing_module", GOOD, scratch="broken broken", json="broken broken")
    assert prepare(child, module) is None


def test_files_of_further_directories_are_compiled_if_they_are_in_the_snapshot(
    child: Child, module: Path, tmp_path: Path
) -> None:
    write_module(module, "import outside", GOOD)
    more = write_module(tmp_path / "more", "", outside="broken broken")
    files = {str(path): path.read_bytes() for path in (module / "mcpptool.py", more / "outside.py")}
    child.load(module, files, search=[str(more)])
    assert place(child.prepare(run=False)["fault"]) == ("outside.py", 1)


@pytest.mark.parametrize(
    "source", [b"x = '\xff'\ndef execute(): pass\n", b"x = 1\x00\ndef execute(): pass\n", b"("]
)
def test_bytes_that_are_no_python_are_a_fault_in_that_file(child: Child, module: Path, source: bytes) -> None:
    (module / "mcpptool.py").write_bytes(source)
    assert prepare(child, module)["file"] == str(module / "mcpptool.py")
    assert child.call().head["fault"]["file"] == str(module / "mcpptool.py")


def test_code_nested_too_deeply_for_the_compiler_is_a_fault(child: Child, module: Path) -> None:
    write_module(module, GOOD, "x = " + "(" * 5000 + ")" * 5000)
    assert prepare(child, module)["file"] == str(module / "mcpptool.py")
    assert child.call().error


@pytest.mark.parametrize("run", [False, True])
def test_a_module_without_execute_is_a_fault_of_its_entry_file(child: Child, module: Path, run: bool) -> None:
    write_module(module, "def exekute(tool_name, arguments): pass")
    fault = prepare(child, module, run=run)
    assert fault["file"] == str(module / "mcpptool.py")
    assert child.call().head["fault"]["file"] == str(module / "mcpptool.py")


def test_an_execute_that_cannot_be_called_is_a_fault(child: Child, module: Path) -> None:
    write_module(module, "execute = 3")
    assert prepare(child, module) is None
    assert child.prepare(run=True)["fault"]["file"] == str(module / "mcpptool.py")


@pytest.mark.parametrize(
    "source",
    [
        "from .impl import execute",
        "from .impl import run as execute",
        "from .impl import *",
        "from . import impl\nexecute = impl.execute",
        "from . import impl\nif True:\n    execute = impl.execute",
        "from . import impl\nglobals()['execute'] = impl.execute",
        "from . import impl\nclass execute:\n    def __new__(cls, *a): return impl.execute(*a)",
        "from . import impl\ndef f():\n    global execute\n    execute = impl.execute\nf()",
        "from . import impl\ndef __getattr__(name):\n    return getattr(impl, name)",
        "async def execute(tool_name, arguments): return {'success': True, 'result': 'fine'}",
    ],
)
def test_execute_may_come_to_be_in_any_way(child: Child, module: Path, source: str) -> None:
    write_module(module, source, impl=GOOD + "\n    run = execute\n")
    assert prepare(child, module) is None
    assert child.prepare(run=True)["fault"] is None
    assert child.call().text == "fine"


def test_an_exception_at_import_is_placed_in_the_persons_innermost_frame(child: Child, module: Path) -> None:
    write_module(
        module,
        "from .helper import load\nload()\n",
        GOOD,
        helper="import json\ndef load():\n    json.loads('{')\n",
    )
    fault = prepare(child, module, run=True)
    assert place(fault) == ("helper.py", 3)
    assert fault["source"] == "json.loads('{')"
    assert "JSONDecodeError" in fault["message"]
    assert [line.split(" in ")[0].rpartition("/")[2] for line in fault["traceback"].splitlines()] == [
        "mcpptool.py:2",
        "helper.py:3",
    ]


@pytest.mark.parametrize(
    "raised", ["SystemExit(3)", "KeyboardInterrupt()", "GeneratorExit()", "MemoryError()"]
)
def test_nothing_that_is_raised_at_import_ends_the_worker(child: Child, module: Path, raised: str) -> None:
    write_module(module, f"import sys\nraise {raised}\n", GOOD)
    fault = prepare(child, module, run=True)
    assert place(fault) == ("mcpptool.py", 2)
    assert raised.partition("(")[0] in fault["message"]
    assert child.call().head["fault"]["line"] == 2


def test_sys_exit_at_import_is_placed_where_it_was_called(child: Child, module: Path) -> None:
    write_module(module, "import sys\nsys.exit('no key')\n", GOOD)
    assert place(prepare(child, module, run=True)) == ("mcpptool.py", 2)


def test_a_missing_dependency_is_told_with_the_interpreter_that_lacks_it(child: Child, module: Path) -> None:
    write_module(module, "import not_installed_anywhere", GOOD)
    fault = prepare(child, module, run=True)
    assert place(fault) == ("mcpptool.py", 1)
    assert child.python in fault["message"] or "python" in fault["message"]


def test_a_syntax_error_in_a_file_that_joins_is_placed_there(child: Child, module: Path) -> None:
    write_module(module, "import late", GOOD)
    held = {str(module / "mcpptool.py"): (module / "mcpptool.py").read_bytes()}
    write_module(module, "import late", GOOD, late="x = 1\nbroken broken")
    child.load(module, held)
    assert place(child.prepare(run=True)["fault"]) == ("late.py", 2)
    assert child.joined == {str(module / "late.py"): b"x = 1\nbroken broken"}


def test_a_failed_import_is_tried_again_and_may_succeed(child: Child, module: Path) -> None:
    write_module(module, "import os\nif not os.path.exists(FLAG): raise OSError", GOOD)
    flag = module / "flag"
    (module / "mcpptool.py").write_text(f"FLAG = {str(flag)!r}\n" + (module / "mcpptool.py").read_text())
    child.load(module)
    assert child.call().error
    flag.touch()
    assert child.call().text == "fine"


def test_a_module_is_imported_and_initialized_once(child: Child, module: Path) -> None:
    write_module(module, "print('imported')\ndef initialize(): print('initialized')\n", GOOD)
    child.load(module)
    child.prepare(run=True)
    child.prepare(run=True)
    child.call()
    child.call()
    assert child.output == "imported\ninitialized\n"


@pytest.mark.parametrize(
    ("source", "part"),
    [
        ("def initialize(): return {'success': False, 'message': 'no key'}", "no key"),
        ("def initialize(): return {'success': False}", "initialize"),
        ("def initialize(): raise ValueError('bad')", "ValueError: bad"),
        ("def initialize(): raise SystemExit(3)", "SystemExit"),
        ("async def initialize(): return {'success': False, 'message': 'later'}", "later"),
        ("def initialize(): return {'success': False, 'message': '\\ud800'}", "\ufffd"),
    ],
)
def test_a_failed_initialize_warns_and_the_tools_still_work(
    child: Child, module: Path, source: str, part: str
) -> None:
    write_module(module, source, GOOD)
    child.load(module)
    prepared = child.prepare(run=True)
    assert prepared["fault"] is None
    assert part in prepared["warning"]
    assert child.call().text == "fine"


@pytest.mark.parametrize(
    "source",
    [
        "def initialize(): return {'success': True}",
        "def initialize(): return None",
        "async def initialize(): return {'success': True}",
        "initialize = 3",
        "",
    ],
)
def test_an_initialize_that_went_well_says_nothing(child: Child, module: Path, source: str) -> None:
    write_module(module, source, GOOD)
    child.load(module)
    assert child.prepare(run=True) == {"op": "prepared", "fault": None, "warning": None}


def test_a_warning_of_a_module_that_a_call_imported_is_logged(child: Child, module: Path) -> None:
    write_module(module, "def initialize(): return {'success': False, 'message': 'no key'}", GOOD)
    child.load(module)
    assert child.call().text == "fine"
    assert [(level, "no key" in data) for level, data in child.logged] == [("warning", True)]
    assert "no key" in child.output


def test_a_relative_import_inside_an_installed_package_is_left_alone(
    child: Child, module: Path, tmp_path: Path
) -> None:
    installed = write_module(
        tmp_path / "site-packages", "", dep____init__="from .inner import A", dep__inner="A = 1"
    )
    write_module(module, "from dep import A", GOOD)
    child.load(module, search=[str(installed)])
    assert child.prepare(run=True)["fault"] is None
