"""The environment and the time limit of a call."""

from __future__ import annotations

import pytest

from mcppd.core.calls import AgentEnvironment, base_environment
from mcppd.core.catalog import Settings

DAEMON = {"HOME": "/home/me", "PATH": "/daemon", "XDG_DATA_HOME": "/x", "INVOCATION_ID": "1", "SECRET": "s"}
AGENT = {"HOME": "/elsewhere", "PATH": "/agent", "TOKEN": "t", "MCPP_TIMEOUT_SECONDS": "7"}


def test_a_call_gets_the_base_the_agents_path_and_what_is_named() -> None:
    made = AgentEnvironment(DAEMON, AGENT).for_module(Settings(env={"A": "1"}, pass_env=("TOKEN", "ABSENT")))
    assert made == {
        "HOME": "/home/me",
        "PATH": "/agent",
        "XDG_DATA_HOME": "/x",
        "LANG": "C.UTF-8",
        "MCPP_TIMEOUT_SECONDS": "7",
        "A": "1",
        "TOKEN": "t",
    }


def test_the_same_settings_get_the_same_object() -> None:
    environment, settings = AgentEnvironment(DAEMON, AGENT), Settings()
    assert environment.for_module(settings) is environment.for_module(settings)


@pytest.mark.parametrize(
    ("lang", "made"), [("de_DE.UTF-8", "de_DE.UTF-8"), ("C", "C.UTF-8"), ("en_US.utf8", "en_US.utf8")]
)
def test_the_language_is_one_of_utf8(lang: str, made: str) -> None:
    assert base_environment({"LANG": lang})["LANG"] == made


@pytest.mark.parametrize(
    ("settings", "agent", "daemon", "limit"),
    [
        (5.0, "7", "9", 5.0),
        (0.0, "7", "9", None),
        (None, "7", "9", 7.0),
        (None, "0", "9", None),
        (None, "-3", "9", None),
        (None, "nonsense", "9", 9.0),
        (None, None, "9", 9.0),
        (None, None, "nan", 30.0),
        (None, None, None, 30.0),
    ],
)
def test_which_time_limit_holds(
    settings: float | None, agent: str | None, daemon: str | None, limit: float | None
) -> None:
    said = [{"MCPP_TIMEOUT_SECONDS": value} if value is not None else {} for value in (daemon, agent)]
    assert AgentEnvironment(*said).time_limit(settings) == limit


def test_an_environment_shows_nothing_of_itself() -> None:
    assert "t" not in repr(AgentEnvironment(DAEMON, {"TOKEN": "t"})).replace("object at", "").replace(
        "Environment", ""
    ).split(" ")
