"""Where bundled files are: below this one in a wheel, beside the package in a checkout."""

from __future__ import annotations

from pathlib import Path


def registry_path() -> Path:
    """The absolute path of the `tools.yaml` that comes with mcppd; its modules lie beside it."""
    package = Path(__file__).resolve().parent
    installed = package / "_bundled" / "tools.yaml"
    return installed if installed.exists() else package.parent / "tools.yaml"


def units_directory() -> Path:
    """The directory of the units of systemd that `mcppd service install` writes."""
    return registry_path().parent / "systemd"
