"""What tools use to do several things at once works inside them, call after call (issue, 6)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.workers.child_peer import ENDS, Child, Wire, write_module
from tests.workers.spawner_peer import Spawner

SIBLING = """
    def double(n):
        return 2 * n
    def queue_up(queue):
        queue.put([double(n) for n in range(4)])
"""
MODULE = """
    import asyncio, concurrent.futures, multiprocessing, os, subprocess, sys, threading
    import sibling

    def execute(tool_name, arguments, context=None):
        return {"success": True, "result": [globals()[arguments["way"]](arguments)]}

    async def several(n):
        return await asyncio.gather(*(asyncio.to_thread(sibling.double, each) for each in range(n)))

    def asyncio_run(_):
        return asyncio.run(several(4))

    async def program():
        made = await asyncio.create_subprocess_exec("echo", "said", stdout=subprocess.PIPE)
        return (await made.communicate())[0].decode().strip()

    def asyncio_program(_):
        return asyncio.run(program())

    def threads(_):
        found = []
        every = [threading.Thread(target=lambda n=n: found.append(sibling.double(n))) for n in range(4)]
        for each in every: each.start()
        for each in every: each.join()
        return sorted(found)

    def thread_pool(_):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            return list(pool.map(sibling.double, range(4)))

    def program_run(_):
        return subprocess.run(["sh", "-c", "cat; echo said"], capture_output=True, text=True).stdout.strip()

    def shell(_):
        return os.popen("echo said").read().strip()

    def processes(arguments):
        with multiprocessing.get_context(arguments["method"]).Pool(2) as pool:
            return pool.map(sibling.double, range(4))

    def executor(arguments):
        method = multiprocessing.get_context(arguments["method"])
        with concurrent.futures.ProcessPoolExecutor(2, method) as pool:
            return list(pool.map(sibling.double, range(4)))

    def queued(arguments):
        method = multiprocessing.get_context(arguments["method"])
        queue = method.Queue()
        process = method.Process(target=sibling.queue_up, args=(queue,))
        process.start()
        said = queue.get(timeout=20)
        process.join()
        return said

    def triple(n):
        return 3 * n

    def own_function(_):
        with multiprocessing.get_context("fork").Pool(2) as pool:
            return pool.map(triple, range(4))
"""
DOUBLED = [0, 2, 4, 6]
WAYS = {
    "asyncio_run": DOUBLED,
    "asyncio_program": "said",
    "threads": DOUBLED,
    "thread_pool": DOUBLED,
    "program_run": "said",
    "shell": "said",
    "own_function": [0, 3, 6, 9],
}


Call = Callable[..., Any]


@pytest.fixture(params=[*ENDS, "forked"])
def call(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Call]:
    """Calls a way of the module, in an executed worker and in one that the spawner forked."""
    module = write_module(tmp_path / "module", MODULE, sibling=SIBLING)
    with ExitStack() as stack:
        if request.param == "forked":
            worker: Wire = stack.enter_context(Spawner(tmp_path)).spawn(module)
        else:
            worker = stack.enter_context(Child(tmp_path, request.param))
            worker.load(module)
        yield lambda way, method=None: worker.call(arguments={"way": way, "method": method}).value[0]


def test_each_way_works_call_after_call(call: Call) -> None:
    for _ in range(2):
        for way, said in WAYS.items():
            assert call(way) == said, way


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.parametrize("way", ["processes", "executor", "queued"])
def test_functions_of_a_sibling_that_was_imported_absolutely_run_in_other_processes(
    call: Call, way: str, method: str
) -> None:
    for _ in range(2):
        assert call(way, method) == DOUBLED
