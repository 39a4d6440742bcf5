"""What a reload tells: the kinds whose lists have changed, once, after the new catalog is served."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import pytest

from mcppd.core.catalog import make_offer
from mcppd.core.generation import Generation
from mcppd.core.items import Item, make_item
from mcppd.core.kinds import Kind
from mcppd.core.modules import Module
from mcppd.reloading.publisher import Publisher

TOOL = make_offer("t", {"name": "t", "description": "t", "inputSchema": {"type": "object"}})
PROMPT = make_item("prompts", {"name": "p", "description": "p"})
RESOURCE = make_item("resources", {"uri": "note://a", "name": "a"})
TEMPLATE = make_item("resourceTemplates", {"uriTemplate": "note://{x}/b", "name": "b"})


def generation(number: int) -> Generation:
    return Generation("m", number, "/m", "/m/mcpptool.py", f"digest {number}", {})


def module(*items: Item, number: int = 1, **options: Any) -> Module:
    return Module("m", "/m", generation=generation(number), offers=(TOOL,), items=items, **options)


class Published:
    """A publisher, and what it told at which catalog."""

    def __init__(self, first: Module) -> None:
        self.publisher = Publisher()
        self.publisher.tell = self._tell
        self.told: list[set[Kind]] = []
        self.publish(first)

    def publish(self, module: Module) -> None:
        self.next = module
        self.publisher.publish([module], [], 0.0)

    def _tell(self, kinds: Collection[Kind]) -> int:
        assert self.publisher.catalog.modules == (self.next,)  # it is served already
        self.told.append(set(kinds))
        return 3


ALL = (PROMPT, RESOURCE, TEMPLATE)


@pytest.mark.parametrize(
    ("items", "kinds"),
    [
        ((RESOURCE, TEMPLATE), {"prompts"}),
        ((PROMPT, TEMPLATE), {"resources"}),
        ((PROMPT, RESOURCE), {"resourceTemplates"}),
        ((), {"prompts", "resources", "resourceTemplates"}),
        ((make_item("prompts", {"name": "p", "description": "q"}), RESOURCE, TEMPLATE), {"prompts"}),
    ],
    ids=str,
)
def test_the_kinds_that_changed_are_told_in_one_go(items: tuple[Item, ...], kinds: set[Kind]) -> None:
    published = Published(module(*ALL))
    published.publish(module(*items, number=2))
    assert published.told == [kinds]
    assert published.publisher.last_report is not None
    assert (published.publisher.last_report.list_changed, published.publisher.last_report.notified) == (
        True,
        3,
    )


def test_other_code_and_what_clients_are_not_sent_is_not_told() -> None:
    argument = {"name": "x", "enum": ["1"]}
    published = Published(module(make_item("prompts", {"name": "p", "arguments": [argument]})))
    other = make_item("prompts", {"name": "p", "arguments": [argument | {"enum": ["2"]}]})
    published.publish(module(other, number=2))
    assert published.told == []


def test_other_code_that_lists_resources_is_told_as_a_change_of_them() -> None:
    published = Published(module(RESOURCE, lists_resources=True))
    published.publish(module(RESOURCE, lists_resources=True, number=2))
    assert published.told == [{"resources"}]
    published.publish(replace(published.next, about="other"))
    assert published.told == [{"resources"}]
