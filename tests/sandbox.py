"""Sandboxes as agents have them: system calls that fail with EPERM, for a process and all of its children."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import pytest

# The system calls argv[1] fail from here on (seccomp(2)); no rights are needed for that.
CONFINED = """
import ctypes, os, struct, sys
numbers = [int(number) for number in sys.argv[1].split(",")]
steps = [(0x20, 0, 0, 0)]
for number in numbers:
    steps += [(0x15, 0, 1, number), (0x06, 0, 0, 0x00050001)]
steps.append((0x06, 0, 0, 0x7FFF0000))
program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
filter = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps), ctypes.addressof(program)))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, filter, 0, 0) == 0, os.strerror(ctypes.get_errno())
os.execv(sys.argv[2], sys.argv[2:])
"""
CALLS = {
    "x86_64": {"socket": 41, "connect": 42, "bind": 49, "socketpair": 53},
    "aarch64": {"socket": 198, "connect": 203, "bind": 200, "socketpair": 199},
}

sandboxes = pytest.mark.skipif(
    os.uname().machine not in CALLS, reason="optional: system call numbers of x86_64, aarch64"
)


def confined(command: Sequence[str], *forbidden: str) -> list[str]:
    """A command in a sandbox that forbids system calls, by their names."""
    numbers = CALLS[os.uname().machine]
    return [sys.executable, "-c", CONFINED, ",".join(str(numbers[name]) for name in forbidden), *command]
