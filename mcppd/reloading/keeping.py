"""Keeping: a file of our own is written whole or not at all, whatever the disk says."""

from __future__ import annotations

import contextlib
import os


def write_whole(path: str, content: bytes) -> bool:
    """Put a file that only we may read in its place, and make its directory; False where the disk refuses.

    Then what was there before still is, and nothing else has been left.
    """
    part = f"{path}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(content)
        os.replace(part, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(part)
        return False
    return True
