"""The daemon: the one place that builds and joins everything: start, signals, the order of stopping."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Final

from mcppd_shim import places

import mcppd
from mcppd import dumping, logs
from mcppd.agents import server_block, shim_command
from mcppd.core.calls import base_environment
from mcppd.core.catalog import Catalog
from mcppd.core.effects import ServerInfo
from mcppd.core.errors import McppdError
from mcppd.core.events import Event, Reloaded, Stopping
from mcppd.core.instructions import instructions
from mcppd.core.kinds import Kind
from mcppd.core.list_hashes import list_hashes
from mcppd.door import Accept, Door
from mcppd.handing_over import IDLE_LIMIT, Ending, Following, Leaving
from mcppd.icon import ICON
from mcppd.reloading.loader import Loader
from mcppd.reloading.manifests import KeptManifests
from mcppd.reloading.readings import Readings
from mcppd.reloading.reloader import Reloader
from mcppd.reloading.verdicts import Verdicts
from mcppd.running import raise_descriptor_limit, run_loop
from mcppd.serving.answers import Answers
from mcppd.serving.control import accept_control
from mcppd.serving.server import AgentServer, Identity
from mcppd.serving.stored_results import StoredResults
from mcppd.signing import key_of_run
from mcppd.starting import Claim
from mcppd.status import listing, status_of
from mcppd.supervision import Supervision
from mcppd.tasks import Tasks
from mcppd.views import View
from mcppd.workers.leftovers import Leftovers
from mcppd.workers.pool import WorkerPool
from mcppd.workers.spawning import Spawner

logger = logging.getLogger("mcppd")

LAST_TASKS_LIMIT: Final = 1.0
"""Seconds for what is left to do when everything is closed, such as the last lines of a log."""


def run(
    claimed: Claim,
    *,
    background: bool = False,
    stays: bool = True,
    view: View | None = None,
    supervision: Supervision | None = None,
) -> int:
    """Serve until told to stop, or unless it `stays` until nobody needs it any more; the exit status.

    Errors are told in one line on stderr.
    """
    found = claimed.places
    supervision = supervision or Supervision({})
    to_file = background or view is not None
    logs.set_up(
        places.daemon_log(os.environ) if to_file else None,
        os.environ.get("MCPP_LOG_LEVEL"),
        is_journal=supervision.is_journal,
    )
    dumping.on_crash()
    if view is not None:
        view.attach(logger)
    raise_descriptor_limit()
    has_person = not background and supervision.by is None
    daemon = Daemon(claimed, dict(os.environ), supervision, view, has_person=has_person, stays=stays)
    status = 0
    try:
        daemon.loader.check_registry()  # before anybody can connect, whose requests would be lost
        if has_person and view is None:
            registry = None if found.is_default else found.registry
            text = server_block(shim_command(registry, claimed.named_socket))
            _tell(f"To use it from an agent, put this into its MCP configuration:\n{text}")
        run_loop(daemon.serve())
    except* (OSError, McppdError) as group:
        logger.error("mcppd ends: %s", group.exceptions[0])  # noqa: TRY400 - one line, for a person
        supervision.hold_back()
        status = 1
    else:
        logger.info("mcppd has stopped")
    return status


class Daemon:
    """Everything of one daemon, joined."""

    def __init__(
        self,
        claimed: Claim,
        environment: dict[str, str],
        supervision: Supervision,
        view: View | None = None,
        *,
        has_person: bool = False,
        stays: bool = True,
    ) -> None:
        found = self.places = claimed.places
        self._lock = claimed.lock
        self._has_person = has_person  # who ends it by ending this process, and then wants none
        self._stays = stays
        self.registry = os.path.realpath(found.registry)
        self._readings = Readings(str(Path(found.cache, "manifests")))
        self.loader = Loader(found.registry, environment, found.preferred, self._readings)
        self.started = time.monotonic()
        self._environment = environment
        self._supervision = supervision
        self._view = view
        self._is_stopping = False

    async def serve(self) -> None:
        """Serve until told to stop. Raises FaultError if there is no readable registry, OSError for a socket.

        Where another daemon is to be followed also NotFollowedError, if it doesn't make place.
        """
        paths = (self.places.sockets.mcp, self.places.sockets.control)
        passed = self._supervision.sockets(paths)
        async with Tasks() as tasks:
            self._build(tasks)
            loops: list[asyncio.Task[None]] = [tasks.create_task(self._supervision.keep_alive())]
            if self._view is not None:
                loops.append(tasks.create_task(self._show(self._view)))
            try:
                await self._begin(tasks, passed)
                loops += [
                    tasks.create_task(each)
                    for each in (
                        self.reloader.run(),
                        self.reloader.follow(),
                        self._door.look_after(self._end),
                        *(() if self._stays else (self._end_when_idle(),)),
                    )
                ]
                self._say_started()
                for leftovers in (self._readings, self.stored):
                    tasks.create_task(asyncio.to_thread(leftovers.prune))
                await self._leaving.wait()
                self._say_stopping()
                self.pool.close()  # what still runs is answered: its worker ended
                await self._leaving.say_goodbye()
            finally:
                self._close(loops)
            await tasks.end(LAST_TASKS_LIMIT)

    async def _begin(self, tasks: asyncio.TaskGroup, passed: Mapping[str, socket.socket]) -> None:
        """Load everything and listen: first listen, unless there is one to be followed, who listens till then."""
        following = None if self._door.is_ours else Following(self._door, self.places.sockets.control)
        if following is not None:
            await self.reloader.start()
            await following.take_lock()
        accepts: dict[str, Accept] = {
            self.places.sockets.mcp: self.agents.accept,
            self.places.sockets.control: lambda: accept_control(self._methods(), tasks.create_task),
        }
        self._door.open(accepts, passed)
        if following is not None:
            await following.say_moved()
        else:
            await self.reloader.start()
        self.agents.begin(list_hashes(self.reloader.catalog))

    def _end(self) -> None:
        """Begin to end; a shim may start another."""
        self._leave(Ending.END)

    def stop(self) -> None:
        """Begin to stop: a person wants no daemon."""
        self._leave(Ending.STOP)

    def _leave(self, reason: Ending) -> None:
        self._leaving.begin(reason)
        self._say_stopping()

    def _say_stopping(self) -> None:
        if not self._is_stopping:
            self._is_stopping = True
            self._supervision.stopping()
            self._tell(Stopping())

    async def _end_when_idle(self) -> None:
        await self._leaving.wait_idle()
        logger.info("nobody has been here for %g s", IDLE_LIMIT)
        self._end()

    def status(self) -> Mapping[str, Any]:
        """What there is now: the daemon, its sessions, its modules."""
        fault = self.reloader.registry_fault
        head = {
            "pid": os.getpid(),
            "version": mcppd.__version__,
            "registry": self.reloader.registry,
            "registry_fault": str(fault) if fault else None,
            "socket": self.places.sockets.mcp,
            "control": self.places.sockets.control,
            "supervisor": self._supervision.by,
            "stays": self._stays,
            "uptime_seconds": round(time.monotonic() - self.started, 1),
        }
        report = self.reloader.publisher.last_report
        rest = {
            "sessions": self.agents.sessions(),
            "last_reload": report.as_json() if report else None,
            "watching": self.reloader.watcher.status(),
        }
        return head | status_of(self.reloader.catalog, self.pool.workforce) | rest

    def _build(self, tasks: asyncio.TaskGroup) -> None:
        found = self.places
        spawner = Spawner(base_environment(self._environment), Leftovers())
        self.pool = WorkerPool(spawner, str(Path(found.state, "modules")), self._environment, tasks)
        verdicts = Verdicts(
            str(Path(found.cache, "schemas.json")), self.pool.checks.check_schemas, self._readings
        )
        kept = KeptManifests(str(Path(found.state, "manifests")))
        self.reloader = Reloader(self.loader, self.pool, verdicts, kept, tasks)
        self.pool.listener = self.reloader
        self.stored = StoredResults(str(Path(found.state, "results")), tasks)
        answers = Answers(self.reloader, self.pool, self.stored, tasks, self._tell)
        identity = Identity(self._info, self.registry, self._environment, key_of_run(found.state))
        self.agents = AgentServer(identity, answers, tasks, self._tell)
        self._door = Door(found.sockets, self._lock, tasks.create_task)
        self._leaving = Leaving(self.agents, self._door)
        self.reloader.publisher.tell = self._broadcast
        self.reloader.publisher.log = self.agents.log
        self.reloader.files.tell = self.agents.resource_updated
        self.reloader.publisher.events = self._tell
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop if self._has_person else self._end)
        loop.add_signal_handler(signal.SIGHUP, lambda: tasks.create_task(self._reload_by_signal()))
        loop.add_signal_handler(signal.SIGUSR1, lambda: dumping.dump(self.status()))

    def _info(self) -> ServerInfo:
        """Who we are now: what the registry and the modules say of themselves follows their reloads."""
        text = instructions(self.reloader.catalog.modules, self.reloader.registry_text)
        return ServerInfo("mcppd", mcppd.__version__, "mcppd", text, (ICON,))

    def _close(self, loops: list[asyncio.Task[None]]) -> None:
        """Stop in order: no more reloads, goodbye to the agents, then the workers, then the sockets' files."""
        self.reloader.watcher.close()
        for loop in loops:
            loop.cancel()
        self.agents.close()
        self.pool.close()
        self.stored.close()
        self._door.close()

    def _say_started(self) -> None:
        self._supervision.ready(self._served())
        logger.info(
            "mcppd %s serves %s at %s (registry %s, pid %d, %.0f ms)",
            mcppd.__version__,
            self._served(),
            self.places.sockets.mcp,
            self.reloader.registry,
            os.getpid(),
            (time.monotonic() - self.started) * 1000,
        )

    def _served(self) -> str:
        catalog: Catalog = self.reloader.catalog
        return f"{len(list(catalog.listed))} tools of {len(catalog.modules)} modules"

    def _tell(self, event: Event) -> None:
        """Have an event noted right after what is being done now: no answer waits for a line of a log."""
        asyncio.get_running_loop().call_soon(self._note, event)

    def _note(self, event: Event) -> None:
        logs.log_event(event)
        if isinstance(event, Reloaded):
            self._supervision.show(self._served())
        if self._view is not None:
            self._view.tell(event)

    async def _show(self, view: View) -> None:
        try:
            await view.show(self.status)
        finally:
            self.stop()

    def _broadcast(self, kinds: Collection[Kind]) -> int:
        return self.agents.broadcast(kinds, list_hashes(self.reloader.catalog))

    async def _reload_by_signal(self) -> None:
        self._door.look(self._end)
        await self._reload({})

    # control requests

    def _methods(self) -> dict[str, Any]:
        return {
            "mcppd/status": self._status,
            "mcppd/list": self._list,
            "mcppd/reload": self._reload,
            "mcppd/stop": self._stop,
            "mcppd/restart": self._restart,
            "mcppd/moved": self._moved,
        }

    async def _status(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        await self.reloader.settled(None)
        return self.status()

    async def _list(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        await self.reloader.settled(None)
        return listing(self.reloader.catalog)

    async def _reload(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        with self._supervision.reloading():
            return (await self.reloader.reload()).as_json()

    async def _stop(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        self.agents.say_stopped()
        if params.get("end") is not False:  # else somebody else ends us
            asyncio.get_running_loop().call_soon(self.stop)  # after this answer has been written
        return {}

    async def _restart(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        logger.info("mcppd %s is to follow, pid %s", params.get("version"), params.get("pid"))
        await self._leaving.give_way()
        return {}

    async def _moved(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        self._leaving.moved()
        return {}


def _tell(text: str) -> None:
    """A line for whoever started us."""
    sys.stderr.write(f"{text}\n")
