"""What a module lists at run time, read: the good entries, and what is wrong with the others (D15)."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any, Final

from mcppd.core.manifest_items import SHAPES, uri_fault
from mcppd.core.shapes import misfits, not_json, place_text, pruned, shown
from mcppd.serving.encoded import read_json

LISTED_LIMIT: Final = 10_000
"""Resources that one module may list at run time; clients show them all at once, to people or to a model."""
FAULTS_SHOWN: Final = 3
"""Bad entries of one list that are told one by one."""


def read_entries(said: bytes) -> tuple[list[dict[str, Any]], str | None]:
    """The resources in a module's JSON text that clients can be shown, and what is wrong with the rest, if anything."""
    value = read_json(said)
    if not isinstance(value, list):
        return [], f"list_resources() must return a list of resources, not {shown(value)}"
    good: list[dict[str, Any]] = []
    bad: list[str] = []
    for index, each in enumerate(value[:LISTED_LIMIT]):
        definition = _named(pruned(each, SHAPES["resources"]))
        if (wrong := _wrong(definition)) is None:
            good.append(definition)
        else:
            bad.append(f"list_resources()[{index}]{wrong}")
    return good, _told(bad, len(value))


def _named(entry: Any) -> Any:
    """The entry, called by its URI where it has no name."""
    return {"name": entry.get("uri"), **entry} if isinstance(entry, dict) else entry


def _wrong(entry: Any) -> str | None:
    """What is wrong with one entry: its place, then why."""
    if not isinstance(entry, Mapping):
        return f" must be a dict with `uri` and `name`, not {shown(entry)}"
    if not isinstance(entry.get("uri"), str):
        return f"['uri'] must be a text, not {shown(entry.get('uri'))}"
    if (fault := uri_fault(entry["uri"])) is not None:
        return f"['uri'] {fault}"
    place, fault = next(chain(misfits(entry, SHAPES["resources"]), not_json(entry)), ((), None))
    return f" {place_text(place)} {fault}".replace("  ", " ") if fault is not None else None


def _told(bad: list[str], count: int) -> str | None:
    told = bad[:FAULTS_SHOWN]
    if len(bad) > FAULTS_SHOWN:
        told.append(f"and {len(bad) - FAULTS_SHOWN} more")
    if count > LISTED_LIMIT:
        told.append(f"only the first {LISTED_LIMIT} of {count} are listed")
    return f"left out: {'; '.join(told)}" if told else None
