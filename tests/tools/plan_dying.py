"""`python plan_dying.py MANNER STRIDE TOOL JSON DIRECTORY`: a call of the module `plan` that is killed, at every point.

DIRECTORY has `base.db`, or nothing for a first call. For each point a fork works on a copy of it and is killed there;
then a line of JSON says which point it was, how it ended, and what is in the database. The last line is of the call
that nothing killed.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.tools.plan_asking import rows_of
from tools.plan import mcpptool


def at_statement(point: int) -> None:
    """Die just before a statement begins, those of opening and of triggers included."""
    _on_connecting(lambda connection: connection.set_trace_callback(_dying(point)))


def at_instruction(point: int) -> None:
    """Die just before an instruction of SQLite's, in the middle of statements."""
    _on_connecting(lambda connection: connection.set_progress_handler(_dying(point), 1))


def at_byte(point: int) -> None:
    """Die while the transaction is being written, when the log has so many KiB: the rest of that write is missing."""
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    def limit(statement: str) -> None:
        if statement == "COMMIT":
            resource.setrlimit(resource.RLIMIT_FSIZE, (point * 1024, point * 1024))

    _on_connecting(lambda connection: connection.set_trace_callback(limit))


MANNERS = {"statement": at_statement, "instruction": at_instruction, "byte": at_byte}


def _dying(point: int) -> Callable[..., int]:
    left = point

    def count(*_: object) -> int:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return 0

    return count


def _on_connecting(prepare: Callable[[sqlite3.Connection], object]) -> None:
    connect = sqlite3.connect

    def connect_and_prepare(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*arguments, **options)
        prepare(connection)
        return connection

    sqlite3.connect = connect_and_prepare  # type: ignore[assignment]  # in a fork that has this one call to make


def call(path: Path, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Make the call on a database."""
    os.environ["MCPPD_PLAN_DB"] = str(path)
    return mcpptool.answer(tool, arguments, "/", "ada")


def die(manner: str, point: int, path: Path, tool: str, arguments: dict[str, Any]) -> int:
    """Make the call in a fork that dies at a point; how it ended."""
    child = os.fork()
    if child == 0:
        try:
            MANNERS[manner](point)
            os._exit(0 if call(path, tool, arguments)["success"] else 1)
        finally:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main() -> None:
    """Die at every point, or at every so manyth."""
    manner, stride, tool, text, place = sys.argv[1:]
    directory, point, status = Path(place), 1, -1
    while status < 0:
        path = directory / f"{point}" / "plan.db"
        path.parent.mkdir()
        if (directory / "base.db").exists():
            shutil.copy(directory / "base.db", path)
        sys.stdout.flush()  # a fork has what is left of it too
        status = die(manner, point, path, tool, json.loads(text))
        again = call(path, "plan_project_show", {})["success"]
        mcpptool.DATABASE.close()
        said = {"point": point, "status": status, "again": again, "rows": rows_of(path)}
        sys.stdout.write(json.dumps(said) + "\n")
        shutil.rmtree(path.parent)
        point += int(stride)


if __name__ == "__main__":
    main()
