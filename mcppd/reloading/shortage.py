"""Shortage: the system has no descriptor or no memory for a look. That says nothing of the files: it is made again."""

from __future__ import annotations

import errno
from typing import Final

from mcppd.core.errors import McppdError

SHORT_OF: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})
"""What the system may be short of for a while (open(2)): all else that goes wrong with a file is the file's."""


class ShortageError(McppdError):
    """Nothing can be said of what was to be looked at."""


def unless_short(error: OSError) -> None:
    """Raise ShortageError where it is the system that is short of something."""
    if error.errno in SHORT_OF:
        raise ShortageError(f"the files can't be looked at now: {error.strerror}") from error
