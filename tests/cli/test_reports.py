"""`status`, `list` and `reload` as a script runs them, against a small server on real sockets."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .conftest import Cli

Fake = subprocess.Popen[str]

STATUS = """\
mcppd     0.1.0  pid {pid}  up 2 h 3 min
registry  /x/tools.yaml
socket    {socket}
control   {socket}.control
watching  12 directories  inotify
session   claude-code 2.1  /home/x  1 min 1 s  9 calls, 1 in flight
module    notes  ok  generation 4 0123456789ab  2 tools, 1 prompt, 2 resources  1 worker  /x/notes
module    bad  broken  generation 4 0123456789ab  2 tools  1 worker  /x/bad
module    never  failed  nothing loaded  0 tools  1 worker  /x/never
fault     bad  since 12:00:00  /x/bad/mcpptool.py:3:7: invalid syntax  | def f(:
warning   bad  tool.yaml:2:1: `on` is text
fault     never  /x/never/tool.yaml:3:7: invalid syntax  | def f(:
warning   /x/tools.yaml:4:1: unknown key `modulse`
shadowed  search of module b is listed as b__search
shadowed  resource notes://all of module b is not served: another module comes first
reload    at 12:00:01 in 123 ms, 2 sessions notified
reload    notes generation 3 -> 4 +a -b ~c
reload    fresh new, generation 1 +d
reload    gone removed, was generation 2 -e
"""

RELOAD = """\
reloaded at 12:00:01 in 123 ms, 2 sessions notified
notes generation 3 -> 4 +a -b ~c
fresh new, generation 1 +d
gone removed, was generation 2 -e
"""

LIST = """\
add_note\tnotes\tWrites a note.
display\tnotes\tHas a display.
fail\tnotes\tFails.
forget\tnotes\tCloses the connection.
help\tnotes\tSays what there is.
slow\tnotes\tReports progress, then waits.
a__search\tb\tSearches.
"""


def test_prompts_and_resources_are_listed_after_the_tools(cli: Cli, fake: Fake) -> None:
    prompts = [{"name": "review", "module": "notes", "description": "Reviews.\n\nAll."}]
    resources = [{"uri": "notes://all", "name": "all", "title": "All notes", "module": "notes"}]
    templates = [{"uriTemplate": "notes://{id}", "name": "one", "module": "notes"}]
    cli.answer(list={"prompts": prompts, "resources": resources, "resourceTemplates": templates})
    done = cli.run("list")
    assert (
        done.stdout
        == LIST + "prompt:review\tnotes\tReviews.\nnotes://all\tnotes\tAll notes\nnotes://{id}\tnotes\t\n"
    )


def test_status_is_lines_that_begin_with_what_they_are_about(cli: Cli, fake: Fake) -> None:
    done = cli.run("status")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == STATUS.format(pid=fake.pid, socket=cli.socket)


def test_status_as_json_is_everything_the_daemon_tells(cli: Cli, fake: Fake) -> None:
    done = cli.run("status", "--json")
    assert done.returncode == 0
    assert done.stdout.count("\n") == 1
    assert json.loads(done.stdout)["modules"][1]["fault"]["line"] == 3


def test_status_understands_a_daemon_that_tells_less(cli: Cli, fake: Fake) -> None:
    names = (
        "modules",
        "sessions",
        "shadowed",
        "warnings",
        "watching",
        "last_reload",
        "registry",
        "uptime_seconds",
    )
    cli.answer(status=dict.fromkeys(names))
    done = cli.run("status")
    assert done.returncode == 0
    assert done.stdout.splitlines()[0] == f"mcppd     0.1.0  pid {fake.pid}  up 0 s"


def test_status_shows_what_is_polled_and_why(cli: Cli, fake: Fake) -> None:
    polled = {"/n/a": "nfs4 tells of no changes", "/x": "no inotify watch: No space left on device"}
    polled["/n/b"] = polled["/n/a"]
    cli.answer(status={"watching": {"mode": "inotify and polling", "directories": 5, "polled": polled}})
    shown = cli.run("status").stdout
    assert "watching  5 directories  inotify and polling\n" in shown
    assert "polling   /n/a and 1 more  nfs4 tells of no changes\n" in shown
    assert "polling   /x  no inotify watch: No space left on device\n" in shown


def test_status_shows_a_registry_that_cannot_be_read(cli: Cli, fake: Fake) -> None:
    cli.answer(status={"registry_fault": "/x/tools.yaml:1:1: no mapping"})
    assert "fault     /x/tools.yaml:1:1: no mapping\n" in cli.run("status").stdout


def test_list_is_a_line_for_each_tool(cli: Cli, fake: Fake) -> None:
    done = cli.run("list")
    assert (done.returncode, done.stdout, done.stderr) == (0, LIST, "")


def test_list_as_json_has_the_schemas(cli: Cli, fake: Fake) -> None:
    tools = json.loads(cli.run("list", "--json").stdout)["tools"]
    assert tools[0]["full_name"] == "notes__add_note"
    assert tools[0]["inputSchema"]["required"] == ["name"]


def test_reload_reports_generations_tools_and_sessions_for_each_module(cli: Cli, fake: Fake) -> None:
    done = cli.run("reload")
    assert (done.returncode, done.stdout, done.stderr) == (0, RELOAD, "")


def test_reload_says_that_nothing_has_changed(cli: Cli, fake: Fake) -> None:
    cli.answer(reload={"modules": [], "notified": 0})
    done = cli.run("reload")
    assert done.stdout == "reloaded at 12:00:01 in 123 ms, 0 sessions notified\nnothing has changed\n"
    assert done.returncode == 0


def test_reload_fails_where_a_module_cannot_be_loaded(cli: Cli, fake: Fake) -> None:
    broken = {"name": "notes", "old": 3, "new": 3, "fault": "/x/notes/mcpptool.py:3:7: invalid syntax"}
    cli.answer(reload={"modules": [broken], "notified": 1})
    done = cli.run("reload")
    assert done.stdout.endswith(
        ", 1 session notified\nnotes generation 3 broken: /x/notes/mcpptool.py:3:7: invalid syntax\n"
    )
    assert done.returncode == 1
    assert cli.run("reload", "--json").returncode == 1


def test_reload_as_json_is_the_report(cli: Cli, fake: Fake) -> None:
    assert json.loads(cli.run("reload", "--json").stdout)["modules"][0]["changed"] == ["c"]
