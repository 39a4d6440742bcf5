"""The author's module in this process: imported once, its functions, and how each wants to be called."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any, Final, Literal

from .awaiting import settled
from .context import Call
from .failures import Fault, fault_of, headline, log_exception
from .hiding import Secrets
from .importing import Place
from .preparing import compile_all, missing
from .snapshot import Snapshot
from .values import clean

_VARARGS: Final = 0x04  # flags of code objects, as `inspect` has them
_VARKEYWORDS: Final = 0x08


@dataclass(frozen=True, slots=True)
class Way:
    """How a function wants to be called."""

    leading: int  # of the arguments that it is given, how many it takes
    context: Literal["after them", "by its name", "not at all"]


class ToolModule:
    """One generation of one module."""

    def __init__(self, place: Place, snapshot: Snapshot, needs: Sequence[str], secrets: Secrets) -> None:
        self.snapshot = snapshot
        self.warning: str | None = None  # what initialize() said
        self._place = place
        self._needs = needs  # the functions that it must have
        self._secrets = secrets
        self._module: ModuleType | None = None
        self._ways: dict[str, Way] = {}  # by the name of a function

    @property
    def is_loaded(self) -> bool:
        """Whether it has been imported."""
        return self._module is not None

    def compile(self) -> Fault | None:
        """Compile it without running any of it."""
        return compile_all(self.snapshot, self._place, self._needs)

    def load(self) -> Fault | None:
        """Import and initialize it, if that hasn't been done; what is wrong with it, if it can't be used."""
        if self._module is not None:
            return None
        try:
            module = importlib.import_module(self._place.name)
        except BaseException as error:  # noqa: BLE001 - whatever an author's module raises, SystemExit too
            log_exception(error, self._secrets.hide)
            return fault_of(error, self.snapshot)
        for name in self._needs:
            if not callable(getattr(module, name, None)):
                return Fault(missing(name), self._place.entry)
        self._module = module
        self.warning = self._initialize(module)
        return None

    def has(self, function: str) -> bool:
        """Whether the module, which has been loaded, has a function."""
        return callable(getattr(self._module, function, None))

    def call(self, function: str, given: Sequence[Any], context: Mapping[str, Any], call: Call) -> Any:
        """Call a function that the module has, with as many arguments as it takes, and the context after them.

        Whatever it raises comes through.
        """
        called = getattr(self._module, function)
        way = self._ways.get(function)
        if way is None:
            way = self._ways[function] = _way(called, len(given))
        leading = given[: way.leading]
        match way.context:
            case "after them":
                said = called(*leading, context)
            case "by its name":
                said = called(*leading, context=context)
            case "not at all":
                said = called(*leading)
        return settled(said, call)

    def _initialize(self, module: ModuleType) -> str | None:
        """Run `initialize`; a warning if it failed."""
        function = getattr(module, "initialize", None)
        if not callable(function):
            return None
        try:
            said = settled(function())
        except BaseException as error:  # noqa: BLE001 - the tools still work
            log_exception(error, self._secrets.hide)
            return f"initialize() raised {headline(error)}"
        if not isinstance(said, Mapping) or said.get("success", True) is True:
            return None
        warning = clean(
            f"initialize() failed: {said.get('message') or said.get('error') or 'it did not say why'}"
        )
        with contextlib.suppress(Exception):  # whatever an author has put there
            print(self._secrets.hide(warning), file=sys.stderr)  # noqa: T201 - the module's log
        return warning


@dataclass(frozen=True, slots=True)
class Parameters:
    """What a function can be given."""

    positional: Sequence[str]
    named: Collection[str]  # by their names alone
    takes_more: bool  # *args
    takes_names: bool  # **options


def _way(function: Callable[..., Any], given: int) -> Way:
    """How a function that is given so many arguments, and a context, wants to be called."""
    try:
        takes = _plain_parameters(function) or _parameters(function)
    except Exception:  # noqa: BLE001 - written in C, and silent about itself; the contract has the context
        return Way(given, "after them")
    if "context" in takes.positional[:given]:
        return Way(takes.positional.index("context"), "after them")
    if len(takes.positional) > given or takes.takes_more:
        return Way(given, "after them")
    if "context" in takes.named or takes.takes_names:
        return Way(len(takes.positional), "by its name")
    return Way(len(takes.positional), "not at all")


def _plain_parameters(function: object) -> Parameters | None:
    """Those of a function as most are; to ask `inspect` costs each worker a fifth of a megabyte."""
    if type(function) is not FunctionType or function.__dict__:  # what is wrapped says so there
        return None
    code = function.__code__
    end = code.co_argcount + code.co_kwonlyargcount
    return Parameters(
        code.co_varnames[: code.co_argcount],
        code.co_varnames[code.co_argcount : end],
        bool(code.co_flags & _VARARGS),
        bool(code.co_flags & _VARKEYWORDS),
    )


def _parameters(function: Callable[..., Any]) -> Parameters:
    """Those of anything that can be called. Raises what `inspect` raises."""
    parameters = inspect.signature(function).parameters.values()
    kinds = {parameter.kind for parameter in parameters}
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return Parameters(
        [parameter.name for parameter in parameters if parameter.kind in positional],
        [parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY],
        inspect.Parameter.VAR_POSITIONAL in kinds,
        inspect.Parameter.VAR_KEYWORD in kinds,
    )
