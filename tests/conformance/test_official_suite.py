"""The official conformance suite, through shim and Unix socket: what a revision requires is there."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from tests.conformance.serving import conformance_url
from tests.e2e.peers.node import CONFORMANCE, node
from tests.harness import outcome_of

SECONDS = 90.0
"""For one run of the suite: ten times of what it takes."""

HTTPS_OWN: Mapping[str, Mapping[str, str]] = {
    "2025-06-18": {},
    "2025-11-25": {
        "dns-rebinding-protection": "which Host and Origin an HTTP server lets in",
    },
    "2026-07-28": {
        "dns-rebinding-protection": "which Host and Origin an HTTP server lets in",
        "server-stateless:sep-2575-http-server-header-mismatch-400": "a header of HTTP against the body",
    },
}
"""What is about HTTP itself, where the bridge would be tested and not the daemon; each with what it asks."""

RUNS = [
    ("2025-06-18", ("--suite", "all", "--spec-version", "2025-06-18"), 27),
    ("2025-11-25", ("--requirements", "2025-11-25"), 30),
    ("2026-07-28", ("--requirements", "2026-07-28"), 37),
]
"""Revision, how to ask for all of it, and how many scenarios that are at least."""


@pytest.mark.slow
@pytest.mark.parametrize(("revision", "words", "count"), RUNS, ids=[revision for revision, _, _ in RUNS])
async def test_everything_that_a_revision_requires_passes_but_what_is_http_s_own(
    revision: str, words: tuple[str, ...], count: int, tmp_path: Path
) -> None:
    baseline = tmp_path / "https-own.yaml"
    baseline.write_text(yaml.safe_dump({"server": [*HTTPS_OWN[revision]]}))
    status, said = await run_suite(tmp_path, *words, "--expected-failures", str(baseline))
    verdict = said[said.rfind("=== SUMMARY ===") :]
    assert status == 0, (
        f"{verdict}\n{failures(tmp_path)}"
    )  # also where the list is stale: something of it passes
    assert len(re.findall(r"^[✓✗] \S+: ", verdict, re.MULTILINE)) >= count


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
async def test_a_schema_reaches_the_client_word_for_word_where_its_author_says_so(
    revision: str, tmp_path: Path
) -> None:
    words = ("--scenario", "json-schema-2020-12", "--spec-version", revision)
    status, said = await run_suite(tmp_path, *words)
    assert status == 0, f"{said}\n{failures(tmp_path)}"


async def run_suite(home: Path, *words: str) -> tuple[int, str]:
    """The exit status of the suite and all that it says."""
    command = [*node(CONFORMANCE), "server"]
    async with conformance_url(home) as url:
        status, said, errors = await outcome_of(
            *command,
            *("--url", url, "--output-dir", str(home / "checks"), *words),
            cwd=home,
            environment={"PATH": os.environ["PATH"], "HOME": str(home)},
            limit=SECONDS,
        )
    return status, said + errors


def failures(home: Path) -> str:
    """The checks that did not pass: what each is about and what was wrong."""
    found = []
    for file in sorted((home / "checks").rglob("checks.json")):
        checks = json.loads(file.read_text())
        found += [
            f"{file.parent.name}: {check['id']}: {check.get('errorMessage')}"
            for check in checks
            if check["status"] in ("FAILURE", "WARNING")
        ]
    return "\n".join(found)
