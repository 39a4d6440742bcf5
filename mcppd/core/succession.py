"""Succession: a catalog made out of the one before, where a save has changed no name.

It costs what was saved, and next to nothing for all the rest, which stays the very same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from mcppd.core.catalog import Catalog
from mcppd.core.faults import Fault
from mcppd.core.items import Item
from mcppd.core.modules import Module, Offer
from mcppd.core.served import Served, Tool


def succeeding(before: Catalog, modules: Sequence[Module], warnings: Sequence[Fault]) -> Catalog | None:
    """The catalog of these modules, as `build_catalog` makes it; None where names have to be settled anew."""
    if len(modules) != len(before.modules):
        return None
    pairs = zip(before.modules, modules, strict=True)
    successors = {old: new for old, new in pairs if old is not new}
    if any(_names_of(old) != _names_of(new) for old, new in successors.items()):
        return None
    return before.with_others(modules, warnings, dict(_exchanged(before, successors)))


def _exchanged(before: Catalog, successors: Mapping[Module, Module]) -> Iterator[tuple[Served, Served]]:
    offers: dict[int, Offer] = {}
    items: dict[int, Item] = {}
    for old, new in successors.items():
        offers |= dict(zip(map(id, old.offers), new.offers, strict=True))
        items |= dict(zip(map(id, old.items), new.items, strict=True))
    for each in before.of_modules(successors):
        module = successors[each.module]
        if isinstance(each, Tool):
            yield each, replace(each, module=module, offer=offers[id(each.offer)])
        else:
            yield each, replace(each, module=module, item=items[id(each.item)])


def _names_of(module: Module) -> tuple[object, ...]:
    """All by which names are settled between modules."""
    offers = [(each.name, each.fault is None) for each in module.offers]
    return module.name, offers, [(each.kind, each.key, each.fault is None) for each in module.items]
