"""The rule of conftest.py: where MCPPD_NO_SKIPS is set, a run with skipped tests fails."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness import first_and_slow

CONFTEST = Path(__file__).with_name("conftest.py")

PASSES = "def test_it(): pass"
SKIPS = "import pytest\ndef test_it(): pytest.skip('no peer')"
SKIPS_BY_MARK = "import pytest\n@pytest.mark.skipif(True, reason='no peer')\ndef test_it(): pass"
SKIPS_WHOLE = "import pytest\npytest.skip('no peer', allow_module_level=True)"
SKIPS_OPTIONAL = "import pytest\ndef test_it(): pytest.skip('optional: no such interpreter')"
EXPECTED_FAILURE = "import pytest\n@pytest.mark.xfail\ndef test_it(): assert False"


def run(directory: Path, source: str, **environment: str) -> int:
    """The exit code of pytest on one more test beside one that passes."""
    shutil.copy(CONFTEST, directory)
    (directory / "test_made_up.py").write_text(source)
    (directory / "test_other.py").write_text(PASSES)
    variables = {name: value for name, value in os.environ.items() if name != "MCPPD_NO_SKIPS"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={directory}"]
    return subprocess.run(
        command, cwd=directory, env=variables | environment, capture_output=True, check=False, timeout=60
    ).returncode


@pytest.mark.parametrize("source", first_and_slow(SKIPS, SKIPS_BY_MARK, SKIPS_WHOLE))
def test_a_skipped_test_fails_the_run_only_where_skips_are_not_allowed(tmp_path: Path, source: str) -> None:
    assert run(tmp_path, source) == pytest.ExitCode.OK
    assert run(tmp_path, source, MCPPD_NO_SKIPS="1") == pytest.ExitCode.TESTS_FAILED


@pytest.mark.parametrize("source", first_and_slow(PASSES, SKIPS_OPTIONAL, EXPECTED_FAILURE))
def test_a_run_without_needless_skips_passes(tmp_path: Path, source: str) -> None:
    assert run(tmp_path, source, MCPPD_NO_SKIPS="1") == pytest.ExitCode.OK
