"""`import`, as a person meets it: what is taken over and how, what is said, what can't be taken, and nothing lost."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mcppd.cli.import_needs import needs_of
from mcppd.core.yaml import read_yaml
from tests.harness import Client, first_and_slow, outcome_of, running

if TYPE_CHECKING:
    from .conftest import Cli

MANIFEST = """\
name: {name}
scope: global
tools:
  - {{name: {name}_do, description: d, inputSchema: {{type: object}}}}
"""
CODE = "def execute(tool_name, arguments, context=None):\n    return {'success': True, 'result': 'done'}\n"


def module(directory: Path, name: str = "", code: str = CODE) -> Path:
    directory.mkdir(parents=True)
    (directory / "tool.yaml").write_text(MANIFEST.format(name=name or directory.name))
    (directory / "mcpptool.py").write_text(code)
    return directory


@pytest.fixture
def other(cli: Cli) -> Path:
    """The registry of another host, with the modules `a` and `b`."""
    registry = cli.directory / "other" / "tools.yaml"
    for name in "ab":
        module(registry.parent / "tools" / name)
    registry.write_text("modules:\n  - path: tools/a\n  - path: tools/b\n")
    return registry


def mine(cli: Cli, text: str) -> Path:
    path = cli.directory / "mine" / "tools.yaml"
    path.parent.mkdir()
    path.write_bytes(text.encode())
    return path


def imported(cli: Cli, *words: object, registry: Path | None = None, **environ: str) -> tuple[int, str, str]:
    config = ["--config", str(registry)] if registry is not None else []
    done = cli.run("import", *config, *map(str, words), environ=environ)
    return done.returncode, done.stdout, done.stderr


def entries(registry: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = read_yaml(registry.read_bytes(), str(registry)).value["modules"]
    return found


@pytest.mark.slow
def test_somebody_without_a_registry_gets_one_with_the_bundled_modules_too(cli: Cli, other: Path) -> None:
    home = cli.directory / "home" / ".config" / "mcppd" / "tools.yaml"
    status, said, errors = imported(cli, other.parent)
    assert (status, errors) == (0, "")
    assert said.startswith(
        f"{other} lists 2 modules.\n"
        f"  + a  1 tool  {other.parent}/tools/a\n"
        f"  + b  1 tool  {other.parent}/tools/b\n"
        "\n"
        f"2 modules are registered in {home}, which is made.\n"
        "It lists the bundled modules too, and what lies beside it under tools/.\n"
        f"No daemon is running. Start it: mcppd start --socket {cli.socket}\n"
        "\n"
        "What differs here:\n"
    )
    assert entries(home)[2:] == [
        {"path": f"{other.parent}/tools/a", "workers": 1},
        {"path": f"{other.parent}/tools/b", "workers": 1},
    ]
    done = cli.run_plain("check")
    assert (done.returncode, " 0 errors" in done.stdout) == (0, True)


@pytest.mark.slow
def test_what_stands_in_a_registry_stays_as_it_is_and_a_second_import_adds_nothing(
    cli: Cli, other: Path
) -> None:
    text = (
        "# top\nenv: {A: b}   # kept\nmodules:\n    -   path:   x   # first\n    # last\n\nlater: 1 # end\n"
    )
    registry = mine(cli, text)
    assert imported(cli, other, registry=registry)[0] == 0
    once = registry.read_text()
    assert [line for line in once.splitlines() if line in text.splitlines()] == text.splitlines()
    assert [each["path"] for each in entries(registry)][1:] == [
        f"{other.parent}/tools/{name}" for name in "ab"
    ]
    status, said, _ = imported(cli, other, registry=registry)
    assert (status, registry.read_text()) == (0, once)
    assert f"  = a  is there already  {other.parent}/tools/a\n" in said
    assert said.endswith(f"\nNothing is new, and {registry} is as it was.\n")
    module(other.parent / "tools" / "c")
    other.write_text(other.read_text() + "  - tools/c\n")
    assert imported(cli, other, registry=registry)[0] == 0
    twice = iter(registry.read_text().splitlines())
    assert all(line in twice for line in once.splitlines())  # in this order
    assert [each["path"] for each in entries(registry)][3:] == [f"{other.parent}/tools/c"]


@pytest.mark.slow
def test_a_dry_run_shows_the_lines_and_writes_nothing(cli: Cli, other: Path) -> None:
    registry = mine(cli, "modules:\n")
    status, said, _ = imported(cli, "--dry-run", other, registry=registry)
    assert (status, registry.read_text()) == (0, "modules:\n")
    assert f"2 modules would be registered in {registry}.\n" in said
    assert f"  - path: {other.parent}/tools/a\n    workers: 1\n" in said
    assert imported(cli, "--dry-run", other)[0] == 0
    assert not (cli.directory / "home" / ".config").exists()


def test_options_are_carried_over_and_others_are_named(cli: Cli, other: Path) -> None:
    (other.parent / "venv").mkdir()
    other.write_text(
        "name: old\ninstructions: Be brief.\nenv: {SHARED: s, OWN: top}\nmodules:\n"
        "  - path: tools/a\n    workers: 3\n    timeout: 60\n    python: venv\n    watch: ['data/*.json']\n"
        "    env: {OWN: mine, NO: 'no'}\n    tools: {deny: [x_*]}\n    autostart: true\n"
        "  - path: tools/b\n    enabled: false\n    memory: much\n"
    )
    registry = mine(cli, "modules:\n")
    status, said, _ = imported(cli, other, registry=registry)
    assert status == 0
    assert entries(registry) == [
        {
            "path": f"{other.parent}/tools/a",
            "workers": 3,
            "timeout": 60,
            "python": f"{other.parent}/venv",
            "watch": [f"{other.parent}/data/*.json"],
            "env": {"SHARED": "s", "OWN": "mine", "NO": "no"},
            "tools": {"deny": ["x_*"]},
        },
        {
            "path": f"{other.parent}/tools/b",
            "workers": 1,
            "enabled": False,
            "env": {"SHARED": "s", "OWN": "top"},
        },
    ]
    for word in ("`name:`", "`instructions:`", "`autostart:`", "`memory:`", "switched off"):
        assert word in said
    assert f"{other}:2:1: `instructions:`" in said


@pytest.mark.parametrize(
    "text",
    first_and_slow(
        "modules: {a: {path: tools/a}, b: tools/b}",
        "- tools/a\n- path: ./tools/b/",
        "modules: [tools/a, {path: '${HERE}/tools/b'}]",
        "modules:\n  - tools/*\n",
        "modules:\n- path: ~/link/a\n- path: ../other/tools/b\n- path: tools/a\n",
    ),
)
def test_a_registry_may_list_its_modules_in_any_shape(cli: Cli, other: Path, text: str) -> None:
    other.write_text(text)
    (cli.directory / "home" / "link").symlink_to(other.parent / "tools")
    registry = mine(cli, "modules:\n")
    status, said, _ = imported(cli, other, registry=registry, HERE=str(other.parent))
    assert (status, "2 modules are registered" in said) == (0, True)
    done = cli.run_plain("check", str(registry))
    assert (done.returncode, "2 modules" in done.stdout) == (0, True)
    once = registry.read_text()
    status, said, _ = imported(cli, other, registry=registry, HERE=str(other.parent))
    assert (status, registry.read_text(), "Nothing is new" in said) == (0, once, True)


@pytest.mark.slow
def test_paths_that_lead_somewhere_only_from_the_base_directory_are_found_there(
    cli: Cli, other: Path
) -> None:
    source = cli.directory / "elsewhere" / "tools.yaml"
    source.parent.mkdir()
    source.write_text(other.read_text())
    registry = mine(cli, "modules:\n")
    assert imported(cli, source, registry=registry)[0] == 1
    assert imported(cli, source, registry=registry, MCPP_BASE_DIR=str(other.parent))[0] == 0
    assert [each["path"] for each in entries(registry)] == [f"{other.parent}/tools/{name}" for name in "ab"]


@pytest.mark.slow
def test_a_directory_is_only_itself_whatever_its_name(cli: Cli, other: Path) -> None:
    name = 'it\'s [a] "*" #: ü'
    module(other.parent / name, name="odd")
    module(other.parent / "it's a *", name="even")
    other.write_text(f"modules:\n  - path: {other.parent}/it's [[]a] *\n")
    registry = mine(cli, "modules:\n")
    assert imported(cli, other, registry=registry)[0] == 0
    done = cli.run_plain("check", str(registry))
    assert (done.returncode, "1 module," in done.stdout) == (0, True)


def test_a_glob_stays_one_so_that_modules_may_come(cli: Cli, other: Path) -> None:
    other.write_text("modules:\n  - path: tools/*\n    timeout: 5\n")
    registry = mine(cli, "modules:\n")
    assert imported(cli, other, registry=registry)[0] == 0
    assert entries(registry) == [{"path": f"{other.parent}/tools/*", "workers": 1, "timeout": 5}]


def test_what_can_not_be_taken_is_told_with_its_place_and_the_others_are_taken(cli: Cli, other: Path) -> None:
    module(other.parent / "tools" / "other_a", name="a")
    (other.parent / "tools" / "empty").mkdir()
    (other.parent / "tools" / "_draft").mkdir()
    other.write_text(
        "modules:\n  - path: tools/a\n  - path: tools/gone\n  - path: tools/empty\n  - path: tools/other_a\n"
        "  - path: tools/_draft\n  - path: ${UNSET_HERE}/x\n  - server: {command: x}\n  - 5\n  - path: none/*\n"
        "  - about: nothing\n"
    )
    registry = mine(cli, "modules:\n")
    status, said, errors = imported(cli, other, registry=registry)
    assert (status, errors) == (1, "")
    assert [each["path"] for each in entries(registry)] == [f"{other.parent}/tools/a"]
    for line, word in [(3, "there is no directory"), (4, "no tool.yaml"), (5, "another module 'a'")]:
        assert any(f"{other}:{line}:5: " in each and word in each for each in said.splitlines())
    for line, word in [
        (7, "`UNSET_HERE`"),
        (8, "server"),
        (9, "not the number 5"),
        (10, "none"),
        (11, "path"),
    ]:
        assert any(f"{other}:{line}:5: " in each or word in each for each in said.splitlines()), word
    assert "  . _draft\n" in said
    assert "1 module is registered" in said
    assert "8 modules can't be taken" in said


@pytest.mark.slow
def test_a_name_that_ours_has_is_not_taken_from_it(cli: Cli, other: Path) -> None:
    own = module(cli.directory / "own", name="a")
    registry = mine(cli, f"modules:\n  - path: {own}\n")
    other.write_text("modules:\n  - tools/*\n")
    status, said, _ = imported(cli, other, registry=registry)
    assert status == 1
    assert f"another module 'a' is served, {own}" in said
    assert [each["path"] for each in entries(registry)] == [str(own), f"{other.parent}/tools/b"]
    registry.write_text(f"modules:\n  - path: {own}\n    enabled: false\n")  # as it was told
    assert imported(cli, other, registry=registry)[0] == 0


def test_a_module_that_ours_has_switched_off_stays_so(cli: Cli, other: Path) -> None:
    registry = mine(cli, f"modules:\n  - path: {other.parent}/tools/a\n    enabled: false\n")
    status, said, _ = imported(cli, other, registry=registry)
    assert status == 0
    assert f"switched off there: {registry}:2:5" in said
    assert len(entries(registry)) == 2


def test_what_a_module_will_miss_here_is_told(cli: Cli, other: Path) -> None:
    code = "import os\nimport no_such_package\nTOKEN = os.environ['NOTES_TOKEN']\n" + CODE
    (other.parent / "tools" / "a" / "mcpptool.py").write_text(code)
    (other.parent / "tools" / "b" / "tool.yaml").write_text(
        "name: b\ntools:\n  - {name: a_do}\n  - name: [\n"
    )
    (other.parent / "tools" / "b" / "mcpptool.py").write_text("def execute(:\n")
    registry = mine(cli, "modules:\n")
    status, said, _ = imported(cli, other, registry=registry)
    assert status == 0
    assert entries(registry)[0]["pass_env"] == ["NOTES_TOKEN"]
    assert "it imports no_such_package, which isn't installed here" in said
    assert f"Install no_such_package for {sys.executable}" in said
    assert f"2 errors: {other.parent}/tools/b/mcpptool.py:1:13: SyntaxError" in said
    assert f"all of them: mcppd check {other.parent}/tools/b" in said


def test_names_that_tools_will_not_be_listed_under_are_told(cli: Cli, other: Path) -> None:
    manifest = other.parent / "tools" / "b" / "tool.yaml"
    manifest.write_text(manifest.read_text().replace("b_do", "a_do"))
    _, said, _ = imported(cli, other, registry=mine(cli, "modules:\n"))
    assert "its tool 'a_do' is listed as b__a_do: the name is taken" in said


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("modules: 5\n", ":1:1: "),
        ("servers: []\n", ":1:1: "),
        ("5\n", ":1:1: "),
        ("modules:\n  - [\n", ":3:1: "),
    ],
)
def test_what_is_no_registry_is_refused_with_its_place(cli: Cli, other: Path, text: str, place: str) -> None:
    other.write_text(text)
    registry = mine(cli, "modules:\n")
    status, said, errors = imported(cli, other, registry=registry)
    assert (status, said, registry.read_text()) == (1, "", "modules:\n")
    assert errors.startswith(f"mcppd: {other}{place}")


@pytest.mark.slow
def test_wrong_use_is_told(cli: Cli, other: Path) -> None:
    assert imported(cli, cli.directory / "nowhere")[0] == 2
    status, _, errors = imported(cli, other.parent / "tools")
    assert (status, f"there is no tools.yaml in {other.parent}/tools" in errors) == (2, True)
    status, _, errors = imported(cli, other, registry=other)
    assert (status, "nothing to import" in errors) == (2, True)
    status, _, errors = imported(cli, other, MCPP_BASE_DIR=str(other.parent))
    assert (status, "MCPP_BASE_DIR" in errors) == (2, True)


@pytest.mark.parametrize("text", ["modules: [x]\n", "modules: &all\n  - x\nagain: *all\n"])
def test_a_registry_that_lines_can_not_be_added_to_is_left_alone(cli: Cli, other: Path, text: str) -> None:
    registry = mine(cli, text)
    status, said, errors = imported(cli, other, registry=registry)
    assert (status, said, registry.read_text()) == (1, "", text)
    assert f"- path: {other.parent}/tools/a" in errors


def test_a_registry_that_can_not_be_written_is_told(cli: Cli, other: Path) -> None:
    status, _, errors = imported(cli, other, XDG_CONFIG_HOME="/proc")
    assert (status, "/proc/mcppd/tools.yaml can't be written" in errors) == (1, True)


@pytest.mark.slow
async def test_modules_are_live_for_connected_agents_and_a_failing_one_is_named(tmp_path: Path) -> None:
    module(tmp_path / "other" / "good")
    broken = module(tmp_path / "other" / "broken")
    (broken / "tool.yaml").write_text("name: broken\n")
    (tmp_path / "other" / "tools.yaml").write_text("modules: [good, broken]\n")
    async with running(tmp_path / "home", registry="modules:\n") as daemon:
        client = await Client.on_socket(daemon.socket)
        await client.handshake()
        await client.tools()
        main = str(Path(__file__).parents[2] / "mcppd" / "__main__.py")
        words = ["--config", str(daemon.registry), "--socket", str(daemon.socket), str(tmp_path / "other")]
        status, said, _ = await outcome_of(
            sys.executable, main, "import", *words, cwd=tmp_path, environment=daemon.environment
        )
        assert status == 0
        assert "A daemon runs, and serves them from now on.\n  broken: failed: " in said
        assert "good_do" in await client.tools()
        assert await client.text("good_do") == "done"
        await client.close()


def test_needs_are_told_from_the_text_alone(tmp_path: Path) -> None:
    code = b"""
import json, helper, no_such_a
from no_such_b.x import y
from . import z
try:
    import no_such_c
except ImportError:
    no_such_c = None
import fixed_name.part
sys.modules["fixed_name"] = 1
os.environ["READ"], os.environ.get("GOT"), os.getenv("ASKED", ""), "IN" in os.environ, environ["BARE"]
os.environ["WRITTEN"] = os.environ["HOME"] + os.environ["XDG_DATA_HOME"] + os.environ["MCPP_TIMEOUT_SECONDS"]
"""
    (tmp_path / "helper.py").touch()
    needs = needs_of(str(tmp_path), {"a.py": code, "b.py": b"def (", "c.txt": b"import no_such_d"})
    assert needs.absent == ("no_such_a", "no_such_b")
    assert needs.variables == ("ASKED", "BARE", "GOT", "IN", "READ")


def test_variables_are_taken_over_one_by_one_and_numbers_as_text(cli: Cli, other: Path) -> None:
    other.write_text("modules:\n  - path: tools/a\n    env: {PORT: 8080, DEBUG: true, NAME: x, LIST: [1]}\n")
    registry = mine(cli, "modules:\n")
    status, said, errors = imported(cli, other, registry=registry)
    assert (status, errors) == (0, "")
    assert entries(registry)[0]["env"] == {"PORT": "8080", "DEBUG": "true", "NAME": "x"}
    assert "its variable PORT is 8080, taken over as the text '8080'" in said
    assert "LIST" in said


def test_a_line_break_in_a_directory_s_name_breaks_no_row(cli: Cli, other: Path) -> None:
    module(other.parent / "tools" / "odd\nname", name="odd")
    other.write_text('modules:\n  - path: "tools/odd\\nname"\n')
    said = imported(cli, other, "--dry-run", registry=mine(cli, "modules:\n"))[1]
    assert f"  + odd  1 tool  {other.parent}/tools/odd\\nname\n" in said
