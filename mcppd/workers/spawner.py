"""The fork server: `python -P -E -B spawner.py <descriptor of its control socket>` (D2).

Its code and the worker's are imported under a private name, so that no module of an author can collide.
"""

from __future__ import annotations

import importlib
import os
import sys
import types


def main() -> None:
    """Serve the control socket until it ends."""
    package = types.ModuleType("_mcppd")
    package.__path__ = [os.path.dirname(os.path.abspath(__file__))]
    sys.modules[package.__name__] = package
    importlib.import_module(f"{package.__name__}.spawner_loop").main(int(sys.argv[1]))


if __name__ == "__main__":
    main()
