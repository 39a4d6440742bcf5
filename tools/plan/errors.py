"""What goes wrong in a way that whoever called can understand, and do something about."""

from __future__ import annotations


class PlanError(Exception):
    """A call came to nothing, and nothing of it is left; the text says why and what to do."""
