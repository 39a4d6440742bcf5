"""What a reload tells: the kinds whose lists have changed, once, after the new catalog is served."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import pytest

from mcppd.core.catalog import make_offer
from mcppd.core.faults import Fault
from mcppd.core.generation import Generation
from mcppd.core.items import Item, make_item
from mcppd.core.kinds import Kind
from mcppd.core.modules import Module
from mcppd.reloading.laps import Laps
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
        self.publisher.publish([module], [], Laps())

    def _tell(self, kinds: Collection[Kind]) -> int:
        assert self.publisher.catalog.modules == (self.next,)  # it is served already
        self.told.append(set(kinds))
        return 3


ALL = (PROMPT, RESOURCE, TEMPLATE)


@pytest.mark.parametrize(
    ("items", "kinds"),
    [
        ((RESOURCE, TEMPLATE), ["prompts"]),
        ((PROMPT, TEMPLATE), ["resources"]),
        ((PROMPT, RESOURCE), ["resourceTemplates"]),
        ((), ["prompts", "resources", "resourceTemplates"]),
        ((make_item("prompts", {"name": "p", "description": "q"}), RESOURCE, TEMPLATE), ["prompts"]),
    ],
    ids=str,
)
def test_the_kinds_that_changed_are_told_in_one_go(items: tuple[Item, ...], kinds: list[Kind]) -> None:
    published = Published(module(*ALL))
    published.publish(module(*items, number=2))
    assert published.told == [set(kinds)]
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


def test_what_broke_and_what_was_repaired_is_logged_once() -> None:
    publisher = Publisher()
    logged: list[tuple[str, str]] = []
    publisher.log = lambda level, _, text: logged.append((level, text.split(":")[0]))
    good, fault = module(), Fault("bad syntax", "/m/mcpptool.py", 3)
    publisher.publish([good], [], Laps())
    for served in (good, replace(good, fault=fault), replace(good, fault=fault), good):
        publisher.publish([served], [], Laps())
    publisher.publish([replace(good, generation=None, fault=fault)], [], Laps())
    assert logged == [
        ("warning", "what is saved of module 'm' does not load, its last good version answers"),
        ("info", "module 'm' is repaired"),
        ("error", "module 'm' can't answer"),
    ]


def test_a_warning_about_the_registry_is_logged_when_it_is_new() -> None:
    publisher = Publisher()
    logged: list[tuple[str, str, str]] = []
    publisher.log = lambda *told: logged.append(told)
    served, warning = module(), Fault("unknown key", "/tools.yaml", 4)
    for warnings in ([], [warning], [warning], []):
        publisher.publish([served], warnings, Laps())
    assert logged == [("warning", "mcppd", str(warning))]


def test_a_directory_that_was_renamed_is_served_from_where_it_is() -> None:
    publisher = Publisher()
    first = module()
    publisher.publish([first], [], Laps())
    moved = replace(first, directory="/elsewhere")
    assert publisher.publish([moved], [], Laps())
    assert publisher.catalog.modules == (moved,)
    assert not publisher.publish([moved], [], Laps())
