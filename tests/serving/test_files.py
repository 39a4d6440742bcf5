"""Static resources, read from real files."""

from __future__ import annotations

import base64
import contextlib
import json
import os
from pathlib import Path

import pytest

from mcppd.core.errors import ToolError
from mcppd.serving import files
from mcppd.serving.files import read_contents


@pytest.mark.parametrize(
    ("data", "member", "expected"),
    [
        (b"", "text", ""),
        (b"plain", "text", "plain"),
        ("grüße \U0001f600\r\n".encode(), "text", "grüße \U0001f600\r\n"),
        (b"\xff\xfe", "blob", base64.b64encode(b"\xff\xfe").decode()),
        (b"a\0b", "blob", base64.b64encode(b"a\0b").decode()),
        (b"\xed\xa0\x80", "blob", base64.b64encode(b"\xed\xa0\x80").decode()),
    ],
    ids=ascii,
)
async def test_a_file_is_text_if_it_is_text_and_else_a_blob(
    tmp_path: Path, data: bytes, member: str, expected: str
) -> None:
    file = tmp_path / "file"
    file.write_bytes(data)
    [contents] = json.loads(await read_contents("note://a", str(file), "text/x"))
    assert contents == {"uri": "note://a", "mimeType": "text/x", member: expected}


async def test_a_file_of_unknown_type_has_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    [contents] = json.loads(await read_contents("note://a", str(tmp_path / "file"), None))
    assert contents == {"uri": "note://a", "text": "x"}


async def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "link").symlink_to("file")
    [contents] = json.loads(await read_contents("note://a", str(tmp_path / "link"), None))
    assert contents["text"] == "x"


async def test_what_is_no_file_is_an_error_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "closed").write_bytes(b"x")
    for name in ("gone", "pipe", ".", "a" * 300):
        with pytest.raises(ToolError, match=r"note://a|is not a file"):
            await read_contents("note://a", str(tmp_path / name), None)


@pytest.mark.skipif(
    not os.path.exists("/proc/kmsg") or os.getuid() != 0, reason="optional: only root may open it"
)
async def test_a_file_that_has_nothing_to_read_yet_is_an_error_at_once() -> None:
    said = os.open("/proc/kmsg", os.O_RDONLY | os.O_NONBLOCK)
    with contextlib.suppress(BlockingIOError):
        while os.read(said, 1 << 16):  # what there was is read
            pass
    os.close(said)
    with pytest.raises(ToolError, match="nothing to be read now"):
        await read_contents("note://a", "/proc/kmsg", None)


async def test_a_file_over_the_limit_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    monkeypatch.setattr(files, "SIZE_LIMIT", 8)
    file.write_bytes(b"12345678")
    assert json.loads(await read_contents("note://a", str(file), None))[0]["text"] == "12345678"
    file.write_bytes(b"123456789")
    with pytest.raises(ToolError):
        await read_contents("note://a", str(file), None)


async def test_a_text_that_would_be_many_times_as_long_as_json_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    monkeypatch.setattr(files, "LINE_LIMIT", 21)
    file.write_bytes(b"a\x01\x02\x1b\n\t")
    assert json.loads(await read_contents("note://a", str(file), None))[0]["text"] == "a\x01\x02\x1b\n\t"
    file.write_bytes(b"a\x01\x02\x1b\x1b\n")
    with pytest.raises(ToolError, match="4 control characters"):
        await read_contents("note://a", str(file), None)
    file.write_bytes(b"\0" + b"\x01" * 20)  # no text, so base64
    assert "blob" in json.loads(await read_contents("note://a", str(file), None))[0]
