"""URI templates: what is one, and which values give a URI."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcppd.core.uri_templates import MAX_URI, MAX_VARIABLES, TemplateError, parse


@pytest.mark.parametrize(
    ("template", "uri", "values"),
    [
        ("notes://{id}", "notes://7", {"id": "7"}),
        ("notes://{id}/data", "notes://a%20b/data", {"id": "a b"}),
        ("notes://{id}", "notes://a%2Fb", {"id": "a/b"}),
        ("notes://{id}", "notes://%C3%A4", {"id": "ä"}),
        ("notes://{id}", "notes://ä@b:c,d", {"id": "ä@b:c,d"}),
        ("notes://{id}", "notes://a+b", {"id": "a+b"}),
        ("notes://{id}", "notes://", None),
        ("notes://{id}", "notes://a/b", None),
        ("notes://{id}", "notes://a?b", None),
        ("notes://{id}", "notes://a#b", None),
        ("notes://{id}", "other://a", None),
        ("notes://{id}", "NOTES://a", None),
        ("notes://{id}/x", "notes://a/y", None),
        ("file:///{+path}", "file:///a/b%20c.md", {"path": "a/b c.md"}),
        ("file:///{+path}/{name}", "file:///a/b/c", {"path": "a/b", "name": "c"}),
        ("db://{table}/{row}", "db://users/5", {"table": "users", "row": "5"}),
        ("db://{table}-{row}", "db://a-b-5", {"table": "a-b", "row": "5"}),
        ("{a}{b}", "xyz", {"a": "xy", "b": "z"}),
        ("{a}{b}", "x", None),
        ("{+all}", "any://thing?at=all#x", {"all": "any://thing?at=all#x"}),
        ("doc://{id}{#part}", "doc://a#b/c", {"id": "a", "part": "b/c"}),
        ("doc://{id}{#part}", "doc://a", {"id": "a", "part": ""}),
        ("doc://{id}{#part}", "doc://a#", None),
        ("doc{#part}#x", "doc#x", {"part": ""}),
        ("doc{#part}#x", "doc#y#x", {"part": "y"}),
        ("a.b*(c)://{x.y_1}", "a.b*(c)://v", {"x.y_1": "v"}),
        ("a.b://{x}", "aXb://v", None),
        ("a://{%41b}", "a://v", {"%41b": "v"}),
        ("a://{x}", "a://%", {"x": "%"}),
        ("a://{x}", "a://%FF", None),
        ("a://{x}", "a://b\nc", {"x": "b\nc"}),
    ],
)
def test_a_template_gives_a_uri_with_these_values(
    template: str, uri: str, values: dict[str, str] | None
) -> None:
    assert parse(template).match(uri) == values


@pytest.mark.parametrize(
    ("template", "column"),
    [
        ("notes://all", 1),
        ("", 1),
        ("a://{", 5),
        ("a://{x", 5),
        ("a://x}", 6),
        ("a://{x}}", 8),
        ("a://{{x}}", 5),
        ("a://{}", 5),
        ("a://{x}/{x}", 9),
        ("a://{x}/{+x}", 9),
        ("a://{x,y}", 5),
        ("a://{?x}", 5),
        ("a://{&x}", 5),
        ("a://{/x}", 5),
        ("a://{.x}", 5),
        ("a://{;x}", 5),
        ("a://{x*}", 5),
        ("a://{x:3}", 5),
        ("a://{+}", 5),
        ("a://{ x }", 5),
        ("a://{ä}", 5),
        ("a://{x-y}", 5),
        ("a://{x..y}", 5),
        ("a://" + "".join(f"{{x{number}}}" for number in range(MAX_VARIABLES + 1)), 1),
    ],
)
def test_what_is_no_template_is_told_with_its_place(template: str, column: int) -> None:
    with pytest.raises(TemplateError) as caught:
        parse(template)
    assert caught.value.column == column


def test_the_worst_template_takes_no_more_steps_than_parts_times_characters() -> None:
    # every way of splitting this would be 10**30 of them: it would never end
    template = parse("a:" + "".join(f"{{+x{number}}}" for number in range(MAX_VARIABLES)) + "!")
    assert template.match("a:" + "b" * (MAX_URI - 2)) is None
    assert template.match("a:" + "b" * (MAX_URI - 2) + "!") is None  # too long


plain, anything = st.text("xy-é", min_size=1, max_size=4), st.text("xy/?#-é", min_size=1, max_size=4)
variables = st.one_of(
    st.tuples(st.just(""), plain),
    st.tuples(st.just("+"), anything),
    st.tuples(st.just("#"), anything | st.just("")),
)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(variables, st.sampled_from(["", "/", "-", "x"])), min_size=1, max_size=6))
def test_a_uri_that_a_template_gives_matches_it_and_the_values_give_it_again(
    parts: list[tuple[tuple[str, str], str]],
) -> None:
    text, uri = "s://", "s://"
    for number, ((operator, value), after) in enumerate(parts):
        text += f"{{{operator}v{number}}}{after}"
        uri += ("#" if operator == "#" and value else "") + value + after
    found = parse(text).match(uri)
    assert found is not None
    again = "s://"
    for number, ((operator, _), after) in enumerate(parts):
        value = found[f"v{number}"]
        again += ("#" if operator == "#" and value else "") + value + after
    assert again == uri
