"""Starts a server for a client and writes down every line between them: `python tap.py RECORD COMMAND…`.

Standard library only: a client starts it with whatever environment it gives to its servers.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from typing import Any


def pass_on(reading: Any, writing: Any, record: Any, sender: str) -> None:
    """Pass on each line, written down first; then the end."""
    while line := reading.readline():
        record.write(json.dumps([sender, line.decode()]) + "\n")
        try:
            writing.write(line)
            writing.flush()
        except BrokenPipeError:
            return  # the other side has gone: nobody is left to pass it on to
    writing.close()


def main(path: str, *command: str) -> None:
    """Be the server until the client closes or stops us; the shim ends with us."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with open(path, "a", buffering=1, encoding="utf-8") as record:
        answers = (server.stdout, sys.stdout.buffer, record, "server")
        threading.Thread(target=pass_on, args=answers, daemon=True).start()
        pass_on(sys.stdin.buffer, server.stdin, record, "client")
        server.wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
