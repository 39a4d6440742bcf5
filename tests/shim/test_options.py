from __future__ import annotations

import subprocess

import pytest
from mcppd_shim.options import UsageError, read_options
from mcppd_shim.version import VERSION

from tests.shim.world import MODULE, PLAIN, World


def test_values_may_follow_or_be_joined_by_an_equals_sign() -> None:
    apart = read_options(["--socket", "/s", "--workspace", "w", "--config", "/c=d", "--meta-tools"])
    joined = read_options(["--socket=/s", "--workspace=w", "--config=/c=d"])
    assert (apart.socket, apart.workspace, apart.config, apart.meta_tools) == ("/s", "w", "/c=d", True)
    assert (joined.socket, joined.workspace, joined.config, joined.meta_tools) == ("/s", "w", "/c=d", False)


def test_nothing_is_given_by_default() -> None:
    options = read_options([])
    assert (options.socket, options.workspace, options.config) == (None, None, None)
    assert not any((options.meta_tools, options.help, options.version))


def test_the_last_of_several_holds() -> None:
    assert read_options(["--socket=/a", "--socket", "/b"]).socket == "/b"


@pytest.mark.parametrize(
    "arguments",
    [
        ["--socket"],
        ["--socket", ""],
        ["--socket="],
        ["--socket", "--workspace"],
        ["--meta-tools=yes"],
        ["--help="],
        ["--nonsense"],
        ["--sock", "/s"],
        ["-s"],
        ["word"],
        [""],
        ["--"],
    ],
)
def test_anything_else_is_wrong_use(arguments: list[str]) -> None:
    with pytest.raises(UsageError):
        read_options(arguments)


@pytest.mark.parametrize("form", [PLAIN, MODULE], ids=["plain file", "module"])
@pytest.mark.parametrize("argument", ["--nonsense", "--nonsense\n\x1b[31m" + "x" * 9000, "--socket"])
def test_wrong_use_is_one_line_on_stderr_and_status_2(
    argument: str, form: tuple[str, ...], world: World
) -> None:
    host = world.start(argument, form=form)
    assert host.wait() == 2
    assert host.stdout.read() == b""
    said = host.stderr()
    assert said.count("\n") == 1
    assert said.endswith("\n")
    assert "\x1b" not in said


def test_wrong_use_starts_no_daemon(world: World) -> None:
    host = world.start("--config", form=world.plant(""))
    assert host.wait() == 2
    assert not world.log.exists()


@pytest.mark.parametrize(("option", "text"), [("--version", VERSION), ("--help", "--workspace")])
def test_help_and_version_go_to_stdout(option: str, text: str, world: World) -> None:
    host = world.start(option, stdin=subprocess.DEVNULL)
    assert host.wait() == 0
    assert text in host.stdout.read().decode()
    assert host.stderr() == ""


def test_the_help_names_every_option(world: World) -> None:
    host = world.start("--help")
    said = host.stdout.read().decode()
    for option in ("--socket", "--workspace", "--config", "--meta-tools", "--help", "--version"):
        assert option in said
