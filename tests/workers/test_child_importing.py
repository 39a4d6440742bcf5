"""Importing what is the person's own (D5, CASES D3, D4): names, packages, data files, habits of real modules."""

from __future__ import annotations

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


def test_siblings_are_imported_relatively_and_by_their_bare_names(child: Child, module: Path) -> None:
    write_module(
        module,
        "from .one import A\nfrom . import two\nimport three\nfrom package.inner import B\n"
        "VALUE = [A, two.A, three.A, B]\n",
        USES,
        one="A = 1",
        two="A = 2",
        three="A = 3",
        package____init__="",
        package__inner="from . import deeper\nB = deeper.C\n",
        package__deeper="C = 4",
    )
    child.load(module)
    assert child.call().value == [1, 2, 3, 4]


def test_a_relative_import_reaches_the_parent_package(child: Child, module: Path) -> None:
    write_module(
        module,
        "from .package.inner import B as VALUE\n",
        USES,
        one="A = 1",
        package____init__="",
        package__inner="from ..one import A as B",
    )
    child.load(module)
    assert child.call().value == 1


def test_the_module_is_a_package_of_its_own_name(child: Child, module: Path) -> None:
    write_module(module, "VALUE = [__name__, __package__, __path__, __file__, __spec__.origin]\n", USES)
    child.load(module)
    name, entry = "mcpp_tools.tested", str(module / "mcpptool.py")
    assert child.call().value == [name, name, [str(module)], entry, entry]


def test_names_of_the_standard_library_are_never_shadowed(child: Child, module: Path) -> None:
    write_module(
        module,
        "import json, logging, colorsys, os\n"
        "VALUE = [json.dumps(1), hasattr(logging, 'INFO'), hasattr(colorsys, 'rgb_to_hls')]\n"
        "from .json import A as own\nfrom .colorsys import A\nVALUE += [own, A]\n",
        USES,
        json="A = 1",
        logging="A = 2",
        colorsys="A = 3",
        os="A = 4",
        wire="A = 5",
    )
    child.load(module)
    assert child.call().value == ["1", True, True, 1, 3]


@pytest.mark.parametrize("name", ["wire", "values", "context", "process", "module", "signals", "results"])
def test_a_sibling_may_have_the_name_of_a_file_of_ours(child: Child, module: Path, name: str) -> None:
    write_module(module, f"import {name}\nVALUE = {name}.A\n", USES, **{name: "A = 'mine'"})
    child.load(module)
    assert child.call().text == "mine"


def test_the_directory_comes_after_the_standard_library_and_before_what_is_installed(
    child: Child, module: Path
) -> None:
    write_module(module, "import sys, os\nVALUE = [sys.path, os.path.dirname(os.__file__)]\n", USES)
    child.load(module, search=["/somewhere/else"])
    path, library = child.call().value
    installed = [at for at, entry in enumerate(path) if entry.endswith("site-packages")]
    assert path.index(library) < path.index(str(module)) < min(installed, default=len(path))
    assert path[-1] == "/somewhere/else"


def test_further_directories_are_searched_last(child: Child, module: Path, tmp_path: Path) -> None:
    write_module(module, "import extra, shared\nVALUE = [extra.A, shared.A]\n", USES, shared="A = 'module'")
    write_module(tmp_path / "more", "", extra="A = 'extra'", shared="A = 'more'")
    child.load(module, search=[str(tmp_path / "more")])
    assert child.call().value == ["extra", "module"]


def test_a_package_registered_under_a_fixed_name_is_served_from_the_snapshot(
    child: Child, module: Path
) -> None:
    source = """
        import sys, types, importlib
        package = types.ModuleType("fixedname")
        package.__path__ = [__path__[0]]
        sys.modules["fixedname"] = package
        from fixedname.helper import A
        import fixedname.inner.deep
        VALUE = [A, importlib.import_module("fixedname.inner.deep").B]
    """
    write_module(module, source, USES, helper="A = 'old'", inner____init__="", inner__deep="B = 'old'")
    held = contents(module)
    write_module(module, source, helper="A = 'new'", inner__deep="B = 'new'")
    child.load(module, held)
    assert child.call().value == ["old", "old"]


def test_namespace_packages_are_served_from_the_snapshot(child: Child, module: Path) -> None:
    source = """
        import importlib.resources
        import space.one
        from .space import two
        import space
        from space.inner.three import A
        data = importlib.resources.files("space").joinpath("data.txt").read_text()
        VALUE = [space.one.A, two.A, A, data]
    """
    write_module(module, source, USES, space__one="A = 1", space__two="A = 2", space__inner__three="A = 3")
    (module / "space" / "data.txt").write_text("here")
    held = contents(module)
    write_module(module, source, space__one="A = 0", space__two="A = 0", space__inner__three="A = 0")
    child.load(module, held)
    assert child.call().value == [1, 2, 3, "here"]


def test_a_namespace_package_of_disk_and_snapshot_has_both(
    child: Child, module: Path, tmp_path: Path
) -> None:
    write_module(
        module, "import space.one, space.two\nVALUE = [space.one.A, space.two.A]\n", USES, space__one="A = 1"
    )
    more = write_module(tmp_path / "more", "", space__two="A = 2")
    child.load(module, search=[str(more)])
    assert child.call().value == [1, 2]


def test_data_files_beside_the_code_are_read_from_the_disk(child: Child, module: Path) -> None:
    write_module(
        module,
        """
        import importlib.resources, os, pkgutil
        from . import package
        with open(os.path.join(os.path.dirname(__file__), "data.txt")) as file:
            one = file.read()
        two = pkgutil.get_data(__name__, "data.txt").decode()
        three = importlib.resources.files(__package__).joinpath("data.txt").read_text()
        four = importlib.resources.files(package).joinpath("inner.txt").read_text()
        VALUE = [one, two, three, four]
        """,
        USES,
        package____init__="",
    )
    (module / "data.txt").write_text("data")
    (module / "package" / "inner.txt").write_text("inner")
    child.load(module)
    assert child.call().value == ["data", "data", "data", "inner"]


def test_sources_are_shown_as_they_were_loaded(child: Child, module: Path) -> None:
    source = """
        import inspect, linecache
        def marker(): return "old"
        def execute(tool_name, arguments, context=None):
            linecache.checkcache()
            return {"success": True, "result": inspect.getsource(marker)}
    """
    write_module(module, source)
    child.load(module)
    child.call()
    write_module(module, source.replace("old", "new"))
    assert "old" in child.call().text


def test_a_directory_reached_by_a_link_is_the_same_directory(
    child: Child, module: Path, tmp_path: Path
) -> None:
    source = """
        import os, sys
        sys.path.insert(0, os.path.realpath(os.path.dirname(__file__)))
        import helper
        VALUE = helper.A
    """
    write_module(module, source, USES, helper="A = 'old'")
    link = tmp_path / "link"
    link.symlink_to(module)
    held = contents(link)
    (module / "helper.py").write_text("A = 'new'")
    child.load(link, held)
    assert child.call().text == "old"


def test_a_module_can_reload_itself(child: Child, module: Path) -> None:
    source = """
        import importlib, sys
        def execute(tool_name, arguments, context=None):
            return {"success": True, "result": importlib.reload(sys.modules[__name__]).__name__}
    """
    child.load(write_module(module, source))
    assert child.call().text == "mcpp_tools.tested"


def test_a_virtual_environment_in_the_module_is_not_the_persons_own(child: Child, module: Path) -> None:
    inside = module / ".venv" / "lib" / "site-packages"
    write_module(inside, "", dependency="A = 1")
    write_module(
        module, f"import sys\nsys.path.append({str(inside)!r})\nfrom dependency import A as VALUE\n", USES
    )
    child.load(module, {str(module / "mcpptool.py"): (module / "mcpptool.py").read_bytes()})
    assert child.call().value == 1
    assert child.joined == {}


def test_a_module_that_is_installed_itself_is_served_from_the_snapshot(child: Child, tmp_path: Path) -> None:
    module = tmp_path / "site-packages" / "bundled" / "what"
    write_module(module, "from .helper import VALUE\n", USES, helper="VALUE = 'old'")
    held = contents(module)
    (module / "helper.py").write_text("VALUE = 'new'")
    child.load(module, held)
    assert child.call().text == "old"
    assert bytecode(module) == []


REAL = """
    import sqlite3, sys, types
    from pathlib import Path

    import yaml_like

    HERE = Path(__file__).resolve().parent
    if "real_plan" not in sys.modules:
        package = types.ModuleType("real_plan")
        package.__path__ = [str(HERE)]
        sys.modules["real_plan"] = package
    from real_plan.store import open_store

    (HERE / "tool.log").write_text("loaded")

    def initialize():
        open_store(HERE / "real.db").execute("create table if not exists notes (text)")
        return {"success": True}

    def execute(tool_name, arguments, context=None):
        verbose = arguments.pop("verbose", False)
        text = arguments.pop("text")
        store = open_store(HERE / "real.db")
        with store:
            store.execute("insert into notes values (?)", (text,))
        rows = [row[0] for row in store.execute("select text from notes")]
        return {"success": True, "result": {"rows": rows, "left": arguments, "verbose": verbose,
                "tools": yaml_like.count(HERE / "tool.yaml")}}
"""


def test_a_module_with_the_habits_of_real_ones_works(child: Child, module: Path) -> None:
    write_module(
        module,
        REAL,
        store="import sqlite3\n\n\ndef open_store(path):\n    return sqlite3.connect(path)\n",
        yaml_like="def count(path):\n    return path.read_text().count('name:')\n",
    )
    (module / "tool.yaml").write_text("tools:\n- name: a\n- name: b\n")
    child.load(module)
    assert child.call(arguments={"text": "one", "verbose": True}).value["rows"] == ["one"]
    expected = {"rows": ["one", "two"], "left": {"x": 1}, "verbose": False, "tools": 2}
    assert child.call(arguments={"text": "two", "x": 1}).value == expected
    assert (module / "tool.log").read_text() == "loaded"
