"""`check` tells what a registry says of tools that aren't there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.cli.test_check import lines, module, places, write

if TYPE_CHECKING:
    from .conftest import Cli


def test_names_of_tools_that_no_module_of_an_entry_has_are_warnings(cli: Cli) -> None:
    for name in ("one", "two", "three"):
        module(cli, name)
    text = """\
        modules:
          - path: tools/one
            tools: {limits: {onee: {timeout: 3}}}
          - path: tools/t*
            tools:
              deny: [three, one]
    """
    write(cli, tools_yaml=text)
    printed = lines(cli, "tools.yaml", status=0)
    assert places(printed) == ["tools.yaml:3:22: warning", "tools.yaml:6:21: warning"]
    assert "did you mean one?" in printed[0]
    assert "'one'" in printed[1]
