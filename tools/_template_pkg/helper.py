"""Code that the tools share. Files beside mcpptool.py belong to this module alone, whatever they are called."""

from __future__ import annotations

from pathlib import Path


def letters_of(name: str) -> int:
    """The number of letters in a name."""
    return sum(character.isalpha() for character in name)


def count_lines(path: Path) -> int:
    """The number of lines of a file, read line by line. Raises OSError."""
    with path.open("rb") as file:
        return sum(1 for _ in file)
