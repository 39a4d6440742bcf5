"""The catalog: the immutable snapshot of everything that is served, and how names lead to it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar, cast

import orjson

from mcppd.core import names, uri_templates
from mcppd.core.eras import advertise
from mcppd.core.faults import Fault
from mcppd.core.items import KEYS, Item
from mcppd.core.jsonrpc import encode_value
from mcppd.core.kinds import KINDS, Kind
from mcppd.core.modules import Module, Offer, Settings, make_offer
from mcppd.core.served import Prompt, Resource, Served, Template, Tool

__all__ = ["Item", "Module", "Offer", "Prompt", "Resource", "Settings", "Template", "Tool", "make_offer"]

HELP: Final = "help"
CALL_TOOL: Final = "call_tool"
RESERVED: Final = frozenset({HELP, CALL_TOOL})
"""Names of built-in tools; a module's tool of such a name is listed under its full name."""

S = TypeVar("S", Tool, Prompt)
R = TypeVar("R", Resource, Template)
A = TypeVar("A", Tool, Prompt, Resource, Template)


@dataclass(slots=True, eq=False)
class Catalog:
    """Everything served at one moment. Made by `build_catalog`, never changed; only its encodings are kept."""

    modules: tuple[Module, ...]
    tools: tuple[Tool, ...]  # in order of listed name; quarantined ones too
    warnings: tuple[Fault, ...] = ()
    removed: Mapping[str, str] = field(default_factory=dict)  # name -> when a reload took it away
    prompts: tuple[Prompt, ...] = ()  # in order of listed name; none that is quarantined
    resources: tuple[Resource, ...] = ()  # in order of uri, the same
    templates: tuple[Template, ...] = ()  # in order of uriTemplate, the same
    shadowed: tuple[Resource | Template, ...] = ()  # not served: another module comes first with their uri
    _by_name: dict[str, Tool] = field(default_factory=dict)
    _prompts: dict[str, Prompt] = field(default_factory=dict)
    _by_uri: dict[str, Resource] = field(default_factory=dict)
    _by_template: dict[str, Template] = field(default_factory=dict)  # in registry order
    _encoded: dict[tuple[Kind, str, int], list[tuple[str, bytes]]] = field(default_factory=dict)
    _fingerprints: dict[Kind, str] = field(default_factory=dict)

    def find(self, name: str) -> Tool | None:
        """The tool of a listed, full or author's name."""
        return self._by_name.get(name)

    def find_prompt(self, name: str) -> Prompt | None:
        """The prompt of a listed, full or author's name, quarantined ones too."""
        return self._prompts.get(name)

    def find_template(self, uri_template: str) -> Template | None:
        """The template of this very text."""
        return self._by_template.get(uri_template)

    def find_resource(
        self, uri: str
    ) -> tuple[Resource, dict[str, str]] | tuple[Template, dict[str, str]] | None:
        """What a URI is read from, and the variables in it; one that is quarantined where nothing else is."""
        resource = self._by_uri.get(uri)
        if resource is not None and resource.item.fault is None:
            return resource, {}
        for template in self._by_template.values():
            if template.item.fault is None:
                variables = uri_templates.parse(template.uri_template).match(uri)
                if variables is not None:
                    return template, variables
        return (resource, {}) if resource is not None else None

    def called(self, name: str) -> list[Served]:
        """All that a name or a URI leads to, and that text of a template; the first has precedence."""
        read_from = self.find_resource(name)
        found: tuple[Served | None, ...] = (
            self.find(name),
            self.find_prompt(name),
            self.find_template(name),
            None if read_from is None else read_from[0],
        )
        return list(dict.fromkeys(each for each in found if each is not None))

    def owner_of(self, shadowed: Resource | Template) -> Resource | Template | None:
        """What is served in place of one that is shadowed."""
        owners: Mapping[str, Resource | Template] = (
            self._by_uri if isinstance(shadowed, Resource) else self._by_template
        )
        return owners.get(shadowed.key)

    def module(self, name: str) -> Module | None:
        """The module of a name."""
        return next((module for module in self.modules if module.name == name), None)

    @property
    def listed(self) -> Iterable[Tool]:
        """The tools that lists show."""
        return (tool for tool in self.tools if tool.offer.fault is None)

    def of_kind(self, kind: Kind) -> Iterable[Served]:
        """All of a kind that lists show, in order."""
        match kind:
            case "tools":
                return self.listed
            case "prompts":
                return self.prompts
            case "resources":
                return self.resources
            case "resourceTemplates":
                return self.templates

    def nearest(self, name: str) -> list[str]:
        """Names of tools close to one that isn't there."""
        return names.nearest(name, [*(tool.name for tool in self.listed), *RESERVED])

    def nearest_of_all(self, name: str) -> list[str]:
        """What is close to a name of nothing: tools, prompts, resources, templates and modules."""
        known = [each.key for kind in KINDS for each in self.of_kind(kind)]
        return names.nearest(name, [*known, *RESERVED, *(module.name for module in self.modules)])

    def nearest_prompts(self, name: str) -> list[str]:
        """Names of prompts close to one that isn't there."""
        return names.nearest(name, [prompt.name for prompt in self.prompts])

    def encoded(
        self, kind: Kind, revision: str, builtin: Sequence[Mapping[str, Any]] = ()
    ) -> list[tuple[str, bytes]]:
        """(key, JSON) of all that is listed of a kind for a revision, in order of key; encoded once for each catalog.

        `builtin` are the tools of ours that are shown; as many of them are always the same ones.
        """
        place = (kind, revision, len(builtin))
        if place not in self._encoded:
            definitions = {each.key: each.advertised for each in self.of_kind(kind)}
            definitions.update({each[KEYS[kind]]: each for each in builtin})
            self._encoded[place] = [
                (key, encode_value(advertise(kind, definitions[key], revision)))
                for key in sorted(definitions)
            ]
        return self._encoded[place]

    @property
    def fingerprints(self) -> Mapping[Kind, str]:
        """For each kind a hash of all that its list shows; a notification is due when one changes (D8)."""
        for kind in KINDS:
            if kind not in self._fingerprints:
                shown = orjson.dumps([each.appearance for each in self.of_kind(kind)])
                self._fingerprints[kind] = hashlib.sha256(shown).hexdigest()
        return self._fingerprints

    def with_others(
        self, modules: Sequence[Module], warnings: Sequence[Fault], successors: Mapping[Served, Served]
    ) -> Catalog:
        """The same names, where some that they lead to have successors, which are named alike."""

        def tuple_of(every: tuple[A, ...]) -> tuple[A, ...]:
            return tuple([cast(A, successors.get(each, each)) for each in every])

        def dict_of(every: dict[str, A]) -> dict[str, A]:
            return {name: cast(A, successors.get(each, each)) for name, each in every.items()}

        return Catalog(
            modules=tuple(modules),
            tools=tuple_of(self.tools),
            warnings=tuple(warnings),
            prompts=tuple_of(self.prompts),
            resources=tuple_of(self.resources),
            templates=tuple_of(self.templates),
            shadowed=tuple([cast(Resource | Template, successors.get(each, each)) for each in self.shadowed]),
            _by_name=dict_of(self._by_name),
            _prompts=dict_of(self._prompts),
            _by_uri=dict_of(self._by_uri),
            _by_template=dict_of(self._by_template),
        )

    def of_modules(self, modules: Container[Module]) -> Iterator[Served]:
        """All that these modules have, listed or not, shadowed or not."""
        every = (self._prompts.values(), self._by_uri.values(), self._by_template.values())
        for some in (self.tools, *every, self.shadowed):
            yield from (each for each in some if each.module in modules)

    def take_after(self, other: Catalog, kinds: Container[Kind]) -> None:
        """Keep what another catalog has worked out of kinds that look the same in both."""
        self._encoded.update({place: lines for place, lines in other._encoded.items() if place[0] in kinds})
        known = other._fingerprints
        self._fingerprints.update({kind: known[kind] for kind in KINDS if kind in kinds and kind in known})


def build_catalog(modules: Sequence[Module], warnings: Sequence[Fault] = ()) -> Catalog:
    """Settle the names between modules, in registry order: the first keeps the plain name (D16)."""
    tools: dict[str, Tool] = {}
    prompts: dict[str, Prompt] = {}
    taken = set(RESERVED)
    for module in modules:
        for offer in module.offers:
            name, full = _settled(module, offer.name, taken, is_good=offer.fault is None)
            tools[name] = Tool(name, full, offer.name, module, offer)
            taken.add(name)
        for item in module.items:
            if item.kind == "prompts":
                name, full = _settled(module, item.key, prompts, is_good=item.fault is None)
                prompts[name] = Prompt(name, full, item.key, module, item)
    resources, more_resources = _owned(modules, "resources", Resource)
    templates, more_templates = _owned(modules, "resourceTemplates", Template)
    return Catalog(
        modules=tuple(modules),
        tools=_in_order(tools.values()),
        warnings=tuple(warnings),
        prompts=_in_order(each for each in prompts.values() if each.item.fault is None),
        resources=_in_order(each for each in resources.values() if each.item.fault is None),
        templates=_in_order(each for each in templates.values() if each.item.fault is None),
        shadowed=(*more_resources, *more_templates),
        _by_name=_index(tools, RESERVED),
        _prompts=_index(prompts, frozenset()),
        _by_uri=resources,
        _by_template=templates,
    )


def _settled(module: Module, own_name: str, taken: Container[str], *, is_good: bool) -> tuple[str, str]:
    """(the name that a tool or prompt is listed under, its full name)."""
    full = names.full_name(module.name, own_name)
    name = names.wire_name(own_name)
    if not is_good or name in taken:
        name = full
    if name in taken:  # somebody's plain name looks like this full name
        name = names.wire_name(f"{full} of {module.name}")
    return name, full


def _index(named: dict[str, S], reserved: Container[str]) -> dict[str, S]:
    """Every name by which one can be called: of those that meet, the first in registry order has it."""
    last_to_first = list(reversed(named.values()))
    by_name = {each.own_name: each for each in last_to_first if each.own_name not in reserved}
    return by_name | {each.full_name: each for each in last_to_first} | named


def _owned(
    modules: Sequence[Module], kind: Kind, make: Callable[[str, Module, Item], R]
) -> tuple[dict[str, R], list[R]]:
    """(what each uri leads to, in registry order; those whose uri leads elsewhere)."""
    owners: dict[str, R] = {}
    shadowed = []
    for module in modules:
        for item in module.items:
            if item.kind != kind:
                continue
            found = make(item.key, module, item)
            owner = owners.get(item.key)
            if owner is None or (owner.item.fault is not None and item.fault is None):
                owners[item.key] = found
            elif item.fault is None:
                shadowed.append(found)
    return owners, shadowed


def _in_order(found: Iterable[A]) -> tuple[A, ...]:
    return tuple(sorted(found, key=lambda each: each.key))
