"""Hashes of the lists: another daemon that serves the same comes to the same ones (`mcppd/lists`)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import orjson

from mcppd.core.builtin import CALL_TOOL_DEFINITION, HELP_DEFINITION
from mcppd.core.catalog import Catalog
from mcppd.core.kinds import Kind


def list_hashes(catalog: Catalog) -> Mapping[Kind, str]:
    """For each kind a hash of all that its list shows; where only code knows that, of the code too."""
    code = sorted(
        (module.name, module.generation.digest)
        for module in catalog.modules
        if module.lists_resources and module.generation is not None
    )
    more = {"tools": [HELP_DEFINITION, CALL_TOOL_DEFINITION], "resources": code}
    return {
        kind: hashlib.sha256(orjson.dumps([fingerprint, more.get(kind, [])])).hexdigest()
        for kind, fingerprint in catalog.fingerprints.items()
    }
