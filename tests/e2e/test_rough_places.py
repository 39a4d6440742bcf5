"""Full disks, endless output, other versions, a daemon that sleeps (CASES I13, K4, K8, K14, K17)."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcppd.handing_over import DRAIN_LIMIT
from tests.e2e.counting import COUNTING, TOOLS, assert_lives, opened, params_of
from tests.e2e.home import MCPPD, SHIM, Home
from tests.harness import LIMIT, REPOSITORY, Client, modern, texts, until

MEBIBYTE = 1024 * 1024
LOUD = """
import subprocess, sys

def execute(tool_name, arguments, context=None):
    line = "x" * 1023 + "\\n"
    for _ in range(32 * 1024):
        sys.stdout.write(line)
    subprocess.run("head -c 33554432 /dev/zero; head -c 33554432 /dev/zero >&2", shell=True, check=True)
    return {"success": True, "result": "said"}
"""
# A runtime directory on a disk on which nothing can be made any more, for the command that follows.
FULL = 'mount -t tmpfs -o nr_inodes=1,size=4k,mode=0700 none "$XDG_RUNTIME_DIR" && exec "$@"'
CAN_MOUNT = ["unshare", "--user", "--map-current-user", "--keep-caps", "--mount", "sh", "-c"]


@pytest.fixture
async def home() -> AsyncIterator[Home]:
    made = Home()
    made.module("counting", COUNTING, *TOOLS)
    yield made
    await made.close()


def on_full_disk(*command: str) -> list[str]:
    """A command whose runtime directory is on a full disk; skips the test where none can be mounted."""
    if subprocess.run([*CAN_MOUNT, "mount -t tmpfs none /mnt"], capture_output=True, check=False).returncode:
        pytest.skip("optional: user namespaces, to mount a disk that is full")
    return [*CAN_MOUNT, FULL, "sh", *command]


async def test_a_full_disk_is_told_with_its_path(home: Home) -> None:
    done = await asyncio.to_thread(
        subprocess.run,
        on_full_disk(*MCPPD, "serve"),
        env=home.environment,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert str(home.runtime) in line
    assert "No space left on device" in line


async def test_a_shim_on_a_full_disk_says_so_and_stays(home: Home) -> None:
    process = await asyncio.create_subprocess_exec(
        *on_full_disk(*SHIM),
        env=home.environment,
        cwd=home.work,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    client = Client(process.stdout, process.stdin, process)
    await client.handshake()
    assert set(await client.tools()) == {"mcppd_status"}
    said = await client.text("mcppd_status")
    assert str(home.runtime) in said
    assert "No space left on device" in said
    assert process.returncode is None
    await client.close()


@pytest.mark.slow
async def test_a_registry_that_no_daemon_can_read_is_told_once_however_often_one_was_started(
    home: Home,
) -> None:
    registry = home.path / "config" / "mcppd" / "tools.yaml"
    registry.parent.mkdir(parents=True, exist_ok=True)
    registry.write_text("modules: [\n")
    client = await home.shim()
    await client.handshake()
    said = await client.text("mcppd_status")
    assert said.count(f"{registry}:") == 1, said
    await client.close()


@pytest.mark.slow
async def test_whatever_a_tool_and_its_children_print_the_logs_stay_small(home: Home) -> None:
    home.module("loud", LOUD, "shouts")
    client = await home.shim()
    await client.handshake()
    for _ in range(2):
        assert await client.text("shouts") == "said"
    sizes = {path.name: path.stat().st_size for path in (home.path / "state").rglob("*") if path.is_file()}
    assert max(sizes.values()) > MEBIBYTE / 4  # it was logged
    assert sum(sizes.values()) < 10 * MEBIBYTE


@pytest.mark.slow
async def test_shims_of_two_versions_are_both_served_and_restart_nothing(home: Home) -> None:
    tree = home.path / "other"
    for name in ("mcppd", "shim", "tools"):
        shutil.copytree(REPOSITORY / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
    (tree / "shim" / "version.py").write_text('VERSION = "99.0.0"\n')
    newer = [sys.executable, "-I", "-S", str(tree / "shim" / "__main__.py")]
    pids = set()
    clients = []
    for number in range(6):
        if number % 2:
            process = await asyncio.create_subprocess_exec(
                *newer,
                env=home.environment,
                cwd=home.work,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                limit=2**24,
            )
            assert process.stdout is not None
            clients.append(Client(process.stdout, process.stdin, process))
        else:
            clients.append(await home.shim())
        await clients[-1].handshake()
        assert await clients[-1].text("quick", {"mark": str(number)}) == f"done {number}"
        pids.add((await home.status())["pid"])
    assert len(pids) == 1
    for client in clients:
        assert "quick" in await client.tools()
        assert_lives(client)
    for client in clients[1::2]:
        await client.close()


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_open_subscriptions_do_not_hold_up_a_restart(home: Home, era: str) -> None:
    shim = await opened(home, era)
    plain = await Client.on_socket(home.runtime / "mcppd" / "mcp.sock")
    wishes = {"notifications": {"toolsListChanged": True}}
    for client in (shim, plain):
        client.ask("subscriptions/listen", modern(**wishes))
        await client.notified("notifications/subscriptions/acknowledged")
    async with asyncio.timeout(DRAIN_LIMIT - 1):  # which they would be given if they were waited for
        done = await asyncio.to_thread(home.mcppd, "restart")
    assert done.returncode == 0
    result = await shim.result("tools/call", params_of(era, name="quick", arguments={"mark": "a"}))
    assert texts(result) == "done a"
    await plain.close()


@pytest.mark.slow
async def test_calls_of_a_daemon_that_was_suspended_are_answered(home: Home) -> None:
    client = await home.shim()
    await client.handshake()
    assert await client.text("quick", {"mark": "a"}) == "done a"
    family = [*home.daemons(), *home.all_but_shims()]
    for pid in family:
        os.kill(pid, signal.SIGSTOP)
    call = client.ask("tools/call", {"name": "quick", "arguments": {"mark": "b"}})
    late = await home.shim()
    listed = late.ask("tools/list")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.shield(call), 5.0)
    for pid in family:
        os.kill(pid, signal.SIGCONT)
    async with asyncio.timeout(LIMIT):
        assert texts((await call)["result"]) == "done b"
        assert "quick" in {tool["name"] for tool in (await listed)["result"]["tools"]}
    assert len(home.daemons()) == 1
    assert_lives(client)


@pytest.mark.slow
async def test_a_crowd_that_would_take_every_descriptor_keeps_no_tool_from_running(home: Home) -> None:
    few = 48
    limited = f"import os, resource, sys; resource.setrlimit(resource.RLIMIT_NOFILE, ({few}, {few}))"
    command = [sys.executable, "-c", f"{limited}; os.execv(sys.argv[1], sys.argv[1:])", *MCPPD, "serve"]
    daemon = await asyncio.create_subprocess_exec(*command, env=home.environment, stderr=subprocess.DEVNULL)
    path = home.runtime / "mcppd" / "mcp.sock"
    await until(path.exists)
    first = await home.shim()
    await first.handshake()
    crowd = []
    for _ in range(2 * few):
        crowd.append(socket.socket(socket.AF_UNIX))
        crowd[-1].connect(str(path))
    assert await first.text("quick", {"mark": "a"}) == "done a"
    home.module("later", COUNTING, "another")  # which is read, and gets a worker
    assert await first.text("another", {"mark": "b"}) == "done b"
    for each in crowd:
        each.close()
    late = await home.shim()
    assert "another" in await late.tools()
    daemon.terminate()
    assert await daemon.wait() == 0


def test_no_clock_that_can_jump_is_asked() -> None:
    """Time spans are of the monotonic clock; only the ages of files are by the other one, which is theirs (D17)."""
    asked = {
        f"{path.relative_to(REPOSITORY)}"
        for room in ("mcppd", "shim")
        for path in (REPOSITORY / room).rglob("*.py")
        if any(word in path.read_text() for word in ("time.time(", "datetime.now(", "datetime.utcnow("))
    }
    assert asked <= {"mcppd/serving/stored_results.py"}


@pytest.mark.slow
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="optional: what /proc shows of poll(2) there")
async def test_a_shim_waits_for_ever_so_silence_is_no_end_however_long(home: Home) -> None:
    client = await home.shim()
    await client.handshake()
    await client.tools()
    assert client.process is not None
    waiting = Path(f"/proc/{client.process.pid}/syscall")  # its number, then its arguments (proc(5))
    await until(lambda: waiting.read_text().startswith("7 "))
    assert int(waiting.read_text().split()[3], 16) & 0xFFFFFFFF == 0xFFFFFFFF  # a time limit of -1
    assert await client.text("quick", {"mark": "a"}) == "done a"
