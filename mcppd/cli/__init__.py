"""The command line: one file for each command, imported only when that command runs."""

from __future__ import annotations


def main() -> int:
    """Run the command that the process was started with; the exit status."""
    import sys

    from mcppd.cli.commands import run

    return run(sys.argv[1:])
