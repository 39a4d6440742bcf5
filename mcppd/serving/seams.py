"""What serving sees of the rest: who runs calls, and who knows what is served now."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias

from mcppd.core.calls import CallContext
from mcppd.core.catalog import Catalog, Prompt, Tool
from mcppd.core.generation import Generation
from mcppd.core.modules import Module
from mcppd.core.results import ToolResult
from mcppd.core.strikes import Workforce

Wanted: TypeAlias = Callable[[Catalog], Module | None]
"""Finds the module that a request is about; None where there is none, or it is about all of them."""


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
    """Who runs the code of modules. What is asked of it raises ToolError, RetiredError, InputRequiredError."""

    @property
    def checks(self) -> Checks:
        """Validation, off the event loop where it may take long."""
        ...

    def workforce(self, generation: Generation | None) -> Workforce:
        """The workers of a generation, and the calls that wait for one."""
        ...

    async def call_tool(self, tool: Tool, arguments: Mapping[str, Any], context: CallContext) -> ToolResult:
        """Run a tool."""
        ...

    async def get_info(self, module: Module, context: CallContext) -> ToolResult:
        """Ask a module what it says of itself."""
        ...

    async def get_prompt(self, prompt: Prompt, arguments: Mapping[str, str], context: CallContext) -> bytes:
        """A whole GetPromptResult as JSON text."""
        ...

    async def read_resource(
        self,
        module: Module,
        uri: str,
        variables: Mapping[str, str],
        mime_type: str | None,
        context: CallContext,
    ) -> bytes | None:
        """The array of contents as JSON text; None where there is no such resource."""
        ...

    async def list_resources(self, module: Module, context: CallContext) -> bytes:
        """An array of resources as JSON text, as the module gives them."""
        ...

    async def complete(
        self, module: Module, ref: Mapping[str, str], argument: Mapping[str, Any], context: CallContext
    ) -> bytes:
        """{values, total?, hasMore?} as JSON text."""
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

    async def settled(self, wanted: Wanted | None) -> bool:
        """Wait until what is on the disk is served, for one module or for all; False if that took too long."""
        ...
