"""What a tool says while it runs: progress, log messages, updated resources."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.workers.child_peer import Child

SPEAKS = """
    import threading, time
    def execute(tool_name, arguments, context):
        return {"success": True, "result": eval(arguments["value"])}
"""


def test_progress_is_sent_when_it_is_wanted(child: Child) -> None:
    child.write_and_load("def execute(t, a, c): c['report_progress'](1, 4, 'one'); return {'success': True}")
    number = child.begin(progress=True)
    child.result(number)
    assert child.said == [
        ({"op": "progress", "id": number, "progress": 1, "total": 4, "message": "one"}, b""),
    ]
    child.said.clear()
    child.call(progress=False)
    assert child.said == []


def test_progress_is_rated_and_its_latest_comes_before_the_result(child: Child) -> None:
    child.write_and_load(
        """
        def execute(tool_name, arguments, context):
            for n in range(10000):
                context["report_progress"](n)
            return {"success": True}
        """,
    )
    child.call(progress=True)
    sent = [head["progress"] for head in child.ops("progress")]
    assert sent[0] == 0
    assert sent[-1] == 9999
    assert len(sent) < 200
    assert sent == sorted(set(sent))


def test_a_few_quick_steps_are_all_seen(child: Child) -> None:
    child.write_and_load(
        """
        def execute(tool_name, arguments, context):
            for n in range(10):
                context["report_progress"](n)
            return {"success": True}
        """,
    )
    child.call(progress=True)
    assert [head["progress"] for head in child.ops("progress")] == list(range(10))


def test_progress_arrives_while_the_call_runs(child: Child, tmp_path: Path) -> None:
    child.write_and_load(
        "import os, time\ndef execute(t, a, c):\n    c['report_progress'](1)\n"
        "    while not os.path.exists(a['gate']): time.sleep(0.001)\n    return {'success': True}",
    )
    number = child.begin(arguments={"gate": str(tmp_path / "gate")}, progress=True)
    assert child.receive()[0]["op"] == "progress"
    (tmp_path / "gate").touch()
    child.result(number)


def test_nothing_of_a_call_is_sent_after_its_result(child: Child) -> None:
    child.write_and_load(
        """
        import threading
        go = threading.Event()
        done = threading.Event()
        def later(context):
            go.wait()
            context["report_progress"](2)
            context["log"]("info", "late")
            context["cancelled"]()
            done.set()
        def execute(tool_name, arguments, context):
            if tool_name == "first":
                threading.Thread(target=later, args=(context,), daemon=True).start()
            else:
                go.set()
                done.wait()
            return {"success": True}
        """,
    )
    child.call("first", progress=True)
    child.call("second", progress=True)
    assert child.said == []


def test_a_thread_that_outlives_its_call_takes_nothing_from_the_next(child: Child) -> None:
    child.write_and_load(
        """
        import threading
        def ask(context):
            while True: context["cancelled"]()
        def execute(tool_name, arguments, context):
            if tool_name == "first":
                threading.Thread(target=ask, args=(context,), daemon=True).start()
            return {"success": True, "result": arguments["n"]}
        """,
    )
    assert [child.call("next" if n else "first", {"n": n}).value for n in range(50)] == list(range(50))


def test_threads_of_a_tool_may_report_at_once(child: Child) -> None:
    child.write_and_load(
        """
        import threading
        def work(context):
            for n in range(300):
                context["report_progress"](n)
                context["log"]("info", "x" * 10)
                context["cancelled"]()
        def execute(tool_name, arguments, context):
            threads = [threading.Thread(target=work, args=(context,)) for _ in range(4)]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
            return {"success": True, "result": "done"}
        """,
    )
    assert child.call(progress=True).text == "done"
    *messages, (_, summary) = child.logged
    assert {data for _, data in messages} == {"x" * 10}
    assert len(messages) + int(summary.split()[0]) == 1200


@pytest.mark.parametrize(
    ("call", "sent"),
    [
        ("context['report_progress'](0.5, 1.5)", {"progress": 0.5, "total": 1.5, "message": None}),
        (
            "context['report_progress'](1, message='\\ud800')",
            {"progress": 1, "total": None, "message": "\ufffd"},
        ),
        ("context['report_progress'](1, float('inf'), 3)", {"progress": 1, "total": None, "message": "3"}),
    ],
)
def test_progress_is_made_safe(child: Child, call: str, sent: dict[str, Any]) -> None:
    child.write_and_load(SPEAKS)
    child.call(arguments={"value": call}, progress=True)
    assert [head | sent for head in child.ops("progress")] == child.ops("progress") != []


def test_progress_that_is_no_number_is_not_sent(child: Child) -> None:
    child.write_and_load(SPEAKS)
    assert not child.call(
        arguments={"value": "context['report_progress'](float('nan'))"}, progress=True
    ).error
    assert child.call(arguments={"value": "context['report_progress']('half')"}, progress=True).error
    assert child.ops("progress") == []


@pytest.mark.parametrize(
    ("level", "data", "sent"),
    [
        ("'warning'", "'text'", ["warning", "text"]),
        ("'WARN'", "{'a': {1}}", ["warning", {"a": [1]}]),
        ("'strange'", "'\\ud800'", ["info", "\ufffd"]),
        ("None", "None", ["info", None]),
    ],
)
def test_log_messages_are_sent(child: Child, level: str, data: str, sent: list[Any]) -> None:
    child.write_and_load(SPEAKS)
    child.call(arguments={"value": f"context['log']({level}, {data})"})
    assert child.logged == [tuple(sent)]


def test_a_log_message_that_cannot_be_sent_is_told_as_text(child: Child) -> None:
    child.write_and_load(SPEAKS)
    assert not child.call(arguments={"value": "context['log']('info', [object()])"}).error
    assert "object" in child.logged[0][1]


@pytest.mark.parametrize(
    ("wanted", "sent"),
    [("debug", ["debug", "info", "error"]), ("notice", ["error"]), ("critical", []), (None, [])],
)
def test_what_nobody_wants_is_not_sent(child: Child, wanted: str | None, sent: list[str]) -> None:
    child.write_and_load(
        """
        def execute(tool_name, arguments, context):
            for level in ("debug", "info", "error"):
                context["log"](level, 1)
            return {"success": True}
        """,
    )
    assert not child.call(log=wanted).error
    assert [level for level, _ in child.logged] == sent


def test_what_nobody_wants_is_not_even_looked_at(child: Child) -> None:
    child.write_and_load(
        """
        class Costly(dict):
            def items(self):
                print("looked at")
                return {}.items()
        def execute(tool_name, arguments, context):
            context["log"]("info", Costly())
            return {"success": True}
        """,
    )
    child.call(log="warning")
    assert child.output == ""
    child.call(log="info")
    assert child.output == "looked at\n"


def test_log_messages_are_rated_and_those_left_out_are_counted(child: Child) -> None:
    child.write_and_load(
        """
        def execute(tool_name, arguments, context):
            for n in range(20000):
                context["log"]("error" if n == 19999 else "info", n)
            return {"success": True}
        """,
    )
    child.call()
    *messages, (level, summary) = child.logged
    assert [data for _, data in messages[:100]] == list(range(100))
    assert len(messages) < 2000
    assert len(messages) + int(summary.split()[0]) == 20000
    assert level == "error"


def test_a_few_large_log_messages_are_as_good_as_many(child: Child) -> None:
    child.write_and_load(
        """
        def execute(tool_name, arguments, context):
            for _ in range(20):
                context["log"]("info", "x" * 10_000_000)
            return {"success": True}
        """,
    )
    child.call()
    assert sum(len(data) for _, data in child.logged) < 100_000_000


def test_an_updated_resource_is_told(child: Child) -> None:
    child.write_and_load(SPEAKS)
    child.call(arguments={"value": "context['resource_updated']('notes://\\ud800')"})
    assert child.said == [({"op": "updated", "uris": ["notes://\ufffd"]}, b"")]


def test_updates_are_rated_and_none_is_lost(child: Child) -> None:
    child.write_and_load(
        """
        def execute(tool_name, arguments, context):
            for n in range(arguments["times"]):
                context["resource_updated"](f"notes://{n % 3}")
            context["resource_updated"]("notes://last")
            return {"success": True}
        """,
    )
    child.call(arguments={"times": 30000})
    told = child.ops("updated")
    assert len(told) < 1000
    assert told[-1]["uris"][-1] == "notes://last"


def test_a_thread_that_outlives_its_call_still_tells_of_every_update(child: Child) -> None:
    child.write_and_load(
        """
        import threading
        go = threading.Event()
        def later(context):
            go.wait()
            for n in range(100):
                context["resource_updated"](f"notes://{n}")
        def execute(tool_name, arguments, context):
            threading.Thread(target=later, args=(context,), daemon=True).start()
            return {"success": True}
        def get_info():
            go.set()
        """,
    )
    child.call()
    child.call(kind="get_info")
    told = {uri for head in child.ops("updated") for uri in head["uris"]}
    while len(told) < 100:
        told |= set(child.reply("updated")[0]["uris"])
    assert told == {f"notes://{n}" for n in range(100)}


@pytest.mark.slow
def test_many_updates_at_once_make_the_tool_wait_and_nobody_else(child: Child) -> None:
    child.write_and_load(
        """
        def execute(tool_name, arguments, context):
            for n in range(25000):
                context["resource_updated"](f"notes://{n}")
            return {"success": True}
        """,
    )
    child.call()
    told = [head["uris"] for head in child.ops("updated")]
    assert sum(map(len, told)) == 25000
    assert len(told) < 100


@pytest.mark.parametrize("secret", ["hunter2", 'qu"ote\\n', "two\nlines", "\u00e9l\u00e8ve"])
def test_what_we_write_to_the_log_has_no_secrets(child: Child, secret: str) -> None:
    child.write_and_load(
        """
        import os
        def initialize(): return {"success": False, "message": "no " + os.environ.get("SECRET", "luck")}
        def execute(tool_name, arguments, context):
            raise ValueError([os.environ[name] for name in ("SECRET", "SHORT", "OTHER")], os.environ["SECRET"])
        """,
    )
    result = child.call(env={"SECRET": secret, "SHORT": "1", "OTHER": "visible"})
    assert "visible" in result.text
    assert "['***', '1', 'visible']" in child.output
    assert "no ***" in child.output
    assert secret not in child.output
    assert repr(secret)[1:-1] not in child.output
