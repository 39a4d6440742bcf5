"""Cutting: what is sent fits and says what is missing, and the whole of it is what it was."""

from __future__ import annotations

import json
import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mcppd.workers.child.cutting import Room, cut
from mcppd.workers.child.results import Outcome
from mcppd.workers.child.values import encode

MISSING = re.compile(r"\n\[… (\d+) bytes are left out here …\]\n")
LINE = 60
"""Bytes that the line of a cut takes at most."""


def outcome_of(*texts: str, structured: Any = None, **more: Any) -> Outcome:
    items = [{"type": "text", "text": text} for text in texts]
    return Outcome(encode(items), structured=None if structured is None else encode(structured), **more)


def sent(outcome: Outcome) -> list[str]:
    return [item["text"] for item in json.loads(outcome.content)]


@given(st.lists(st.text(max_size=300), max_size=5), st.integers(1, 500))
def test_what_is_sent_fits_and_is_made_of_beginnings_and_ends(texts: list[str], size: int) -> None:
    outcome = cut(outcome_of(*texts), Room(size))
    shown = sent(outcome)
    assert len(shown) == len(texts)
    if outcome.whole is None:
        assert shown == texts
        assert sum(len(text.encode()) for text in texts) <= size
        return
    assert outcome.whole.decode() == "\n\n".join(texts)
    kept = 0
    for text, part in zip(texts, shown, strict=True):
        if part == text:
            kept += len(text.encode())
            continue
        found = [each for each in MISSING.finditer(part) if _is_cut(text, part, each)]
        assert found, part
        kept += len(part.encode()) - len(found[0][0].encode())
    assert kept <= size


def _is_cut(text: str, part: str, found: re.Match[str]) -> bool:
    head, tail = part[: found.start()], part[found.end() :]
    size = len(head.encode()) + int(found[1]) + len(tail.encode())
    return text.startswith(head) and text.endswith(tail) and size == len(text.encode())


@given(st.text(alphabet="aé漢😀", min_size=200, max_size=400))
def test_no_character_is_cut_in_two(text: str) -> None:
    [shown] = sent(cut(outcome_of(text), Room(150)))
    assert set(MISSING.sub("", shown)) <= set(text)


def test_characters_that_were_promised_are_let_through_whatever_they_weigh() -> None:
    assert cut(outcome_of("漢" * 1000), Room(500, 1000)).whole is None
    [shown] = sent(cut(outcome_of("漢" * 1001), Room(500, 1000)))
    assert shown.count("漢") == 1000
    assert cut(outcome_of("x" * 900), Room(1000, 10)).whole is None


def test_only_the_longest_texts_are_cut() -> None:
    short, long, longer = sent(cut(outcome_of("a" * 10, "b" * 5000, "c" * 9000), Room(1010)))
    assert short == "a" * 10
    assert abs(long.count("b") - 500) <= 1
    assert abs(longer.count("c") - 500) <= 1


def test_a_cut_is_at_the_end_of_a_line_where_one_is_near() -> None:
    text = "".join(f"{number:06} is a line\n" for number in range(1000))
    [shown] = sent(cut(outcome_of(text), Room(3000)))
    head, _, tail = MISSING.split(shown)
    assert head.endswith("line\n")
    assert re.match(r"\d{6} is", tail)


def test_texts_of_embedded_resources_count_and_pictures_do_not() -> None:
    picture = {"type": "image", "data": "A" * 5000, "mimeType": "image/png"}
    blob = {"type": "resource", "resource": {"uri": "a:b", "blob": "A" * 5000}}
    text = {"type": "resource", "resource": {"uri": "a:b", "text": "t" * 5000}}
    assert cut(Outcome(encode([picture, blob])), Room(1000)).whole is None
    outcome = cut(Outcome(encode([picture, blob, text])), Room(1000))
    items = json.loads(outcome.content)
    assert items[:2] == [picture, blob]
    assert items[2]["resource"]["text"].count("t") < 1010
    assert outcome.whole == b"t" * 5000


def test_structured_content_is_whole_or_not_there() -> None:
    value = {"rows": list(range(1000))}
    text = json.dumps(value)
    kept = cut(outcome_of("x" * 9000, structured={"a": 1}), Room(5000))
    assert (kept.structured, kept.is_error, kept.whole_is_json) == (b'{"a":1}', False, False)
    outcome = cut(outcome_of(text, structured=value), Room(1000))
    assert (outcome.structured, outcome.is_error, outcome.whole_is_json) == (None, True, True)
    assert outcome.whole is not None
    assert json.loads(outcome.whole) == value
    assert len(sent(outcome)[0]) < 1000 + LINE
    bare = cut(Outcome(b"[]", structured=encode(value)), Room(1000))
    assert (json.loads(bare.content), bare.is_error) == ([], True)


def test_a_failure_that_is_cut_stays_one() -> None:
    assert cut(outcome_of("x" * 9000, is_error=True), Room(1000)).is_error
