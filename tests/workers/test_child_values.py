"""Values made safe in the worker (D13, CASES G3, G4, G6): a sane value or an error that names the path."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcppd.workers.child.values import clean
from tests.workers.child_peer import INTERPRETERS, Child, Result, write_module

MODULE = """
    import array, asyncio, collections, dataclasses, datetime, decimal, enum, fractions, math, os, pathlib
    import types, uuid
    from collections import OrderedDict, UserDict, UserList, ChainMap, defaultdict, deque, namedtuple

    class Color(enum.Enum):
        RED = "red"
    class Level(enum.IntEnum):
        HIGH = 3
    class Name(str, enum.Enum):
        A = "a"
    class Text(str):
        def __str__(self): return "something else"
    class Number(int):
        def __repr__(self): return "seven"
    class Real(float): pass
    Point = namedtuple("Point", "x y")
    @dataclasses.dataclass
    class Data:
        a: int
        b: object
    class Model:
        def __init__(self, **members): self.members = members
        def model_dump(self, mode): return {"mode": mode, **self.members}
    class Scalar:
        dtype = "int64"
        size = 1
        def tolist(self): return 5
        def item(self): return 5
    class Array:
        dtype = "int64"
        def __init__(self, *values): self.values = values
        @property
        def size(self): return len(self.values)
        def tolist(self): return list(self.values)
    class Endless:
        size = 10 ** 12
        def tolist(self): raise MemoryError
    class Stubborn:
        dtype = "longdouble"
        def item(self): return self
    class Thing:
        def __repr__(self): raise ValueError
    class Angry(UserDict):
        def items(self): raise RuntimeError("no")
    class AngryTime(datetime.datetime):
        def isoformat(self, *a): raise RuntimeError("no")

    def nested(depth):
        value = 1
        for _ in range(depth): value = [value]
        return value
    def cycle(length=1):
        first = value = {}
        for _ in range(length): value["next"] = value = {}
        value["next"] = first
        return first
    def doubled(times):
        value = [1] * 10
        for _ in range(times): value = [value] * 10
        return value
    def generate(): yield 1
    async def co(): return 1

    def execute(tool_name, arguments, context=None):
        return {"success": True, "result": eval(arguments["value"])}
"""


@pytest.fixture(scope="module", params=INTERPRETERS)
def child(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Child]:
    """One worker for all tests of this file: none of them may end it."""
    directory = tmp_path_factory.mktemp("child")
    module = write_module(directory / "module", MODULE)
    with Child(directory, request.param) as made:
        made.load(module)
        yield made


SANE = {
    # what JSON has
    "None": None,
    "[True, False, 0, -1, 1.5, 'é', {}, []]": [True, False, 0, -1, 1.5, "é", {}, []],
    "[10**30, -2**70, 0.1]": [10**30, -(2**70), 0.1],
    # G3, G4
    "['a\\ud800b', {'\\udc00': 1}]": ["a\ufffdb", {"\ufffd": 1}],
    "['\\ud83d\\ude00']": ["\U0001f600"],
    "[math.nan, math.inf, -math.inf, Real('nan')]": [None, None, None, None],
    # times
    "[datetime.datetime(2024, 1, 2, 3, 4, 5)]": ["2024-01-02T03:04:05"],
    "[datetime.datetime(2024, 1, 2, tzinfo=datetime.timezone.utc)]": ["2024-01-02T00:00:00+00:00"],
    "[datetime.date(2024, 1, 2), datetime.time(3, 4)]": ["2024-01-02", "03:04:00"],
    "[datetime.timedelta(minutes=1, milliseconds=500)]": [60.5],
    # text of other kinds
    "[uuid.UUID(int=1)]": ["00000000-0000-0000-0000-000000000001"],
    "[pathlib.Path('/a/b'), pathlib.PurePath('c')]": ["/a/b", "c"],
    "[decimal.Decimal('1.10')]": ["1.10"],
    "[b'text', bytearray('é'.encode()), memoryview(b'x')]": ["text", "é", "x"],
    "[b'\\xff\\x00']": ["/wA="],
    "[Text('own'), Name.A]": ["own", "a"],
    # containers
    "[{3, 1, 2}, frozenset('ba')]": [[1, 2, 3], ["a", "b"]],
    "len({1, 'a', None})": 3,
    "[{'b', 2, None, (1,)}]": [[None, 2, "b", [1]]],
    "[(1, 2), deque([3]), range(3)]": [[1, 2], [3], [0, 1, 2]],
    "[{'b': 1, 'a': 2}.keys(), {'b': 1}.values(), {'b': 1}.items()]": [["b", "a"], [1], [["b", 1]]],
    "[OrderedDict(a=1), defaultdict(int, a=1), ChainMap({'a': 1}), UserDict(a=1)]": [{"a": 1}] * 4,
    "[types.MappingProxyType({'a': 1}), UserList([1]), array.array('i', [1])]": [{"a": 1}, [1], [1]],
    "[Point(1, [2])]": [{"x": 1, "y": [2]}],
    # objects
    "[Color.RED, Level.HIGH, {Color.RED: Level.HIGH}]": ["red", 3, {"red": 3}],
    "[Number(7), Real(1.5)]": [7, 1.5],
    "[Data(1, Data(2, None))]": [{"a": 1, "b": {"a": 2, "b": None}}],
    "[Model(when=datetime.date(2024, 1, 2))]": [{"mode": "json", "when": "2024-01-02"}],
    "[Scalar(), Array(1, Scalar()), Array()]": [5, [1, 5], []],
    # keys
    "{1: 'a', 1.5: 'b', True: 'c'} | {None: 'd'}": {"1": "c", "1.5": "b", "null": "d"},
    "{False: 1, -2: 2, 10**30: 3, Text('k'): 4, Name.A: 5}": {
        "false": 1,
        "-2": 2,
        "1000000000000000000000000000000": 3,
        "k": 4,
        "a": 5,
    },
    # shared, but no cycle
    "(lambda shared: [shared, shared])([1])": [[1], [1]],
    "nested(200) and 1": 1,
}


@pytest.mark.parametrize("value", SANE)
def test_a_value_with_a_meaning_in_json_is_sent(child: Child, value: str) -> None:
    assert child.call(arguments={"value": value}).value == SANE[value]


def test_compact_text_keeps_what_is_not_ascii(child: Child) -> None:
    assert child.call(arguments={"value": "{'ä': ['→', 1]}"}).text == '{"ä":["→",1]}'


def test_two_hundred_levels_are_sent(child: Child) -> None:
    text = child.call(arguments={"value": "nested(200)"}).text
    assert text == "[" * 200 + "1" + "]" * 200


def test_integers_of_thousands_of_digits_stay_exact(child: Child) -> None:
    assert child.call(arguments={"value": "7 * 10 ** 6000"}).text == "7" + "0" * 6000


def test_integers_of_thousands_of_digits_arrive_exact(child: Child, tmp_path: Path) -> None:
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        result = child.call(arguments={"value": "arguments['number'] == 10 ** 6000", "number": 10**6000})
    finally:
        sys.set_int_max_str_digits(limit)
    assert result.value is True


WRONG = {
    "{'a': [0, 1, 2, {'b': generate()}]}": ("$.a[3].b", "generator"),
    "[iter([1])]": ("$[0]", "iterator"),
    "map(str, [])": ("$", "map"),
    "{'x y': co()}": ('$["x y"]', "coroutine"),
    "[execute]": ("$[0]", "function"),
    "[Thing()]": ("$[0]", "Thing"),
    "[Thing]": ("$[0]", "type"),
    "[fractions.Fraction(1, 2)]": ("$[0]", "Fraction"),
    "[1j]": ("$[0]", "complex"),
    "{'a': {(1, 2): 3}}": ("$.a", "tuple"),
    "{datetime.date(2024, 1, 2): 3}": ("$", "date"),
    "{Thing(): 3}": ("$", "Thing"),
    "{'a': {1: 2, '1': 3}}": ("$.a", "'1'"),
    "cycle(9)": ("$" + ".next" * 10, "itself"),
    "(lambda x: x.append(x) or x)([])": ("$[0]", "itself"),
    "nested(201)": ("$" + "[0]" * 200, "200"),
    "nested(100000)": ("$", "200"),
    "{'n': range(10**12)}": ("$.n", "values"),
    "{'n': range(10**30)}": ("$.n", "values"),
    "[Endless()]": ("$[0]", "values"),
    "doubled(8)": ("$[0]", "values"),
    "[Stubborn()]": ("$[0]", "Stubborn"),
    "{'a': Angry()}": ("$.a", "RuntimeError: no"),
    "{'a': AngryTime(2024, 1, 2)}": ("$.a", "RuntimeError: no"),
    "[Data(1, generate())]": ("$[0].b", "generator"),
    "[Point(1, {generate})]": ("$[0].y[0]", "function"),
    "Model(x=generate())": ("$.x", "generator"),
}


MANY = "doubled(8)"  # so many that counting them takes seconds


@pytest.mark.parametrize(
    "value", [pytest.param(value, marks=pytest.mark.slow if value == MANY else []) for value in WRONG]
)
def test_a_value_without_a_meaning_in_json_is_an_error_that_names_its_path(child: Child, value: str) -> None:
    path, part = WRONG[value]
    result = child.call(arguments={"value": value})
    assert result.error
    assert f"`{path}" in result.text
    assert part in result.text
    assert child.call(arguments={"value": "'alive'"}).text == "alive"


def test_a_result_that_no_frame_can_hold_is_an_error_that_names_the_limit(child: Child) -> None:
    result = child.call(arguments={"value": "'x' * (64 * 1024 * 1024)"})
    assert result.error
    assert str(64 * 1024 * 1024) in result.text
    assert child.call(arguments={"value": "'alive'"}).text == "alive"


def test_seventeen_mebibytes_go_both_ways(child: Child) -> None:
    text = "é" * (17 * 512 * 1024)
    result = child.call(arguments={"value": "arguments['text']", "text": text})
    assert result.text == text


def test_a_call_nested_too_deeply_to_be_read_is_answered(child: Child) -> None:
    child.calls += 1
    deep = (
        f'{{"op":"call","id":{child.calls},"kind":"execute","given":["t",'
        + "[" * 200_000
        + "]" * 200_000
        + "]}"
    )
    child.socket.sendall(len(deep).to_bytes(4, "big") + bytes(4) + deep.encode())
    head, blob = child.reply("result")
    assert Result(head, blob).error
    assert head["id"] == child.calls
    assert child.call(arguments={"value": "'alive'"}).text == "alive"


@pytest.mark.parametrize("text", ["'\\ud800'", "'a' * 70000", "''", "'null'"])
def test_text_is_sent_as_it_is(child: Child, text: str) -> None:
    assert child.call(arguments={"value": text}).text == eval(text).replace("\ud800", "\ufffd")


def test_models_of_pydantic_are_sent(tmp_path: Path) -> None:
    pytest.importorskip("pydantic")
    source = """
        import datetime, pydantic
        class Inner(pydantic.BaseModel):
            when: datetime.date
        class Outer(pydantic.BaseModel):
            inner: Inner
            tags: set[str]
        def execute(tool_name, arguments, context=None):
            return {"success": True, "result": [Outer(inner=Inner(when="2024-01-02"), tags={"a"})]}
    """
    module = write_module(tmp_path / "module", source)
    with Child(tmp_path) as child:
        child.load(module)
        assert child.call().value == [{"inner": {"when": "2024-01-02"}, "tags": ["a"]}]


def test_values_of_numpy_are_sent(tmp_path: Path) -> None:
    pytest.importorskip("numpy")
    source = """
        import numpy as np
        def execute(tool_name, arguments, context=None):
            return {"success": True, "result": [
                np.int64(1), np.float32(0.5), np.float64("nan"), np.bool_(True), np.array([[1, 2], [3, 4]]),
                np.str_("a"), np.array(5), {np.str_("k"): np.uint8(2)}]}
    """
    module = write_module(tmp_path / "module", source)
    with Child(tmp_path) as child:
        child.load(module)
        assert child.call().value == [1, 0.5, None, True, [[1, 2], [3, 4]], "a", 5, {"k": 2}]


@given(st.text(st.sampled_from("a\u00e9\uffff\U0001f600\ud800\udbff\udc00\udfff")))
def test_pairs_of_surrogates_are_joined_and_lone_ones_replaced(text: str) -> None:
    told = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    assert clean(text) == told
