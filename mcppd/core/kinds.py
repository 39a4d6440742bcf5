"""The kinds of things that are listed to clients."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

Kind: TypeAlias = Literal["tools", "prompts", "resources", "resourceTemplates"]
"""Named as the member of its list's result (MCP, ListToolsResult and its like)."""

KINDS: Final[tuple[Kind, ...]] = ("tools", "prompts", "resources", "resourceTemplates")
