"""The conversion of HTML, run as a script by readable.py: the page as JSON on stdin, its text on stdout.

The libraries are markdownify, on Beautiful Soup, and lxml as its parser: that of the standard library doesn't know
which end tags go without saying, and takes quadratic time in many Pythons. Nothing else of the module is imported.
"""

from __future__ import annotations

import json
import re
import resource
import sys
from typing import Any, Final
from urllib.parse import urljoin

try:
    import lxml  # type: ignore[import-untyped]  # noqa: F401 - the parser, told here if it is missing
    from bs4 import BeautifulSoup
    from bs4.element import Tag
    from markdownify import ATX, MarkdownConverter
except ImportError:
    sys.exit(3)  # MISSING of readable.py

MAX_DEPTH: Final = 150
"""Elements within each other; deeper ones count as their text alone. Real pages have up to sixty."""

STACK: Final = 10_000
"""Calls within each other: the library makes a few for each level."""

UNREAD: Final = (
    *(
        "script",
        "style",
        "noscript",
        "template",
        "svg",
        "math",
        "iframe",
        "object",
        "canvas",
        "audio",
        "video",
    ),
    *("nav", "button", "input", "select", "textarea", "dialog", "title"),
    *("[hidden]", "[aria-hidden=true]"),
)
"""What nobody reads on a page, as selectors."""

FURNITURE: Final = ("body > header", "body > footer", "body > aside")

ENOUGH: Final = 200
"""Characters of a part that calls itself the main one, from which on it is believed."""

UNFORMATTED: Final = (
    *(
        "a",
        "b",
        "strong",
        "i",
        "em",
        "del",
        "s",
        "sub",
        "sup",
        "code",
        "kbd",
        "samp",
        "img",
        "q",
        "hr",
        "video",
    ),
)
"""Elements whose text alone goes into plain text."""

LANGUAGE: Final = re.compile(r"(?:language|lang|highlight-source|highlight|brush:)-?\s*([\w+#.-]{1,30})$")
BLANK_LINES: Final = re.compile(r"\n{3,}")
TRAILING: Final = re.compile(r"[^\S\n]+$", re.MULTILINE)


class Shallow(BeautifulSoup):
    """A tree that is never deeper than the converter can follow."""

    def handle_starttag(self, *given: Any, **named: Any) -> Tag | None:
        if len(self.tagStack) > MAX_DEPTH:
            self.endData()
            return None  # as the library says of a tag that is to be passed over
        return super().handle_starttag(*given, **named)


class Markdown(MarkdownConverter):
    """Markdown as agents read it."""

    def convert_img(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        """An image by its address; one that is in the page itself by its words alone."""
        if str(el.get("src") or "").startswith("data:"):
            return str(el.get("alt") or "")
        return str(super().convert_img(el, text, parent_tags))  # type: ignore[misc]


class Plain(MarkdownConverter):
    """Text without any marks but those of lists."""

    def convert_pre(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return f"\n\n{text.strip(chr(10))}\n\n"

    def convert_hN(self, n: int, el: Tag, text: str, parent_tags: set[str]) -> str:  # noqa: N802
        return f"\n\n{text.strip()}\n\n"

    def convert_td(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return f"{' '.join(text.split())}\t"

    def convert_tr(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return f"{text.rstrip()}\n"

    convert_th = convert_td


def convert(html: str, url: str, wanted: str) -> str:
    """The part of a page that is read, as Markdown or text."""
    soup = Shallow(html, "lxml")
    complete_links(soup, url)
    part = main_part(soup)
    return BLANK_LINES.sub("\n\n", TRAILING.sub("", written(part, wanted))).strip()


def written(part: Tag, wanted: str) -> str:
    """A part of a page as the library writes it."""
    common: dict[str, Any] = {"bullets": "-", "heading_style": ATX, "escape_underscores": False}
    if wanted == "markdown":
        return str(Markdown(**common, code_language_callback=language_of).convert_soup(part))
    return str(Plain(**common, strip=[*UNFORMATTED], escape_asterisks=False).convert_soup(part))


def complete_links(soup: BeautifulSoup, url: str) -> None:
    """Give links and images their whole address, so that they can be fetched."""
    base = soup.find("base", href=True)
    start = joined(url, str(base["href"])) if isinstance(base, Tag) else url
    for name, key in (("a", "href"), ("img", "src")):
        for tag in soup.find_all(name):
            if isinstance(tag, Tag) and tag.get(key):
                tag[key] = joined(start, str(tag[key]))


def joined(base: str, link: str) -> str:
    """A link's whole address; what can't be one stays as it is."""
    try:
        return urljoin(base, link.strip())
    except ValueError:
        return link


def main_part(soup: BeautifulSoup) -> Tag:
    """What is read of a page: what it calls its main part, or else all of it but what frames it."""
    for tag in soup.select(", ".join(UNREAD)):
        tag.extract()
    found = soup.select("main, [role=main]") or soup.select("article")
    if len(found) == 1 and len(found[0].get_text(strip=True)) >= ENOUGH:
        return found[0]
    for tag in soup.select(", ".join(FURNITURE)):
        tag.extract()
    return soup


def language_of(pre: Tag) -> str | None:
    """The language of a block of code, as pages name it in a class."""
    code = pre.find("code")
    for tag in (pre, code, pre.parent):
        names = tag.get("class") if isinstance(tag, Tag) else None
        for name in names if isinstance(names, list) else []:
            if found := LANGUAGE.match(name):
                return found[1]
    return None


def main() -> None:
    """Convert what is on stdin."""
    asked = json.load(sys.stdin)
    resource.setrlimit(resource.RLIMIT_AS, (asked["memory"], asked["memory"]))
    sys.setrecursionlimit(STACK)
    try:
        text = convert(asked["html"], asked["url"], asked["format"])
    except MemoryError:
        sys.exit("it takes too much memory")
    sys.stdout.buffer.write(text[: asked["most"]].encode("utf-8", "replace"))


if __name__ == "__main__":
    main()
