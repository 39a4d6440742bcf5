"""The bundled module `fetch_page`: pages that are kept, whoever else is at it and whatever is found there."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.tools.fetch_page_peer import response, serving
from tools.fetch_page import mcpptool
from tools.fetch_page.addresses import EVERYWHERE
from tools.fetch_page.cache import Cache, cache_directory, digest, key_of
from tools.fetch_page.fetching import Page
from tools.fetch_page.urls import parse_url

ROOT = Path(__file__).parents[2]
KEYS = [f"{number:064x}" for number in range(40)]
PAGE = Page("http://example.com/", "text/html", "Grüße\0\n\u2028\U0001f600", whole=True)


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FETCH_PAGE_ALLOW_PRIVATE", "1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


class Clock:
    """The time of day, as somebody sets it."""

    def __init__(self) -> None:
        self.time = 1_000_000.0

    def __call__(self) -> float:
        return self.time


def call(url: str, **arguments: Any) -> dict[str, Any]:
    answer = mcpptool.execute("fetch_page", {"url": url, **arguments})
    assert answer["success"] is True, answer
    value = answer["result"]
    assert isinstance(value, dict)
    return value


def only_entry() -> Path:
    directory = cache_directory(os.environ)
    assert directory
    (path,) = directory.iterdir()
    return path


def text_of(cache: Cache, key: str) -> str | None:
    hit = cache.find(key)
    return hit.page.text if hit else None


def test_what_is_kept_is_found_as_it_was(tmp_path: Path) -> None:
    clock = Clock()
    cache = Cache(tmp_path / "a" / "b", now=clock)
    assert cache.find(KEYS[0]) is None
    assert not (tmp_path / "a").exists()
    for page in (PAGE, Page("http://x/", "", "", whole=False)):
        cache.keep(KEYS[0], page)
        clock.time += 7
        hit = cache.find(KEYS[0])
        assert hit
        assert (hit.page, hit.age) == (page, 7)


def test_a_page_is_kept_under_its_url_and_under_who_may_see_it() -> None:
    one = parse_url("http://example.com/a?b")
    assert key_of(one, ()) == key_of(parse_url("HTTP://EXAMPLE.com:80/a?b#c"), ())
    others = [
        parse_url(text)
        for text in ("https://example.com/a?b", "http://example.com/a?B", "http://example.com/a")
    ]
    keys = {key_of(one, ()), key_of(one, EVERYWHERE), *(key_of(url, ()) for url in others)}
    assert len(keys) == 5


def test_a_page_is_let_go_when_its_time_is_over(tmp_path: Path) -> None:
    clock = Clock()
    cache = Cache(tmp_path, ttl=60, now=clock)
    cache.keep(KEYS[0], PAGE)
    clock.time += 59
    assert cache.find(KEYS[0])
    clock.time += 1
    assert cache.find(KEYS[0]) is None


def test_a_clock_that_is_set_back_serves_nothing_from_the_future(tmp_path: Path) -> None:
    clock = Clock()
    cache = Cache(tmp_path, ttl=60, max_entries=3, now=clock)
    for key in KEYS[:3]:
        cache.keep(key, PAGE)
    clock.time -= 10_000
    assert cache.find(KEYS[0]) is None
    cache.keep(KEYS[3], PAGE)  # not the oldest now, though all others seem to be newer
    assert [path.name for path in tmp_path.iterdir()] == [KEYS[3]]
    assert cache.find(KEYS[3])


def test_the_oldest_go_when_there_are_too_many(tmp_path: Path) -> None:
    clock = Clock()
    cache = Cache(tmp_path, max_entries=3, now=clock)
    for key in KEYS[:6]:
        clock.time += 1
        cache.keep(key, PAGE)
    assert sorted(path.name for path in tmp_path.iterdir()) == KEYS[3:6]


def test_the_oldest_go_when_there_are_too_many_bytes(tmp_path: Path) -> None:
    clock = Clock()
    cache = Cache(tmp_path, max_bytes=25_000, now=clock)
    for key in KEYS[:6]:
        clock.time += 1
        cache.keep(key, Page("http://x/", "", "x" * 10_000, whole=True))
    assert sorted(path.name for path in tmp_path.iterdir()) == KEYS[4:6]


def test_what_is_out_of_date_and_what_was_never_finished_goes_and_strange_files_stay(tmp_path: Path) -> None:
    clock = Clock()
    cache = Cache(tmp_path, ttl=3600, now=clock)
    cache.keep(KEYS[0], PAGE)
    for name, age in ((f".{KEYS[1]}.{'0' * 16}", 700), (f".{KEYS[2]}.{'0' * 16}", 5), ("mine.txt", 9999)):
        (tmp_path / name).write_text("x")
        os.utime(tmp_path / name, (clock.time - age,) * 2)
    (tmp_path / KEYS[3]).mkdir()
    clock.time += 500
    cache.keep(KEYS[4], PAGE)
    left = {KEYS[0], KEYS[3], KEYS[4], f".{KEYS[2]}.{'0' * 16}", "mine.txt"}
    assert {path.name for path in tmp_path.iterdir()} == left
    clock.time += 3200
    cache.keep(KEYS[5], PAGE)
    assert {path.name for path in tmp_path.iterdir()} == {KEYS[3], KEYS[4], KEYS[5], "mine.txt"}


def test_nobody_else_can_read_what_is_kept(tmp_path: Path) -> None:
    umask = os.umask(0)
    try:
        with serving(response()) as peer:
            call(peer.url)
    finally:
        os.umask(umask)
    entry = only_entry()
    assert stat.S_IMODE(entry.stat().st_mode) == 0o600
    for directory in entry.parents[:3]:
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_a_directory_that_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir(0o755)
    Cache(tmp_path / "open").keep(KEYS[0], PAGE)
    assert stat.S_IMODE((tmp_path / "open").stat().st_mode) == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="optional: only root can give a directory away")
def test_a_directory_of_somebody_else_is_not_used(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "theirs")
    cache.keep(KEYS[0], PAGE)
    os.chown(tmp_path / "theirs", 12345, -1)
    assert cache.find(KEYS[0]) is None
    cache.keep(KEYS[1], PAGE)
    assert [path.name for path in (tmp_path / "theirs").iterdir()] == [KEYS[0]]


def test_what_the_server_does_not_want_to_be_kept_is_not() -> None:
    with serving(response(b"hello", "Cache-Control: private, No-Store")) as peer:
        assert [call(peer.url)["cached"] for _ in range(2)] == [False, False]
    with serving(response(b"hello", "Cache-Control: no-cache")) as peer:
        assert [call(peer.url)["cached"] for _ in range(2)] == [False, True]


def other_entry(path: Path) -> None:
    content = json.dumps({"written": time.time(), "url": 1}).encode()
    path.write_bytes(digest(path.name, content) + b"\n" + content)


def put_in_place(path: Path, make: Callable[[], Any]) -> None:
    path.unlink()
    make()


def directory_with_files(path: Path) -> None:
    put_in_place(path, path.mkdir)
    (path / "a").mkdir()
    (path / "a" / "b").write_text("x")


CORRUPTIONS: dict[str, Callable[[Path], Any]] = {
    "emptied": lambda path: path.write_bytes(b""),
    "truncated": lambda path: os.truncate(path, path.stat().st_size - 5),
    "begun": lambda path: os.truncate(path, 10),
    "longer": lambda path: path.write_bytes(path.read_bytes() + b"x"),
    "one letter": lambda path: path.write_bytes(path.read_bytes().replace(b"hello", b"jello")),
    "zeros": lambda path: path.write_bytes(bytes(path.stat().st_size)),
    "huge": lambda path: os.truncate(path, 10**12),
    "other JSON": lambda path: path.write_bytes(b'{"text": "x"}'),
    "no JSON": lambda path: path.write_bytes(digest(path.name, b"[") + b"\n["),
    "deep JSON": lambda path: path.write_bytes(b"[" * 100_000),
    "other version": other_entry,
    "a directory": lambda path: put_in_place(path, path.mkdir),
    "a full directory": directory_with_files,
    "a pipe": lambda path: put_in_place(path, lambda: os.mkfifo(path)),
    "a link to nothing": lambda path: put_in_place(path, lambda: path.symlink_to("nothing")),
    "a link to itself": lambda path: put_in_place(path, lambda: path.symlink_to(path)),
    "unreadable": lambda path: path.chmod(0) if os.geteuid() else path.write_bytes(b"\xff"),
}


@pytest.mark.parametrize("corrupt", CORRUPTIONS.values(), ids=CORRUPTIONS.keys())
def test_what_is_broken_is_fetched_again_and_replaced(corrupt: Callable[[Path], Any]) -> None:
    with serving(response()) as peer:
        call(peer.url)
        corrupt(only_entry())
        assert [(page["text"], page["cached"]) for page in (call(peer.url), call(peer.url))] == [
            ("hello", False),
            ("hello", True),
        ]
        assert len(peer.visits) == 2
    assert only_entry().is_file()


def test_an_entry_of_another_page_is_a_miss(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.keep(KEYS[0], PAGE)
    (tmp_path / KEYS[0]).rename(tmp_path / KEYS[1])
    assert cache.find(KEYS[1]) is None


def test_a_link_in_the_place_of_an_entry_is_neither_read_nor_written_through(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    cache.keep(KEYS[0], PAGE)
    outside = tmp_path / "outside"
    (tmp_path / "cache" / KEYS[0]).rename(outside)
    (tmp_path / "cache" / KEYS[0]).symlink_to(outside)
    before = outside.read_bytes()
    assert cache.find(KEYS[0]) is None
    cache.keep(KEYS[0], Page("http://x/", "", "other", whole=True))
    assert outside.read_bytes() == before
    assert text_of(cache, KEYS[0]) == "other"


@given(data=st.binary(max_size=200))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_lies_there_is_a_miss(tmp_path: Path, data: bytes) -> None:
    (tmp_path / KEYS[0]).write_bytes(data)
    assert Cache(tmp_path).find(KEYS[0]) is None


def a_file(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_text("mine")


def a_link_to_nothing(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.symlink_to("nothing")


def read_only_directory(path: Path) -> None:
    path.mkdir(parents=True)
    path.chmod(0o500)


UNUSABLE: dict[str, Callable[[Path], Any]] = {
    "a file": a_file,
    "below a file": lambda path: path.parent.parent.write_text("mine"),
    "a link to nothing": a_link_to_nothing,
    "a system directory": lambda path: path.parent.parent.symlink_to("/proc/self/fdinfo"),
    "read-only": read_only_directory,
}


@pytest.mark.parametrize("make", UNUSABLE.values(), ids=UNUSABLE.keys())
def test_where_nothing_can_be_kept_pages_come_all_the_same(make: Callable[[Path], Any]) -> None:
    directory = cache_directory(os.environ)
    assert directory
    make(directory)
    with serving(response()) as peer:
        assert [call(peer.url)["text"] for _ in range(2)] == ["hello", "hello"]


def test_a_disk_that_is_full_keeps_nothing_and_leaves_nothing() -> None:
    script = """
import resource, signal, sys
from pathlib import Path
from tools.fetch_page.cache import Cache, Page
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
Cache(Path(sys.argv[1])).keep("0" * 64, Page("http://x/", "", "x" * 5000, whole=True))
"""
    directory = cache_directory(os.environ)
    finish(start(script, str(directory)))
    assert directory
    assert list(directory.iterdir()) == []


def test_a_user_without_a_home_has_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    assert cache_directory({"XDG_CACHE_HOME": "/c"}) == Path("/c/mcppd/fetch_page")
    monkeypatch.setenv("HOME", "/h")
    assert cache_directory({}) == Path("/h/.cache/mcppd/fetch_page")
    assert cache_directory({"XDG_CACHE_HOME": "relative"}) == Path("/h/.cache/mcppd/fetch_page")
    monkeypatch.setenv("HOME", "relative")
    assert cache_directory({}) is None
    Cache(None).keep(KEYS[0], PAGE)
    assert Cache(None).find(KEYS[0]) is None


def start(script: str, *arguments: str) -> subprocess.Popen[bytes]:
    """A process as a worker is one, in which nothing may go wrong."""
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", script, *arguments], cwd=ROOT, env=os.environ
    )


def finish(*processes: subprocess.Popen[bytes]) -> None:
    assert [process.wait(30) for process in processes] == [0] * len(processes)


AT_ONCE = """
import random, sys
from tools.fetch_page.mcpptool import execute
for _ in range(60):
    name, chars = str(random.randrange(3)), random.randrange(1, 60_000)
    answer = execute("fetch_page", {"url": f"{sys.argv[1]}/{name}", "max_chars": chars})
    assert answer["success"] is True, answer
    result = answer["result"]
    assert result["text"] == (name * 50_000)[:chars], name
    assert result["truncated"] is (chars < 50_000)
"""

CROWDED = """
import random, sys
from pathlib import Path
from tools.fetch_page.cache import Cache, Page
cache = Cache(Path(sys.argv[1]), max_entries=3)
found = 0
for number in range(300):
    key = f"{random.randrange(6):064x}"
    hit = cache.find(key)
    found += hit is not None
    assert hit is None or hit.page.text == key * 100
    if hit is None or number % 5 == 0:
        cache.keep(key, Page("http://x/", "", key * 100, whole=True))
assert found
"""


def test_several_workers_at_once_never_see_half_a_page_or_another_one() -> None:
    with serving(lambda visit: visit.send(response(visit.path[1:].encode() * 50_000))) as peer:
        finish(*(start(AT_ONCE, peer.url) for _ in range(4)))
        assert 3 <= len(peer.visits) <= 12
    directory = cache_directory(os.environ)
    assert directory
    assert len(list(directory.iterdir())) == 3


def test_several_workers_that_crowd_the_cache_never_fail(tmp_path: Path) -> None:
    finish(*(start(CROWDED, str(tmp_path)) for _ in range(4)))
    assert 1 <= len(list(tmp_path.iterdir())) <= 3


def test_a_worker_that_is_killed_leaves_nothing_that_is_taken_for_a_page(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", CROWDED.replace("300", "10**9"), str(tmp_path)], cwd=ROOT
    )
    end = time.monotonic() + 20
    while len(list(tmp_path.glob("0*"))) < 3:
        assert time.monotonic() < end
        assert process.poll() is None
    process.kill()
    process.wait(20)
    cache = Cache(tmp_path)
    texts = {text_of(cache, key) for key in KEYS[:6]} - {None}
    assert texts <= {key * 100 for key in KEYS[:6]}
