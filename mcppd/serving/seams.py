"""What serving sees of the rest: who runs calls, and who knows what is served now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from mcppd.core.calls import CallContext
from mcppd.core.catalog import Catalog, Module, Tool
from mcppd.core.results import ToolResult


class Checks(Protocol):
    """Validation of values against the schemas of authors."""

    async def accept(
        self, schema: Any, arguments: dict[str, Any], *, plain: bool, size: int
    ) -> tuple[dict[str, Any], list[str]]:
        """The arguments, converted where nothing is lost, and what is wrong with them."""
        ...

    async def check_value(self, schema: Any, value: bytes, *, plain: bool) -> list[str]:
        """What is wrong with structured content, given as JSON text."""
        ...


class Calls(Protocol):
    """Who runs tool code."""

    @property
    def checks(self) -> Checks:
        """Validation, off the event loop where it may take long."""
        ...

    async def call_tool(self, tool: Tool, arguments: Mapping[str, Any], context: CallContext) -> ToolResult:
        """Run a tool; raises ToolError, RetiredError."""
        ...

    async def get_info(self, module: Module, context: CallContext) -> ToolResult:
        """Ask a module what it says of itself; raises ToolError, RetiredError."""
        ...


class Served(Protocol):
    """Who knows what is served."""

    @property
    def catalog(self) -> Catalog:
        """What is served now; read once for each call."""
        ...

    @property
    def last_reload(self) -> str | None:
        """What the last reload did, for people."""
        ...

    async def settled(self, name: str | None) -> bool:
        """Wait until what is on the disk is served, for one tool or for all; False if that took too long."""
        ...
