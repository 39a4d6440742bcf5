"""The author's module in this process: imported once, its functions, and how each wants to be called."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, Literal

from .awaiting import settled
from .context import Call
from .failures import Fault, fault_of, headline, log_exception
from .importing import Place
from .preparing import NO_EXECUTE, compile_all
from .snapshot import Snapshot
from .values import clean

Way = Literal["by position", "by keyword", "not at all"]
"""How a function takes the context."""


class ToolModule:
    """One generation of one module."""

    def __init__(self, place: Place, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.warning: str | None = None  # what initialize() said
        self._place = place
        self._module: ModuleType | None = None
        self._takes_context: Way = "not at all"

    @property
    def is_loaded(self) -> bool:
        """Whether it has been imported."""
        return self._module is not None

    def compile(self) -> Fault | None:
        """Compile it without running any of it."""
        return compile_all(self.snapshot, self._place)

    def load(self) -> Fault | None:
        """Import and initialize it, if that hasn't been done; what is wrong with it, if it can't be used."""
        if self._module is not None:
            return None
        try:
            module = importlib.import_module(self._place.name)
        except BaseException as error:  # noqa: BLE001 - whatever an author's module raises, SystemExit too
            log_exception(error)
            return fault_of(error, self.snapshot)
        execute = getattr(module, "execute", None)
        if not callable(execute):
            return Fault(NO_EXECUTE, self._place.entry)
        self._takes_context = _way(execute, position=2)
        self._module = module
        self.warning = self._initialize(module)
        return None

    def execute(self, tool: str, arguments: Mapping[str, Any], context: Mapping[str, Any], call: Call) -> Any:
        """Call the module's `execute`; whatever it raises comes through."""
        assert self._module is not None
        return settled(_call(self._module.execute, self._takes_context, (tool, arguments), context), call)

    def get_info(self, context: Mapping[str, Any], call: Call) -> Any:
        """Call the module's `get_info`; None if it has none."""
        function = getattr(self._module, "get_info", None)
        if not callable(function):
            return None
        return settled(_call(function, _way(function, position=0), (), context), call)

    def _initialize(self, module: ModuleType) -> str | None:
        """Run `initialize`; a warning if it failed."""
        function = getattr(module, "initialize", None)
        if not callable(function):
            return None
        try:
            said = settled(function())
        except BaseException as error:  # noqa: BLE001 - the tools still work
            log_exception(error)
            return f"initialize() raised {headline(error)}"
        if not isinstance(said, Mapping) or said.get("success", True) is True:
            return None
        warning = clean(
            f"initialize() failed: {said.get('message') or said.get('error') or 'it did not say why'}"
        )
        with contextlib.suppress(Exception):  # whatever an author has put there
            print(warning, file=sys.stderr)  # noqa: T201 - the module's log
        return warning


def _way(function: Callable[..., Any], *, position: int) -> Way:
    """How a function takes the context: as the argument at a position, by its name, or not."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except Exception:  # noqa: BLE001 - written in C, and silent about itself; the contract has the context
        return "by position"
    kinds = [parameter.kind for parameter in parameters]
    positional = kinds.count(inspect.Parameter.POSITIONAL_ONLY) + kinds.count(
        inspect.Parameter.POSITIONAL_OR_KEYWORD
    )
    if positional > position or inspect.Parameter.VAR_POSITIONAL in kinds:
        return "by position"
    named = any(each.kind is inspect.Parameter.KEYWORD_ONLY and each.name == "context" for each in parameters)
    return "by keyword" if named or inspect.Parameter.VAR_KEYWORD in kinds else "not at all"


def _call(
    function: Callable[..., Any], way: Way, arguments: tuple[Any, ...], context: Mapping[str, Any]
) -> Any:
    match way:
        case "by position":
            return function(*arguments, context)
        case "by keyword":
            return function(*arguments, context=context)
        case "not at all":
            return function(*arguments)
