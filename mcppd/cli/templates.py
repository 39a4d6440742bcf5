"""The template of a module, and a new module made of it: a name that fits, and files that are there all at once."""

from __future__ import annotations

import os
import re
import secrets
import shutil
from pathlib import Path
from typing import Final

import mcppd
from mcppd.bundled import registry_path
from mcppd.cli.errors import CommandError
from mcppd.core.names import MAX_NAME

FILES: Final = ("tool.yaml", "mcpptool.py", "helper.py")
PLACEHOLDER: Final = "NAME"
"""Stands for the module's name wherever it is in the template."""

LONGEST: Final = (MAX_NAME - len("___hello")) // 2
"""Characters of a module's name with which `NAME__NAME_hello` is still a name that every client takes."""

_GOOD: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[_-][A-Za-z0-9]+)*")


def name_fault(name: str) -> str | None:
    """Why a module can't be called this, and what to do."""
    if "/" in name:
        return f"{name!r} is a path: give the name alone, and the directory it lies in with --path"
    if len(name) > LONGEST:
        return f"a module's name has at most {LONGEST} characters, this one {len(name)}: its tools' begin with it"
    if _GOOD.fullmatch(name):
        return None
    near = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_").lstrip("0123456789_")
    hint = f": {near}, for one" if _GOOD.fullmatch(near) else ""
    return (
        f"{name!r} is no good name for a module: it begins with a letter, and has only letters, digits, and single "
        f"`_` or `-` between them (clients take no others){hint}"
    )


def schema_line(name: str) -> str:
    """The comment by which editors check and complete a file, by the schema of this name in the package."""
    path = Path(mcppd.__file__).resolve().parent / "schemas" / name
    return f"# yaml-language-server: $schema={path.as_uri()}"


def make_module(directory: str, name: str) -> None:
    """Make a module's directory with its files, all at once. Raises OSError."""
    draft = os.path.join(os.path.dirname(directory), f".{name}.{secrets.token_hex(4)}")  # no glob finds it
    os.mkdir(draft)
    try:
        for file, text in _texts(name).items():
            Path(draft, file).write_text(text, encoding="utf-8")
        if os.path.lexists(directory):
            raise CommandError(f"{directory} was made meanwhile, and is left as it is", status=1)
        os.rename(draft, directory)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _texts(name: str) -> dict[str, str]:
    """The files of a new module."""
    template = registry_path().parent / "tools" / "_template_pkg"
    texts = {file: (template / file).read_text(encoding="utf-8") for file in FILES}
    named = {file: text.replace(PLACEHOLDER, name) for file, text in texts.items()}
    return {**named, "tool.yaml": f"{schema_line('manifest.schema.json')}\n{named['tool.yaml']}"}
