"""`new`, as a person meets it: what is made, what is registered and how, what is refused, and that it is live."""

from __future__ import annotations

import asyncio
import errno
import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from jsonschema import Draft7Validator

from mcppd.cli.registries import find_registry, write_registry
from mcppd.core.yaml import read_yaml
from tests.harness import REPOSITORY, Client, Daemon, clean_environment, first_and_slow, running, until

if TYPE_CHECKING:
    from .conftest import Cli

CHANGED = "notifications/tools/list_changed"
MAIN = REPOSITORY / "mcppd" / "__main__.py"
FILES = ["helper.py", "mcpptool.py", "tool.yaml"]


def contents(directory: Path) -> dict[str, str | None]:
    """Every file below a directory with its text, and every directory."""
    every = sorted(directory.rglob("*"))
    return {str(path.relative_to(directory)): path.read_text() if path.is_file() else None for path in every}


def registry_of(cli: Cli, text: str) -> Path:
    """A registry of the test's own, in a directory of its own."""
    path = cli.directory / "mine" / "tools.yaml"
    path.parent.mkdir()
    path.write_bytes(text.encode())
    return path


def check(cli: Cli, *words: str, environ: dict[str, str] | None = None) -> str:
    """The summary of `mcppd check`, which finds nothing wrong."""
    done = cli.run_plain("check", *words, environ=environ)
    assert done.returncode == 0
    assert ": 0 errors, 0 warnings" in done.stdout
    return done.stdout


def fits_its_schema(path: Path) -> bool:
    """Whether a file begins with the comment that names a schema, and is valid by it."""
    text = path.read_text()
    mark, schema = text.splitlines()[0].split("=file://")
    assert mark == "# yaml-language-server: $schema"
    return Draft7Validator(json.loads(Path(schema).read_text())).is_valid(read_yaml(text.encode(), "x").value)


@pytest.mark.slow
def test_somebody_without_a_registry_gets_one_and_keeps_the_bundled_modules(cli: Cli) -> None:
    done = cli.run_plain("new", "greet", "--socket", str(cli.socket))
    config = cli.directory / "home" / ".config" / "mcppd"
    module = config / "tools" / "greet"
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        f"{module} is made, with tool.yaml, mcpptool.py and helper.py.\n"
        f"{config}/tools.yaml is made: it serves what lies beside it under tools/, and the bundled modules.\n"
        "No daemon is running. Start it, and try the module:\n"
        f"  mcppd start --socket {cli.socket}\n"
        f"  mcppd call --socket {cli.socket} greet_hello --who Ada\n"
        f"Then edit {module}/mcpptool.py: what you save is live.\n"
    )
    assert sorted(path.name for path in module.iterdir()) == FILES
    assert [path.name for path in config.rglob(".*")] == []
    assert fits_its_schema(config / "tools.yaml")
    assert fits_its_schema(module / "tool.yaml")
    bundled = len([path for path in (REPOSITORY / "tools").glob("*/tool.yaml") if path.parent.name[0] != "_"])
    assert f" {bundled + 1} modules" in check(cli)


@pytest.mark.slow
def test_a_second_module_leaves_the_registry_as_it_is(cli: Cli) -> None:
    cli.run_plain("new", "one")
    registry = cli.directory / "home" / ".config" / "mcppd" / "tools.yaml"
    before = registry.read_bytes(), registry.stat().st_mtime_ns
    done = cli.run_plain("new", "two")
    assert done.returncode == 0
    assert f"{registry} serves it already." in done.stdout
    assert (registry.read_bytes(), registry.stat().st_mtime_ns) == before
    check(cli)


def test_one_name_stands_everywhere(cli: Cli) -> None:
    cli.run_plain("new", "my-tool2", "--path", ".")
    texts = contents(cli.directory / "my-tool2")
    assert "NAME" not in str(texts)
    manifest = read_yaml((texts["tool.yaml"] or "").encode(), "x").value
    assert manifest["name"] == "my-tool2"
    assert [tool["name"] for tool in manifest["tools"]] == ["my-tool2_hello", "my-tool2_lines"]


COMMENTED = """\
modules:
    - path: a
      env:
        A: b

    # not yet:
    # - path: c

env: {}
"""

DASH_ALONE = """\
modules:
  -
    path: a
    # workers: 1
# the end
"""

TEXT_LAST = """\
modules:
  - path: a
    env:
      T: |
        # no comment
        - nor an item
pass_env: []
"""

SHAPES = [
    # (the registry, with another directory's module added)
    ("", "modules:\n  - path: tools/x\n"),
    ("# mine\n", "# mine\nmodules:\n  - path: tools/x\n"),
    ("# mine", "# mine\nmodules:\n  - path: tools/x\n"),
    ("env: {A: b}  # of all\n", "env: {A: b}  # of all\nmodules:\n  - path: tools/x\n"),
    ("modules:\n", "modules:\n  - path: tools/x\n"),
    ("modules:   # none yet\n\nenv: {}\n", "modules:   # none yet\n  - path: tools/x\n\nenv: {}\n"),
    ("modules: [] # none\nenv: {}\n", "modules: # none\n  - path: tools/x\nenv: {}\n"),
    ("modules: []", "modules:\n  - path: tools/x\n"),
    ("modules:\n- a  # one\n", "modules:\n- a  # one\n- path: tools/x\n"),
    ("modules:\n- a", "modules:\n- a\n- path: tools/x\n"),
    ("---\nmodules:\n- a\n...\n", "---\nmodules:\n- a\n- path: tools/x\n...\n"),
    (COMMENTED, COMMENTED.replace("A: b\n", "A: b\n    - path: tools/x\n")),
    ("modules:\n- path: a\n\n  workers: 1\n", "modules:\n- path: a\n\n  workers: 1\n- path: tools/x\n"),
    (DASH_ALONE, DASH_ALONE.replace("# the end", "  - path: tools/x\n# the end")),
    (TEXT_LAST, TEXT_LAST.replace("pass_env", "  - path: tools/x\npass_env")),
    ("modules:\r\n  - path: a\r\n", "modules:\r\n  - path: a\r\n  - path: tools/x\r\n"),
    ("\ufeffmodules:\n- a\n", "\ufeffmodules:\n- a\n- path: tools/x\n"),
    ("modules: &m\n  - a\n", "modules: &m\n  - a\n  - path: tools/x\n"),
    # too clever for a line more
    ("modules: [a]\n", None),
    ("{modules: [a], env: {}}\n", None),
    ("{}\n", None),
    ("modules: null\n", None),
    ("modules: [\n  a,\n]\n", None),
    ("x: &m [a]\nmodules: *m\n", None),
    ("x: &m\n  - a\nmodules: *m\n", None),
    ("env: {A: b}\n...\n", None),
]


@pytest.mark.parametrize(
    ("before", "after"), first_and_slow(*(pytest.param(*shape) for shape in SHAPES if shape[1] is not None))
)
def test_an_entry_is_added_by_a_line_and_nothing_else_is_touched(cli: Cli, before: str, after: str) -> None:
    registry = registry_of(cli, before)
    done = cli.run_plain("new", "x", "--config", str(registry))
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{registry} has an entry for it now." in done.stdout
    assert registry.read_bytes().decode() == after
    assert sorted(path.name for path in (registry.parent / "tools" / "x").iterdir()) == FILES


@pytest.mark.parametrize("before", first_and_slow(*(before for before, after in SHAPES if after is None)))
def test_a_registry_that_cannot_be_added_to_by_a_line_is_left_alone(cli: Cli, before: str) -> None:
    registry = registry_of(cli, before)
    done = cli.run_plain("new", "x", "--config", str(registry))
    assert (done.returncode, done.stdout) == (1, "")
    assert registry.read_bytes().decode() == before
    assert not (registry.parent / "tools" / "x").exists()


def test_the_line_to_add_is_shown_where_it_cannot_be_added(cli: Cli) -> None:
    registry = registry_of(cli, "modules: [a]\n")
    done = cli.run_plain("new", "x", "--config", str(registry), "--path", "a b: c")
    assert done.stderr.splitlines()[-1] == f'  - path: "{cli.directory}/a b: c/x"'


@pytest.mark.parametrize(
    "entry",
    first_and_slow(
        *("tools/*", "tools/x", "tools/**", "./tools/[w-z]", "${HERE}/tools/*", "**", "to*/*"),
        "{path: tools/x, workers: 1}",
    ),
)
def test_what_an_entry_covers_is_not_added(cli: Cli, entry: str) -> None:
    registry = registry_of(cli, f"modules:\n- {entry if entry[0] == '{' else json.dumps(entry)}\n")
    before = registry.read_bytes()
    environ = {"HERE": str(registry.parent)}
    done = cli.run_plain("new", "x", "--config", str(registry), environ=environ)
    assert (done.returncode, done.stderr) == (0, "")
    assert registry.read_bytes() == before
    assert ": 1 module," in check(cli, str(registry), environ=environ)


@pytest.mark.parametrize(
    "entry",
    first_and_slow("tools/y", "other/*", "tools/y*", "tools", "tools/*/*", "{path: tools/*, enabled: false}"),
)
def test_what_no_entry_covers_is_added(cli: Cli, entry: str) -> None:
    registry = registry_of(cli, f"modules:\n- {entry}\n")
    done = cli.run_plain("new", "x", "--config", str(registry))
    assert done.returncode == 0
    assert registry.read_text() == f"modules:\n- {entry}\n- path: tools/x\n"


@pytest.mark.parametrize(
    "directory", first_and_slow("with: colon", "else/where", "with blank", "with [brackets]*", "#x", "ünï")
)
def test_a_module_may_lie_anywhere(cli: Cli, directory: str) -> None:
    registry = registry_of(cli, "modules:\n")
    done = cli.run_plain("new", "x", "--config", str(registry), "--path", directory)
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(path.name for path in (cli.directory / directory / "x").iterdir()) == FILES
    assert ": 1 module," in check(cli, str(registry))


@pytest.mark.slow
def test_links_are_followed_and_stay(cli: Cli) -> None:
    registry = registry_of(cli, "modules:\n- path: linked/*\n")
    registry.rename(registry.with_name("real"))
    registry.symlink_to("real")
    registry.with_name("real").chmod(0o640)
    (cli.directory / "mine" / "tools").mkdir()
    (cli.directory / "mine" / "linked").symlink_to("tools")
    assert "serves it already" in cli.run_plain("new", "x", "--config", str(registry)).stdout
    cli.run_plain("new", "y", "--config", str(registry), "--path", "elsewhere")
    assert registry.is_symlink()
    assert registry.with_name("real").stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in registry.parent.iterdir()) == [
        "linked",
        "real",
        "tools",
        "tools.yaml",
    ]
    assert ": 2 modules," in check(cli, str(registry))


def test_the_base_directory_is_where_its_variable_says(cli: Cli) -> None:
    registry = registry_of(cli, "modules: []\n")
    done = cli.run_plain("new", "x", environ={"MCPP_BASE_DIR": str(registry.parent)})
    assert done.returncode == 0
    assert registry.read_text() == "modules:\n  - path: tools/x\n"


@pytest.mark.parametrize(
    "name",
    first_and_slow(
        *(
            "../a",
            "",
            "_x",
            "7up",
            "a b",
            "a.b",
            "a/b",
            "a__b",
            "a_",
            "-",
            "ä",
            "a" * 29,
            "a\nb",
            ".",
            "tool.yaml",
        )
    ),
)
def test_a_name_that_is_no_good_for_a_module_is_wrong_use(cli: Cli, name: str) -> None:
    done = cli.run_plain("new", "--", name)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert contents(cli.directory / "home") == {}


@pytest.mark.parametrize("name", first_and_slow("A9", "a", "my_tool", "my-tool", "a" * 28))
def test_a_good_name_makes_names_that_every_client_takes(cli: Cli, name: str) -> None:
    assert cli.run_plain("new", name).returncode == 0
    check(cli)


@pytest.mark.parametrize("kind", ["directory", "file", "link"])
def test_what_is_there_is_never_overwritten(cli: Cli, kind: str) -> None:
    registry = registry_of(cli, "modules:\n")
    path = cli.directory / "mine" / "tools" / "x"
    path.parent.mkdir()
    if kind == "directory":
        path.mkdir()
    elif kind == "file":
        path.write_text("mine")
    else:
        path.symlink_to("nowhere")
    before = contents(cli.directory / "mine")
    done = cli.run_plain("new", "x", "--config", str(registry))
    assert (done.returncode, done.stdout) == (1, "")
    assert contents(cli.directory / "mine") == before


@pytest.mark.slow
def test_a_name_that_another_module_has_is_refused(cli: Cli) -> None:
    done = cli.run_plain("new", "what")
    assert (done.returncode, done.stdout) == (1, "")
    assert str(REPOSITORY / "tools" / "what") in done.stderr
    assert contents(cli.directory / "home") == {}
    cli.run_plain("new", "mine")
    (cli.directory / "home/.config/mcppd/tools/mine").rename(cli.directory / "home/.config/mcppd/tools/moved")
    assert cli.run_plain("new", "mine").returncode == 1


@pytest.mark.parametrize("text", ["modules: {", "[]", "modules: x\n"])
def test_a_registry_that_cannot_be_read_is_to_be_repaired_first(cli: Cli, text: str) -> None:
    registry = registry_of(cli, text)
    done = cli.run_plain("new", "x", "--config", str(registry))
    assert (done.returncode, done.stdout) == (1, "")
    assert f"{registry}:1:" in done.stderr
    assert contents(cli.directory / "mine") == {"tools.yaml": text}


def test_a_named_registry_that_is_not_there_is_not_made(cli: Cli) -> None:
    done = cli.run_plain("new", "x", "--config", "mine.yaml")
    assert (done.returncode, done.stdout) == (1, "")
    assert not (cli.directory / "mine.yaml").exists()


def test_a_registry_that_somebody_saves_meanwhile_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "config" / "mcppd" / "tools.yaml"
    new_one = find_registry(None, {"XDG_CONFIG_HOME": str(tmp_path / "config")})
    assert (new_one.path, new_one.is_new) == (str(path), True)
    path.parent.mkdir(parents=True)
    path.write_text("modules: []\n")
    known = find_registry(str(path), {})
    path.write_text("modules: [theirs]\n")
    for registry in (new_one, known):
        with pytest.raises(OSError, check=lambda error: error.errno in (errno.EEXIST, errno.ESTALE)):
            write_registry(registry, b"ours")
    assert contents(path.parent) == {"tools.yaml": "modules: [theirs]\n"}


def test_where_the_registry_cannot_be_written_the_line_to_add_is_shown(cli: Cli) -> None:
    registry = registry_of(cli, "modules:\n")
    longest = registry.rename(registry.with_name("r" * 255))  # no other name fits beside it
    registry.symlink_to(longest)
    done = cli.run_plain("new", "x", "--config", str(registry), "--path", "elsewhere")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"  - path: {cli.directory}/elsewhere/x"
    assert (cli.directory / "elsewhere" / "x").is_dir()
    assert longest.read_text() == "modules:\n"


def test_where_home_is_no_workspace_the_command_names_it(cli: Cli) -> None:
    done = cli.run_plain("new", "x", environ={"HOME": str(cli.directory)})
    assert "mcppd call --workspace . x_hello --who Ada\n" in done.stdout


# with a real daemon


async def new(environment: dict[str, str], *words: str, cwd: Path) -> str:
    """What `mcppd new` prints."""
    return await mcppd(environment, "new", *words, cwd=cwd)


async def mcppd(environment: dict[str, str], *words: str, cwd: Path) -> str:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(MAIN),
        *words,
        cwd=cwd,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(20):
        output, _ = await process.communicate()
    assert process.returncode == 0, output
    return output.decode()


async def agent(daemon: Daemon, cwd: Path) -> Client:
    client = await Client.through_shim(daemon, cwd)
    await client.handshake()
    await client.tools()
    client.notifications.clear()  # of the start
    return client


@pytest.mark.parametrize("where", first_and_slow("under the glob", "elsewhere"))
async def test_a_new_module_is_live_for_a_connected_agent_and_it_is_told_once(
    tmp_path: Path, where: str
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "poem").write_text("a\nb\nc\n")
    async with running(tmp_path / "home") as daemon:
        client = await agent(daemon, work)
        options = ["--config", str(daemon.registry), "--socket", str(daemon.socket)]
        place = [] if where == "under the glob" else ["--path", str(work / "modules")]
        printed = await new(daemon.environment, "greet", *options, *place, cwd=work)
        assert "It is live." in printed
        await client.notified(CHANGED)
        assert {"greet_hello", "greet_lines"} <= (await client.tools()).keys()

        result = await client.call("greet_hello", {"who": "Ada", "times": "2"})
        shown, answer = result["content"]
        assert (shown["annotations"]["audience"], shown["text"]) == (["user"], "**Hello, Ada! Hello, Ada!**")
        assert json.loads(answer["text"]) == {"greeting": "Hello, Ada! Hello, Ada!", "letters": 3}
        assert json.loads(await client.text("greet_lines", {"file": "poem"})) == {"file": "poem", "lines": 3}
        assert "nowhere" in await client.failure("greet_lines", {"file": "nowhere"})
        assert "outside" in await client.failure("greet_lines", {"file": "../home/daemon-output"})
        assert str(work) in await client.text("help", {"tool": "greet"})
        typed = f"  {sys.executable} {MAIN} "
        commands = [line.removeprefix(typed) for line in printed.splitlines() if line.startswith(typed)]
        assert [words.split()[0] for words in commands] == ["call", "help"]
        for words in map(shlex.split, commands):
            assert "Hello" in (told := await mcppd(daemon.environment, *words, cwd=work)) or "greet" in told

        status = await daemon.control("mcppd/status")
        assert [module["state"] for module in status["modules"]] == ["ok"]
        assert client.count(CHANGED) == 1
        await client.close()


@pytest.mark.slow
async def test_the_first_registry_of_a_person_is_live_beside_the_bundled_modules(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir(mode=0o700)
    environment = clean_environment(tmp_path)
    socket = tmp_path / "run" / "mcppd" / "mcp.sock"
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(MAIN),
        "serve",
        env=environment,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        await until(socket.exists)
        client = await Client.on_socket(socket)
        await client.handshake()
        before = (await client.tools()).keys()
        client.notifications.clear()  # of the start
        assert "It is live." in await new(environment, "mine", cwd=tmp_path)
        await client.notified(CHANGED)
        assert (await client.tools()).keys() == before | {"mine_hello", "mine_lines"}
        assert client.count(CHANGED) == 1
        await client.close()
    finally:
        process.terminate()
        await process.wait()


@pytest.mark.slow
async def test_a_module_that_the_daemon_does_not_serve_is_not_called_live(tmp_path: Path) -> None:
    async with running(tmp_path) as daemon:
        other = tmp_path / "other.yaml"
        other.write_text("modules:\n")
        options = ["--config", str(other), "--socket", str(daemon.socket)]
        printed = await new(daemon.environment, "greet", *options, cwd=tmp_path)
        assert "doesn't serve it yet" in printed
