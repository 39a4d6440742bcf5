"""How this program was started: what a command says where a person is to run another one."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from typing import Final

SCRIPT: Final = "mcppd"
MAIN: Final = "__main__.py"


def again(*words: str) -> str:
    """A command line of this installation, for the shell and the directory that this one was started in."""
    return " ".join([_program(), *filter(None, words)])


def _program() -> str:
    """`mcppd` where the shell finds this very installation by it, else what was typed."""
    started = sys.argv[0]
    is_file = os.path.basename(started) == MAIN  # `python -m mcppd`, or the file by its path
    own = os.path.join(os.path.dirname(sys.executable), SCRIPT) if is_file else started
    found = shutil.which(SCRIPT)
    if found is not None and os.path.realpath(found) == os.path.realpath(own):
        return SCRIPT
    if is_file:
        return shlex.join(sys.orig_argv[: len(sys.orig_argv) - len(sys.argv) + 1])
    return shlex.quote(started)
