"""Which modules a path belongs to, what is to be watched, and that a look at some modules leaves the others alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcppd.reloading.loaded import Loaded, Look, Scan
from mcppd.reloading.loader import Loader
from mcppd.reloading.owners import Owners

CODE = "def execute(*_): ...\n"


class Person:
    """Somebody with three modules, of which the second uses a file of a library, and what was read of them."""

    def __init__(self, root: Path) -> None:
        self.registry = root / "tools.yaml"
        self.registry.write_text("modules:\n  - path: tools/*\n")
        self.library = root / "library" / "shared.py"
        self.library.parent.mkdir()
        self.library.write_text("")
        self.one, self.two, self.three = (self.add(root / "tools" / name) for name in ("one", "two", "three"))
        self.owners = Owners()
        self._loader, self.scan = Loader(str(self.registry), {}), Scan()
        self.look()

    def add(self, module: Path) -> Path:
        module.mkdir(parents=True)
        (module / "mcpptool.py").write_text(CODE)
        (module / "tool.yaml").write_text(f"name: {module.name}\ntools: [{{name: t_{module.name}}}]\n")
        return module

    def look(self, *only: Path) -> dict[str, Loaded]:
        """What a look finds at these modules, or at everything."""
        joined = {str(self.two): frozenset({str(self.library)})}
        some = frozenset(map(str, only)) if only else None
        self.scan = self._loader.scan(self.scan, Look(joined, youth=0.0, only=some))
        self.owners.take(self.scan)
        return {os.path.basename(each.directory): each for each in self.scan.modules}

    def concerned(self, *paths: Path) -> frozenset[str] | None:
        return self.owners.concerned(map(str, paths))


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return Person(tmp_path)


def test_a_path_concerns_the_modules_that_are_made_of_it(person: Person) -> None:
    one, two, three = map(str, (person.one, person.two, person.three))
    assert person.concerned(person.one / "mcpptool.py") == frozenset({one})
    assert person.concerned(person.one / "new.py", person.three / "tool.yaml") == frozenset({one, three})
    assert person.concerned(person.library) == frozenset({two})
    assert person.concerned() == frozenset()


def test_what_may_be_of_any_module_concerns_everything(person: Person) -> None:
    assert person.concerned(person.registry) is None
    assert person.concerned(person.one.parent / "four") is None
    assert person.concerned(person.one) is None  # it may be gone
    assert person.concerned(person.one / "mcpptool.py", person.library.with_name("other.py")) is None


def test_a_look_at_some_modules_leaves_the_others_as_they_are_known(person: Person) -> None:
    before = {os.path.basename(each.directory): each for each in person.scan.modules}
    for module in (person.one, person.two):
        (module / "mcpptool.py").write_text(f"{CODE}# saved\n")
    found = person.look(person.one)
    assert found["one"].files[str(person.one / "mcpptool.py")].endswith(b"# saved\n")
    assert found["two"] is before["two"]
    assert found["three"] is before["three"]
    assert person.look()["two"].files[str(person.two / "mcpptool.py")].endswith(b"# saved\n")


def test_a_look_at_some_modules_is_one_at_all_where_the_registry_was_saved(person: Person) -> None:
    person.registry.write_text("modules:\n  - path: tools/one\n")
    assert person.look(person.three).keys() == {"one"}


def test_a_look_at_some_modules_is_one_at_all_where_one_of_them_may_be_gone(person: Person) -> None:
    person.one.rename(person.one.with_name("four"))
    assert "four" in person.look(person.one)


def test_what_is_watched_follows_what_modules_are_made_of(person: Person) -> None:
    watched = person.owners.watched()
    assert str(person.library) in watched.paths
    assert {str(person.one), str(person.library.parent), str(person.registry.parent)} <= watched.directories
    (person.one / "mcpptool.py").write_text(f"{CODE}# saved\n")
    person.look(person.one)
    assert person.owners.watched() is watched  # the same files, whatever is in them
    (person.one / "below").mkdir()
    (person.one / "below" / "more.py").write_text("")
    person.look(person.one)
    assert str(person.one / "below") in person.owners.watched().directories


def test_a_directory_that_is_a_module_no_longer_owns_nothing(person: Person) -> None:
    person.registry.write_text("modules:\n  - path: tools/one\n")
    person.look()
    assert str(person.three / "mcpptool.py") not in person.owners.watched().paths
    assert person.owners.of(str(person.three / "mcpptool.py")) == []
