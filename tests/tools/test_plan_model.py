"""The bundled module `plan` against a model: three users, four projects, any calls; every answer agrees."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.tools.plan_asking import TOOLS, Person, counts_are_right, rows_of, timeless
from tests.tools.plan_model import Model
from tools.plan import mcpptool

NAMES = st.sampled_from(["fix", "1", "2", "--all", "größe", "Fix"])
TEXTS = st.sampled_from(["a", "--b", "3", "*c* [d](e)", "f\n\n> g", "\U0001f468\u200d\U0001f469"])
NUMBERS = st.sampled_from([1, 2, 3, 1, 2, 5])

ARGUMENTS: dict[str, st.SearchStrategy[Any]] = {
    "name": NAMES,
    "task": NAMES,
    "alias": NAMES,
    "title": TEXTS,
    "text": TEXTS,
    "description": TEXTS | st.just(""),
    "steps": st.lists(TEXTS, max_size=4),
    "number": NUMBERS,
    "show_archived": st.booleans(),
    "show_all": st.booleans(),
}

Operation = tuple[str, dict[str, Any]]


def operation(tool: str) -> st.SearchStrategy[Operation]:
    """Calls of a tool with any of the arguments that its schema has."""
    schema = TOOLS[tool]["inputSchema"]
    required = set(schema.get("required", ()))
    needed = {name: ARGUMENTS[name] for name in schema["properties"] if name in required}
    others = {name: ARGUMENTS[name] for name in schema["properties"] if name not in required}
    return st.tuples(st.just(tool), st.fixed_dictionaries(needed, optional=others))


EVERY = [tool for tool in TOOLS if tool != "plan_readme"]
OFTEN = ["plan_task_new", "plan_task_new", "plan_task_switch", "plan_task_archive", "plan_task_archive"]
CALLS = st.lists(
    st.tuples(
        st.sampled_from(["ada", "ada", "bob"]),
        st.sampled_from(["w", "w", "x"]),
        st.sampled_from(EVERY + OFTEN).flatmap(operation),
    ),
    min_size=10,
    max_size=80,
)

NEVER_REFUSED = {
    *("plan_task_status", "plan_task_list", "plan_user_show", "plan_user_set", "plan_project_show"),
}

numbers = itertools.count()


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    mcpptool.DATABASE.close()


def check(
    directory: Path, calls: Iterable[tuple[str, str, Operation]], patch: pytest.MonkeyPatch
) -> set[str]:
    """Make the calls, hold each answer against the model's, and look at the database; what came of which tool."""
    path = directory / f"{next(numbers)}.db"
    patch.setenv("MCPPD_PLAN_DB", str(path))
    model = Model()
    seen = set()
    for login, project, (tool, arguments) in calls:
        person = Person(directory / project, login)
        expected = model.answer(login, str(person.workspace), tool, arguments)
        answer = person.answer(tool, **arguments)
        assert answer["success"] is (expected is not None), (tool, arguments, answer)
        assert timeless(answer.get("result")) == expected
        seen.add(f"{tool} {'is refused' if expected is None else 'succeeds'}")
    if model.users:
        rows = rows_of(path)
        assert len(rows.get("tasks", ())) == len(model.tasks)
        assert len(rows.get("active_tasks", ())) == len(model.active)
        assert counts_are_right(path)
    return seen


def at_random(seed: int, count: int) -> Iterator[tuple[str, str, Operation]]:
    """Calls of three users in four projects, most of which find something to work on."""
    chance = Random(seed)
    names = ["fix", "1", "2", "--all", "größe", "Fix"]
    texts = ["a", "--b", "3", "*c* [d](e)", "f\n\n> g", "\U0001f468\u200d\U0001f469"]
    values: dict[str, Callable[[], Any]] = {
        **dict.fromkeys(("name", "task", "alias"), lambda: chance.choice(names)),
        **dict.fromkeys(("title", "text", "description"), lambda: chance.choice(texts)),
        "steps": lambda: chance.choices(texts, k=chance.randrange(6)),
        "number": lambda: chance.choice([1, 2, 3, 4, 5, 9]),
        **dict.fromkeys(("show_archived", "show_all"), lambda: chance.random() < 0.5),
    }
    for _ in range(count):
        tool = chance.choice(EVERY + OFTEN)
        schema = TOOLS[tool]["inputSchema"]
        wanted = [
            name
            for name in schema["properties"]
            if name in schema.get("required", ()) or chance.random() < (0.8 if name == "steps" else 0.4)
        ]
        arguments = {name: values[name]() for name in wanted}
        yield chance.choice(["ada", "bob", "eve"]), chance.choice("wxyz"), (tool, arguments)


@pytest.mark.slow
def test_three_users_in_four_projects_get_the_answers_that_are_due(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: set[str] = set()
    for seed in range(4):
        seen |= check(tmp_path, at_random(seed, 1000), monkeypatch)
    assert seen == {
        *(f"{tool} succeeds" for tool in EVERY),
        *(f"{tool} is refused" for tool in EVERY if tool not in NEVER_REFUSED),
    }


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=40)
@given(calls=CALLS)
def test_any_calls_get_the_answers_that_are_due(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, calls: list[tuple[str, str, Operation]]
) -> None:
    check(tmp_path, calls, monkeypatch)


@pytest.mark.slow
def test_very_many_calls_get_the_answers_that_are_due(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(4, 64):
        check(tmp_path, at_random(seed, 1000), monkeypatch)
