"""The floor of being idle: one watch on some directories, in which nothing happens.

`notice_nothing.py STEP DIRECTORY …`: the step of the watcher in milliseconds.
"""

import sys
import threading

from watchfiles._rust_notify import RustNotify

with RustNotify(sys.argv[2:], False, False, 0, False, True) as notifier:
    notifier.watch(200, int(sys.argv[1]), 0, threading.Event())
