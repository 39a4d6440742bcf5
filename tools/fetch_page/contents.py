"""From the bytes of a body to text: what is taken for text, its compression, and its charset."""

from __future__ import annotations

import codecs
import re
import zlib
from typing import Final

from .errors import ContentError

TEXTUAL: Final = re.compile(
    r"text/.+|.+\+(json|xml|yaml)"
    r"|application/(x-)?(json|json5|json-seq|jsonl|ndjson|xml|xml-dtd|yaml|toml|javascript|ecmascript|typescript"
    r"|sql|graphql|sh|tex|latex|rtf|subrip|www-form-urlencoded)"
)
"""Media types that people read as text."""

LABEL: Final = re.compile(r"""[;\s]charset\s*=\s*["']?([\w.:+-]{1,40})""", re.IGNORECASE | re.ASCII)
"""A charset in a Content-Type header."""

META: Final = re.compile(
    rb"""<meta\s[^>]{0,300}?charset\s*=\s*["']?\s*([\w.:+-]{1,40})"""
    rb"""|^\s*<\?xml\s[^>]{0,200}?encoding\s*=\s*["']([\w.:+-]{1,40})""",
    re.IGNORECASE,
)
"""A charset that a page names itself, in HTML or XML."""

COMMENT: Final = re.compile(rb"<!--.*?(-->|\Z)", re.DOTALL)

MARKUP: Final = re.compile(r"html|xml")
"""Media types whose text can name its own charset."""

HTML: Final = ("text/html", "application/xhtml+xml")

GZIP_START: Final = 0x1F

PRESCAN: Final = 2048
"""Bytes in which a page has to name its charset: browsers look at 1024, and servers add a line in front."""

BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

CODECS: Final = frozenset(
    (
        *("utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "gb18030", "big5hkscs"),
        *("cp932", "cp949", "euc_jp", "iso2022_jp", "koi8-r", "koi8-u", "mac-roman", "mac-cyrillic"),
        *("cp866", "cp874", *(f"cp{number}" for number in range(1250, 1259))),
        *(f"iso8859-{number}" for number in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)),
    )
)
"""Encodings of the web. Python has more: some decode to no text, some take quadratic time."""

STANDS_FOR: Final = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "iso-8859-8-i": "iso8859-8",
    "tis-620": "cp874",
    "windows-874": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "x-gbk": "gb18030",
    "big5": "big5hkscs",
    "shift_jis": "cp932",
    "windows-31j": "cp932",
    "x-sjis": "cp932",
    "euc_kr": "cp949",
    "utf-16": "utf-16-le",
    "utf-32": "utf-32-le",
    "x-mac-cyrillic": "mac-cyrillic",
}
"""What browsers take for a charset that a page names (encoding.spec.whatwg.org), where Python takes it otherwise."""


def media_type(content_type: str) -> str:
    """The type in a Content-Type header, without parameters."""
    return content_type.partition(";")[0].strip().lower()


def is_html(content_type: str) -> bool:
    """Whether a Content-Type header names HTML."""
    return media_type(content_type) in HTML


def check_type(content_type: str) -> None:
    """Raise ContentError for what is certainly no text; what has no type is looked at when it is there."""
    kind = media_type(content_type)
    if kind and not TEXTUAL.fullmatch(kind):
        raise ContentError(f"it is of the type {kind}, and only text is fetched; get it by other means")


def decode(body: bytes, content_type: str, *, whole: bool) -> str:
    """The text of a body, or of the first part of one; what can't be decoded is U+FFFD."""
    mark, codec = next((each for each in BOMS if body.startswith(each[0])), (b"", ""))
    if not media_type(content_type) and not codec and b"\0" in body[:PRESCAN]:
        raise ContentError("the server doesn't say of what type it is, and it is no text")
    decoder = codecs.getincrementaldecoder(codec or charset_of(body, content_type))("replace")
    return decoder.decode(body[len(mark) :], final=whole)


def charset_of(body: bytes, content_type: str) -> str:
    """Python's name of the charset that the header or else the page names; UTF-8 if none is known."""
    named = LABEL.search(content_type)
    return (named and codec_of(named[1])) or declared(body, media_type(content_type)) or "utf-8"


def declared(body: bytes, kind: str) -> str | None:
    """Python's name of the charset that a page of markup names in its first lines."""
    if kind and not MARKUP.search(kind):
        return None
    found = META.search(COMMENT.sub(b"", body[:PRESCAN]))
    codec = codec_of((found[1] or found[2]).decode("ascii")) if found else None
    return None if codec and codec.startswith(("utf-16", "utf-32")) else codec  # those couldn't be read so


def codec_of(label: str) -> str | None:
    """Python's name of a charset, if it is one of the web's."""
    label = label.lower()
    try:
        name = STANDS_FOR.get(label) or codecs.lookup(label).name
    except LookupError:
        return None
    name = STANDS_FOR.get(name, name)
    return name if name in CODECS else None


class Plain:
    """A body that comes as it is."""

    ended = True  # it has no end of its own

    def feed(self, data: bytes, room: int) -> bytes:
        """At most `room` bytes and one."""
        return data[: room + 1]


class Inflater:
    """A compressed body; it grows only as far as there is room for it."""

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding
        self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 32)  # it sees itself whether gzip or zlib
        self._started = False

    @property
    def ended(self) -> bool:
        """Whether all of it has come."""
        return self._inflate.eof or not self._started

    def feed(self, data: bytes, room: int) -> bytes:
        """What more of it comes to; at most `room` bytes and one, the rest is dropped. Raises ContentError."""
        if not self._started and data:
            self._start(data)
        out = b""
        try:
            while data and len(out) <= room:
                if self._inflate.eof:
                    if data[0] != GZIP_START:
                        break  # padding after the end
                    self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 16)  # gzip may have several members
                out += self._inflate.decompress(data, room + 1 - len(out))
                data = self._inflate.unused_data
        except zlib.error as error:
            raise ContentError(f"its compression ({self._encoding}) is broken: {error}") from None
        return out

    def _start(self, data: bytes) -> None:
        """Some servers send deflate without the header that belongs to it."""
        self._started = True
        if self._encoding == "deflate" and data[0] != GZIP_START and data[0] & 0x0F != zlib.DEFLATED:
            self._inflate = zlib.decompressobj(-zlib.MAX_WBITS)


def decoder_for(content_encoding: str) -> Plain | Inflater:
    """What undoes a Content-Encoding. Raises ContentError for one that wasn't asked for."""
    names = [name.strip().lower() for name in content_encoding.split(",")]
    match [name for name in names if name not in ("", "identity")]:
        case []:
            return Plain()
        case ["gzip" | "x-gzip" | "deflate" as encoding]:
            return Inflater(encoding)
        case _:
            raise ContentError(f"it is compressed with {content_encoding[:100]}, which can't be undone here")
