from __future__ import annotations

import errno
import os
import pwd
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcppd_shim.places import (
    LONGEST_SOCKET_PATH,
    PlaceError,
    check_directories,
    check_directory,
    daemon_log,
    home_directory,
    registry_path,
    runtime_directory,
    socket_paths,
    state_directory,
)

from tests.shim.world import World

UID = os.getuid()


@pytest.fixture
def environ(world: World) -> dict[str, str]:
    return world.environ


@pytest.fixture
def elsewhere(world: World) -> Iterator[Path]:
    before = Path.cwd()
    directory = world.base / "elsewhere"
    directory.mkdir()
    os.chdir(directory)
    yield directory
    os.chdir(before)


def registry_at(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("modules: []\n")
    return path


def test_without_any_file_the_registry_is_the_bundled_one(environ: dict[str, str]) -> None:
    assert registry_path(None, environ) == ("", True)


def test_the_default_registry_lies_in_the_configuration_directory(
    world: World, environ: dict[str, str]
) -> None:
    file = registry_at(world.home / ".config" / "mcppd" / "tools.yaml")
    assert registry_path(None, environ) == (str(file), True)
    other = registry_at(world.base / "xdg" / "mcppd" / "tools.yaml")
    assert registry_path(None, environ | {"XDG_CONFIG_HOME": f"{world.base}/xdg/"}) == (str(other), True)


def test_config_comes_before_the_base_directory_and_that_before_the_default(
    world: World, environ: dict[str, str]
) -> None:
    registry_at(world.home / ".config" / "mcppd" / "tools.yaml")
    based = environ | {"MCPP_BASE_DIR": "/srv/base"}
    assert registry_path(None, based) == ("/srv/base/tools.yaml", False)
    assert registry_path("/srv/own.yaml", based) == ("/srv/own.yaml", False)


def test_the_default_file_is_the_default_registry_under_any_of_its_names(
    world: World, environ: dict[str, str]
) -> None:
    file = registry_at(world.home / ".config" / "mcppd" / "tools.yaml")
    link = world.base / "link"
    link.symlink_to(file.parent)
    assert registry_path(str(file), environ) == (str(file), True)
    assert registry_path(f"{link}/tools.yaml", environ) == (f"{link}/tools.yaml", True)
    assert registry_path(None, environ | {"MCPP_BASE_DIR": str(link)})[1]
    assert registry_path(None, environ | {"MCPP_BASE_DIR": f"{file.parent}/../mcppd"})[1]


def test_the_default_place_is_the_default_even_while_nothing_is_there(
    world: World, environ: dict[str, str]
) -> None:
    place = f"{world.home}/.config/mcppd/tools.yaml"
    assert registry_path(place, environ) == (place, True)


def test_a_link_to_nothing_in_the_default_place_is_not_replaced_by_the_bundled_registry(
    world: World, environ: dict[str, str]
) -> None:
    file = world.home / ".config" / "mcppd" / "tools.yaml"
    file.parent.mkdir(parents=True)
    file.symlink_to("/nowhere/tools.yaml")
    assert registry_path(None, environ) == (str(file), True)


def test_relative_names_of_a_registry_start_at_the_working_directory(
    elsewhere: Path, environ: dict[str, str]
) -> None:
    assert registry_path("./own.yaml", environ) == (f"{elsewhere}/own.yaml", False)
    assert registry_path(None, environ | {"MCPP_BASE_DIR": "base"}) == (
        f"{elsewhere}/base/tools.yaml",
        False,
    )


def test_a_relative_name_in_a_working_directory_that_is_gone_is_a_place_error(
    elsewhere: Path, environ: dict[str, str]
) -> None:
    elsewhere.rmdir()
    with pytest.raises(PlaceError) as caught:
        registry_path("own.yaml", environ)
    assert caught.value.errno == errno.ENOENT


@pytest.mark.parametrize("value", ["", "relative/path"])
def test_empty_and_relative_xdg_values_count_as_unset(
    value: str, world: World, environ: dict[str, str]
) -> None:
    changed = environ | {"XDG_CONFIG_HOME": value, "XDG_STATE_HOME": value, "XDG_RUNTIME_DIR": value}
    file = registry_at(world.home / ".config" / "mcppd" / "tools.yaml")
    assert registry_path(None, changed) == (str(file), True)
    assert state_directory(changed) == f"{world.home}/.local/state/mcppd"
    assert runtime_directory(changed, UID) == runtime_directory({}, UID)


def test_an_empty_base_directory_counts_as_unset(environ: dict[str, str]) -> None:
    assert registry_path(None, environ | {"MCPP_BASE_DIR": ""}) == ("", True)


def test_logs_lie_in_the_state_directory(world: World, environ: dict[str, str]) -> None:
    assert daemon_log(environ) == f"{world.state}/mcppd/daemon.log"


def test_home_comes_from_the_user_database_when_the_environment_is_blank() -> None:
    assert home_directory({}) == pwd.getpwuid(UID).pw_dir
    assert home_directory({"HOME": ""}) == pwd.getpwuid(UID).pw_dir
    assert home_directory({"HOME": "/home/somebody/"}) == "/home/somebody"


def test_the_runtime_directory_is_the_one_that_the_environment_names(
    world: World, environ: dict[str, str]
) -> None:
    assert runtime_directory(environ, UID) == f"{world.runtime}/mcppd"
    assert runtime_directory({"XDG_RUNTIME_DIR": f"{world.runtime}//"}, UID) == f"{world.runtime}/mcppd"


def test_without_a_usable_runtime_directory_it_depends_on_nothing_but_the_uid(world: World) -> None:
    uid = 4_000_000_123  # nobody's, so /run/user has none for it
    for environ in (
        {},
        {"TMPDIR": str(world.base)},
        {"XDG_RUNTIME_DIR": str(world.runtime)},  # another user's: what `su` leaves behind
        {"XDG_RUNTIME_DIR": str(world.base / "absent")},
    ):
        assert runtime_directory(environ, uid) == f"/tmp/mcppd-{uid}"


def test_the_default_registry_is_served_in_the_runtime_directory_itself(
    world: World, environ: dict[str, str]
) -> None:
    paths = socket_paths(None, "", environ, UID)
    directory = f"{world.runtime}/mcppd"
    assert paths.directories == (directory,)
    assert paths.directory == directory
    assert (paths.mcp, paths.control, paths.lock) == (
        f"{directory}/mcp.sock",
        f"{directory}/control.sock",
        f"{directory}/lock",
    )


def test_another_registry_has_a_subdirectory_named_after_its_real_path(
    world: World, environ: dict[str, str]
) -> None:
    file = registry_at(world.base / "own" / "tools.yaml")
    (world.base / "link").symlink_to(file.parent)
    paths = socket_paths(None, str(file), environ, UID)
    through_link = socket_paths(None, f"{world.base}/link/tools.yaml", environ, UID)
    runtime, directory = paths.directories
    assert runtime == f"{world.runtime}/mcppd"
    assert Path(directory).parent == Path(runtime)
    assert len(Path(directory).name) == 8
    assert int(Path(directory).name, 16) >= 0
    assert paths.mcp == through_link.mcp == f"{directory}/mcp.sock"
    assert socket_paths(None, f"{file}2", environ, UID).directory != directory


def test_a_named_socket_has_the_others_beside_it(elsewhere: Path, environ: dict[str, str]) -> None:
    paths = socket_paths("own.sock", "/some/tools.yaml", environ, UID)
    assert paths.directories == (str(elsewhere),)
    assert (paths.mcp, paths.control, paths.lock) == (
        f"{elsewhere}/own.sock",
        f"{elsewhere}/own.sock.control",
        f"{elsewhere}/own.sock.lock",
    )


def test_paths_that_no_socket_address_holds_get_short_ones(world: World, environ: dict[str, str]) -> None:
    long = world.runtime / ("x" * 100)
    long.mkdir()
    by_directory = socket_paths(None, "", environ | {"XDG_RUNTIME_DIR": str(long)}, UID)
    by_name = socket_paths(f"/srv/{'ü' * 52}/a", "", environ, UID)
    for paths in (by_directory, by_name):
        assert paths.directories[0] == f"/tmp/mcppd-{UID}"
        assert paths.directory.startswith(f"/tmp/mcppd-{UID}/")
        assert len(paths.control.encode()) <= LONGEST_SOCKET_PATH
    assert by_directory.directory != by_name.directory


def test_the_longest_path_that_fits_is_kept(environ: dict[str, str]) -> None:
    fits = "/" + "x" * (LONGEST_SOCKET_PATH - 1 - len(".control"))
    assert socket_paths(fits, "", environ, UID).mcp == fits
    assert socket_paths(f"{fits}x", "", environ, UID).mcp != f"{fits}x"


def test_a_directory_is_made_for_its_owner_only_whatever_the_umask(world: World) -> None:
    path = world.base / "made"
    before = os.umask(0)
    try:
        check_directory(str(path), UID, make=True)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    check_directory(str(path), UID, make=True)


def test_all_directories_on_the_way_to_the_sockets_are_made(world: World, environ: dict[str, str]) -> None:
    (world.runtime / "mcppd").rmdir()
    paths = socket_paths(None, "/some/tools.yaml", environ, UID)
    with pytest.raises(PlaceError) as caught:
        check_directories(paths, UID, make=False)
    assert caught.value.errno == errno.ENOENT
    check_directories(paths, UID, make=True)
    check_directories(paths, UID, make=False)
    assert Path(paths.directory).is_dir()


@pytest.mark.parametrize("mode", [0o755, 0o750, 0o701, 0o777, 0o500, 0o000])
@pytest.mark.parametrize("make", [True, False])
def test_a_directory_with_any_other_mode_is_refused_and_left_alone(
    mode: int, make: bool, world: World
) -> None:
    path = world.base / "open"
    path.mkdir()
    path.chmod(mode)
    with pytest.raises(PlaceError) as caught:
        check_directory(str(path), UID, make=make)
    assert caught.value.errno == errno.EINVAL
    assert str(path) in str(caught.value)
    assert stat.S_IMODE(path.stat().st_mode) == mode
    path.chmod(0o700)


def test_a_directory_that_passes_its_group_on_is_as_private_as_any(world: World) -> None:
    path = world.base / "setgid"
    path.mkdir()
    path.chmod(0o2700)
    check_directory(str(path), UID, make=False)


@pytest.mark.parametrize("make", [True, False])
def test_a_link_to_a_good_directory_is_refused(make: bool, world: World) -> None:
    link = world.base / "link"
    link.symlink_to(world.runtime)
    with pytest.raises(PlaceError) as caught:
        check_directory(str(link), UID, make=make)
    assert caught.value.errno == errno.ELOOP


@pytest.mark.parametrize("make", [True, False])
def test_a_file_is_refused(make: bool, world: World) -> None:
    file = registry_at(world.base / "file")
    with pytest.raises(PlaceError) as caught:
        check_directory(str(file), UID, make=make)
    assert caught.value.errno == errno.ENOTDIR


def test_another_users_directory_is_refused(world: World) -> None:
    with pytest.raises(PlaceError) as caught:
        check_directory(str(world.runtime), UID + 1, make=True)
    assert caught.value.errno == errno.EINVAL


def test_what_the_system_says_reaches_the_error(world: World) -> None:
    with pytest.raises(PlaceError) as caught:
        check_directory(str(world.base / "absent" / "made"), UID, make=True)
    assert caught.value.errno == errno.ENOENT
    assert caught.value.filename == str(world.base / "absent" / "made")


def test_the_default_socket_named_by_its_path_has_the_same_lock(environ: dict[str, str]) -> None:
    usual = socket_paths(None, "", environ, UID)
    named = socket_paths(usual.mcp, "", environ, UID)
    assert (named.mcp, named.control, named.lock) == (usual.mcp, usual.control, usual.lock)


def test_nobody_is_told_to_close_a_directory_that_others_use(tmp_path: Path) -> None:
    shared, own = tmp_path / "shared", tmp_path / "mcppd"
    for directory in (shared, own):
        directory.mkdir()
        directory.chmod(0o755)
    for directory, advises in ((shared, False), (own, True)):
        with pytest.raises(PlaceError) as caught:
            check_directory(str(directory), UID, make=False)
        assert (f"chmod 700 {directory}" in str(caught.value)) is advises
