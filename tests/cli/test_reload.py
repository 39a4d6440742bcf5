"""`mcppd reload` as a person runs it: of one module, of all, after the watcher; what it asks and what it prints."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .conftest import Cli

Fake = subprocess.Popen[str]

FIRST: dict[str, Any] = {
    "name": "notes",
    "old": 3,
    "new": 4,
    "old_digest": "0123456789ab",
    "new_digest": "ba9876543210",
    "added": ["a"],
    "changed": ["c", "d"],
    "fields": {"c": ["description", "inputSchema.properties.who"]},
}
STAGES = {"noticed": 0.0042, "read": 0.00004, "prepared": 0.1, "published": 0.0009}


def test_digests_fields_and_stages_are_told(cli: Cli, fake: Fake) -> None:
    cli.answer(reload={"modules": [FIRST], "stages": STAGES})
    done = cli.run("reload")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "reloaded at 12:00:01 in 123 ms, 2 sessions notified\n"
        "notes generation 3 -> 4 (0123456789ab -> ba9876543210) +a ~c (description, inputSchema.properties.who) ~d\n"
        "stages: noticed 4.2 ms, prepared 100 ms, published 0.9 ms\n"
    )


def test_who_comes_after_the_watcher_is_told_what_the_last_reload_did(cli: Cli, fake: Fake) -> None:
    last = {"at": "11:59:59", "seconds": 0.05, "modules": [FIRST], "notified": 1}
    cli.answer(reload={"modules": [], "notified": 0, "before": last})
    assert cli.run("reload").stdout == (
        "reloaded at 12:00:01 in 123 ms, 0 sessions notified\n"
        "nothing has changed\n"
        "the last reload was at 11:59:59 in 50 ms, 1 session notified\n"
        "notes generation 3 -> 4 (0123456789ab -> ba9876543210) +a ~c (description, inputSchema.properties.who) ~d\n"
    )


def test_a_module_is_asked_for_by_its_name(cli: Cli, fake: Fake) -> None:
    cli.answer(reload={"modules": [], "notified": 0})
    assert cli.run("reload", "notes").stdout.endswith("\nnotes is unchanged\n")
    assert cli.received()[-1]["params"] == {"module": "notes"}
    cli.run("reload")
    assert cli.received()[-1]["params"] == {}


def test_the_json_is_all_that_the_daemon_tells(cli: Cli, fake: Fake) -> None:
    cli.answer(reload={"modules": [FIRST], "stages": STAGES})
    told = json.loads(cli.run("reload", "--json").stdout)
    assert (told["modules"], told["stages"]) == ([FIRST], STAGES)


@pytest.mark.parametrize("odd", [{"stages": 3}, {"stages": {}, "before": None}])
def test_a_daemon_that_tells_less_or_otherwise_is_understood(
    cli: Cli, fake: Fake, odd: dict[str, Any]
) -> None:
    cli.answer(reload={"modules": [{"name": "notes", "old": 3, "new": 4, "fields": 7}], **odd})
    done = cli.run("reload")
    assert (done.returncode, done.stdout.splitlines()[1:]) == (0, ["notes generation 3 -> 4"])
