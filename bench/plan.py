"""What a run is asked for: how many rounds of everything, and which peers stand beside it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.agents import Agent
from bench.homes import environment
from bench.peers import Peers


@dataclass(frozen=True, slots=True)
class Plan:
    """One run."""

    peers: Peers
    is_quick: bool

    def rounds(self, full: int, quick: int) -> int:
        """How many."""
        return quick if self.is_quick else full


@contextmanager
def peer_agents(peers: Peers) -> Iterator[dict[str, Agent]]:
    """An agent that is connected to each of the peers' servers, by the peer's name."""
    with tempfile.TemporaryDirectory(prefix="mcppd-bench-", dir="/tmp") as directory, ExitStack() as stack:
        home = Path(directory)
        agents: dict[str, Agent] = {}
        for peer in peers.servers:
            agent = Agent(peer.command, environment(home), home)
            agents[peer.name] = stack.enter_context(agent)
            agent.handshake()
        yield agents
