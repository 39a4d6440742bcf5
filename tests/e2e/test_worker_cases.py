"""What people report of processes that run tools, with modules in their place (CASES A5, F2, I6 to I8, I12, M4, M7)."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.wild import WILD, is_alive, left_by, scene
from tests.harness import Client, Daemon, first_and_slow, processes_below, running, until

IMPORTED = f"""
import os

with open(os.environ["IMPORTS"], "a") as file:
    file.write("once\\n")
while os.path.exists(os.environ["IMPORTS"] + ".hangs"):
    pass
if os.path.exists(os.environ["IMPORTS"] + ".dies"):
    os._exit(4)
{WILD}"""


async def client_of(daemon: Daemon, name: str, **environment: str) -> Client:
    cwd = daemon.home / name
    cwd.mkdir(exist_ok=True)
    client = await Client.through_shim(daemon, cwd, environment=daemon.environment | environment)
    await client.handshake()
    return client


@pytest.mark.slow
async def test_a_hundred_calls_import_a_module_once(tmp_path: Path) -> None:
    imports = tmp_path / "imports"
    async with scene(tmp_path, IMPORTED, env={"IMPORTS": str(imports)}) as there:
        assert len({await there.worker() for _ in range(100)}) == 1
    assert imports.read_text().splitlines() == ["once"]


@pytest.mark.slow
async def test_two_agents_that_wait_for_an_import_that_dies_are_both_told_and_a_reload_tries_anew(
    tmp_path: Path,
) -> None:
    imports, hangs, dies = (tmp_path / f"imports{end}" for end in ("", ".hangs", ".dies"))
    hangs.touch()
    dies.touch()
    async with scene(tmp_path, IMPORTED, workers=1, env={"IMPORTS": str(imports)}) as there:
        second = await client_of(there.daemon, "second")
        waiting = [asyncio.create_task(each.failure("run")) for each in (there.caller, second)]
        await until(imports.exists)
        hangs.unlink()
        for said in await asyncio.gather(*waiting):
            assert "exited with status 4 during the import" in said
            assert "module 'wild'" in said
        dies.unlink()
        await there.daemon.control("mcppd/reload")
        assert await there.worker()
        await second.close()


WEDGES = {
    "sleep": "time.sleep(1000)",
    "spin": "while True: pass",
    "spin in C": "max(itertools.repeat(0))",
    "lock": "lock = threading.Lock(); lock.acquire(); lock.acquire()",
    "thread": "threading.Thread(target=lambda: max(itertools.repeat(0))).start(); time.sleep(1000)",
    "child": "subprocess.run(['sh', '-c', 'while :; do :; done'])",
}


@pytest.mark.slow
async def test_calls_that_were_ended_at_their_limit_leave_nothing_that_works_on(tmp_path: Path) -> None:
    async with scene(tmp_path, workers=4, timeout=0.3) as there:
        seen: set[int] = set()
        for _ in range(4):  # more than so many at once would only wait
            calls = [there.dies(code) for code in WEDGES.values()]
            gathered = asyncio.gather(*calls)
            while not gathered.done():
                seen |= processes_below(there.spawner())
                await asyncio.sleep(0.02)
            for said in gathered.result():
                assert "0.3 s, its time limit" in said
        await until(lambda: not left_by(there.daemon))
        assert not any(map(is_alive, seen - processes_below(there.spawner())))


@pytest.mark.slow
async def test_a_limit_exists_where_nobody_says_any_and_an_error_names_it(
    daemon: Daemon, tmp_path: Path
) -> None:
    body = WILD.replace('arguments.get("mark", os.getpid())', 'context["tool_timeout"]')
    daemon.module("wild", body, "run")
    client = await client_of(daemon, "mine")
    assert float(await client.text("run")) == 30
    await client.close()
    short = await client_of(daemon, "short", MCPP_TIMEOUT_SECONDS="0.2")
    said = await short.failure("run", {"code": "time.sleep(1000)"})
    for text in ("0.2 s", "`timeout`", "MCPP_TIMEOUT_SECONDS"):
        assert text in said
    await short.close()


@pytest.mark.slow
async def test_what_runs_at_the_end_of_a_daemon_is_ended_or_answered_and_the_end_is_orderly(
    tmp_path: Path,
) -> None:
    async with scene(tmp_path, workers=3) as there:
        go = tmp_path / "go"
        code = f"while not os.path.exists({str(go)!r}): time.sleep(0.005)"
        ends = [
            there.caller.ask("tools/call", {"name": "run", "arguments": {"code": code}}) for _ in range(3)
        ]
        spawner = there.spawner()
        await until(lambda: len(processes_below(spawner)) >= 4)
        below = processes_below(there.daemon.pid)
        await there.quiet()
        ending = asyncio.create_task(there.daemon.stop(signal.SIGTERM))
        go.touch()
        for answer in await asyncio.gather(*ends):
            assert "result" in answer
        assert await ending == 0
        await until(lambda: not any(map(is_alive, below)))


@pytest.mark.parametrize(
    "code",
    first_and_slow(
        "subprocess.run(['cat'], check=True, timeout=20)",
        "subprocess.run(['sh', '-c', 'read line'], timeout=20)",
        "subprocess.run(['git', 'commit'], timeout=20)",
        "subprocess.run([sys.executable, '-c', 'input()'], timeout=20)",
        "os.system('cat > /dev/null')",
        "assert os.read(0, 10) == b''",
    ),
)
async def test_whatever_reads_stdin_is_at_its_end_and_takes_no_request(tmp_path: Path, code: str) -> None:
    async with scene(tmp_path, workers=1) as there:
        running_call = there.caller.ask(
            "tools/call", {"name": "run", "arguments": {"code": code, "mark": "a"}}
        )
        behind = [
            there.caller.ask("tools/call", {"name": "run", "arguments": {"mark": str(number)}})
            for number in range(5)
        ]
        ends = [(await each)["result"]["content"][0]["text"] for each in (running_call, *behind)]
        assert ends == ["a", "0", "1", "2", "3", "4"]


LOOKS = """
import os, subprocess

def execute(tool_name, arguments, context=None):
    own = dict(os.environ)
    seen = subprocess.run(["env"], capture_output=True, text=True).stdout
    if tool_name == "fails":
        raise ValueError(f"{own} {seen}")
    os.environ["LEFT"] = os.environ.get("TOKEN", "")
    os.putenv("SNEAKED", os.environ.get("TOKEN", ""))
    return {"success": True, "result": {"own": own, "seen": seen, "pid": os.getpid()}}
"""


@pytest.mark.slow
async def test_a_secret_of_one_session_is_nowhere_in_another(tmp_path: Path) -> None:
    """In no environment, of Python, of C or of programs, and in no log, status, help or error of another's."""
    async with running(tmp_path) as daemon:
        daemon.module("looks", LOOKS, "looks", "fails")
        daemon.registry.write_text("modules:\n  - {path: tools/looks, workers: 1, pass_env: [TOKEN]}\n")
        mine = await client_of(daemon, "mine", TOKEN="a-secret-of-mine")
        other = await client_of(daemon, "other")
        others_own = await client_of(daemon, "third", TOKEN="another-one")
        first = json.loads(await mine.text("looks"))
        assert first["own"]["TOKEN"] == "a-secret-of-mine"
        assert "a-secret-of-mine" in await mine.failure("fails")
        told = [await other.text("looks"), await others_own.text("looks"), await other.failure("fails")]
        assert json.loads(told[0])["pid"] == first["pid"]
        assert json.loads(told[1])["own"]["TOKEN"] == "another-one"
        told += [await other.text("help"), json.dumps(await daemon.control("mcppd/status")), daemon.output]
        told += [path.read_text(errors="replace") for path in daemon.home.rglob("*.log*")]
        for text in told:
            assert "a-secret-of-mine" not in text
        for each in (mine, other, others_own):
            await each.close()


@pytest.mark.slow
async def test_text_is_utf_8_and_the_rest_as_the_daemon_was_started(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path)
    for name in ("LANG", "LC_ALL", "LC_CTYPE"):
        daemon.environment.pop(name, None)
    daemon.environment["LANG"] = "C"
    daemon.environment["TZ"] = "UTC-3"
    body = """
import os, subprocess, sys, time

def execute(tool_name, arguments, context=None):
    with open("said", "w") as file:
        file.write("\\u00e9\\u20ac")
    print("printed \\u00e9", open("said").read())
    child = [sys.executable, "-c", "print(open('said').read() + '\\u20ac')"]
    said = subprocess.run(child, capture_output=True, text=True, check=True).stdout
    umask = os.umask(0)
    os.umask(umask)
    return {"success": True, "result": {
        "said": said, "hour": time.localtime(0).tm_hour, "home": os.environ["HOME"], "umask": umask,
        "niceness": os.getpriority(os.PRIO_PROCESS, 0),
    }}
"""
    daemon.module("speaks", body, "speaks")
    before = os.umask(0o027)
    try:
        await daemon.start()
    finally:
        os.umask(before)
    client = await client_of(daemon, "mine", LANG="C", TZ="UTC-5", HOME=str(tmp_path))
    said: dict[str, Any] = json.loads(await client.text("speaks"))
    assert said == {
        "said": "\u00e9\u20ac\u20ac\n",
        "hour": 3,  # of the daemon: one worker serves many agents
        "home": str(daemon.home),
        "umask": 0o027,
        "niceness": os.getpriority(os.PRIO_PROCESS, 0),
    }
    await client.close()
    await daemon.stop()
