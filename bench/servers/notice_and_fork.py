"""The floor of a reload: notice a saved file, fork, import it, write to a socket; no more than that.

`notice_and_fork.py DIRECTORY STEP GATHER`: the times of the watcher, in milliseconds. Writes, for each save of `one.py`
there, its `VALUE` as a line to stdout, which is a socket.
"""

import importlib
import os
import sys
import threading

from watchfiles._rust_notify import RustNotify

directory, step, gather = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
sys.path.insert(0, directory)
sys.dont_write_bytecode = True
with RustNotify([directory], False, False, 0, False, True) as notifier:
    os.write(1, b"ready\n")
    while isinstance(notifier.watch(gather, step, 0, threading.Event()), set):
        child = os.fork()
        if not child:
            os.write(1, f"{importlib.import_module('one').VALUE}\n".encode())
            os._exit(0)
        os.waitpid(child, 0)
