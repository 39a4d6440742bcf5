"""Commands on a terminal: tables, markdown, color or none, and the bar."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .conftest import Cli

Fake = subprocess.Popen[str]

COLORS = [f"\x1b[{code}m" for code in range(30, 48)] + [f"\x1b[1;{code}m" for code in range(30, 48)]


def test_people_get_the_display_as_rendered_markdown_and_what_is_for_everybody(cli: Cli, fake: Fake) -> None:
    terminal = cli.on_terminal("call", "display")
    assert terminal.end() == 0
    assert "Title" in terminal.shown
    assert "# Title" not in terminal.shown
    assert "*words*" not in terminal.shown
    assert '{"a": 1}' not in terminal.shown
    assert "Notice: old" in terminal.shown


def test_a_dumb_terminal_gets_plain_text(cli: Cli, fake: Fake) -> None:
    terminal = cli.on_terminal("call", "display", environ={"TERM": "dumb"})
    assert terminal.end() == 0
    assert terminal.shown == '{"a": 1}\r\nNotice: old\r\n'


def test_a_result_as_json_is_laid_out_for_reading(cli: Cli, fake: Fake) -> None:
    terminal = cli.on_terminal("call", "--json", "display")
    assert terminal.end() == 0
    assert json.loads(terminal.shown)["content"][2] == {"type": "text", "text": "Notice: old"}
    assert terminal.shown.count("\n") > 5


@pytest.mark.parametrize(("environ", "colored"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_status_is_tables_with_color_unless_no_color_is_set(
    cli: Cli, fake: Fake, environ: dict[str, str], colored: bool
) -> None:
    terminal = cli.on_terminal("status", environ=environ)
    assert terminal.end() == 0
    for words in ("session", "directory", "claude-code 2.1", "broken", "b__search", "+a -b ~c"):
        assert words in terminal.shown
    assert any(color in terminal.shown for color in COLORS) is colored


def test_list_is_a_table(cli: Cli, fake: Fake) -> None:
    terminal = cli.on_terminal("list")
    assert terminal.end() == 0
    assert "description" in terminal.shown
    assert "a__search" in terminal.shown


def test_progress_is_a_bar_that_ctrl_c_takes_away(
    cli: Cli, fake: Fake, wait_for: Callable[..., None]
) -> None:
    terminal = cli.on_terminal("call", "slow")
    terminal.read_until("25%")
    assert "of\N{REPLACEMENT CHARACTER} four" in terminal.shown
    assert "\x1b]0;" not in terminal.shown
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.end() == 130
    assert terminal.shown.endswith("mcppd: interrupted\r\n")
    assert "\x1b[?25h" in terminal.shown  # the cursor is back
    wait_for(lambda: cli.received()[-1]["method"] == "notifications/cancelled", "the cancellation")
