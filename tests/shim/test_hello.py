from __future__ import annotations

import json
import os
import sys

import pytest
from mcppd_shim.hello import hello_line
from mcppd_shim.version import VERSION

from tests.shim.world import MODULE, PLAIN, World

HARD_VALUES = [
    "",
    "plain",
    'quo"te',
    "back\\slash",
    "new\nline\r\t\x00\x1b\x7f",
    "Gr\u00fc\u00dfe \u4e16\u754c",
    "\U0001f600 beyond the basic plane \U0010ffff",
    "\ue000\uffff\u2028",
    "\udcff\udc80 bytes that are no UTF-8",
    "https://user:pass@host/?a=b&c={d}",
]


@pytest.mark.parametrize("value", HARD_VALUES)
def test_any_text_comes_back_as_it_was(value: str) -> None:
    line = hello_line(value, value, {value: value}, meta_tools=False)
    params = json.loads(line)["params"]
    assert params["registry"] == params["workspace"] == value
    assert params["env"] == {value: value}


@pytest.mark.parametrize("value", HARD_VALUES)
def test_the_line_is_ascii_without_a_newline_inside(value: str) -> None:
    line = hello_line(None, value, {value: value}, meta_tools=True)
    assert line.isascii()
    assert line.find(b"\n") == len(line) - 1


def test_what_is_not_known_is_null() -> None:
    params = json.loads(hello_line(None, None, {}, meta_tools=False))["params"]
    assert params == {
        "version": VERSION,
        "pid": os.getpid(),
        "registry": None,
        "workspace": None,
        "cwd": os.getcwd(),  # the very text is compared
        "meta_tools": False,
        "env": {},
    }


@pytest.mark.parametrize("form", [PLAIN, MODULE], ids=["plain file", "module"])
def test_a_shim_says_who_it_is(form: tuple[str, ...], world: World) -> None:
    listener = world.listen()
    host = world.start(form=form)
    hello = listener.accept().read_hello()
    working_directory = os.readlink(f"/proc/{host.pid}/cwd")
    assert hello == {
        "version": VERSION,
        "pid": host.pid,
        "registry": None,
        "workspace": None,
        "cwd": working_directory,
        "meta_tools": False,
        "env": world.environ,
    }


def test_the_whole_environment_is_told_and_nothing_else(world: World) -> None:
    listener = world.listen()
    environ = world.environ | {"SECRET": "s3cret", "NOTIFY_SOCKET": "/n", "EMPTY": "", "PYTHONPATH": "/p"}
    world.start(environ=environ)
    assert listener.accept().read_hello()["env"] == environ


def test_bytes_that_are_no_utf8_survive_in_names_and_values(world: World) -> None:
    listener = world.listen()
    environ = {os.fsencode(name): os.fsencode(value) for name, value in world.environ.items()}
    environ[b"NAME\xff"] = b"\x80value\xe9"
    world.start(environ=environ)
    hello = listener.accept().read_hello()
    assert {os.fsencode(name): os.fsencode(value) for name, value in hello["env"].items()} == environ


def test_the_locale_of_the_agent_changes_no_byte(world: World) -> None:
    listener = world.listen()
    environ = world.environ | {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "N": "Grüße"}
    directory = world.base / "Straße"
    directory.mkdir()
    world.plant("")
    code = "import sys; sys.path.insert(0, {!r}); from shim.__main__ import main; sys.exit(main())"
    form = (sys.executable, "-c", code.format(str(world.tree)))
    encoded = {name.encode(): value.encode() for name, value in environ.items()}
    world.start("--workspace", str(directory), form=form, environ=encoded, cwd=directory)
    hello = listener.accept().read_hello()
    assert hello["cwd"] == hello["workspace"] == str(directory)
    assert hello["env"]["N"] == "Grüße"


def test_an_environment_of_a_megabyte_comes_whole(world: World) -> None:
    listener = world.listen()
    environ = world.environ | {f"BIG_{number}": "x" * 100_000 for number in range(10)}
    world.start(environ=environ)
    assert listener.accept().read_hello()["env"] == environ


def test_a_blank_environment_is_enough(world: World) -> None:
    listener = world.listen()
    world.start("--socket", world.socket_path, environ={})
    hello = listener.accept().read_hello()
    assert hello["registry"] is None
    assert set(hello["env"]) <= {"LC_CTYPE"}  # Python's own, where it coerces the C locale


def test_a_named_registry_is_told_by_its_real_path(world: World) -> None:
    real = world.base / "real" / "tools.yaml"
    real.parent.mkdir()
    real.write_text("modules: []\n")
    (world.base / "link").symlink_to(real.parent)
    listener = world.listen()
    world.start("--socket", world.socket_path, f"--config={world.base}/link/tools.yaml")
    assert listener.accept().read_hello()["registry"] == str(real)
    world.start("--socket", world.socket_path, environ=world.environ | {"MCPP_BASE_DIR": str(real.parent)})
    assert listener.accept().read_hello()["registry"] == str(real)


def test_the_workspace_is_made_absolute(world: World) -> None:
    listener = world.listen()
    (world.home / "project" / "deep").mkdir(parents=True)
    (world.base / "way").symlink_to(world.home / "project" / "deep")
    for given, told in (
        ("project", f"{world.home}/project"),
        (".", str(world.home)),
        ("./project/", f"{world.home}/project"),
        ("/srv/project", "/srv/project"),
        ("..", str(world.base)),
        (f"{world.base}/way/..", f"{world.home}/project"),
    ):
        world.start("--workspace", given)
        assert listener.accept().read_hello()["workspace"] == told


def test_meta_tools_are_asked_for(world: World) -> None:
    listener = world.listen()
    world.start("--meta-tools")
    assert listener.accept().read_hello()["meta_tools"] is True


def test_a_working_directory_that_is_gone_is_told_by_its_old_name(world: World) -> None:
    listener = world.listen()
    gone = world.base / "gone"
    gone.mkdir()
    code = f"import os; os.rmdir({str(gone)!r}); os.execv({PLAIN[0]!r}, {list(PLAIN)!r})"
    for environ, told in ((world.environ | {"PWD": str(gone)}, str(gone)), (world.environ, None)):
        gone.mkdir(exist_ok=True)
        world.start(form=(sys.executable, "-c", code), environ=environ, cwd=gone)
        assert listener.accept().read_hello()["cwd"] == told
