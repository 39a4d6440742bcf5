"""The module `fetch_page`: reads pages of the web, and keeps each for an hour.

Private addresses (this machine's, its network's) are refused. To allow them, a person sets a variable
at the module's entry in tools.yaml: `env: {FETCH_PAGE_ALLOW_PRIVATE: "1"}`. It allows all of them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final

from .addresses import EVERYWHERE
from .cache import TTL, Cache, Hit, cache_directory, key_of
from .errors import FetchError
from .fetching import Page, fetch
from .readable import readable
from .rules import MAX_REDIRECTS, MAX_SECONDS, Rules
from .showing import Result, failure, show
from .urls import parse_url

ALLOW_PRIVATE: Final = "FETCH_PAGE_ALLOW_PRIVATE"

DEFAULT_CHARS: Final = 20_000
"""The same as in tool.yaml."""

HOW_IT_WORKS: Final = f"""\
fetch_page reads a page with one GET and returns its text: as it was served (`format: raw`, the default), or its HTML
turned into Markdown or plain text without navigation and scripts (`format: markdown`, `format: text`).

- http and https; at most {MAX_REDIRECTS} redirects, each checked like the first address;
  no proxy, no cookies, no login.
- Private, loopback and other addresses that aren't on the public internet are refused. A person can allow them
  all, at this module's entry in tools.yaml, with `env: {{{ALLOW_PRIVATE}: "1"}}`.
- Text only: HTML, plain text, JSON, XML, YAML, source code. Charsets are honoured.
- It takes at most {MAX_SECONDS:g} s. A page is kept for {TTL:g} s, for all formats; `cached` and
  `cache_age_seconds` say so.
"""


def execute(
    tool_name: str,
    arguments: Mapping[str, Any],
    context: Mapping[str, Any] | None = None,  # noqa: ARG001 - a page is the same for every workspace
) -> Result:
    """Run the tool; its arguments have been checked against its schema in tool.yaml."""
    if tool_name != "fetch_page":
        return failure(f"this module has no tool {tool_name!r}")
    rules = Rules(EVERYWHERE if private_is_allowed(os.environ) else ())
    try:
        page, hit = page_at(arguments["url"], rules, Cache(cache_directory(os.environ)))
        part = readable(page, arguments.get("format", "raw"), arguments.get("max_chars", DEFAULT_CHARS))
    except FetchError as error:
        return failure(str(error))
    return show(page, part, hit, with_format="format" in arguments)


def get_info(context: Mapping[str, Any] | None = None) -> Result:  # noqa: ARG001 - the same
    """What `help` shows about this module."""
    return {
        "how": HOW_IT_WORKS,
        "private_addresses": "allowed" if private_is_allowed(os.environ) else "refused",
        "cache_directory": str(cache_directory(os.environ)),
    }


def page_at(address: str, rules: Rules, cache: Cache) -> tuple[Page, Hit | None]:
    """The page at an address, from the cache if it is there. Raises FetchError."""
    url = parse_url(address)
    key = key_of(url, rules.allowed)
    hit = cache.find(key)
    if hit is not None:
        return hit.page, hit
    page = fetch(url, rules)
    cache.keep(key, page)
    return page, None


def private_is_allowed(environ: Mapping[str, str]) -> bool:
    """Whether private addresses may be connected to: not unless it is said in so many words."""
    return environ.get(ALLOW_PRIVATE, "").strip().lower() in ("1", "true", "yes", "on")
