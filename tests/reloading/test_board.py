"""The board: what is shown and not served yet isn't settled."""

from __future__ import annotations

from pathlib import Path

from mcppd.core.faults import Fault
from mcppd.reloading.board import Board
from mcppd.reloading.loaded import Look, Scan
from mcppd.reloading.loader import Loader
from mcppd.reloading.slots import module_of


class Person:
    """Somebody with a directory for modules, and a board for them."""

    def __init__(self, root: Path) -> None:
        (root / "tools.yaml").write_text("modules:\n  - path: tools/*\n")
        self.tools = root / "tools"
        self.tools.mkdir()
        self.board, self._loader, self._scan = Board(), Loader(str(root / "tools.yaml"), {}), Scan()

    def add(self, name: str) -> str:
        module = self.tools / name
        module.mkdir()
        (module / "mcpptool.py").write_text("def execute(*_): ...\n")
        (module / "tool.yaml").write_text(f"name: {name}\ntools: [{{name: t_{name}}}]\n")
        return str(module)

    def look(self) -> None:
        self._scan = self._loader.scan(self._scan, Look(youth=0.0))
        self.board.take(self._scan)


def test_a_module_is_settled_when_what_it_shows_is_published(tmp_path: Path) -> None:
    person = Person(tmp_path)
    one, two = person.add("one"), person.add("two")
    board = person.board
    person.look()
    board.published()
    assert (board.unsettled(one), board.unsettled(two), board.unsettled(None)) == (None, None, None)
    slot = board.slots[one]
    slot.served = module_of(slot.loaded, slot.loaded.generation(slot.next_number()), ())
    assert (board.unsettled(one), board.unsettled(two), board.unsettled(None)) == ("busy", None, "busy")
    board.published()
    assert board.unsettled(None) is None
    slot.break_with(slot.loaded, Fault("it is wrong"), "12:00")
    assert board.unsettled(one) == "busy"
    board.published()
    assert board.unsettled(one) is None


def test_all_is_settled_when_the_same_modules_are_published(tmp_path: Path) -> None:
    person = Person(tmp_path)
    one = person.add("one")
    person.look()
    person.board.published()
    person.add("two")
    assert person.board.unsettled(None) == "changed"
    person.look()
    assert (person.board.unsettled(one), person.board.unsettled(None)) == (None, "busy")
    person.board.published()
    assert person.board.unsettled(None) is None
