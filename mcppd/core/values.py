"""Values that are made anew for each call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True)
def value(made: type[T]) -> type[T]:
    """A dataclass that is frozen to type checkers; one that is at run time takes three times as long to make."""
    return dataclass(slots=True, unsafe_hash=True)(made)
