"""The bundled module `fetch_page`: what it returns and shows, its charsets, redirects, errors and manifest."""

from __future__ import annotations

import gzip
import re
import zlib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from mcppd.core.manifest import parse_manifest
from mcppd.core.yaml import read_yaml
from tests.tools.fetch_page_peer import get, redirect, response, serving
from tools.fetch_page import mcpptool
from tools.fetch_page.contents import CODECS, decode
from tools.fetch_page.errors import ContentError, StatusError
from tools.fetch_page.fetching import MAX_TEXT
from tools.fetch_page.rules import MAX_SECONDS
from tools.fetch_page.urls import MAX_URL

MODULE = Path(__file__).parents[2] / "tools" / "fetch_page"


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A user's environment that allows the servers of these tests."""
    monkeypatch.setenv("FETCH_PAGE_ALLOW_PRIVATE", "1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def call(url: str, **arguments: Any) -> dict[str, Any]:
    answer = mcpptool.execute("fetch_page", {"url": url, **arguments}, {"workspace_dir": "/"})
    assert isinstance(answer, dict)
    return answer


def result(url: str, **arguments: Any) -> dict[str, Any]:
    answer = call(url, **arguments)
    assert answer["success"] is True, answer
    value = answer["result"]
    assert isinstance(value, dict)
    return value


def test_a_page_comes_with_its_address_type_and_text() -> None:
    with serving(response(b"<p>hello", content_type="text/html; charset=utf-8")) as peer:
        assert result(f"{peer.url}/a?b=c#d") == {
            "url": f"{peer.url}/a?b=c",
            "content_type": "text/html; charset=utf-8",
            "text": "<p>hello",
            "truncated": False,
            "cached": False,
        }


def test_the_second_time_it_comes_from_the_cache_with_its_age() -> None:
    with serving(response()) as peer:
        first, second = result(peer.url), result(peer.url)
        assert len(peer.visits) == 1
    age = second.pop("cache_age_seconds")
    assert isinstance(age, int)
    assert 0 <= age < 60
    assert second == {**first, "cached": True}


@pytest.mark.parametrize(
    ("limit", "text", "truncated"), [(4, "héll", True), (5, "héllo", False), (6, "héllo", False)]
)
def test_no_more_characters_come_than_were_asked_for(limit: int, text: str, *, truncated: bool) -> None:
    with serving(response("héllo".encode())) as peer:
        for cached in (False, True):
            page = result(peer.url, max_chars=limit)
            assert (page["text"], page["truncated"], page["cached"]) == (text, truncated, cached)


def test_more_of_a_page_that_was_cut_comes_from_the_cache() -> None:
    with serving(response(b"x" * 300_000)) as peer:
        assert result(peer.url, max_chars=1)["text"] == "x"
        default, most = result(peer.url), result(peer.url, max_chars=200_000)
        assert len(peer.visits) == 1
    assert (len(default["text"]), default["truncated"]) == (20_000, True)
    assert (len(most["text"]), most["truncated"]) == (200_000, True)


def test_the_request_is_one_of_a_decent_client() -> None:
    with serving(response()) as peer:
        result(f"{peer.url}/ä b")
        lines = peer.visits[0].request.decode().split("\r\n")
    assert lines[0] == "GET /%C3%A4%20b HTTP/1.1"
    names = [line.partition(":")[0] for line in lines[1:-2]]
    assert sorted(names) == ["Accept", "Accept-Encoding", "Connection", "Host", "User-Agent"]


def test_a_proxy_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1/")
    with serving(response()) as peer:
        assert result(peer.url)["text"] == "hello"


@pytest.mark.parametrize("value", ["", "0", "no", "false", "maybe", None])
def test_private_addresses_are_refused_unless_they_are_allowed(
    value: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(response()) as peer:
        assert call(peer.url)["success"] is True  # it is in the cache now, for those who may
        if value is None:
            monkeypatch.delenv("FETCH_PAGE_ALLOW_PRIVATE")
        else:
            monkeypatch.setenv("FETCH_PAGE_ALLOW_PRIVATE", value)
        answer = call(peer.url)
        assert answer["success"] is False
        assert "FETCH_PAGE_ALLOW_PRIVATE" in answer["error"]
        assert len(peer.visits) == 1
        assert mcpptool.get_info()["private_addresses"] == "refused"


def test_help_says_how_private_addresses_are_allowed() -> None:
    info = mcpptool.get_info({"workspace_dir": "/"})
    assert "FETCH_PAGE_ALLOW_PRIVATE" in info["how"]
    assert info["private_addresses"] == "allowed"


@pytest.mark.parametrize(
    "status", ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"]
)
def test_redirects_are_followed_and_the_last_address_is_told(status: str) -> None:
    with serving(
        lambda visit: visit.send(redirect("b/../c?x=ü", status) if visit.path == "/a" else response(b"there"))
    ) as peer:
        page = result(f"{peer.url}/a")
        assert (page["url"], page["text"]) == (f"{peer.url}/c?x=%C3%BC", "there")
        assert result(f"{peer.url}/a")["url"] == page["url"]
        assert peer.paths == ["/a", "/c?x=%C3%BC"]


def test_a_redirect_may_lead_to_another_server() -> None:
    with serving(response(b"other")) as other, serving(redirect(f"{other.url}/x")) as peer:
        assert result(peer.url)["url"] == f"{other.url}/x"
        assert f"Host: 127.0.0.1:{other.port}\r\n".encode() in other.visits[0].request


def test_a_redirect_without_a_target_and_other_answers_are_errors_with_their_status() -> None:
    for status in ("302 Found", "300 Choices", "304 Not Modified", "400 Bad", "404 Not Found", "500 Oops"):
        with serving(response(b"", status=status)) as peer, pytest.raises(StatusError) as caught:
            get(peer.url)
        assert caught.value.status == int(status[:3])


def test_an_answer_of_error_is_a_failure_with_the_first_part_of_its_body() -> None:
    body = b"no such  page\n" + b"x" * 10_000
    with serving(response(body, status="404 Not Found")) as peer:
        answer = call(f"{peer.url}/gone")
        assert answer["success"] is False
        assert "404 Not Found" in answer["error"]
        assert f"{peer.url}/gone" in answer["error"]
        assert "no such page x" in answer["error"]
        assert len(answer["error"]) < 1000
        call(f"{peer.url}/gone")
        assert len(peer.visits) == 2  # errors are not kept


@pytest.mark.parametrize("data", [b"\x89PNG\0", gzip.compress(b"x", mtime=0)[:-4], b"\xff\xfe"])
def test_an_answer_of_error_without_text_still_tells_its_status(data: bytes) -> None:
    for headers in (["Content-Encoding: gzip"], ["Content-Encoding: br"], []):
        with serving(response(data, *headers, status="500 Oops", content_type="image/png")) as peer:
            with pytest.raises(StatusError) as caught:
                get(peer.url)
            assert caught.value.status == 500


def test_answers_before_the_answer_are_passed_over() -> None:
    early = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
    with serving(early + response()) as peer:
        assert get(peer.url).text == "hello"


@pytest.mark.parametrize(
    "content_type",
    [
        *("text/html", "text/plain", "text/markdown; charset=utf-8", "TEXT/CSS", "application/json"),
        *("application/xml", "application/xhtml+xml", "application/rss+xml", "application/ld+json"),
        *(
            "image/svg+xml",
            "application/javascript",
            "application/x-yaml",
            "application/toml",
            "application/x-sh",
        ),
        *("application/vnd.api+json; ext=x", "application/x-ndjson", 'text/html;charset="utf-8"', None, ""),
    ],
)
def test_what_people_read_as_text_is_fetched(content_type: str | None) -> None:
    with serving(response(b"hello", content_type=content_type)) as peer:
        page = get(peer.url)
    assert (page.text, page.content_type) == ("hello", content_type or "")


@pytest.mark.parametrize(
    "content_type",
    [
        *("image/png", "application/pdf", "application/octet-stream", "video/mp4", "application/zip"),
        *("multipart/mixed; boundary=x", "nonsense", "application/gzip", "text/", "application/wasm"),
    ],
)
def test_what_is_no_text_is_an_error_that_names_its_type(content_type: str) -> None:
    with serving(response(b"hello", content_type=content_type)) as peer:
        with pytest.raises(ContentError):
            get(peer.url)
        assert content_type.partition(";")[0] in call(peer.url)["error"]


def test_what_has_no_type_and_looks_like_no_text_is_an_error() -> None:
    with serving(response(b"\x7fELF\0\0", content_type=None)) as peer, pytest.raises(ContentError):
        get(peer.url)


TEXT = "Grüße, “Welt” – 日本語 Привет"
HTML = "<html><head>{}</head><body>Grüße"


@pytest.mark.parametrize(
    ("body", "content_type", "text"),
    [
        (TEXT.encode(), "text/plain", TEXT),
        (TEXT.encode(), "text/plain; charset=UTF-8", TEXT),
        (b"\xef\xbb\xbf" + TEXT.encode(), "text/plain; charset=latin1", TEXT),
        (b"\xff\xfe" + TEXT.encode("utf-16-le"), "text/plain; charset=utf-8", TEXT),
        (b"\xfe\xff" + TEXT.encode("utf-16-be"), None, TEXT),
        (b"\xff\xfe\0\0" + TEXT.encode("utf-32-le"), "text/plain", TEXT),
        (TEXT.encode("utf-16-le"), "text/plain; charset=utf-16", TEXT),
        ("Grüße “€”".encode("cp1252"), "text/plain; charset=iso-8859-1", "Grüße “€”"),
        ("Grüße".encode("latin-1"), 'text/plain; x=y; Charset = "ISO-8859-15"', "Grüße"),
        ("Привет".encode("koi8-r"), "text/plain;charset=koi8-r", "Привет"),
        ("日本語".encode("shift_jis"), "text/plain;charset=Shift_JIS", "日本語"),
        ("日本語".encode("euc_jp"), "text/plain;charset=euc-jp", "日本語"),
        ("中文".encode("gb18030"), "text/plain;charset=gb2312", "中文"),
        ("Grüße".encode("latin-1"), "text/plain", "Gr\ufffd\ufffde"),
        ("Grüße".encode(), "text/plain; charset=klingon", "Grüße"),
        (b"68656c6c6f", "text/plain; charset=hex", "68656c6c6f"),
        (b"abc-", "text/plain; charset=punycode", "abc-"),
        (b"\\u0041", "text/plain; charset=unicode_escape", "\\u0041"),
        (b"a+AEE-", "text/plain; charset=utf-7", "a+AEE-"),
        (b"x\xe9", "text/plain; charset=../../x\0", "x\ufffd"),
    ],
)
def test_the_charset_is_that_of_the_mark_or_the_header(
    body: bytes, content_type: str | None, text: str
) -> None:
    with serving(response(body, content_type=content_type)) as peer:
        assert get(peer.url).text == text


@pytest.mark.parametrize(
    ("head", "content_type", "codec"),
    [
        ('<meta charset="iso-8859-15">', "text/html", "latin-1"),
        ("<META CHARSET=windows-1252 />", "text/html", "latin-1"),
        ("<meta http-equiv='Content-Type' content='text/html; charset=iso-8859-1'>", "text/html", "latin-1"),
        ("<meta charset=latin1>", None, "latin-1"),
        ("<meta charset=latin1>", "text/html; charset=nonsense", "latin-1"),
        ("<meta charset=latin1>", "text/html; charset=utf-8", "utf-8"),
        ("<!-- <meta charset=latin1> -->", "text/html", "utf-8"),
        ("<meta charset=utf-16>", "text/html", "utf-8"),
        ("<meta charset=zlib>", "text/html", "utf-8"),
        ("<meta name=x content=y><meta charset=latin1>", "application/xhtml+xml", "latin-1"),
        ("x" * 5000 + "<meta charset=latin1>", "text/html", "utf-8"),
        ("<meta charset=latin1>", "text/plain", "utf-8"),
    ],
)
def test_the_charset_that_a_page_names_itself_comes_after_the_header(
    head: str, content_type: str | None, codec: str
) -> None:
    body = HTML.format(head)
    with serving(response(body.encode(codec), content_type=content_type)) as peer:
        assert get(peer.url).text == body


def test_an_xml_declaration_names_a_charset_too() -> None:
    body = '<?xml version="1.0" encoding="ISO-8859-1"?><a>Grüße</a>'
    with serving(response(body.encode("latin-1"), content_type="application/xml")) as peer:
        assert get(peer.url).text == body


def test_a_character_that_was_cut_in_two_is_left_out() -> None:
    with serving(response("aé".encode())) as peer:
        page = get(peer.url, body=2)
    assert (page.text, page.whole) == ("a", False)


@given(body=st.binary(max_size=200), codec=st.sampled_from(sorted(CODECS)), whole=st.booleans())
def test_whatever_the_bytes_they_come_to_text_that_can_be_sent_on(
    body: bytes, codec: str, *, whole: bool
) -> None:
    decode(body, f"text/plain; charset={codec}", whole=whole).encode()


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


@pytest.mark.parametrize(
    ("encoding", "data"),
    [
        ("gzip", gzip.compress(b"hello", mtime=0)),
        ("x-gzip", gzip.compress(b"hello", mtime=0)),
        ("identity, gzip", gzip.compress(b"hello", mtime=0)),
        ("gzip", gzip.compress(b"hel", mtime=0) + gzip.compress(b"lo", mtime=0)),
        ("gzip", gzip.compress(b"hello", mtime=0) + bytes(100)),
        ("deflate", zlib.compress(b"hello")),
        ("deflate", raw_deflate(b"hello")),
        ("identity", b"hello"),
    ],
)
def test_compressed_pages_are_unpacked(encoding: str, data: bytes) -> None:
    with serving(response(data, f"Content-Encoding: {encoding}")) as peer:
        assert get(peer.url).text == "hello"
    chunks = b"".join(b"1\r\n" + data[at : at + 1] + b"\r\n" for at in range(len(data))) + b"0\r\n\r\n"
    head = f"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Encoding: {encoding}\r\n\r\n".encode()
    with serving(head + chunks) as peer:
        assert get(peer.url).text == "hello"


@pytest.mark.parametrize("status", ["200 OK", "204 No Content"])
def test_a_page_with_nothing_on_it_is_a_page(status: str) -> None:
    with serving(response(b"", "Content-Encoding: gzip", status=status)) as peer:
        page = get(peer.url)
    assert (page.text, page.whole) == ("", True)


def test_the_display_tells_a_person_what_was_fetched() -> None:
    body = b"<html><title>\n A &amp; B\t!</title>" + b"x" * 100
    with serving(response(body, content_type="text/html")) as peer:
        first, second = call(peer.url, max_chars=50)["display"], call(peer.url)["display"]
        assert peer.url in first
    assert first.split("\n")[0] == "**A \\& B !**"
    assert "50 of" in first
    assert "cached" not in first
    assert "cached" in second


def test_the_display_of_a_page_without_a_title_names_its_address() -> None:
    for body in (b"", b"<title></title>", b"<title>never ends"):
        with serving(response(body, content_type="text/html")) as peer:
            assert "127.0.0.1" in call(peer.url)["display"].split("\n")[0]


def test_a_title_puts_no_markup_before_a_person() -> None:
    body = (
        "<title>![x](http://evil.test/)&lt;img src=x>\u202e\x1b[31m\n# `y` **z**</title>" + "<title>" * 3000
    )
    with serving(response(body.encode(), content_type="text/html")) as peer:
        display = call(peer.url)["display"]
    title = display.split("\n")[0]
    assert title.startswith("**!\\[x\\](http")
    assert not set("\x1b\u202e") & set(display)
    assert not re.search(r"(?<!\\)[\[\]<>`]", title)


def test_an_unknown_tool_is_an_error() -> None:
    assert mcpptool.execute("fetch_other", {})["success"] is False


def test_a_url_that_is_none_is_an_error() -> None:
    answer = call("example.com")
    assert answer["success"] is False
    assert "http://" in answer["error"]


def manifest() -> dict[str, Any]:
    value = yaml.safe_load((MODULE / "tool.yaml").read_text())
    assert isinstance(value, dict)
    return value


def test_the_manifest_is_one_that_every_client_takes() -> None:
    (tool,) = manifest()["tools"]
    assert tool["name"] == "fetch_page"
    assert 0 < len(tool["description"].encode()) < 2048
    schema = tool["inputSchema"]
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft7Validator.check_schema(schema)
    assert schema["additionalProperties"] is False
    for value in schema["properties"].values():
        assert isinstance(value["type"], str)
        assert value["description"]
    assert tool["annotations"] == {"readOnlyHint": True, "openWorldHint": True}


def test_the_manifest_is_read_without_a_fault() -> None:
    file = MODULE / "tool.yaml"
    read = parse_manifest(read_yaml(file.read_bytes(), str(file)))
    assert (read.name, read.scope, read.faults, read.warnings) == ("fetch_page", "global", (), ())
    assert [(tool.name, tool.fault) for tool in read.tools] == [("fetch_page", None)]


def test_schema_and_code_agree_on_limits() -> None:
    (tool,) = manifest()["tools"]
    properties = tool["inputSchema"]["properties"]
    assert properties["url"]["maxLength"] == MAX_URL
    assert properties["max_chars"]["maximum"] == MAX_TEXT
    assert properties["max_chars"]["default"] == mcpptool.DEFAULT_CHARS
    assert f"{MAX_SECONDS:g} seconds" in tool["description"]
