"""Words of a report that are the same wherever it is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

SHORT: Final = 48
"""Characters of a name or URI in a line; what is longer is cut in its middle."""

SHORTEST: Final = 0.05
"""Milliseconds of a stage that are told: less is shown as 0.0."""

FIELDS_SHOWN: Final = 3
"""Fields that are named of what changed, in a line."""


def fields_words(fields: Sequence[str]) -> str:
    """Which fields changed, in brackets, as far as there is room in a line."""
    if not fields:
        return ""
    hidden = len(fields) - FIELDS_SHOWN
    shown = fields if hidden <= 1 else fields[:FIELDS_SHOWN]
    words = [shortened(each) for each in shown] + ([f"{hidden} more"] if hidden > 1 else [])
    return f" ({', '.join(words)})"


def shortened(name: str) -> str:
    """A name or URI as there is room for it in a line."""
    half = SHORT // 2
    return name if len(name) <= SHORT else f"{name[: half - 1]}…{name[-half:]}"


def stages_words(stages: Mapping[str, float]) -> str:
    """How long each stage took: "noticed 0.2 ms, read 1.5 ms"; those of no time aren't told."""
    told = ((stage, seconds * 1000) for stage, seconds in stages.items() if seconds * 1000 >= SHORTEST)
    return ", ".join(f"{stage} {_milliseconds(each)}" for stage, each in told)


def _milliseconds(number: float) -> str:
    return f"{number:.1f} ms" if number < 10 else f"{number:.0f} ms"  # noqa: PLR2004 - two digits are enough
