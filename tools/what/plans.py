"""Plans on disk: directories below `<workspace>/what`, and never a byte outside of it.

Directories are held open from the workspace down and links are not followed, so it stays true even
if somebody puts a link in the way while a plan is being written.
"""

from __future__ import annotations

import os
import secrets
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from .texts import PLAN_FILES, README

ROOT: Final = "what"

MAX_NAME: Final = 200
"""Characters of a plan's name: the same as in tool.yaml."""

MAX_PART: Final = 140
"""Bytes of one directory's name: an encrypted file system takes 143, others 255."""

MAX_LISTED: Final = 500
"""Plans that are listed: more than anybody reads, and still a short answer."""

REFUSED_CHARACTERS: Final = frozenset('\\:*?"<>|')
"""Characters that some file systems don't take; `/` parts the name before they are looked for."""

FILE_NAMES: Final = frozenset(name.casefold() for name in ("README.md", *PLAN_FILES))


class PlanError(Exception):
    """A plan can't be made as it was asked for; the text is for whoever asked."""


@dataclass(frozen=True, slots=True)
class Added:
    """A plan that is there now; files are told relative to the workspace."""

    directory: Path
    written: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    def note(self, file: Path, *, written: bool) -> None:
        """Take down whether a file was written or left as it was."""
        (self.written if written else self.skipped).append(file.as_posix())


def add_plan(workspace: Path, name: str, *, overwrite: bool) -> Added:
    """Make a plan's directory and files; what is there already stays, unless `overwrite`."""
    parts = parts_of(name)
    relative = Path(ROOT, *parts)
    added = Added(workspace / relative)
    with opened(workspace, []) as root:
        added.note(Path(ROOT, "README.md"), written=put(root, "README.md", README, overwrite=False))
    with opened(workspace, parts) as directory:
        for file, text in PLAN_FILES.items():
            written = put(directory, file, text.format(name="/".join(parts)), overwrite=overwrite)
            added.note(relative / file, written=written)
    return added


def list_plans(workspace: Path) -> list[str]:
    """The names of the workspace's plans, sorted; directories that hold a WHAT.md."""
    root = workspace / ROOT
    plans: list[str] = []
    if root.is_symlink():
        return plans
    for path, directories, files in os.walk(root):  # it doesn't follow links
        directories[:] = sorted(filter(fits, directories))
        if "WHAT.md" in files and Path(path) != root:
            plans.append(Path(path).relative_to(root).as_posix())
        if len(plans) == MAX_LISTED:
            break
    return sorted(plans)


def parts_of(name: str) -> list[str]:
    """The directories that a plan's name stands for."""
    parts = unicodedata.normalize("NFC", name).split("/")
    if len(name) > MAX_NAME or not all(map(fits, parts)):
        refused = " ".join(sorted(REFUSED_CHARACTERS))
        raise PlanError(
            f"no plan can be called {name[:MAX_NAME]!r}: a name has at most {MAX_NAME} characters and `/` "
            "between its parts; each part begins with a letter or digit, doesn't end with a dot or a space, "
            f"isn't the name of a plan's file, and has none of {refused} in it"
        )
    return parts


def fits(part: str) -> bool:
    """Whether one part of a name can be a directory's name, here and on other people's machines."""
    return (
        part[:1].isalnum()
        and part.isprintable()
        and not part.endswith((".", " "))
        and REFUSED_CHARACTERS.isdisjoint(part)
        and len(part.encode()) <= MAX_PART
        and part.casefold() not in FILE_NAMES
    )


@contextmanager
def opened(workspace: Path, parts: Sequence[str]) -> Iterator[int]:
    """The descriptor of a directory under `what/`, all of them made where they are missing."""
    here = os.open(workspace, os.O_RDONLY | os.O_DIRECTORY)
    try:
        here = enter(here, ROOT)
        for part in parts:
            refuse_twin(here, part)
            here = enter(here, part)
        yield here
    finally:
        os.close(here)


def enter(above: int, name: str) -> int:
    """Open a directory in another, which is closed then."""
    with suppress(FileExistsError):
        os.mkdir(name, dir_fd=above)
    try:
        here = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=above)
    except NotADirectoryError:
        raise PlanError(
            f"`{name}` is a file or a link: a plan needs a directory there; move it away"
        ) from None
    os.close(above)
    return here


def refuse_twin(directory: int, name: str) -> None:
    """Raise if a name is taken but for upper and lower case: elsewhere the two would be one."""
    for other in os.listdir(directory):
        if other != name and other.casefold() == name.casefold():
            raise PlanError(
                f"`{other}` is there already, so `{name}` can't be: only upper and lower case differ"
            )


def put(directory: int, name: str, text: str, *, overwrite: bool) -> bool:
    """Write a whole file or nothing of it; whether it was written, and not left as it was."""
    draft = f".{name}.{secrets.token_hex(4)}"
    try:
        with os.fdopen(
            os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666, dir_fd=directory), "w"
        ) as file:
            file.write(text)
        publish = os.replace if overwrite else os.link  # a link fails where a file is, a rename replaces it
        publish(draft, name, src_dir_fd=directory, dst_dir_fd=directory)
    except FileExistsError:
        return False
    finally:
        with suppress(FileNotFoundError):
            os.unlink(draft, dir_fd=directory)
    return True
