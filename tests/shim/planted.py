"""A daemon's stand-in beside a planted shim: takes the lock, echoes, writes down how it was started."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import sys
import threading
from pathlib import Path
from typing import Any

TREE = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TREE))

from shim.places import check_directories, registry_path, socket_paths  # noqa: E402


def facts() -> dict[str, Any]:
    umask = os.umask(0o077)
    os.umask(umask)
    status = dict(line.split(":\t") for line in Path("/proc/self/status").read_text().splitlines())
    open_files = {}
    for number in os.listdir("/proc/self/fd"):
        try:
            open_files[number] = os.readlink(f"/proc/self/fd/{number}")
        except OSError:
            continue  # the listing's own
    return {
        "pid": os.getpid(),
        "parent": os.getppid(),
        "session": os.getsid(0),
        "group": os.getpgrp(),
        "cwd": os.getcwd(),
        "umask": umask,
        "environ": dict(os.environ),
        "files": open_files,
        "ignored": int(status["SigIgn"], 16),
        "blocked": int(status["SigBlk"], 16),
        "arguments": sys.argv[1:],
    }


def write_down(kind: str, value: object) -> None:
    file = TREE / f"{kind}-{os.getpid()}.json"
    file.with_suffix(".new").write_text(json.dumps(value))
    file.with_suffix(".new").rename(file)


def option(name: str) -> str | None:
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else None


def echo(connection: socket.socket) -> None:
    with connection:
        connection.makefile("rb", buffering=0).readline()  # the hello
        while data := connection.recv(65536):
            connection.sendall(data)


def main() -> None:
    write_down("started", facts())
    sys.stderr.write("planted daemon starts\n")
    sys.stderr.flush()
    registry, is_default = registry_path(option("--config"), os.environ)
    paths = socket_paths(option("--socket"), "" if is_default else registry, os.environ, os.getuid())
    check_directories(paths, os.getuid(), make=True)
    lock = os.open(paths.lock, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit(3)
    Path(paths.mcp).unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(paths.mcp)
    listener.listen(64)
    write_down("serving", paths.mcp)
    while True:
        threading.Thread(target=echo, args=(listener.accept()[0],), daemon=True).start()


main()
