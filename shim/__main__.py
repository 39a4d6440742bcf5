"""Start of the shim: as `mcppd-shim`, with `python -m`, or as a plain file under `python -I -S`."""

from __future__ import annotations

import sys


def _forward_main() -> int:
    if __package__:
        from .forward import main as forward

        return forward(sys.argv[1:])
    directory = __file__.rpartition("/")[0] or "."
    parent, _, name = directory.rpartition("/")
    # In front only while the package is looked up: nothing beside it may stand in for a module of Python.
    sys.path.insert(0, parent or ("/" if directory[0] == "/" else "."))
    __import__(name)
    del sys.path[0]
    status: int = __import__(name + ".forward", fromlist=["main"]).main(sys.argv[1:])
    return status


def main() -> int:
    """Forward between stdin/stdout and the daemon until one side ends; the exit status."""
    if sys.platform != "linux":
        sys.stderr.write("mcppd-shim: mcppd runs on Linux and WSL2 only, not on this system\n")
        return 1
    return _forward_main()


if __name__ == "__main__":
    sys.exit(main())
