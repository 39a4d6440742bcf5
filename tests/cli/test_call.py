"""`call` and `help` as a script runs them, against a small server on real sockets."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .conftest import Cli

Fake = subprocess.Popen[str]


def arguments_of(done: subprocess.CompletedProcess[str]) -> Any:
    """What the fake daemon's add_note was called with."""
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["arguments"]


def test_a_call_prints_the_result_and_nothing_else(cli: Cli, fake: Fake) -> None:
    done = cli.run(
        "call", "add_note", "--name=007", "--times", "3", "--steps", "a", "--steps", "b", "--overwrite"
    )
    assert done.stderr == ""
    assert arguments_of(done) == {"name": "007", "times": 3, "steps": ["a", "b"], "overwrite": True}


def test_a_call_takes_all_arguments_as_json_from_standard_input(cli: Cli, fake: Fake) -> None:
    done = cli.run(
        "call", "add_note", "--args", "-", "--times", "2", text='{"name": "--é", "options": {"a": []}}'
    )
    assert arguments_of(done) == {"name": "--é", "options": {"a": []}, "times": 2}


def test_standard_input_that_is_no_text_is_refused(cli: Cli, fake: Fake) -> None:
    command = cli.command("call", "add_note", "--args", "-")
    done = subprocess.run(
        command, input=b"\xff", capture_output=True, env=cli.environ, timeout=20, check=False
    )
    assert (done.returncode, done.stdout) == (2, b"")


def test_a_call_sends_the_workspace_and_the_callers_directory_and_environment(cli: Cli, fake: Fake) -> None:
    done = cli.run(
        "call", "--workspace", "x/../project", "add_note", "--name", "n", environ={"MY_KEY": "secret"}
    )
    answer = json.loads(done.stdout)
    assert answer["workspace"] == str(cli.directory / "project")
    assert answer["cwd"] == str(cli.directory)
    hello = cli.received()[0]
    assert hello["method"] == "mcppd/hello"
    assert hello["params"]["env"]["MY_KEY"] == "secret"
    assert hello["params"]["registry"] is None


def test_a_call_names_the_registry_that_was_asked_for(cli: Cli, fake: Fake) -> None:
    cli.run("call", "--config", "tools.yaml", "add_note", "--name", "n")
    assert cli.received()[0]["params"]["registry"] == str(cli.directory / "tools.yaml")


def test_a_tool_is_called_by_its_full_name_with_the_types_of_its_schema(cli: Cli, fake: Fake) -> None:
    assert arguments_of(cli.run("call", "b__search", "--words", "one")) == {"words": ["one"]}


def test_wrong_options_are_told_at_once_and_nothing_is_called(cli: Cli, fake: Fake) -> None:
    done = cli.run("call", "add_note", "--nmae", "x", "--times", "many", "stray")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "mcppd: add_note: unknown option --nmae: did you mean --name?\n"
        "mcppd: add_note: unexpected 'stray': a tool's arguments are options, as in --name value\n"
        "mcppd: add_note: --times: 'many' is not a whole number\n"
        "mcppd: see `mcppd call add_note --help`\n"
    )
    assert all(message["method"] != "tools/call" for message in cli.received())


def test_help_after_a_tool_is_that_tools_and_calls_nothing(cli: Cli, fake: Fake) -> None:
    done = cli.run("call", "add_note", "--name", "x", "--help")
    assert done.returncode == 0
    assert "Usage: mcppd call add_note" in done.stdout
    assert "--max-chars INTEGER" in done.stdout
    assert all(message["method"] != "tools/call" for message in cli.received())


def test_help_on_a_tool_that_is_not_there_names_the_nearest(cli: Cli, fake: Fake) -> None:
    done = cli.run("call", "ad_note", "--help")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "mcppd: unknown tool 'ad_note': did you mean add_note?\n"


def test_the_daemon_says_what_became_of_a_tool_that_is_not_there(cli: Cli, fake: Fake) -> None:
    done = cli.run("call", "gone", "--a", "007")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "mcppd: unknown tool gone: it was removed by the reload at 12:00:00\n"


def test_a_tool_that_failed_is_status_1_and_its_text_is_on_stderr(cli: Cli, fake: Fake) -> None:
    done = cli.run("call", "fail")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "Error: no \N{REPLACEMENT CHARACTER}[31msuch thing\n"


def test_a_result_as_json_is_as_it_came_also_of_a_tool_that_failed(cli: Cli, fake: Fake) -> None:
    done = cli.run("call", "--json", "fail")
    assert done.returncode == 1
    assert json.loads(done.stdout)["isError"] is True
    assert json.loads(cli.run("call", "--json", "display").stdout)["content"][0]["annotations"] == {
        "audience": ["user"]
    }


def test_programs_get_the_result_and_not_the_display(cli: Cli, fake: Fake) -> None:
    assert cli.run("call", "display").stdout == '{"a": 1}\nNotice: old\n'


def test_a_connection_that_is_lost_in_a_call_says_that_the_outcome_is_unknown(cli: Cli, fake: Fake) -> None:
    done = cli.run("call", "forget")
    assert (done.returncode, done.stdout) == (1, "")
    assert "unknown" in done.stderr


def test_a_call_that_nobody_shows_the_progress_of_asks_for_none(cli: Cli, fake: Fake) -> None:
    cli.run("call", "fail")
    [call] = [message for message in cli.received() if message["method"] == "tools/call"]
    assert "progressToken" not in call["params"]["_meta"]


def test_ctrl_c_cancels_the_call(cli: Cli, fake: Fake, wait_for: Callable[..., None]) -> None:
    process = cli.start("call", "slow", stderr=subprocess.PIPE)
    wait_for(lambda: any(message["method"] == "tools/call" for message in cli.received()), "the call")
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 130
    assert errors == b"mcppd: interrupted\n"
    wait_for(lambda: cli.received()[-1]["method"] == "notifications/cancelled", "the cancellation")


def test_help_prints_the_display_of_the_tool_help(cli: Cli, fake: Fake) -> None:
    done = cli.run("help")
    assert (done.returncode, done.stdout, done.stderr) == (0, "## Help\n\nof all\n", "")


def test_help_on_a_tool_asks_for_that_tool(cli: Cli, fake: Fake) -> None:
    assert cli.run("help", "add_note").stdout == "## Help\n\nof add_note\n"
