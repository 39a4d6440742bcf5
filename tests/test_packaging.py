"""What is in the wheel: all of mcppd, the shim, the bundled tools, and nothing else."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
from email import message_from_bytes
from email.message import Message
from importlib.metadata import EntryPoint
from pathlib import Path
from zipfile import ZipFile

import pytest

import mcppd
from mcppd.bundled import registry_path

ROOT = Path(__file__).parents[1]

LEFT_OUT = shutil.ignore_patterns(
    *(
        ".git",
        ".venv",
        "build",
        "dist",
        "*.egg-info",
        "__pycache__",
        "*.pyc",
        ".*_cache",
        ".hypothesis",
        "what.*",
    )
)

BUILD_SDIST = "import sys; from setuptools import build_meta; build_meta.build_sdist(sys.argv[1])"
BUILD_WHEEL = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"


def build(script: str, source: Path, target: Path) -> Path:
    """The one file that a build of a source tree puts into a directory."""
    target.mkdir()
    subprocess.run(
        [sys.executable, "-c", script, str(target)], cwd=source, check=True, capture_output=True, timeout=60
    )
    (built,) = target.iterdir()
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel made of an sdist made of a copy of the tree, so that the sdist has all it takes."""
    directory = tmp_path_factory.mktemp("packaging")
    tree = directory / "tree"
    shutil.copytree(ROOT, tree, symlinks=True, ignore=LEFT_OUT)
    sdist = build(BUILD_SDIST, tree, directory / "sdist")
    with tarfile.open(sdist) as archive:
        archive.extractall(directory / "unpacked", filter="data")
    (unpacked,) = (directory / "unpacked").iterdir()
    return build(BUILD_WHEEL, unpacked, directory / "wheel")


def files_below(directory: str, name: str) -> set[str]:
    """The files of a directory of the tree, by the paths that they have when `name` stands for it."""
    top = ROOT / directory
    paths = [path.relative_to(top) for path in top.rglob("*") if path.is_file()]
    return {f"{name}/{path}" for path in paths if path.suffix != ".pyc"}


def metadata(wheel: Path) -> Message:
    with ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return message_from_bytes(archive.read(name))


def test_the_wheel_holds_the_packages_the_bundled_tools_and_the_units_and_nothing_else(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        files = {name for name in archive.namelist() if ".dist-info/" not in name}
    expected = files_below("mcppd", "mcppd") | files_below("shim", "mcppd_shim")
    expected |= files_below("tools", "mcppd/_bundled/tools") | {"mcppd/_bundled/tools.yaml"}
    expected |= files_below("systemd", "mcppd/_bundled/systemd")
    assert files == expected


def test_the_metadata_tells_what_an_installer_needs(wheel: Path) -> None:
    found = metadata(wheel)
    assert found["Name"] == "mcppd"
    assert found["Version"] == mcppd.__version__
    assert found["License-Expression"] == "MIT"
    assert found["Requires-Python"] == ">=3.11"
    needs = found.get_all("Requires-Dist", [])
    always = {need.partition(">=")[0] for need in needs if "extra ==" not in need}
    assert always == {
        "click",
        "jsonschema",
        "orjson",
        "pyyaml",
        "referencing",
        "rich",
        "uvloop",
    }
    assert all(">=" in need for need in needs)


def test_the_console_scripts_lead_to_functions(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/entry_points.txt")]
        lines = archive.read(name).decode().split("\n")
    scripts = dict(line.split(" = ") for line in lines if " = " in line)
    assert scripts.keys() == {"mcppd", "mcppd-shim"}
    for name, value in scripts.items():
        assert callable(EntryPoint(name, value, "console_scripts").load())


def test_the_bundled_registry_is_found_in_an_unpacked_wheel(wheel: Path, tmp_path: Path) -> None:
    with ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    script = (
        "import sys; sys.path[:0] = sys.argv[1:]; from mcppd import bundled; print(bundled.registry_path())"
    )
    command = [sys.executable, "-I", "-S", "-c", script, str(tmp_path)]
    printed = subprocess.check_output(command, text=True, timeout=60)
    registry = Path(printed.strip())
    assert registry.is_relative_to(tmp_path)
    assert registry.read_text() == (ROOT / "tools.yaml").read_text()
    assert (registry.parent / "tools" / "what" / "tool.yaml").is_file()


def test_the_bundled_registry_of_a_checkout_is_its_own() -> None:
    assert registry_path() == ROOT / "tools.yaml"
