"""`python -m bench [NAME …] [--json FILE] [--quick] [--peers DIR]`: measure, and print a table."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from bench.figures import FIGURES
from bench.machine import this_machine
from bench.peers import find_peers
from bench.plan import Plan
from bench.report import as_json, print_report


def main() -> None:
    """Measure what was asked for, all of it by default; a time is never a reason to fail."""
    chosen = _arguments()
    machine = this_machine(quick=chosen.quick)
    peers = find_peers(chosen.peers)
    figures = []
    for name in chosen.names or FIGURES:
        print(f"measuring: {name} …", file=sys.stderr)
        figures.append(FIGURES[name](Plan(peers, chosen.quick)))
    print_report(figures, machine, peers.missing)
    if chosen.json is not None:
        text = json.dumps(
            as_json(figures, machine) | {"left_out": peers.missing}, indent=2, ensure_ascii=False
        )
        chosen.json.write_text(f"{text}\n")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[*FIGURES, []], help=", ".join(FIGURES))
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures as JSON too")
    parser.add_argument("--quick", action="store_true", help="a few rounds: to see it work, not for figures")
    parser.add_argument(
        "--peers",
        type=Path,
        metavar="DIR",
        default=os.environ.get("MCPPD_PEERS"),
        help="where .ci/peers has made the peers; MCPPD_PEERS by default",
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
