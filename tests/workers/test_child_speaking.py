"""What a tool says while it runs: progress, log messages, updated resources."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.workers.child_peer import ENDS, Child


@pytest.fixture(params=ENDS)
def child(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Child]:
    with Child(tmp_path, request.param) as made:
        yield made


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
                context["log"]("info", "x" * 1000)
                context["cancelled"]()
        def execute(tool_name, arguments, context):
            threads = [threading.Thread(target=work, args=(context,)) for _ in range(4)]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
            return {"success": True, "result": "done"}
        """,
    )
    assert child.call(progress=True).text == "done"
    assert len(child.ops("log")) == 1200


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
    assert [[head["level"], head["data"]] for head in child.ops("log")] == [sent]


def test_a_log_message_that_cannot_be_sent_is_told_as_text(child: Child) -> None:
    child.write_and_load(SPEAKS)
    assert not child.call(arguments={"value": "context['log']('info', [object()])"}).error
    assert "object" in child.ops("log")[0]["data"]


def test_an_updated_resource_is_told(child: Child) -> None:
    child.write_and_load(SPEAKS)
    child.call(arguments={"value": "context['resource_updated']('notes://a')"})
    assert child.said == [({"op": "updated", "uri": "notes://a"}, b"")]
