"""`fetch_page` in other formats: HTML as Markdown and text, one fetch for all, hostile pages, and no library."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.tools.fetch_page_peer import response, serving
from tools.fetch_page import mcpptool
from tools.fetch_page.errors import NotConvertedError
from tools.fetch_page.fetching import MAX_TEXT, Page
from tools.fetch_page.readable import MAX_SECONDS, readable

HTML = "text/html; charset=utf-8"
PAGE = """<!doctype html><html><head><title>A title</title><style>p {}</style><base href="/docs/"></head><body>
<header>The site</header><nav><a href="/">Home</a></nav>
<h1>Guide &amp; more</h1><p>Some <b>bold</b> <a href="b.html#x">link</a> to a_name.</p>
<ul><li>one<ul><li>two</ul><li>three</ul>
<pre><code class="language-python">def f(x):
    return 1 * x</code></pre>
<table><tr><th>a<th>b<tr><td>1<td>2</table>
<img src="data:image/png;base64,AAAA" alt="a dot"><p hidden>unseen</p><script>alert(1)</script>
<footer>The end</footer></body></html>"""

MARKDOWN = """\
# Guide & more

Some **bold** [link]({url}/docs/b.html#x) to a_name.

- one
  - two
- three

```python
def f(x):
    return 1 * x
```

| a | b |
| --- | --- |
| 1 | 2 |

a dot"""

TEXT = """\
Guide & more

Some bold link to a_name.

- one
  - two
- three

def f(x):
    return 1 * x

a\tb
1\t2"""


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FETCH_PAGE_ALLOW_PRIVATE", "1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def call(url: str, **arguments: Any) -> dict[str, Any]:
    answer: dict[str, Any] = mcpptool.execute("fetch_page", {"url": url, **arguments})
    return answer


def result(url: str, **arguments: Any) -> dict[str, Any]:
    answer = call(url, **arguments)
    assert answer["success"] is True, answer
    value: dict[str, Any] = answer["result"]
    return value


def of(html: str, **more: Any) -> str:
    """A page's Markdown."""
    return readable(
        Page("https://example.org/a/b", HTML, html, whole=True), "markdown", MAX_TEXT, **more
    ).text


@pytest.mark.slow
def test_one_fetch_is_enough_for_every_format() -> None:
    with serving(response(PAGE.encode(), content_type=HTML)) as peer:
        plain = result(peer.url)
        raw, markdown, text = (result(peer.url, format=each) for each in ("raw", "markdown", "text"))
        assert len(peer.visits) == 1
    assert (plain["text"], plain["cached"], "format" in plain) == (PAGE, False, False)
    assert (raw["text"], raw["format"], raw["cached"]) == (PAGE, "raw", True)
    assert (markdown["text"], markdown["format"]) == (
        MARKDOWN.format(url=plain["url"].rstrip("/")),
        "markdown",
    )
    assert (text["text"], text["format"], text["truncated"]) == (TEXT, "text", False)


@pytest.mark.slow
def test_characters_are_counted_in_the_format_that_was_asked_for() -> None:
    page = "<p>" + "<b></b>" * 3000 + "the end"
    with serving(response(page.encode(), content_type=HTML)) as peer:
        cut = call(peer.url, format="text", max_chars=3)
        whole = result(peer.url, format="text", max_chars=7)
    assert (cut["result"]["text"], cut["result"]["truncated"]) == ("the", True)
    assert "the first 3 characters, as text" in cut["display"]
    assert (whole["text"], whole["truncated"]) == ("the end", False)


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/json", "text/markdown", "application/xml"]
)
def test_what_is_no_html_comes_as_it_was_served(content_type: str) -> None:
    with serving(response(b"<p>1 &lt; 2", content_type=content_type)) as peer:
        page = result(peer.url, format="markdown")
    assert (page["text"], page["format"]) == ("<p>1 &lt; 2", "raw")


@pytest.mark.parametrize(
    ("begin", "wanted"), [("<!DOCTYPE html>", "x"), (" <!-- a --><html>", "x"), ("", "<p>x")]
)
def test_a_page_of_no_type_is_html_if_it_begins_so(begin: str, wanted: str) -> None:
    with serving(response(f"{begin}<p>x".encode(), content_type=None)) as peer:
        assert result(peer.url, format="text")["text"] == wanted


@pytest.mark.slow
def test_the_main_part_alone_is_taken_where_a_page_names_one() -> None:
    body = "<div>before</div><main>{}</main><div>after</div>"
    assert of(body.format("word " * 50)) == ("word " * 50).strip()
    assert of(body.format("word")) == "before\n\nword\n\nafter"  # too little to be what the page is about


@pytest.mark.parametrize("named", ["utf-9", "", "base64", "utf-16", '"'])
def test_a_page_that_names_a_wrong_charset_is_read_all_the_same(named: str) -> None:
    page = f'<meta charset="{named}"><p>héllo</p>'
    with serving(response(page.encode(), content_type="text/html")) as peer:
        assert result(peer.url, format="text")["text"] == "héllo"


@pytest.mark.slow
def test_elements_too_deep_to_follow_count_as_their_text() -> None:
    assert of("<div>" * 20_000 + "deep" + "</div>" * 20_000 + "<p>after</p>", seconds=60.0) == "deep\n\nafter"
    assert of("<b>" * 1000 + "bold", seconds=60.0).strip("*") == "bold"


HOSTILE = {
    "nested": "<div>" * 100_000 + "x",
    "lists": "<ul><li>" * 100_000,
    "quotes": "<blockquote>x" * 80_000,
    "cells": "<table><tr>" + "<td>a" * 200_000,
    "lines": "<br>" * 260_000,
    "comments": "<!--" * 260_000,
    "opened": "<a " * 340_000,
    "crossed": "<a><b>" * 30_000 + "</c>" * 30_000 + "</a>" * 30_000,
    "marks": "*[_`" * 260_000,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_page_has_an_answer_or_a_clear_error_in_time(name: str) -> None:
    with serving(response(HOSTILE[name].encode(), content_type=HTML)) as peer:
        answer = call(peer.url, format="markdown")
    assert answer["success"] or "`format: raw`" in answer["error"]


@pytest.mark.slow
def test_a_page_of_ten_megabytes_of_tags_ends_the_conversion_and_nothing_else() -> None:
    with serving(response(b"<p>a</p>" * 1_250_000, content_type=HTML)) as peer:
        error = call(peer.url, format="markdown")
        raw = result(peer.url, format="raw")
        assert len(peer.visits) == 1
    assert error["success"] is True or f"{MAX_SECONDS:g} s" in error["error"]
    assert raw["truncated"] is True


def test_a_conversion_that_takes_too_long_is_ended() -> None:
    with pytest.raises(NotConvertedError, match="format: raw"):
        of("<p>a</p>" * 100_000, seconds=0.05)


def test_without_the_library_the_error_says_what_to_install_and_for_whom(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    python = str(bare / "bin" / "python")
    monkeypatch.setattr(sys, "executable", python)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    with serving(response(PAGE.encode(), content_type=HTML)) as peer:
        error = call(peer.url, format="markdown")["error"]
        assert f"`{python} -m pip install 'mcppd[fetch]'`" in error
        assert result(peer.url, format="raw")["text"] == PAGE
