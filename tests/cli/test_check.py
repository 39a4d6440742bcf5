"""`check`, as a person and a script see it: what is printed for files as they are on the disk."""

from __future__ import annotations

import ast
import json
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mcppd.cli.sources import may_have, problems_of
from mcppd.workers.child import preparing
from tests.cli.conftest import Terminal

if TYPE_CHECKING:
    from .conftest import Cli

EXECUTE = "def execute(tool_name, arguments, context=None):\n    return {'success': True, 'result': 1}\n"


def write(cli: Cli, **files: str) -> None:
    """Write files; `__` in a name is a directory's end."""
    for name, text in files.items():
        path = cli.directory / name.replace("__", "/").replace("_yaml", ".yaml").replace("_py", ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))


def module(cli: Cli, name: str, manifest: str | None = None, source: str = EXECUTE) -> Path:
    """Write a module in `tools/`; without a manifest it has one good tool of its own name."""
    tool = f"- {{name: {name}, description: does it, inputSchema: {{type: object}}}}"
    directory = cli.directory / "tools" / name
    directory.mkdir(parents=True)
    (directory / "tool.yaml").write_text(textwrap.dedent(manifest or f"name: {name}\ntools:\n{tool}\n"))
    (directory / "mcpptool.py").write_text(textwrap.dedent(source))
    return directory


def lines(cli: Cli, *words: str, status: int, environ: dict[str, str] | None = None) -> list[str]:
    """What `check` prints, line by line."""
    done = cli.run_plain("check", *words, environ=environ)
    assert (done.returncode, done.stderr) == (status, "")
    return done.stdout.splitlines()


def places(printed: list[str]) -> list[str]:
    """`file:line:column: kind` of each line but the summary."""
    return [": ".join(line.split(": ")[:2]) for line in printed[:-1]]


def test_a_good_registry_is_one_line(cli: Cli) -> None:
    module(cli, "a")
    module(cli, "b")
    module(cli, "_template")
    write(cli, tools_yaml="modules:\n  - path: tools/*\n")
    assert lines(cli, "tools.yaml", status=0) == [
        (
            "tools.yaml: 2 modules, 2 tools: 0 errors, 0 warnings; ignored: tools/_template "
            "(a name that begins with _ is a template's)"
        )
    ]


def test_everything_wrong_is_a_line_in_order_of_file_and_line(cli: Cli) -> None:
    manifest = """\
        name: late
        scop: local
        tools:
          - name: z.z
            description: d
            inputSchema: {type: object, properties: {n: {type: numbr}}}
          - name: fine
            inputSchema:
              type: object
              anyOf: [{required: [a]}]
          - description: nameless
        """
    module(cli, "late", manifest, "import os\ndef execute(a, b)\n    return 1\n")
    module(cli, "early")
    (cli.directory / "tools" / "early" / "helper.py").write_text("x = (\n")
    write(
        cli,
        tools_yaml="""\
            modules:
              - path: tools/*
              - path: gone
              - path: tools/late
                wokers: 2
              - path: tools/early
                workers: many
            env: {MODE: on}
            """,
    )
    printed = lines(cli, "tools.yaml", status=1)
    assert places(printed) == [
        "tools.yaml:3:5: error",
        "tools.yaml:5:5: warning",
        "tools.yaml:7:14: error",
        "tools.yaml:8:13: warning",
        "tools/early/helper.py:1:5: error",
        "tools/late/mcpptool.py:2:18: error",
        "tools/late/tool.yaml:2:1: warning",
        "tools/late/tool.yaml:4:11: warning",
        "tools/late/tool.yaml:6:56: error",
        "tools/late/tool.yaml:7:5: warning",
        "tools/late/tool.yaml:10:14: warning",
        "tools/late/tool.yaml:11:5: error",
    ]
    assert printed[-1] == "tools.yaml: 3 modules, 3 tools: 6 errors, 6 warnings"


def test_a_wrong_option_of_an_entry_hides_nothing_that_is_wrong_with_its_module(cli: Cli) -> None:
    module(cli, "a", manifest="name: a\ntools: [{name: 3}]\n")
    write(cli, tools_yaml="modules:\n  - {path: tools/a, workers: many}\n")
    printed = lines(cli, "tools.yaml", status=1)
    assert places(printed) == ["tools.yaml:2:30: error", "tools/a/tool.yaml:2:10: error"]


def test_a_package_that_is_not_installed_is_a_warning_where_it_is_imported(cli: Cli) -> None:
    tried = "try:\n    import not_there_too\nexcept ImportError:\n    pass\n"
    typed = "if TYPE_CHECKING:\n    import not_there_for_types\n"
    module(
        cli,
        "a",
        source=f"import json\n\nimport not_there.below\nfrom not_there import x\n{tried}{typed}{EXECUTE}",
    )
    module(cli, "b", source=f"import sys\nsys.path.append('/elsewhere')\nimport not_there\n{EXECUTE}")
    write(cli, tools_yaml="modules:\n  - path: tools/*\n")
    (warning, _) = lines(cli, "tools.yaml", status=0)
    assert warning.startswith(
        "tools/a/mcpptool.py:3:1: warning: imports not_there, which isn't installed for "
    )


def test_warnings_alone_are_no_failure(cli: Cli) -> None:
    module(cli, "a", "name: a\ntools: [{name: a, inputSchema: {type: object}}]\n")
    assert places(lines(cli, "tools/a", status=0)) == ["tools/a/tool.yaml:2:9: warning"]


def test_yaml_that_cannot_be_read_is_told_where_it_ends(cli: Cli) -> None:
    module(cli, "a", "name: a\ntools: [\n", "1 +\n")
    write(cli, tools_yaml="modules: [tools/a]\n")
    assert places(lines(cli, "tools.yaml", status=1)) == [
        "tools/a/mcpptool.py:1:4: error",
        "tools/a/tool.yaml:3:1: error",
    ]
    write(cli, tools_yaml="modules:\n\t- path: a\n")
    assert places(lines(cli, "tools.yaml", status=1)) == ["tools.yaml:2:1: error"]


@pytest.mark.parametrize("path", ["tools/a", "tools/a/", "tools/a/tool.yaml", "tools/a/mcpptool.py"])
def test_one_module_is_checked_by_its_directory_or_its_files(cli: Cli, path: str) -> None:
    module(cli, "a", source="x = 1\n")
    printed = lines(cli, path, status=1)
    assert places(printed) == ["tools/a/mcpptool.py:1:1: error"]
    assert printed[-1] == "tools/a: 1 module, 1 tool: 1 error, 0 warnings"


@pytest.mark.slow
def test_a_template_can_be_checked_by_itself(cli: Cli) -> None:
    module(cli, "_mine", "name: x\ntools: 5\n")
    assert places(lines(cli, "tools/_mine", status=1)) == ["tools/_mine/tool.yaml:2:1: error"]
    write(cli, tools_yaml="modules: [tools/_mine]\n")
    assert places(lines(cli, "tools.yaml", status=0)) == ["tools.yaml:1:11: warning"]


def test_a_directory_with_a_registry_in_it_is_that_registry(cli: Cli) -> None:
    module(cli, "a")
    write(cli, tools_yaml="modules: [tools/a]\n")
    assert lines(cli, ".", status=0) == ["tools.yaml: 1 module, 1 tool: 0 errors, 0 warnings"]


@pytest.mark.slow
def test_without_a_path_it_is_the_registry_that_would_be_served(cli: Cli) -> None:
    (summary,) = lines(cli, status=0)
    assert summary.startswith(f"{Path(__file__).parents[2] / 'tools.yaml'}: ")  # the bundled one
    home = cli.directory / "home"
    write(cli, home__config__mcppd__tools_yaml="modules: 5\n")
    registry = home / "config" / "mcppd" / "tools.yaml"
    environ = {"XDG_CONFIG_HOME": str(home / "config")}
    assert places(lines(cli, status=1, environ=environ)) == [
        f"{registry.relative_to(cli.directory)}:1:1: error"
    ]
    write(cli, base__tools_yaml="modules: []\n")
    environ["MCPP_BASE_DIR"] = str(cli.directory / "base")
    assert lines(cli, status=0, environ=environ) == [
        "base/tools.yaml: 0 modules, 0 tools: 0 errors, 0 warnings"
    ]


def test_a_directory_without_its_files_is_told_where_it_is_listed_or_lies(cli: Cli) -> None:
    directory = module(cli, "a")
    (directory / "mcpptool.py").unlink()
    (module(cli, "b") / "tool.yaml").unlink()
    write(cli, tools_yaml="modules:\n- tools/a\n- tools/b\n- tools/c\n- nowhere/*\n")
    assert places(lines(cli, "tools.yaml", status=1)) == [
        "tools.yaml:4:3: error",
        "tools.yaml:5:3: warning",
        "tools/a/tool.yaml:1:1: error",
        "tools/b/tool.yaml:1:1: error",
    ]


def test_names_that_two_modules_have_are_told_in_the_second(cli: Cli) -> None:
    search = "- {name: search, description: d, inputSchema: {type: object}}"
    module(cli, "a", f"name: first\ntools:\n{search}\n")
    module(cli, "b", f"name: second\ntools:\n{search}\n")
    module(cli, "c", f"name: first\ntools:\n{search}\n")
    write(cli, tools_yaml="modules: [tools/*]\n")
    printed = lines(cli, "tools.yaml", status=1)
    assert places(printed) == ["tools/b/tool.yaml:3:10: warning", "tools/c/tool.yaml:1:7: error"]
    assert "second__search" in printed[0]
    assert str(cli.directory / "tools" / "a") in printed[1]


def test_two_tools_of_one_name_in_a_module_are_an_error(cli: Cli) -> None:
    tool = "- {name: a, description: d, inputSchema: {type: object}}\n"
    module(cli, "a", f"name: a\ntools:\n{tool}{tool}")
    assert places(lines(cli, "tools/a", status=1)) == ["tools/a/tool.yaml:4:4: error"]


def test_a_tool_that_the_registry_denies_takes_no_name(cli: Cli) -> None:
    search = "tools: [{name: search, description: d, inputSchema: {type: object}}]\n"
    module(cli, "a", f"name: a\n{search}")
    module(cli, "b", f"name: b\n{search}")
    write(cli, tools_yaml="modules: [{path: tools/a, tools: {deny: [search]}}, tools/b]\n")
    assert places(lines(cli, "tools.yaml", status=0)) == []


def test_a_disabled_entry_is_left_out(cli: Cli) -> None:
    module(cli, "a", "nonsense")
    write(cli, tools_yaml="modules: [{path: tools/a, enabled: false}, {path: gone/*, enabled: false}]\n")
    assert lines(cli, "tools.yaml", status=0) == ["tools.yaml: 0 modules, 0 tools: 0 errors, 0 warnings"]


def test_nothing_of_a_module_is_run_or_written(cli: Cli) -> None:
    mark = cli.directory / "ran"
    directory = module(cli, "a", source=f"open({str(mark)!r}, 'w')\n{EXECUTE}")
    (directory / "helper.py").write_text("raise SystemExit(7)\n")
    before = {path: path.stat().st_mtime_ns for path in cli.directory.rglob("*")}
    assert places(lines(cli, "tools/a", status=0)) == []
    assert {path: path.stat().st_mtime_ns for path in cli.directory.rglob("*")} == before


def test_a_doubtful_escape_is_a_warning_and_a_source_that_cannot_be_read_an_error(cli: Cli) -> None:
    directory = module(cli, "a", source=f"{EXECUTE}\nPATTERN = '\\d'\n")
    (directory / "nul.py").write_bytes(b"x = 1\0\n")
    (directory / "link.py").symlink_to("nowhere")
    (directory / "latin.py").write_bytes(b"# -*- coding: latin-1 -*-\nx = '\xe9'\n")
    (directory / "bytes.py").write_bytes(b"x = '\xe9'\n")
    # no columns: they are the interpreter's
    printed = [line.split(":")[:2] for line in places(lines(cli, "tools/a", status=1))]
    assert printed == [
        ["tools/a/bytes.py", "1"],
        ["tools/a/link.py", "1"],
        ["tools/a/mcpptool.py", "4"],
        ["tools/a/nul.py", "1"],
    ]


SOURCES = [
    ("def execute(a, b): pass", True),
    ("async def execute(a, b): pass", True),
    ("execute = lambda a, b: None", True),
    ("from .x import execute", True),
    ("from .x import run as execute", True),
    ("from .x import execute as run", False),
    ("from .x import *", True),
    ("import execute", True),
    ("if True:\n    class execute: pass", True),
    ("def __getattr__(name): pass", True),
    ("globals()['execute'] = print", True),
    ("def f():\n    global execute", True),
    ("for execute in [print]: pass", True),
    ("x, (execute, y) = 1, (2, 3)", True),
    ("", False),
    ("def executes(a, b): pass", False),
    ("print(execute)", False),
    ("# def execute", False),
    ("x.execute = 1", False),
]


@pytest.mark.parametrize(("source", "has"), SOURCES)
def test_a_missing_execute_is_told_just_where_the_daemon_would_tell_it(source: str, has: bool) -> None:
    tree = ast.parse(source)
    assert (may_have(tree, "execute"), preparing.may_have(tree, "execute")) == (has, has)


def test_only_the_entry_needs_an_execute(tmp_path: Path) -> None:
    for name in ("mcpptool.py", "other.py"):
        (tmp_path / name).write_text("x = 1\n")
    paths = [str(tmp_path / name) for name in ("mcpptool.py", "other.py")]
    assert [each["file"] for each in problems_of(paths, paths[0])] == paths[:1]


@pytest.mark.slow
def test_prompts_and_resources_are_checked_and_counted(cli: Cli) -> None:
    manifest = """\
        name: a
        prompts:
          - {name: p, description: d}
        resources:
          - {uri: "a://there", name: n, description: d, file: there.md}
          - uri: a://gone
            name: n
            description: d
            file: gone.md
        resourceTemplates:
          - {uriTemplate: "a://{id", name: n}
        """
    directory = module(cli, "a", manifest, "def get_prompt(name, arguments): return name\n")
    (directory / "there.md").write_text("here")
    printed = lines(cli, "tools/a", status=1)
    assert places(printed) == ["tools/a/tool.yaml:9:11: warning", "tools/a/tool.yaml:11:19: error"]
    assert "gone.md" in printed[0]
    assert (
        printed[-1]
        == "tools/a: 1 module, 0 tools, 1 prompt, 1 resource template, 2 resources: 1 error, 1 warning"
    )
    (asked,) = [json.loads(line) for line in lines(cli, "--json", "tools/a", status=1)]
    assert (asked["prompts"], asked["resources"], asked["resourceTemplates"]) == (1, 2, 1)


@pytest.mark.parametrize(
    ("manifest", "lacks"),
    [
        ("prompts: [{name: p, description: d}]", ["get_prompt"]),
        ("resources: [{uri: 'a:b', name: n, description: d}]", ["read_resource"]),
        ("resourceTemplates: [{uriTemplate: 'a:{b}', name: n, description: d}]", ["read_resource"]),
        ("tools: [{name: t, description: d, inputSchema: {type: object}}]", ["execute"]),
        ("resources: [{uri: 'a:b', name: n, description: d, file: tool.yaml}]", []),
    ],
)
def test_code_must_have_what_the_manifest_needs(cli: Cli, manifest: str, lacks: list[str]) -> None:
    directory = module(cli, "a", f"name: a\n{manifest}\n", "x = 1\n")
    printed = lines(cli, "tools/a", status=1 if lacks else 0)
    assert [name for line in printed[:-1] for name in lacks if f"`{name}(" in line] == lacks
    (directory / "mcpptool.py").unlink()
    printed = lines(cli, "tools/a", status=1 if lacks else 0)
    assert [name for line in printed[:-1] for name in lacks if f"`{name}`" in line] == lacks


class TestAnotherInterpreter:
    """A module with `python:` is compiled by that interpreter, whose word counts."""

    def interpreter(self, cli: Cli, text: str) -> None:
        path = cli.directory / "python"
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        write(cli, tools_yaml="modules: [{path: tools/a, python: ./python}]\n")

    def test_it_is_asked(self, cli: Cli) -> None:
        directory = module(cli, "a", source=f"{EXECUTE}x = (\n")
        self.interpreter(cli, f'cat > asked; exec {sys.executable} "$@" < asked')
        assert places(lines(cli, "tools.yaml", status=1)) == ["tools/a/mcpptool.py:3:5: error"]
        asked = json.loads((cli.directory / "asked").read_text())
        entry = str(directory / "mcpptool.py")
        assert asked == {"paths": [entry], "entry": entry, "needs": ["execute"]}

    def test_what_it_takes_is_no_error(self, cli: Cli) -> None:
        module(cli, "a", source="syntax of a later version\n")
        self.interpreter(cli, "cat > /dev/null; echo '[]'")
        assert places(lines(cli, "tools.yaml", status=0)) == []

    @pytest.mark.parametrize("text", ["exit 3", "echo no JSON", "echo '{}' >&2; exit 1"])
    def test_one_that_is_no_python_is_told_where_it_is_named(self, cli: Cli, text: str) -> None:
        module(cli, "a")
        self.interpreter(cli, text)
        assert places(lines(cli, "tools.yaml", status=1)) == ["tools.yaml:1:11: error"]

    def test_one_that_is_not_there_is_told_where_it_is_named(self, cli: Cli) -> None:
        module(cli, "a")
        write(cli, tools_yaml="modules:\n- path: tools/a\n  python: .venv\n")
        assert places(lines(cli, "tools.yaml", status=1)) == ["tools.yaml:2:3: error"]


def test_json_has_the_same(cli: Cli) -> None:
    module(cli, "a", "name: a\ntools: [{name: a, inputSchema: {type: object}}]\n", "x =\n")
    printed: Any = json.loads("\n".join(lines(cli, "--json", "tools/a", status=1)))
    file = cli.directory / "tools" / "a"
    assert (printed["path"], printed["errors"], printed["warnings"], printed["modules"]) == (
        str(file),
        1,
        1,
        1,
    )
    assert [(each["severity"], each["file"], each["line"]) for each in printed["findings"]] == [
        ("error", str(file / "mcpptool.py"), 1),
        ("warning", str(file / "tool.yaml"), 2),
    ]
    assert printed["findings"][0]["source"] == "x ="


@pytest.mark.parametrize("path", ["nowhere", "nowhere/tool.yaml", "empty"])
def test_a_path_that_leads_to_nothing_is_wrong_use(cli: Cli, path: str) -> None:
    (cli.directory / "empty").mkdir()
    done = cli.run_plain("check", path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


def test_a_registry_that_is_named_and_not_there_is_wrong_use(cli: Cli) -> None:
    done = cli.run_plain("check", environ={"MCPP_BASE_DIR": str(cli.directory)})
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


@pytest.mark.parametrize(
    ("environ", "colored"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_there_is_color_on_a_terminal_only(cli: Cli, environ: dict[str, str], colored: bool) -> None:
    module(cli, "a", "name: a\ntools: [{name: a, inputSchema: {type: objekt}, description: d}]\n")
    command = [sys.executable, "-m", "mcppd", "check", "tools/a"]
    terminal = Terminal(command, cli.environ | environ, cli.directory)
    cli.terminals.append(terminal)
    assert terminal.end() == 1
    assert ("\x1b[1;31merror" in terminal.shown) is colored
    line = (
        terminal.shown.replace("\x1b[1m", "").replace("\x1b[0m", "").replace("\x1b[1;31m", "").splitlines()[0]
    )
    assert line == lines(cli, "tools/a", status=1)[0]  # in one piece, however narrow the terminal


def test_text_in_a_file_cannot_make_lines_of_its_own(cli: Cli) -> None:
    module(
        cli,
        "a",
        'name: "a\\nb"\ntools:\n- {name: "x\\ny: error: z", description: d, inputSchema: {type: 5}}\n',
    )
    printed = lines(cli, "tools/a", status=1)
    assert places(printed) == [
        "tools/a/tool.yaml:1:7: warning",
        "tools/a/tool.yaml:3:10: warning",
        "tools/a/tool.yaml:3:64: error",
    ]
