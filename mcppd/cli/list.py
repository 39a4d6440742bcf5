"""`mcppd list`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import click

from mcppd.cli.answers import Answer
from mcppd.cli.daemons import ask, daemon_options, find_daemon
from mcppd.cli.output import is_terminal, print_json, print_table, say
from mcppd.core.items import KEYS, reported_name
from mcppd.core.kinds import KINDS, Kind

Row = tuple[str, str, str]

SENTENCE_END: Final = re.compile(r"[.!?](?=\s+[A-Z])")


@dataclass(frozen=True, slots=True)
class Listed(Answer):
    """Something that is served."""

    name: str = ""
    uri: str = ""
    uriTemplate: str = ""  # noqa: N815 - read by its name
    module: str = ""
    title: str = ""
    description: str = ""

    def row(self, kind: Kind) -> Row:
        """What it is called, its module, and the first line of what it is for."""
        key: str = getattr(self, KEYS[kind])
        lines = (self.description or self.title).strip().splitlines()
        return reported_name(kind, key), self.module, _first_sentence(lines[0]) if lines else ""


def _first_sentence(text: str) -> str:
    end = SENTENCE_END.search(text)
    return (text[: end.start() + 1] if end else text).replace("\t", " ")


@click.command("list")
@daemon_options
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON, tools with their schemas.")
def command(*, config: str | None, socket: str | None, as_json: bool) -> None:
    """List the tools, prompts and resources that are served.

    A line for each: name, module, what it is for (the first sentence), with tabs between them. A
    prompt's name follows `prompt:`, a resource is named by its URI. A table on a terminal, as wide
    as that is. `help NAME` has all of one, `--json` all of all.
    """
    answer = ask(find_daemon(config, socket), "mcppd/list")
    rows = [Listed.read(each).row(kind) for kind in KINDS for each in answer.get(kind) or ()]
    if as_json:
        print_json(answer)
    elif is_terminal():
        print_table(("name", "module", "description"), rows, is_cut=True)
    else:
        for row in rows:
            say("\t".join(row))
