"""The parts of a daemon, joined: what serves, reloads and runs; everything but the way in, and its end."""

from __future__ import annotations

import asyncio
import difflib
import os
import time
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import mcppd
from mcppd.core.calls import base_environment
from mcppd.core.effects import ServerInfo
from mcppd.core.errors import McppdError
from mcppd.core.events import Tell
from mcppd.core.instructions import instructions
from mcppd.core.kinds import Kind
from mcppd.core.list_hashes import list_hashes
from mcppd.icon import ICON
from mcppd.reloading.loader import Loader
from mcppd.reloading.manifests import KeptManifests
from mcppd.reloading.readings import Readings
from mcppd.reloading.reloader import Reloader
from mcppd.reloading.verdicts import Verdicts
from mcppd.serving.answers import Answers
from mcppd.serving.server import AgentServer, Identity
from mcppd.serving.stored_results import StoredResults
from mcppd.signing import key_of_run
from mcppd.starting import Places
from mcppd.status import status_of
from mcppd.workers.leftovers import Leftovers
from mcppd.workers.pool import WorkerPool
from mcppd.workers.spawning import Spawner


class Parts:
    """Everything of one daemon that doesn't depend on how agents reach it.

    Raises FaultError if there is no readable registry.
    """

    def __init__(self, found: Places, environment: Mapping[str, str]) -> None:
        self.registry = os.path.realpath(found.registry)
        self.started = time.monotonic()
        self._found = found
        self._environment = dict(environment)
        self._readings = Readings(str(Path(found.cache, "manifests")))
        self._loader = Loader(found.registry, self._environment, found.preferred, self._readings)
        self._loader.check_registry()

    def join(self, tasks: asyncio.TaskGroup, tell: Tell, note: str = "") -> None:
        """Build the rest, on the running loop; `note` is what `help` has to say of this daemon."""
        found = self._found
        spawner = Spawner(base_environment(self._environment), Leftovers())
        self.pool = WorkerPool(spawner, str(Path(found.state, "modules")), self._environment, tasks)
        verdicts = Verdicts(
            str(Path(found.cache, "schemas.json")), self.pool.checks.check_schemas, self._readings
        )
        kept = KeptManifests(str(Path(found.state, "manifests")))
        self.reloader = Reloader(self._loader, self.pool, verdicts, kept, tasks)
        self.pool.listener = self.reloader
        self._stored = StoredResults(str(Path(found.state, "results")), tasks)
        answers = Answers(self.reloader, self.pool, self._stored, tasks, tell, note)
        identity = Identity(self._info, self.registry, self._environment, key_of_run(found.state))
        self.agents = AgentServer(identity, answers, tasks, tell)
        self.reloader.publisher.tell = self._broadcast
        self.reloader.publisher.log = self.agents.log
        self.reloader.files.tell = self.agents.resource_updated
        self.reloader.publisher.events = tell

    def status(self) -> Mapping[str, Any]:
        """What there is now: the process, the sessions, the modules."""
        fault = self.reloader.registry_fault
        report = self.reloader.publisher.last_report
        return {
            "pid": os.getpid(),
            "version": mcppd.__version__,
            "registry": self.reloader.registry,
            "registry_fault": str(fault) if fault else None,
            "uptime_seconds": round(time.monotonic() - self.started, 1),
            **status_of(self.reloader.catalog, self.pool.workforce),
            "sessions": self.agents.sessions(),
            "last_reload": report.as_json() if report else None,
            "watching": self.reloader.watcher.status(),
        }

    @property
    def served(self) -> str:
        """What is served, in a few words."""
        catalog = self.reloader.catalog
        return f"{len(list(catalog.listed))} tools of {len(catalog.modules)} modules"

    def begin(self) -> None:
        """Let the agents have what has been loaded."""
        self.agents.begin(list_hashes(self.reloader.catalog))

    def prune(self, tasks: asyncio.TaskGroup) -> None:
        """Remove what daemons before this one have kept, and nobody needs."""
        for leftovers in (self._readings, self._stored):
            tasks.create_task(asyncio.to_thread(leftovers.prune))

    async def renew(self, name: str) -> Mapping[str, Any]:
        """Replace the workers of one module by a new one. Raises McppdError where it has none, or can't be imported."""
        await self.reloader.settled(None)
        catalog = self.reloader.catalog
        module = catalog.module(name)
        if module is None:
            near = difflib.get_close_matches(name, [each.name for each in catalog.modules], 3)
            known = (
                f"did you mean {', '.join(near)}?" if near else "`mcppd status` shows those that there are"
            )
            raise McppdError(f"there is no module {name!r}: {known}")
        if module.generation is None or module.is_files_only:
            raise McppdError(f"module {name!r} has no workers: {module.fault or 'it consists of files'}")
        workers = self.pool.workforce(module.generation).workers
        fault = await self.pool.renew(module)
        if fault is not None:
            raise McppdError(f"module {name!r} can't be imported any more: {fault}")
        return {"module": name, "workers": workers}

    def close(self, loops: Collection[asyncio.Task[None]]) -> None:
        """End in order: no more reloads, goodbye to the agents, then the workers."""
        self.reloader.watcher.close()
        for loop in loops:
            loop.cancel()
        self.agents.close()
        self.pool.close()
        self._stored.close()

    def _info(self) -> ServerInfo:
        """Who we are now: what the registry and the modules say of themselves follows their reloads."""
        text = instructions(self.reloader.catalog.modules, self.reloader.registry_text)
        return ServerInfo("mcppd", mcppd.__version__, "mcppd", text, (ICON,))

    def _broadcast(self, kinds: Collection[Kind]) -> int:
        return self.agents.broadcast(kinds, list_hashes(self.reloader.catalog))
