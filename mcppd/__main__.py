"""`python -m mcppd`, or this very file run by its path, which is how the shim starts a daemon."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path


def _find_packages() -> None:
    """Put the directory above the package on the search path, in the place of the package's own.

    Python puts a script's own directory there, where `mcppd/core` would be a top-level `core`.
    """
    from pathlib import Path

    above = Path(__file__).resolve().parent.parent
    sys.path[:1] = [str(above)]
    if not (above / "mcppd_shim").exists() and (above / "shim" / "places.py").exists():
        _name_shim(above / "shim")


def _name_shim(directory: Path) -> None:
    """Name the shim's package, which lies in a directory of another name in a checkout."""
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location(
        "mcppd_shim", directory / "__init__.py", submodule_search_locations=[str(directory)]
    )
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["mcppd_shim"] = module_from_spec(spec)
    spec.loader.exec_module(module)


if __name__ == "__main__":
    if not __package__:
        _find_packages()
    from mcppd.cli import main

    sys.exit(main())
