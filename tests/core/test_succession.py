"""A catalog made out of the one before is the one that would be made anew, and keeps what is the same."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as some

from mcppd.core.catalog import Catalog, Item, Module, build_catalog, make_offer
from mcppd.core.faults import Fault
from mcppd.core.succession import succeeding

NAMES = some.sampled_from(["a", "b", "c", "one__a", "help"])
FAULTS = some.sampled_from([None, None, Fault("is bad", "/m/tool.yaml", 3)])
TOOLS = some.lists(
    some.tuples(NAMES, some.sampled_from(["x", "y"]), FAULTS), max_size=3, unique_by=lambda each: each[0]
)
ITEMS = some.lists(
    some.tuples(some.sampled_from(["prompts", "resources", "resourceTemplates"]), NAMES, FAULTS),
    max_size=3,
    unique_by=lambda each: each[:2],
)


def _item(kind: Any, key: str, fault: Fault | None) -> Item:
    key = key if kind == "prompts" else f"a://{key}" + ("/{id}" if kind == "resourceTemplates" else "")
    return Item(kind, key, {"key": key}, {"key": key}, key, fault)


@some.composite
def modules(draw: some.DrawFn) -> list[Module]:
    """A registry of modules."""
    return [
        Module(
            name,
            f"/{name}",
            offers=tuple(
                make_offer(tool, {"title": title}, fault=fault) for tool, title, fault in draw(TOOLS)
            ),
            items=tuple(_item(*item) for item in draw(ITEMS)),
        )
        for name in draw(some.lists(some.sampled_from(["one", "two", "three"]), unique=True, max_size=3))
    ]


@some.composite
def saves(draw: some.DrawFn) -> tuple[list[Module], list[Module]]:
    """Modules, and what they are after a save, which may be anything or change no name."""
    old = draw(modules())
    if draw(some.booleans()):
        return old, draw(modules())
    return old, [_saved(each) if draw(some.booleans()) else each for each in old]


def _saved(module: Module) -> Module:
    offers = tuple(make_offer(each.name, {"title": "saved"}, fault=each.fault) for each in module.offers)
    return replace(module, offers=offers, items=tuple(replace(each, digest="saved") for each in module.items))


@given(saves())
def test_it_is_what_would_be_made_anew(save: tuple[list[Module], list[Module]]) -> None:
    old, new = save
    before, anew = build_catalog(old), build_catalog(new, [Fault("odd")])
    made = succeeding(before, new, [Fault("odd")])
    if made is not None:
        assert [_shown(made, name) for name in _parts()] == [_shown(anew, name) for name in _parts()]
        assert made.fingerprints == anew.fingerprints


@given(modules())
def test_a_save_that_changes_no_name_has_a_successor_and_keeps_the_rest(old: list[Module]) -> None:
    before = build_catalog(old)
    made = succeeding(before, [*map(_saved, old[:1]), *old[1:]], [])
    assert made is not None
    for one, other in zip(before.tools, made.tools, strict=True):
        assert (one is other) == (one.module not in old[:1])
        assert made.find(other.full_name) in made.tools


def _parts() -> list[str]:
    return [each.name for each in fields(Catalog) if each.name not in ("_encoded", "_fingerprints")]


def _shown(catalog: Catalog, name: str) -> Any:
    """A part of a catalog with what is compared by identity taken apart."""
    part = getattr(catalog, name)
    if isinstance(part, dict):
        return [(key, _values(each)) for key, each in part.items()]
    return [_values(each) for each in part] if isinstance(part, tuple) else part


def _values(each: Any) -> Any:
    if isinstance(each, Module | Fault):
        return each
    return type(each), {one.name: getattr(each, one.name) for one in fields(each)}
