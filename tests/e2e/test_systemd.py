"""A person's systemd runs the daemon: from `mcppd service install` to `uninstall`, through whatever kills it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcppd.cli.units import texts
from tests.e2e.home import SHIM
from tests.harness import LIMIT, Client, until
from tests.user_systemd import UserSystemd, user_systemd

SERVICE, SOCKET = "mcppd.service", "mcppd.socket"

CODE = """
import os

def execute(tool_name, arguments, context=None):
    return {"success": True, "result": {"limits": open("/proc/self/limits").read(), "names": sorted(os.environ)}}
"""


@pytest.fixture
def person() -> Iterator[UserSystemd]:
    with user_systemd() as started:
        add_module(started, "look", "look")
        yield started


@pytest.fixture
def installed(person: UserSystemd) -> UserSystemd:
    done = person.mcppd("service", "install")
    assert done.returncode == 0, done.stderr
    return person


def add_module(person: UserSystemd, name: str, *tools: str, code: str = CODE) -> Path:
    """A module of the person's registry."""
    registry = person.home / "config" / "mcppd" / "tools.yaml"
    directory = registry.parent / "tools" / name
    directory.mkdir(parents=True, exist_ok=True)
    registry.write_text("modules:\n  - path: tools/*\n")
    (directory / "mcpptool.py").write_text(code)
    (directory / "tool.yaml").write_text(
        json.dumps({"name": name, "tools": [{"name": tool} for tool in tools]})
    )
    return directory


async def agent(person: UserSystemd) -> Client:
    """A plain client that has said hello; its connection waits if there is no daemon."""
    client = await Client.on_socket(person.sockets / "mcp.sock")
    client.notify("mcppd/hello", {"cwd": str(person.home), "env": {}, "registry": None})
    await client.handshake()
    return client


def has_ended(pid: int) -> bool:
    """Whether a process is no more, or only its parent hasn't looked yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def verified(person: UserSystemd) -> str:
    """What `systemd-analyze verify` finds in the units."""
    done = person.run(
        "systemd-analyze", "--user", "verify", *(str(person.units / name) for name in (SOCKET, SERVICE))
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.mark.slow
async def test_install_says_what_it_does_and_does_it_once(person: UserSystemd) -> None:
    tried = person.mcppd("service", "install", "--dry-run")
    assert tried.returncode == 0, tried.stderr
    assert not person.units.exists()
    assert person.mcppd("service", "status").returncode == 1
    done = person.mcppd("service", "install")
    assert done.returncode == 0, done.stderr
    orders = [
        line.partition(" ")[2].strip()
        for line in done.stdout.splitlines()
        if not line.startswith(("checked", "linger"))
    ]
    assert orders == [
        line.partition("would ")[2].partition(" ")[2].strip() for line in tried.stdout.splitlines()[:-1]
    ]
    assert f"wrote        {person.units / SOCKET}\n" in done.stdout
    assert f"pid {person.pid}\n" in done.stdout
    assert verified(person) == ""
    modes = [
        stat.S_IMODE(os.lstat(path).st_mode) for path in (person.sockets, *person.sockets.glob("*.sock"))
    ]
    assert modes == [0o700, 0o600, 0o600]
    pid = person.pid
    again = person.mcppd("service", "install")
    assert {line.split()[0] for line in again.stdout.splitlines()} == {"kept", "checked", "linger"}
    assert person.pid == pid
    status = person.mcppd("service", "status")
    assert (status.returncode, status.stderr) == (0, "")
    assert f"active, pid {pid}, 0 restarts, 1 tools of 1 modules" in status.stdout


async def test_the_first_call_starts_the_daemon(installed: UserSystemd) -> None:
    installed.systemctl("stop", SERVICE)
    assert installed.pid == 0
    client = await agent(installed)
    text = await client.text("look")
    await client.close()
    assert installed.pid != 0
    for name in ("NOTIFY_SOCKET", "LISTEN_FDS", "INVOCATION_ID", "MANAGERPID"):
        assert name not in text


@pytest.mark.slow
async def test_killed_five_times_it_is_back_and_nobody_is_refused(installed: UserSystemd) -> None:
    pids = {installed.pid}
    client = await agent(installed)
    for _ in range(5):
        await client.text("look")
        os.kill(installed.pid, signal.SIGKILL)
        again = await agent(installed)  # at once: this connection waits in systemd's queue
        async with asyncio.timeout(LIMIT):
            await client.ended.wait()
        await client.close()
        client = again
        pids.add(installed.pid)
    await client.close()
    assert len(pids) == 6
    assert installed.show(SERVICE, "NRestarts") == "5"
    assert installed.show(SERVICE, "ActiveState") == "active"


async def shim(person: UserSystemd) -> Client:
    """An agent's shim, initialized."""
    (person.home / "work").mkdir(exist_ok=True)
    process = await asyncio.create_subprocess_exec(
        *SHIM,
        env=person.environment,
        cwd=person.home / "work",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=2**27,
    )
    assert process.stdout is not None
    client = Client(process.stdout, process.stdin, process)
    await client.handshake()
    return client


@pytest.mark.slow
async def test_a_shim_has_its_tools_however_often_the_daemon_is_killed(installed: UserSystemd) -> None:
    client = await shim(installed)
    for _ in range(5):
        await client.text("look")
        os.kill(killed := installed.pid, signal.SIGKILL)
        await until(lambda: installed.pid not in (0, killed))  # until then a call might still reach it
    await client.text("look")
    assert not client.ended.is_set()
    assert installed.show(SERVICE, "NRestarts") == "5"
    await client.close()


@pytest.mark.slow
@pytest.mark.parametrize("way", ["mcppd", "systemctl"])
async def test_a_restart_fails_no_call_of_a_connected_agent(installed: UserSystemd, way: str) -> None:
    client = await shim(installed)
    pids = {installed.pid}
    for _ in range(2):
        words = ["restart"] if way == "mcppd" else ["restart", SERVICE]
        order = installed.mcppd if way == "mcppd" else installed.systemctl
        restarting = asyncio.create_task(asyncio.to_thread(order, *words))
        while not restarting.done():
            await client.text("look")
        await restarting
        pids.add(installed.pid)
    assert len(pids) == 3
    assert not client.ended.is_set()
    await client.close()


@pytest.mark.slow
async def test_a_connected_agent_is_told_of_a_stop_and_finds_the_next_start(installed: UserSystemd) -> None:
    client = await shim(installed)
    await client.text("look")
    assert installed.mcppd("stop").returncode == 0
    assert "`mcppd start`" in await client.failure("look")
    assert installed.show(SERVICE, "ActiveState") == "inactive"
    assert installed.mcppd("start").returncode == 0
    async with asyncio.timeout(LIMIT):
        while (await client.call("look")).get("isError"):
            await asyncio.sleep(0.05)
    assert not client.ended.is_set()
    await client.close()


@pytest.mark.slow
async def test_a_loop_that_is_stuck_says_where_and_is_replaced(installed: UserSystemd) -> None:
    errors = installed.home / "errors"
    installed.drop_in(SERVICE, f"[Service]\nWatchdogSec=500ms\nStandardError=append:{errors}\n")
    installed.systemctl("restart", SERVICE)
    await (await agent(installed)).close()
    stuck = installed.pid
    os.kill(stuck, signal.SIGSTOP)
    await until(lambda: installed.pid not in (0, stuck))
    await (await agent(installed)).close()
    assert installed.show(SERVICE, "NRestarts") == "1"
    assert "Fatal Python error: Aborted" in errors.read_text()
    assert "daemon.py" in errors.read_text()


@pytest.mark.slow
async def test_a_reload_is_done_when_systemctl_ends(installed: UserSystemd) -> None:
    pid = installed.pid
    client = await agent(installed)
    add_module(installed, "more", "another")
    installed.systemctl("reload", SERVICE)
    assert "another" in await client.tools()
    add_module(installed, "more", "another", code="def execute(:\n")
    assert installed.run("systemctl", "--user", "reload", SERVICE).returncode != 0
    assert installed.show(SERVICE, "ActiveState") == "active"
    assert installed.pid == pid
    await client.close()


@pytest.mark.slow
async def test_stop_stops_both_until_start(installed: UserSystemd) -> None:
    client = await agent(installed)
    stopped = installed.mcppd("stop")
    assert stopped.returncode == 0, stopped.stderr
    async with asyncio.timeout(LIMIT):
        await client.ended.wait()
    await client.close()
    assert installed.show(SERVICE, "ActiveState") == "inactive"
    assert installed.show(SERVICE, "Result") == "success"
    assert not list(installed.sockets.glob("*.sock"))
    assert installed.mcppd("service", "status").returncode == 1
    started = installed.mcppd("start")
    assert started.returncode == 0, started.stderr
    assert f"pid {installed.pid}," in started.stdout
    assert installed.mcppd("service", "status").returncode == 0


@pytest.mark.slow
async def test_a_daemon_that_runs_already_gives_way_to_systemds(person: UserSystemd) -> None:
    assert person.mcppd("start").returncode == 0
    old = json.loads(person.mcppd("status", "--json").stdout)["pid"]
    done = person.mcppd("service", "install")
    assert done.returncode == 0, done.stderr
    assert f"pid {old}\n" in done.stdout
    assert has_ended(old)
    assert person.pid == json.loads(person.mcppd("status", "--json").stdout)["pid"]


@pytest.mark.slow
async def test_a_registry_that_is_broken_costs_waiting_only(installed: UserSystemd) -> None:
    registry = installed.home / "config" / "mcppd" / "tools.yaml"
    text = registry.read_text()
    installed.systemctl("stop", SERVICE)
    registry.write_text("modules: [")
    waiting = asyncio.create_task(agent(installed))
    await until(lambda: installed.show(SERVICE, "NRestarts") == "1")
    assert installed.show(SOCKET, "ActiveState") == "active"
    registry.write_text(text)
    client = await waiting
    await client.text("look")
    await client.close()


@pytest.mark.slow
async def test_what_was_changed_by_hand_is_kept_beside_and_drop_ins_stay(installed: UserSystemd) -> None:
    unit = installed.units / SERVICE
    unit.write_text(unit.read_text().replace("UMask=0077", "UMask=0027"))
    installed.drop_in(SERVICE, "[Service]\nTasksMax=99\n")
    old = installed.pid
    done = installed.mcppd("service", "install")
    assert done.returncode == 0, done.stderr
    assert "UMask=0027" in unit.with_name(f"{SERVICE}.old").read_text()
    assert installed.show(SERVICE, "UMask") == "0077"
    assert installed.show(SERVICE, "TasksMax") == "99"
    assert installed.pid not in (0, old)


@pytest.mark.slow
async def test_uninstall_leaves_nothing_running_and_shims_start_the_daemon_again(
    installed: UserSystemd,
) -> None:
    pid = installed.pid
    tried = installed.mcppd("service", "uninstall", "--dry-run")
    assert tried.returncode == 0, tried.stderr
    assert installed.pid == pid
    done = installed.mcppd("service", "uninstall")
    assert done.returncode == 0, done.stderr
    assert has_ended(pid)
    assert not list(installed.units.rglob("mcppd*"))
    assert not list(installed.sockets.glob("*.sock"))
    again = installed.mcppd("service", "uninstall")
    assert (again.returncode, again.stdout) == (0, f"nothing is installed in {installed.units}\n")


@pytest.mark.slow
async def test_paths_as_people_have_them_can_stand_in_a_unit(
    person: UserSystemd, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = person.home / """it's a "100%n" $HOME \\path;"""
    programs = person.home / "100%n and more; #1"
    for each in (directory, programs):
        each.mkdir()
    python = programs / "python 3"
    python.write_text(f"#!/bin/sh\nexec '{sys.executable}' \"$@\"\n")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    person.units.mkdir(parents=True)
    for name, text in texts({"XDG_STATE_HOME": str(directory)}).items():
        (person.units / name).write_text(text)
    assert verified(person) == ""
    person.systemctl("daemon-reload")
    person.systemctl("start", SERVICE)
    environment = Path(f"/proc/{person.pid}/environ").read_text().split("\0")
    assert f"XDG_STATE_HOME={directory}" in environment
    await (await agent(person)).close()


@pytest.mark.slow
async def test_a_masked_unit_is_left_alone(person: UserSystemd) -> None:
    person.units.mkdir(parents=True)
    (person.units / SERVICE).symlink_to("/dev/null")
    done = person.mcppd("service", "install")
    assert done.returncode == 2
    assert "masked" in done.stderr
    assert (person.units / SERVICE).is_symlink()


@pytest.mark.slow
async def test_another_configuration_directory_than_systemds_is_told(person: UserSystemd) -> None:
    person.environment["XDG_CONFIG_HOME"] = str(person.home / "elsewhere")
    done = person.mcppd("service", "install")
    assert done.returncode == 2
    assert str(person.home / "elsewhere") in done.stderr
    assert not (person.home / "elsewhere").exists()
