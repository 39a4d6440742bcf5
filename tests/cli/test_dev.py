"""`mcppd dev` with the real daemon: on terminals of several sizes, in a pipe, and in the place of another one."""

from __future__ import annotations

import fcntl
import json
import os
import re
import select
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.screen import LIMIT, Screen, go_on, state_of
from tests.harness import first_and_slow

if TYPE_CHECKING:
    from .conftest import Cli

Wait = Callable[..., None]
Start = Callable[..., Screen]

SIZES = [(80, 24), (170, 40)]

MANIFEST = """\
name: notes
tools:
  - name: add_note
    inputSchema: {type: object, properties: {text: {type: string}}}
"""
ADDED = """\
  - name: drop_note
    inputSchema: {type: object}
"""
CODE = """\
import time


def execute(tool_name, arguments, context=None):
    if tool_name == "drop_note":
        raise ValueError("nothing to drop")
    if arguments.get("text") == "slow":
        open(__file__ + ".began", "w").close()
        time.sleep(60)
    return {"success": True, "result": "noted"}
"""
BROKEN = CODE.replace("context=None):", "context=None)")
BROKEN_LINE = "def execute(tool_name, arguments, context=None)"


class Module:
    """A registry with a module."""

    def __init__(self, directory: Path) -> None:
        self.registry = directory / "tools.yaml"
        self.registry.write_text("modules:\n  - path: modules/*\n")
        self.directory = directory / "modules" / "notes"
        self.directory.mkdir(parents=True)
        self.save("tool.yaml", MANIFEST)
        self.save("mcpptool.py", CODE)

    def save(self, name: str, text: str) -> None:
        path = self.directory / name
        path.with_suffix(".new").write_text(text)
        path.with_suffix(".new").rename(path)


class Agent:
    """A connected agent."""

    def __init__(self, path: Path, cwd: Path, name: str = "claude-code") -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(LIMIT)
        self._socket.connect(str(path))
        self._file = self._socket.makefile("rw")
        self._say("mcppd/hello", {"cwd": str(cwd), "env": {}, "registry": None})
        about = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": name, "version": "9"},
        }
        self.ask("initialize", about)
        self._say("notifications/initialized", {})

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        """The answer to a request; notifications are passed over."""
        self.send(method, params)
        while "id" not in (answer := json.loads(self._file.readline())):
            pass
        return answer

    def send(self, method: str, params: dict[str, Any]) -> None:
        self._say(method, params, id=1)

    def call(self, tool: str, **arguments: Any) -> Any:
        return self.ask("tools/call", {"name": tool, "arguments": arguments})

    def close(self) -> None:
        self._file.close()
        self._socket.close()

    def _say(self, method: str, params: dict[str, Any], **more: Any) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params, **more}
        self._file.write(json.dumps(message) + "\n")
        self._file.flush()


@pytest.fixture
def module(tmp_path: Path) -> Module:
    return Module(tmp_path)


@pytest.fixture
def start(cli: Cli, module: Module) -> Iterator[Start]:
    """Starts `mcppd dev` on a terminal, and waits until it serves the module."""
    screens: list[Screen] = []

    def begin(columns: int, lines: int, *words: str, wanted: str = " ok ") -> Screen:
        command = cli.command("dev", "--config", str(module.registry), *words)
        screens.append(Screen(command, cli.environ, cli.directory, columns, lines))
        screens[-1].wait_for(wanted)
        return screens[-1]

    yield begin
    for screen in screens:
        screen.close()


@pytest.fixture
def connect(cli: Cli) -> Iterator[Callable[..., Agent]]:
    agents: list[Agent] = []

    def make(name: str = "claude-code") -> Agent:
        agents.append(Agent(cli.socket, cli.directory, name))
        return agents[-1]

    yield make
    for agent in agents:
        agent.close()


Connect = Callable[..., Agent]


# on a terminal


@pytest.mark.parametrize(("columns", "lines"), SIZES)
def test_the_view_shows_modules_sessions_reloads_and_calls_as_they_come(
    start: Start, connect: Connect, module: Module, columns: int, lines: int
) -> None:
    screen = start(columns, lines)
    agent = connect()
    agent.call("add_note", text="one")
    screen.wait_for("claude-code 9", "1 ok", "1 call ")
    assert re.search(r" \d\d:\d\d:\d\d +[\d.]+ ms  ok +add_note +claude-code", screen.line(" ms  ok"))
    module.save("tool.yaml", MANIFEST + ADDED)
    screen.wait_for("notes 1→2 +drop_note", "1 notified", "generation 2")
    agent.call("drop_note")
    screen.wait_for("1 ok, 1 failed", "ValueError: nothing to drop", "notes/mcpptool.py:6 in execute: raise")
    module.save("mcpptool.py", BROKEN)
    screen.wait_for("broken  notes", "notes/mcpptool.py:4:", f"| {BROKEN_LINE[:30]}", "1 broken")
    assert "Notice" in str(agent.call("add_note"))
    module.save("mcpptool.py", CODE)
    screen.wait_for("ok  notes", "── modules  1 ok")
    agent.close()
    screen.wait_for("sessions  none")
    screen.type("\x03")
    assert screen.end() == 0
    assert screen.scrolled == 0


@pytest.mark.slow
def test_the_view_fills_whatever_size_the_terminal_takes(start: Start, connect: Connect) -> None:
    screen = start(80, 24)
    agent = connect()
    for columns, lines in [(200, 50), (40, 10), (30, 5), (80, 24), (3, 1), (100, 30)]:
        agent.call("add_note")
        screen.resize(columns, lines)
        screen.wait(lambda: screen.lines[0] > " ", f"a picture of {columns}x{lines}")
    screen.wait_for(" mcppd ", "modules", "sessions", "reloads", "6 ok", "Ctrl-C")
    assert screen.scrolled == 0
    assert screen.other is not None
    assert screen.other.scrolled == 0


@pytest.mark.slow
def test_a_wide_terminal_has_the_state_beside_what_happens(start: Start) -> None:
    screen = start(170, 30)
    assert re.search("── modules .* │ ── reloads ", screen.line("modules"))
    screen.resize(100, 30)
    screen.wait_for("modules")
    assert "reloads" not in screen.line("modules")


@pytest.mark.slow
def test_what_is_wrong_comes_first_where_not_all_can_be_shown(start: Start, module: Module) -> None:
    for number in range(40):
        directory = module.directory.parent / f"a{number:02}"
        directory.mkdir()
        (directory / "mcpptool.py").write_text(CODE)
        (directory / "tool.yaml").write_text(f"name: a{number:02}\ntools: []\n")
    module.save("mcpptool.py", BROKEN)
    screen = start(80, 24, wanted=" failed ")
    screen.wait_for("40 ok", "1 failed", "notes/mcpptool.py:4:", "more")
    modules = [line for line in screen.lines if re.match(r" +(ok|failed) ", line)]
    assert modules[0].split()[:2] == ["failed", "notes"]


@pytest.mark.slow
def test_a_registry_that_breaks_is_shown_with_its_place(start: Start, module: Module) -> None:
    screen = start(100, 24)
    module.registry.write_text("modules: [")
    screen.wait_for("registry", "tools.yaml:1:11")
    assert " ok " in screen.line("notes")


def test_text_of_others_steers_no_terminal(start: Start, connect: Connect) -> None:
    screen = start(100, 24)
    agent = connect("evil\x1b[2J\x1b]0;title\x07\n\nname")
    agent.call("\x1b[31m\n\x1b[5;5Hnothing")
    screen.wait_for(
        "evil\N{REPLACEMENT CHARACTER}", "1 error -32602"
    )  # any sequence of theirs would be unknown


@pytest.mark.slow
def test_a_warning_of_the_log_is_part_of_the_picture(start: Start, cli: Cli) -> None:
    screen = start(100, 24)
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(cli.socket))
        connection.send(b'{"jsonrpc":"2.0","method":"mcppd/hello","params":{"registry":"/another.yaml"}}\n')
        screen.wait_for("── log", "refused a shim")
    assert screen.grid.scrolled == 0  # nothing was written beside the picture


@pytest.mark.slow
def test_keys_are_not_written_into_the_picture(start: Start) -> None:
    screen = start(80, 24)
    screen.type("typed\nq\x13")  # Ctrl-S: a terminal that holds its output would hold the view
    screen.wait_for("up 2 s")
    assert "typed" not in screen.text
    assert screen.grid.scrolled == 0


def is_given_back(screen: Screen) -> bool:
    return screen.other is None and screen.cursor and screen.settings == screen.before


@pytest.mark.parametrize(
    "ending", first_and_slow("\x03", "\x1c", signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
)
def test_the_terminal_is_given_back_however_it_ends(
    start: Start, cli: Cli, ending: str | signal.Signals
) -> None:
    screen = start(80, 24)
    assert not is_given_back(screen)
    if isinstance(ending, str):
        screen.type(ending)
    else:
        screen.process.send_signal(ending)
    assert screen.end() == 0
    assert is_given_back(screen)
    assert screen.lines[0].startswith("mcppd has stopped after ")
    assert not cli.socket.exists()


def test_a_daemon_that_cannot_bind_gives_back_the_terminal_and_says_why(cli: Cli, module: Module) -> None:
    cli.socket.mkdir()
    command = cli.command("dev", "--config", str(module.registry))
    screen = Screen(command, cli.environ, cli.directory, 200, 24)
    try:
        assert screen.end() == 1
        assert is_given_back(screen)
        assert str(cli.socket) in screen.text
    finally:
        screen.close()


@pytest.mark.slow
def test_a_terminal_that_is_closed_ends_the_daemon_in_order(start: Start, cli: Cli) -> None:
    screen = start(80, 24)
    screen.hang_up()
    assert not cli.socket.exists()


@pytest.mark.parametrize("by_key", [True, False])
def test_ctrl_z_gives_the_terminal_back_until_it_goes_on(
    start: Start, connect: Connect, by_key: bool
) -> None:
    screen = start(80, 24)
    screen.type("typed\n")
    if by_key:
        screen.type("\x1a")
    else:
        screen.process.send_signal(signal.SIGTSTP)
    screen.wait(lambda: state_of(screen.process.pid) == "T", "the stop")
    screen.wait(lambda: is_given_back(screen), "the usual screen")
    assert screen.typed() == b""  # what was meant for the view is none of the shell's business
    go_on(screen.process.pid)
    screen.wait_for("modules", " ok ")
    assert not screen.cursor
    connect().call("add_note")
    screen.wait_for("── calls  1 ok")


@pytest.mark.slow
def test_a_stop_that_waits_for_a_call_says_so(start: Start, connect: Connect, module: Module) -> None:
    screen = start(100, 24)
    agent = connect()
    agent.send("tools/call", {"name": "add_note", "arguments": {"text": "slow"}})
    screen.wait_for("1 call, 1 in flight")
    screen.wait((module.directory / "mcpptool.py.began").exists, "the call begins")
    screen.type("\x03")
    screen.wait_for("stopping, 1 call may end")
    agent.close()
    assert screen.end() == 0


# in a pipe


class Lines:
    """`mcppd dev` in a pipe."""

    def __init__(self, cli: Cli, module: Module) -> None:
        command = cli.command("dev", "--config", str(module.registry))
        self.process = subprocess.Popen(
            command, env=cli.environ, cwd=cli.directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert self.process.stdout is not None
        self.stdout = self.process.stdout
        self.read: list[str] = []
        self._data = b""

    def until(self, pattern: str) -> str:
        """The next line that fits."""
        while True:
            line = self._line()
            assert line, f"{pattern!r} never came: {self.read}"
            self.read.append(line)
            if re.search(pattern, line):
                return line

    def errors(self) -> bytes:
        assert self.process.stderr is not None
        return self.process.stderr.read()

    def _line(self) -> str:
        while b"\n" not in self._data:
            if not select.select([self.stdout], [], [], LIMIT)[0]:
                return ""
            data = os.read(self.stdout.fileno(), 65536)
            if not data:
                return ""
            self._data += data
        line, self._data = self._data.split(b"\n", 1)
        return line.decode()


@pytest.fixture
def lines(cli: Cli, module: Module) -> Iterator[Lines]:
    lines = Lines(cli, module)
    lines.until("module +notes ok")
    yield lines
    lines.process.kill()
    lines.process.wait()
    for stream in (lines.process.stdout, lines.process.stderr):
        assert stream is not None
        stream.close()


@pytest.mark.slow
def test_without_a_terminal_each_thing_that_happens_is_a_line(
    lines: Lines, connect: Connect, module: Module, cli: Cli
) -> None:
    assert re.match(rf"\d\d:\d\d:\d\d started +mcppd .* socket {cli.socket}$", lines.read[0])
    assert cli.run("call", "add_note").returncode == 0
    lines.until("session +mcppd-cli came")  # a modern client says who it is with each request
    lines.until("call +add_note by mcppd-cli: ok")
    lines.until("session +mcppd-cli went after 0 s, 1 call$")
    agent = connect()
    agent.call("add_note", text="one")
    lines.until(f"session +claude-code came, workspace {cli.directory}$")
    lines.until(r"call +add_note by claude-code: ok in [\d.]+ ms$")
    agent.call("call_tool", name="add_note", arguments={})
    lines.until(r"call +add_note \(call_tool\) by claude-code: ok in ")
    module.save("tool.yaml", MANIFEST + ADDED)
    lines.until(r"reload +notes 1→2 \+drop_note in [\d.]+ ms \(noticed .*\), 1 session notified$")
    agent.call("drop_note")
    lines.until("call +drop_note by claude-code: failed in .* ms: ValueError: nothing to drop$")
    lines.until(rf"\d +{module.directory}/mcpptool.py:6 in execute: raise ValueError")
    module.save("mcpptool.py", BROKEN)
    lines.until(rf"module +notes broken: {module.directory}/mcpptool.py:4:")
    lines.until(rf"\d +\| {re.escape(BROKEN_LINE)}$")
    module.save("mcpptool.py", CODE)
    lines.until("module +notes ok: add_note, drop_note$")
    agent.close()
    lines.until("session +claude-code went after .*, 3 calls$")
    lines.process.send_signal(signal.SIGINT)
    lines.until("stopping")
    assert lines.until("").startswith("mcppd has stopped after ")
    assert lines.process.wait(LIMIT) == 0
    assert lines.errors() == b""


@pytest.mark.slow
def test_what_is_wrong_is_said_once_and_what_is_well_again_too(
    lines: Lines, connect: Connect, module: Module
) -> None:
    module.registry.write_text("modules: [")
    lines.until("registry +.*tools.yaml:1:11")
    agent = connect()
    for _ in range(3):
        agent.call("add_note")
        lines.until("call +add_note")
    module.registry.write_text("modules:\n  - path: modules/*\n  - path: nowhere\n")
    lines.until("warning .*nowhere|registry ok")
    assert sum("tools.yaml:1:11" in line for line in lines.read) == 1


@pytest.mark.slow
def test_warnings_of_the_log_are_lines_too(lines: Lines, cli: Cli) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(cli.socket))
        connection.send(b'{"jsonrpc":"2.0","method":"mcppd/hello","params":{"registry":"/another.yaml"}}\n')
        lines.until("warning +refused a shim: .*/another.yaml")


@pytest.mark.slow
def test_the_same_lines_are_in_the_log_file_without_what_callers_were_told(
    lines: Lines, connect: Connect, module: Module, cli: Cli, wait_for: Wait
) -> None:
    module.save("tool.yaml", MANIFEST + ADDED)
    connect().call("drop_note", secret="hidden")
    log = Path(cli.environ["HOME"], ".local", "state", "mcppd", "daemon.log")
    wait_for(
        lambda: re.search(
            r"call: drop_note by claude-code: failed \([\d.]+ ms, waited [\d.]+ ms\)", log.read_text()
        ),
        "the call",
    )
    assert "reload: notes" in log.read_text()
    assert "nothing to drop" not in log.read_text()
    assert "hidden" not in log.read_text()


@pytest.mark.slow
def test_a_reader_that_stands_still_does_not_hold_up_the_daemon(
    lines: Lines, connect: Connect, cli: Cli
) -> None:
    fcntl.fcntl(lines.stdout.fileno(), fcntl.F_SETPIPE_SZ, 4096)
    agent = connect("a" * 1000)
    for _ in range(50):
        assert "noted" in str(agent.call("add_note"))
    lines.process.send_signal(signal.SIGTERM)  # nor its end
    assert lines.process.wait(LIMIT) in (0, 141)
    assert not cli.socket.exists()


@pytest.mark.slow
def test_a_reader_that_is_gone_ends_the_daemon_quietly(lines: Lines, connect: Connect, cli: Cli) -> None:
    lines.stdout.close()
    connect().call("add_note")
    assert lines.process.wait(LIMIT) == 141  # as of any command in a pipe: 128 + SIGPIPE
    assert not cli.socket.exists()
    assert lines.errors() == b""


@pytest.mark.slow
def test_plain_shows_lines_on_a_terminal_too(start: Start) -> None:
    screen = start(100, 24, "--plain", wanted="notes ok: add_note")
    assert screen.other is None
    screen.type("\x03")
    assert screen.end() == 0


# in the place of another one


@pytest.fixture
def other(cli: Cli, module: Module) -> Iterator[int]:
    """A daemon of the same registry in the background; its process id."""
    assert cli.run("start", "--config", str(module.registry)).returncode == 0
    yield json.loads(cli.run("status", "--json").stdout)["pid"]
    cli.run("stop")


def runs(pid: int) -> bool:
    try:
        return state_of(pid) != "Z"  # ended, though whoever adopted it hasn't looked yet
    except FileNotFoundError:
        return False


def pid_of(cli: Cli) -> int:
    pid: int = json.loads(cli.run("status", "--json").stdout)["pid"]
    return pid


@pytest.mark.slow
def test_a_daemon_that_runs_already_is_left_alone_without_a_terminal(
    cli: Cli, module: Module, other: int
) -> None:
    done = cli.run("dev", "--config", str(module.registry))
    assert (done.returncode, done.stdout) == (1, "")
    assert f"pid {other}" in done.stderr
    assert "--replace" in done.stderr
    assert pid_of(cli) == other


@pytest.mark.slow
def test_a_daemon_that_runs_already_is_left_alone_unless_the_person_agrees(
    start: Start, cli: Cli, other: int
) -> None:
    screen = start(100, 24, wanted="[y/N]")
    assert f"pid {other}" in screen.text
    screen.type("\n")
    assert screen.end() == 1
    assert pid_of(cli) == other


@pytest.mark.slow
def test_it_takes_the_place_of_a_daemon_if_the_person_agrees(start: Start, cli: Cli, other: int) -> None:
    screen = start(100, 24, wanted="[y/N]")
    screen.type("y\n")
    screen.wait_for("── modules  1 ok")
    assert pid_of(cli) == screen.process.pid
    assert not runs(other)


@pytest.mark.slow
def test_replace_takes_the_place_without_asking(start: Start, cli: Cli, other: int, connect: Connect) -> None:
    agent = connect()
    screen = start(100, 24, "--replace", wanted="── modules  1 ok")
    assert pid_of(cli) == screen.process.pid != other
    agent.close()


@pytest.mark.slow
def test_a_restart_from_elsewhere_is_told_as_one(start: Start, cli: Cli) -> None:
    screen = start(80, 24)
    assert cli.run("restart").returncode == 0
    assert screen.end() == 0
    assert screen.lines[0].startswith("another daemon has taken the place of this one after ")
    cli.run("stop")
