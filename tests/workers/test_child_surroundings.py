"""What a call finds around it, and that none of it reaches the next call."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.workers.child_peer import LIMIT, Child, wait_until

WHERE = """
    import os, signal, sys, time
    def execute(tool_name, arguments, context=None):
        return {"success": True, "result": [eval(arguments["value"])]}
"""


def evaluate(child: Child, value: str, **request: Any) -> Any:
    return child.call(arguments={"value": value}, **request).value[0]


def test_a_call_runs_in_its_working_directory(child: Child, tmp_path: Path) -> None:
    child.write_and_load(WHERE)
    assert evaluate(child, "os.getcwd()", cwd=str(tmp_path)) == str(tmp_path)
    assert evaluate(child, "os.getcwd()") == "/"
    assert evaluate(child, "os.chdir('/proc')", cwd=str(tmp_path)) is None
    assert evaluate(child, "os.getcwd()") == "/"


@pytest.mark.parametrize("name", ["gone", "file"])
def test_a_working_directory_that_is_none_is_an_error_that_names_it(
    child: Child, tmp_path: Path, name: str
) -> None:
    child.write_and_load(WHERE, "print('imported')")
    (tmp_path / "file").touch()
    result = child.call(arguments={"value": "1"}, cwd=str(tmp_path / name))
    assert result.error
    assert str(tmp_path / name) in result.text
    assert child.output == ""
    assert evaluate(child, "1") == 1


def test_a_call_has_the_environment_it_was_given_and_no_other(child: Child) -> None:
    child.write_and_load(WHERE, "AT_IMPORT = dict(os.environ)")
    assert evaluate(child, "dict(os.environ)", env={"A": "1", "PATH": "/bin"}) == {"A": "1", "PATH": "/bin"}
    assert evaluate(child, "dict(os.environ)", env={"B": "2"}) == {"B": "2"}
    assert evaluate(child, "dict(os.environ)") == {"B": "2"}
    assert evaluate(child, "os.environ.update(C='3')") is None
    assert evaluate(child, "dict(os.environ)") == {"B": "2"}
    assert evaluate(child, "os.popen('echo $A$B').read()", env={"A": "x"}) == "x\n"
    assert evaluate(child, "AT_IMPORT") == {"A": "1", "PATH": "/bin"}


def test_an_environment_that_the_system_cannot_hold_is_taken_as_far_as_it_goes(child: Child) -> None:
    child.write_and_load(WHERE)
    assert evaluate(child, "dict(os.environ)", env={"A": "1", "B=": "2", "C": "\0", "": "4"}) == {"A": "1"}


def test_a_tool_that_replaces_the_environment_does_not_reach_the_next_call(child: Child) -> None:
    child.write_and_load(WHERE)
    evaluate(child, "setattr(os, 'environ', {'X': '1'})", env={"A": "1"})
    assert evaluate(child, "dict(os.environ)") == {"A": "1"}


def test_the_time_zone_is_that_of_the_environment(child: Child) -> None:
    child.write_and_load(WHERE)
    assert evaluate(child, "time.localtime(0).tm_hour", env={"TZ": "UTC-5"}) == 5
    assert evaluate(child, "time.localtime(0).tm_hour", env={"TZ": "UTC-7"}) == 7


def test_umask_signal_handlers_and_timers_do_not_reach_the_next_call(child: Child) -> None:
    child.write_and_load(
        WHERE,
        """
        def spoil():
            os.umask(0o777)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM):
                signal.signal(number, lambda *a: print("handled", a[0]))
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
            signal.setitimer(signal.ITIMER_REAL, 0.001)
        def state():
            umask = os.umask(0)
            os.umask(umask)
            handlers = [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)]
            return [umask, [str(h) for h in handlers], list(signal.pthread_sigmask(signal.SIG_BLOCK, ()))]
        """,
    )
    before = evaluate(child, "state()")
    for _ in range(20):
        evaluate(child, "spoil()")
    assert evaluate(child, "state()") == before
    assert before[2] == []


@pytest.mark.slow
def test_a_timer_that_raises_late_costs_nothing_but_its_own_call(child: Child) -> None:
    child.write_and_load(
        """
        import signal, time
        def late(*_): raise TimeoutError("late")
        def execute(tool_name, arguments, context=None):
            signal.signal(signal.SIGALRM, late)
            signal.setitimer(signal.ITIMER_REAL, arguments["after"], 0.0002)
            end = time.monotonic() + 0.01
            while time.monotonic() < end: context["report_progress"](time.monotonic())
            return {"success": True, "result": "done"}
        """,
    )
    for step in range(60):
        child.call(arguments={"after": 0.0095 + step * 0.00001}, progress=True)
    assert not child.call(arguments={"after": 100}, progress=True).error


def test_a_signal_between_calls_does_not_end_the_worker(child: Child) -> None:
    child.write_and_load(WHERE)
    assert evaluate(child, "1") == 1
    child.process.send_signal(signal.SIGINT)
    wait_until(lambda: "KeyboardInterrupt" in child.output, "the interrupt is logged")
    assert evaluate(child, "2") == 2


def test_the_interpreter_looks_like_one_of_the_modules_own(child: Child) -> None:
    child.write_and_load(WHERE, "import __main__")
    assert evaluate(child, "[sys.argv, hasattr(__main__, '__file__')]") == [[""], False]


SPOILT = {
    "signal.getsignal(signal.SIGCHLD) is signal.SIG_DFL": "signal.signal(signal.SIGCHLD, signal.SIG_IGN)",
    "signal.getsignal(signal.SIGPIPE) is signal.SIG_IGN": "signal.signal(signal.SIGPIPE, signal.SIG_DFL)",
    "signal.getitimer(signal.ITIMER_PROF)[0] == 0": "signal.setitimer(signal.ITIMER_PROF, 1000)",
    "resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 20": "resource.setrlimit(resource.RLIMIT_NOFILE, "
    "(20, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))",
    "resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 1 << 30": "ctypes.CDLL(None).setrlimit("
    "resource.RLIMIT_FSIZE, (ctypes.c_ulong * 2)(1 << 30, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))",
    "resource.getrlimit(resource.RLIMIT_MSGQUEUE)[0] != 4096": "subprocess.run([sys.executable, '-c', "
    "'import os, resource as r; me = os.getppid(), r.RLIMIT_MSGQUEUE; r.prlimit(*me, (4096, r.prlimit(*me)[1]))'"
    "], check=True)",
    "locale.setlocale(locale.LC_NUMERIC) == 'C'": "locale.setlocale(locale.LC_ALL, 'C.UTF-8')",
    "sys.getrecursionlimit() < 10**6": "sys.setrecursionlimit(10**8)",
    "os.popen('echo $SNEAKED').read() == '\\n'": "os.putenv('SNEAKED', '1')",
    "os.popen('echo $KEPT').read() == 'kept\\n'": "os.unsetenv('KEPT')",
    "time.localtime(0).tm_hour == 0": "(os.putenv('TZ', 'UTC-5'), time.tzset())",
    "time.tzname[0] == 'UTC'": "(os.putenv('TZ', 'XYZ-5'), time.tzset(), os.unsetenv('TZ'))",
    "signal.getsignal(signal.SIGUSR1) is signal.SIG_DFL": "signal.signal(signal.SIGUSR1, signal.SIG_IGN)",
    "signal.getsignal(signal.SIGWINCH) is signal.SIG_DFL": "signal.signal(signal.SIGWINCH, print)",
    "sys.gettrace() is None": "sys.settrace(lambda *_: None)",
    "sys.getprofile() is None": "sys.setprofile(lambda *_: None)",
    "gc.isenabled()": "gc.disable()",
    "os.getpriority(os.PRIO_PROCESS, 0) == NICE or os.geteuid()": "os.nice(1)",
    "os.read(0, 1) == b''": "os.close(0)",
    "sys.stdout is sys.__stdout__": "setattr(sys, 'stdout', io.StringIO())",
    "os.path.exists(os.getcwd())": "(os.mkdir('deep'), os.chdir('deep'), os.rmdir('../deep'))",
}


@pytest.mark.parametrize("is_right", SPOILT)
def test_what_a_call_sets_does_not_reach_the_next_one(child: Child, tmp_path: Path, is_right: str) -> None:
    child.write_and_load(
        WHERE,
        "import ctypes, gc, io, locale, resource, subprocess\nNICE = os.getpriority(os.PRIO_PROCESS, 0)",
    )
    environment = {"KEPT": "kept", "TZ": "UTC", "PATH": os.environ["PATH"]}
    for _ in range(2):
        assert evaluate(child, f"bool({is_right})", cwd=str(tmp_path), env=environment)
        evaluate(child, f"str({SPOILT[is_right]})", cwd=str(tmp_path))
        child.call(arguments={"value": "1"})


def test_a_signal_that_tells_of_a_crash_still_does_after_a_call_that_took_it(child: Child) -> None:
    child.write_and_load(WHERE, "import ctypes")
    evaluate(child, "signal.signal(signal.SIGSEGV, signal.SIG_IGN) and None")
    child.begin(arguments={"value": "ctypes.string_at(0)"})
    child.process.wait(LIMIT)
    assert "Segmentation fault" in child.output


@pytest.mark.parametrize(
    ("at_import", "holds"),
    [
        (
            "signal.signal(signal.SIGCHLD, signal.SIG_IGN)",
            "signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN",
        ),
        ("locale.setlocale(locale.LC_ALL, 'C.UTF-8')", "locale.setlocale(locale.LC_NUMERIC) == 'C.UTF-8'"),
        ("sys.setrecursionlimit(5000)", "sys.getrecursionlimit() == 5000"),
        ("sys.stdout = io.StringIO()", "isinstance(sys.stdout, io.StringIO)"),
    ],
)
def test_what_the_import_sets_for_good_stays(child: Child, at_import: str, holds: str) -> None:
    child.write_and_load(WHERE, f"import io, locale, resource\n{at_import}")
    for _ in range(3):
        assert evaluate(child, holds) is True
