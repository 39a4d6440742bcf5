"""What a tool prints goes to descriptors 1 and 2 and never to the wire; stdin is at its end (D4, CASES F)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.workers.child_peer import ENDS, Child, write_module

MODULE = """
    import contextlib, ctypes, io, logging, os, subprocess, sys, warnings
    def execute(tool_name, arguments, context=None):
        exec(arguments["code"], globals())
        return {"success": True, "result": globals().pop("RESULT", None)}
"""


@pytest.fixture(params=ENDS)
def child(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Child]:
    module = write_module(tmp_path / "module", MODULE)
    with Child(tmp_path, request.param) as made:
        made.load(module)
        yield made


@pytest.mark.parametrize(
    ("code", "output"),
    [
        ("print('from Python')", "from Python\n"),
        ("print('no line end', end='')", "no line end"),
        ("print('to stderr', file=sys.stderr)", "to stderr\n"),
        ("sys.stdout.buffer.write(b'bytes')", "bytes"),
        ("os.write(1, b'descriptor 1')", "descriptor 1"),
        ("os.write(2, b'descriptor 2')", "descriptor 2"),
        ("ctypes.CDLL(None).printf(b'from C')", "from C"),
        ("subprocess.run(['echo', 'from a child'])", "from a child\n"),
        ("os.system('echo from a shell')", "from a shell\n"),
        ("logging.warning('logged')", "WARNING:root:logged\n"),
        ("print('\\ud800 é →')", "\\ud800 é →\n"),
        ("sys.__stdout__.write('original')", "original"),
        ('print(\'{"op":"result"}\')', '{"op":"result"}\n'),
    ],
)
def test_what_a_tool_prints_is_in_the_log_before_its_result_comes(
    child: Child, code: str, output: str
) -> None:
    assert not child.call(arguments={"code": code}).error
    assert child.output == output
    assert child.is_silent()


@pytest.mark.parametrize(
    ("code", "result"),
    [
        ("RESULT = subprocess.run(['cat'], capture_output=True, text=True).stdout", ""),
        (
            "RESULT = subprocess.run(['sh', '-c', 'read x; echo $?'], capture_output=True, text=True).stdout",
            "1\n",
        ),
        ("RESULT = sys.stdin.read()", ""),
        ("RESULT = os.read(0, 10)", ""),
    ],
)
def test_whoever_reads_stdin_is_at_its_end(child: Child, code: str, result: str) -> None:
    assert child.call(arguments={"code": code}).text == result


def test_input_is_an_end_of_file_error(child: Child) -> None:
    assert "EOFError" in child.call(arguments={"code": "input('name? ')"}).text


@pytest.mark.parametrize(
    "code",
    [
        "sys.stdout.close()",
        "sys.stdout = None",
        "sys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding='utf-8')\nsys.stdout = sys.__stdout__",
        "sys.stdout = io.StringIO()\nsys.stdout.close()",
        "sys.stdout.detach()",
        "del sys.stdout",
    ],
)
def test_a_tool_that_breaks_its_stdout_has_a_new_one_in_the_next_call(child: Child, code: str) -> None:
    child.call(arguments={"code": code})
    assert not child.call(arguments={"code": "print('still there')"}).error
    assert child.output.endswith("still there\n")


def test_a_redirection_of_a_tools_own_is_respected(child: Child) -> None:
    code = "with contextlib.redirect_stdout(io.StringIO()) as text: print('kept')\nRESULT = text.getvalue()"
    assert child.call(arguments={"code": code}).text == "kept\n"
    assert child.output == ""


def test_ten_megabytes_of_output_do_not_stop_a_call(child: Child) -> None:
    assert child.call(arguments={"code": "for _ in range(10000): print('x' * 1000)"}).text == "null"
    assert child.log.stat().st_size == 10000 * 1001


def test_a_whole_traceback_is_in_the_log_from_the_authors_code_on(child: Child) -> None:
    assert child.call(arguments={"code": "1 / 0"}).error
    assert child.output.splitlines()[0] == "Traceback (most recent call last):"
    assert "mcpptool.py" in child.output.splitlines()[1]
    assert child.output.splitlines()[-1] == "ZeroDivisionError: division by zero"


def test_a_crash_tells_in_the_log_where_it_was(child: Child) -> None:
    child.begin(arguments={"code": "ctypes.string_at(0)"})
    assert child.process.wait(20) < 0
    assert "execute" in child.output
