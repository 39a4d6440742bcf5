"""The registry: one bad entry never takes the others with it."""

from __future__ import annotations

import dataclasses
import glob
import posixpath
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcppd.core.errors import FaultError
from mcppd.core.faults import Fault
from mcppd.core.limits import LIMITS, Limits, ToolLimits
from mcppd.core.registry import OPTIONS, Entry, Registry, parse_registry
from mcppd.core.yaml import read_yaml

DIRECTORY = "/etc/tools"
HOME = "/home/me"
ENVIRON = {"A": "/a", "WORD": "word", "EMPTY": "", "GLOB": "/g/*", "NESTED": "${A}", "TILDE": "~"}


def parse(text: str, directory: str = DIRECTORY, home: str = HOME) -> Registry:
    document = read_yaml(text.encode(), "tools.yaml")
    return parse_registry(document, directory=directory, environ=ENVIRON, home=home)


def entry_of(body: str) -> Entry:
    registry = parse(f"modules:\n- path: m\n  {body}\n")
    assert registry.faults == ()
    (entry,) = registry.entries
    return entry


def faults_of(body: str) -> tuple[Fault, ...]:
    """The faults of an entry between two good ones; where its path can be read it stands, and says what is wrong."""
    registry = parse(f"modules:\n- first\n- {body}\n- last\n")
    good = [entry.path for entry in registry.entries if entry.fault is None]
    assert good == ["/etc/tools/first", "/etc/tools/last"]
    assert all(entry.fault == registry.faults[0] for entry in registry.entries if entry.fault is not None)
    assert registry.faults
    assert {fault.file for fault in registry.faults} == {"tools.yaml"}
    return registry.faults


@pytest.mark.parametrize(
    "text", ["", "modules:", "modules: []", "{}", "# nothing yet\n", "modules: null\nenv:\npass_env:"]
)
def test_an_empty_registry_is_one(text: str) -> None:
    assert parse(text) == Registry()


def test_instructions_are_a_text_for_every_client() -> None:
    assert parse("instructions: |\n  be kind\n  to ${WORD}\n").instructions == "be kind\nto ${WORD}\n"
    registry = parse("instructions: [be kind]\nmodules: [m]\n")
    assert (registry.instructions, len(registry.entries)) == ("", 1)
    assert [(fault.line, fault.column) for fault in registry.faults] == [(1, 15)]


@pytest.mark.parametrize(
    ("text", "line"),
    [("[]", 1), ("x", 1), ("0", 1), ("false", 1), ("\nmodules: x", 2), ("a: 1\nmodules: {path: x}", 2)],
)
def test_what_is_no_registry_is_refused_where_it_is_wrong(text: str, line: int) -> None:
    with pytest.raises(FaultError) as caught:
        parse(text)
    assert (caught.value.fault.file, caught.value.fault.line) == ("tools.yaml", line)


def test_an_entry_has_the_defaults() -> None:
    (entry,) = parse("modules:\n- path: m\n").entries
    assert entry == Entry(path="/etc/tools/m", is_glob=False, place=entry.place)
    assert entry.place.place == "tools.yaml:2:3"
    assert parse("modules:\n- m\n").entries == (
        dataclasses.replace(entry, place=parse("modules:\n- m\n").entries[0].place),
    )


def test_an_option_without_a_value_is_its_default() -> None:
    body = "\n  ".join(f"{option}:" for option in OPTIONS if option != "path")
    assert entry_of(body) == dataclasses.replace(entry_of("x: 1"), place=entry_of(body).place)


def test_an_entry_that_only_moved_is_the_same() -> None:
    (entry,) = parse("modules:\n- path: m\n").entries
    (moved,) = parse("# a line more\nmodules:\n- path: m\n").entries
    assert moved == entry
    assert moved.place != entry.place


def test_a_whole_entry_is_read() -> None:
    entry = entry_of(
        "enabled: false\n  timeout: 5\n  workers: 3\n  memory: 512M\n  overlap: false\n  python: .venv\n"
        "  env: {X: '${WORD}!', EMPTY: ''}\n  pass_env: [TOKEN]\n  tools: {allow: ['read_*', x], deny: [y],\n"
        "    limits: {'read_*': {output: 1K, timeout: 0}}}\n"
        "  on_broken: fail\n  watch: [data/*.json]"
    )
    assert entry == Entry(
        path="/etc/tools/m",
        is_glob=False,
        place=entry.place,
        enabled=False,
        limits=Limits(timeout=5.0, workers=3, memory=2**29),
        overlap=False,
        python="/etc/tools/.venv",
        env={"X": "word!", "EMPTY": ""},
        pass_env=("TOKEN",),
        allow=("read_*", "x"),
        deny=("y",),
        of_tools={"read_*": ToolLimits(0.0, 1024)},
        on_broken="fail",
        watch=("/etc/tools/data/*.json",),
    )


def test_every_option_of_an_entry_is_told_in_its_docstring() -> None:
    told = Entry.__doc__ or ""
    assert all(
        f"{field.name}:" in told or f"{field.name}," in told
        for field in dataclasses.fields(Entry)
        if field.name != "is_glob"
    )
    served = {field.name for field in dataclasses.fields(Entry)} | {"tools", "server", *LIMITS}
    assert set(OPTIONS) <= served


class TestPaths:
    @pytest.mark.parametrize(
        ("written", "path"),
        [
            ("m", "/etc/tools/m"),
            ("./m/", "/etc/tools/m"),
            ("../m", "/etc/m"),
            (".", "/etc/tools"),
            ("/x//y/../z", "/x/z"),
            ("//x", "/x"),
            ("~", "/home/me"),
            ("~/m", "/home/me/m"),
            ("~user", "/etc/tools/~user"),
            ("a/~", "/etc/tools/a/~"),
            ("${A}/m", "/a/m"),
            ("${WORD}", "/etc/tools/word"),
            ("x-${WORD}-${WORD}", "/etc/tools/x-word-word"),
            ("$A", "/etc/tools/$A"),
            ("${EMPTY}m", "/etc/tools/m"),
            ("a b", "/etc/tools/a b"),
            ("é", "/etc/tools/é"),
            ("${NESTED}", "/etc/tools/${A}"),
            ("${TILDE}", "/etc/tools/~"),
            ("~/${WORD}", "/home/me/word"),
        ],
    )
    def test_a_path_is_expanded_and_made_absolute(self, written: str, path: str) -> None:
        for text in (f"modules: [{{path: '{written}'}}]", f"modules: ['{written}']"):
            (entry,) = parse(text).entries
            assert (entry.path, entry.is_glob) == (path, False)

    @pytest.mark.parametrize(
        ("written", "path"),
        [
            ("tools/*", "/etc/tools/tools/*"),
            ("m?", "/etc/tools/m?"),
            ("[ab]", "/etc/tools/[ab]"),
            ("~/*", "/home/me/*"),
            ("${A}/**/x", "/a/**/x"),
            ("${GLOB}", "/g/*"),
        ],
    )
    def test_a_pattern_is_a_glob(self, written: str, path: str) -> None:
        (entry,) = parse(f"modules: ['{written}']").entries
        assert (entry.path, entry.is_glob) == (path, True)

    def test_a_directory_whose_name_looks_like_a_pattern_is_only_itself(self, tmp_path: Path) -> None:
        directory = tmp_path / "a[b]*"
        (directory / "tools" / "x").mkdir(parents=True)
        for text in ("modules: ['tools/*']", "modules: ['~/tools/*']"):
            (entry,) = parse(text, str(directory), str(directory)).entries
            assert glob.glob(entry.path) == [str(directory / "tools" / "x")]
        (entry,) = parse("modules: ['~/x']", home="/home/a[b]").entries
        assert (entry.path, entry.is_glob) == ("/home/a[b]/x", False)

    @pytest.mark.parametrize(
        "written",
        ["${NOT_THERE}", "a/${NOT_THERE}/b", "${}", "${A", "${A-b}", "${A B}", "", "${EMPTY}", "a\\0b"],
    )
    def test_a_path_that_can_not_be_expanded_is_a_fault_of_its_entry(self, written: str) -> None:
        (fault,) = faults_of(f'{{path: "{written}"}}')
        assert (fault.line, fault.column) == (3, 10)

    @pytest.mark.parametrize(
        "body",
        [
            "python: '${NOT_THERE}'",
            "env: {X: '${NOT_THERE}'}",
            "watch: ['${NOT_THERE}/*']",
            "watch: [a, '${']",
        ],
    )
    def test_so_it_is_in_the_other_options_that_expand(self, body: str) -> None:
        (fault,) = faults_of(f"path: m\n  {body}")
        assert fault.line == 4

    def test_the_other_options_expand_too(self) -> None:
        entry = entry_of(
            "python: ~/venv/bin/python\n  env: {X: '~/x', Y: 'a ~/x ${A}'}\n  watch: ['${A}/*', ~/d/]"
        )
        assert entry.python == "/home/me/venv/bin/python"
        assert entry.env == {"X": "/home/me/x", "Y": "a ~/x /a"}
        assert entry.watch == ("/a/*", "/home/me/d")


class TestOptions:
    @pytest.mark.parametrize(
        "body",
        [
            "enabled: yes",
            "enabled: 1",
            "timeout: true",
            "timeout: '5'",
            "timeout: .nan",
            "workers: 0",
            "workers: 65",
            "workers: true",
            "workers: 1.0",
            "workers: '2'",
            "import_timeout: soon",
            "memory: 1M",
            "memory: much",
            "memory: -1",
            "processes: -1",
            "output: 999",
            "output: 1.5",
            "queue: 10001",
            "queue: -1",
            "overlap: 0",
            "python: 3",
            "python: ''",
            "env: [A]",
            "env: {A: 1}",
            "env: {A: true}",
            "env: {A: }",
            "env: {A=B: x}",
            "env: {'': x}",
            'env: {A: "\\0"}',
            'env: {"A\\0": x}',
            "pass_env: TOKEN",
            "pass_env: [1]",
            "pass_env: [A=B]",
            "pass_env: {A: b}",
            "tools: [a]",
            "tools: {allow: a}",
            "tools: {allow: [1]}",
            "tools: {deny: {a: b}}",
            "tools: {deny: ['']}",
            "tools: {limits: [a]}",
            "tools: {limits: {a: 5}}",
            "tools: {limits: {a: {timeout: soon}}}",
            "tools: {limits: {a: {output: 1}}}",
            "on_broken: maybe",
            "on_broken: true",
            "on_broken: [fail]",
            "watch: '*.json'",
            "watch: [5]",
            "watch: ['']",
        ],
    )
    def test_a_bad_option_is_a_fault_of_its_entry_and_the_others_stay(self, body: str) -> None:
        (fault,) = faults_of(f"path: m\n  {body}")
        assert (fault.line, fault.source) == (4, f"  {body}")

    def test_every_bad_option_of_an_entry_is_told(self) -> None:
        faults = faults_of(
            "path: m\n  enabled: 1\n  workers: 0\n  env: {A: 1, B: 2}\n  tools: {allow: [1], deny: x}"
        )
        assert sorted(fault.line or 0 for fault in faults) == [4, 5, 6, 6, 7, 7]

    @pytest.mark.parametrize(
        "item", ["5", "[a]", "", "{}", "{workers: 2}", "{path: }", "{path: 5}", "{path: x, server: {}}"]
    )
    def test_an_entry_that_is_none_is_a_fault(self, item: str) -> None:
        (fault,) = faults_of(item)
        assert fault.line in (3, 4)

    @pytest.mark.parametrize(
        ("text", "limit"), [("0", 0.0), ("-1", 0.0), (".inf", 0.0), ("0.5", 0.5), ("7", 7.0)]
    )
    def test_a_time_limit_of_nothing_is_none_at_all(self, text: str, limit: float) -> None:
        assert entry_of(f"timeout: {text}").limits.timeout == limit

    def test_allowing_nothing_is_not_allowing_everything(self) -> None:
        assert entry_of("tools: {allow: []}").allow == ()
        assert entry_of("tools: {deny: [x]}").allow is None
        assert entry_of("tools: {}").allow is None

    @pytest.mark.parametrize("word", ["last-good", "fail"])
    def test_what_a_broken_save_does_is_one_of_two_words(self, word: str) -> None:
        assert entry_of(f"on_broken: {word}").on_broken == word

    @pytest.mark.parametrize(("workers", "kept"), [("1", 1), ("64", 64), ("~", None)])
    def test_the_number_of_workers_has_bounds(self, workers: str, kept: int | None) -> None:
        assert entry_of(f"workers: {workers}").limits.workers == kept


class TestWarnings:
    def test_unknown_keys_are_ignored_and_the_nearest_named(self) -> None:
        registry = parse(
            "modules:\n- path: m\n  timeot: 1\n  tools: {alow: [x],\n"
            "   limits: {a: {memory: 1G, timout: 1}}}\nenvs: {}\n"
        )
        assert registry.faults == ()
        assert len(registry.entries) == 1
        assert sorted(
            (warning.line, word)
            for warning, word in zip(
                registry.warnings, ("env", "timeout", "timeout, output", "timeout", "allow"), strict=True
            )
            if word in warning.message
        ) == [(3, "timeout"), (4, "allow"), (5, "timeout"), (5, "timeout, output"), (6, "env")]

    def test_a_back_end_is_left_out_with_a_warning(self) -> None:
        registry = parse("modules:\n- server: {command: x, cwd: y}\n- m\n")
        assert [entry.path for entry in registry.entries] == ["/etc/tools/m"]
        assert registry.faults == ()
        assert [(warning.line, warning.column) for warning in registry.warnings] == [(2, 3)]

    def test_what_the_file_itself_warns_of_is_kept(self) -> None:
        assert len(parse('modules: ["\\ud800"]').warnings) == 1


class TestForAll:
    def test_variables_for_all_modules_are_read(self) -> None:
        registry = parse("env: {X: '${WORD}', Y: ~/y}\npass_env: [TOKEN, OTHER]\n")
        assert registry.env == {"X": "word", "Y": "/home/me/y"}
        assert registry.pass_env == ("TOKEN", "OTHER")

    @pytest.mark.parametrize(
        "text", ["env: {GOOD: x, BAD: '${NOT_THERE}'}", "env: {BAD: 5, GOOD: x}", "env: {GOOD: x, '': y}"]
    )
    def test_a_bad_variable_is_left_out_and_everything_else_stays(self, text: str) -> None:
        registry = parse(f"{text}\npass_env: [1, A]\nmodules: [m]\n")
        assert (registry.env, registry.pass_env) == ({"GOOD": "x"}, ("A",))
        assert [fault.line for fault in registry.faults] == [1, 2]
        assert len(registry.entries) == 1

    @pytest.mark.parametrize("text", ["env: [a]", "env: x", "pass_env: x", "pass_env: {a: b}"])
    def test_what_is_no_list_of_them_is_a_fault_and_the_modules_stay(self, text: str) -> None:
        registry = parse(f"{text}\nmodules: [m]\n")
        assert (registry.env, registry.pass_env, len(registry.entries)) == ({}, (), 1)
        assert [fault.line for fault in registry.faults] == [1]


texts = st.text(
    alphabet=st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=8
) | st.sampled_from(["${A}", "${", "~", "*"])
values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.lists(st.dictionaries(st.sampled_from(OPTIONS), values) | values, max_size=4), values, values)
def test_whatever_stands_in_a_registry_the_good_entry_is_served(
    items: list[Any], env: Any, pass_env: Any
) -> None:
    import json

    whole = {"modules": [*items, {"path": "good"}], "env": env, "pass_env": pass_env}
    registry = parse(json.dumps(whole))
    assert registry.entries[-1].path == "/etc/tools/good"
    assert len(registry.entries) + len(registry.faults) + len(registry.warnings) >= len(items) + 1
    for entry in registry.entries:
        assert posixpath.isabs(entry.path)
