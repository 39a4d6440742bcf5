"""A state that went through a client is taken back as it was, in time, from whom and for what it was given, only."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcppd.core.errors import INVALID_PARAMS, ProtocolError
from mcppd.core.request_state import KEY_SIZE, LIFETIME, Binding, seal, unseal

KEY = b"k" * KEY_SIZE
NOW = 1_800_000_000.0
MINE = Binding("tools/call", "echo", "digest", "1000")
ANSWERS: dict[str, Any] = {"elicit-1-abc": {"action": "accept", "content": {"name": "\ud83d ä", "n": 10**30}}}


def refused(text: str, binding: Binding = MINE, key: bytes = KEY, now: float = NOW) -> bool:
    with pytest.raises(ProtocolError) as failure:
        unseal(text, binding, key, now)
    assert failure.value.code == INVALID_PARAMS
    return True


@pytest.mark.parametrize("now", [NOW, NOW + LIFETIME])
def test_what_was_sealed_comes_back(now: float) -> None:
    assert unseal(seal(MINE, ANSWERS, KEY, NOW), MINE, KEY, now) == ANSWERS


def test_a_state_is_a_text_for_json_and_for_headers() -> None:
    assert seal(MINE, ANSWERS, KEY, NOW).isascii()


def test_a_state_has_its_time() -> None:
    assert refused(seal(MINE, ANSWERS, KEY, NOW), now=NOW + LIFETIME + 1)


@pytest.mark.parametrize("member", ["method", "name", "arguments", "principal"])
def test_a_state_belongs_to_one_request_of_one_principal(member: str) -> None:
    assert refused(seal(replace(MINE, **{member: "other"}), ANSWERS, KEY, NOW))


def test_a_state_of_another_key_is_refused() -> None:
    assert refused(seal(MINE, ANSWERS, b"o" * KEY_SIZE, NOW))


@given(st.data())
def test_a_state_that_was_changed_anywhere_is_refused(data: st.DataObject) -> None:
    text = seal(MINE, ANSWERS, KEY, NOW)
    at = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.sampled_from("AZaz09-_.=é"))
    changed = text[:at] + other + text[at + 1 :]
    if _decoded(changed) != _decoded(text):  # the last digit of base64 has bits that mean nothing
        assert refused(changed)


@pytest.mark.parametrize(
    "text",
    ["", ".", "x", "e30=.e30=", "e30.", "\ud83d.\x00", "a" * 100_000, "[]", "TAMPERED" * 3],
    ids=range(9),
)
def test_what_never_was_a_state_is_refused(text: str) -> None:
    assert refused(text)


def test_a_state_with_something_after_it_is_refused() -> None:
    assert refused(seal(MINE, ANSWERS, KEY, NOW) + "-TAMPERED")


def _decoded(text: str) -> Any:
    try:
        return [base64.b64decode(part, altchars=b"-_", validate=True) for part in text.split(".")]
    except ValueError:
        return None
