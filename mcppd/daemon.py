"""The daemon: the one place that builds and joins everything: start, signals, the order of stopping."""

from __future__ import annotations

import asyncio
import base64
import logging
import os
import platform
import resource
import signal
import sys
import time
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, Final, Protocol

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
from mcppd.core.request_state import KEY_SIZE
from mcppd.reloading.loader import Loader
from mcppd.reloading.manifests import KeptManifests
from mcppd.reloading.readings import Readings
from mcppd.reloading.reloader import Reloader
from mcppd.reloading.verdicts import Verdicts
from mcppd.serving.answers import Answers
from mcppd.serving.control import accept_control
from mcppd.serving.server import AgentServer, Identity
from mcppd.signing import signing_key
from mcppd.starting import Claim, Places
from mcppd.status import listing, status_of
from mcppd.supervision import Supervision
from mcppd.tasks import Tasks
from mcppd.transport import unix
from mcppd.transport.listener import Listener
from mcppd.workers.pool import WorkerPool
from mcppd.workers.spawning import Spawner

logger = logging.getLogger("mcppd")

DRAIN_LIMIT: Final = 10.0
"""Seconds that running calls may take to end when the daemon stops."""
LAST_WORDS_LIMIT: Final = 1.0
"""Seconds to answer those that did not: their workers are gone by then, so only the writing is left."""

_DRAWING: Final = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3" fill="#245"/>'
    '<path d="M3 12V4l5 5 5-5v8" fill="none" stroke="#fff" stroke-width="2"/></svg>'
)
ICON: Final[Mapping[str, Any]] = {
    "src": f"data:image/svg+xml;base64,{base64.b64encode(_DRAWING.encode()).decode()}",
    "mimeType": "image/svg+xml",
    "sizes": ["any"],
}
"""What clients show beside our name; within the message, since nothing of ours is fetched from anywhere."""


class View(Protocol):
    """Shows a person what happens, in place of log lines on stderr."""

    def attach(self, log: logging.Logger) -> None:
        """Take in what is logged as well, from now on: its warnings and errors are for a person."""

    def tell(self, event: Event) -> None:
        """Take in what happened; on the event loop, so it neither waits nor fails."""

    async def show(self, status: Callable[[], Mapping[str, Any]]) -> None:
        """Show it, and what `status` says, until cancelled; where it ends by itself, the daemon stops."""


def run(
    claimed: Claim,
    *,
    background: bool = False,
    view: View | None = None,
    supervision: Supervision | None = None,
) -> int:
    """Serve until told to stop; the exit status. Errors are told in one line on stderr."""
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
    _raise_descriptor_limit()
    daemon = Daemon(found, dict(os.environ), supervision, view)
    status = 0
    try:
        daemon.loader.check_registry()  # before anybody can connect, whose requests would be lost
        if not to_file and supervision.by is None:
            registry = None if found.is_default else found.registry
            text = server_block(shim_command(registry, claimed.named_socket))
            _tell(f"To use it from an agent, put this into its MCP configuration:\n{text}")
        _run_loop(daemon.serve())
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
        self, found: Places, environment: dict[str, str], supervision: Supervision, view: View | None = None
    ) -> None:
        self.places = found
        self.registry = os.path.realpath(found.registry)
        self._readings = Readings(str(Path(found.cache, "manifests")))
        self.loader = Loader(found.registry, environment, found.preferred, self._readings)
        self.started = time.monotonic()
        self._environment = environment
        self._supervision = supervision
        self._view = view
        self._stopping = asyncio.Event()

    async def serve(self) -> None:
        """Serve until told to stop. Raises FaultError if there is no readable registry, OSError for a socket."""
        paths = (self.places.sockets.mcp, self.places.sockets.control)
        passed = self._supervision.sockets(paths)
        self._listeners = mcp, control = [Listener(path, passed.get(path)) for path in paths]
        async with Tasks() as tasks:
            self._build(tasks)
            loops: list[asyncio.Task[None]] = [tasks.create_task(self._supervision.keep_alive())]
            if self._view is not None:
                loops.append(tasks.create_task(self._show(self._view)))
            try:
                servers = [
                    await unix.serve(mcp.socket, self.agents.accept),
                    await unix.serve(
                        control.socket, lambda: accept_control(self._methods(), tasks.create_task)
                    ),
                ]
                await self.reloader.start()
                loops += [tasks.create_task(self.reloader.run()), tasks.create_task(self.reloader.follow())]
                self._say_started()
                tasks.create_task(asyncio.to_thread(self._readings.prune))
                await self._stopping.wait()
                for server in servers:
                    server.close()
                await self.agents.drain(DRAIN_LIMIT)
                self.pool.close()  # what still runs is answered: its worker ended
                await self.agents.drain(LAST_WORDS_LIMIT)
            finally:
                self._close(loops)

    def stop(self) -> None:
        """Begin to stop."""
        if not self._stopping.is_set():
            self._stopping.set()
            self._supervision.stopping()
            self._tell(Stopping())

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
            "uptime_seconds": round(time.monotonic() - self.started, 1),
        }
        report = self.reloader.publisher.last_report
        rest = {
            "sessions": self.agents.sessions(),
            "last_reload": report.as_json() if report else None,
            "watching": {
                "mode": "polling" if self.reloader.watcher.is_polling else "inotify",
                "directories": self.reloader.watcher.count,
            },
        }
        return head | status_of(self.reloader.catalog, self.pool.count) | rest

    def _build(self, tasks: asyncio.TaskGroup) -> None:
        found = self.places
        spawner = Spawner(base_environment(self._environment))
        self.pool = WorkerPool(spawner, str(Path(found.state, "modules")), self._environment, tasks)
        verdicts = Verdicts(
            str(Path(found.cache, "schemas.json")), self.pool.checks.check_schemas, self._readings
        )
        kept = KeptManifests(str(Path(found.state, "manifests")))
        self.reloader = Reloader(self.loader, self.pool, verdicts, kept, tasks)
        self.pool.listener = self.reloader
        answers = Answers(self.reloader, self.pool, tasks, self._tell)
        identity = Identity(self._info, self.registry, self._environment, self._key())
        self.agents = AgentServer(identity, answers, tasks, self._tell)
        self.reloader.publisher.tell = self.agents.broadcast
        self.reloader.files.tell = self.agents.resource_updated
        self.reloader.publisher.events = self._tell
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop)
        loop.add_signal_handler(signal.SIGHUP, lambda: tasks.create_task(self._reload_by_signal()))
        loop.add_signal_handler(signal.SIGUSR1, lambda: dumping.dump(self.status()))

    def _info(self) -> ServerInfo:
        """Who we are now: what the registry and the modules say of themselves follows their reloads."""
        text = instructions(self.reloader.catalog.modules, self.reloader.registry_text)
        return ServerInfo("mcppd", mcppd.__version__, "mcppd", text, (ICON,))

    def _key(self) -> bytes:
        """What requests' states are signed with; a disk that refuses costs the questions that are open at a restart."""
        try:
            return signing_key(self.places.state)
        except OSError as error:
            logger.warning("the key of request states can't be kept: %s; one is made for this run", error)
            return os.urandom(KEY_SIZE)

    def _close(self, loops: list[asyncio.Task[None]]) -> None:
        """Stop in order: no more reloads, goodbye to the agents, then the workers, then the sockets' files."""
        self.reloader.watcher.close()
        for loop in loops:
            loop.cancel()
        self.agents.close()
        self.pool.close()
        for listener in self._listeners:
            listener.remove()

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

    async def _reload_by_signal(self) -> None:
        await self._reload({})

    # control requests

    def _methods(self) -> dict[str, Any]:
        return {
            "mcppd/status": self._status,
            "mcppd/list": self._list,
            "mcppd/reload": self._reload,
            "mcppd/stop": self._stop,
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
        asyncio.get_running_loop().call_soon(self.stop)  # after this answer has been written
        return {}


def _tell(text: str) -> None:
    """A line for whoever started us."""
    sys.stderr.write(f"{text}\n")


def _run_loop(main: Coroutine[Any, Any, None]) -> None:
    """On uvloop where it is installed (D18), else on asyncio's own loop."""
    factory = None
    if platform.python_implementation() == "CPython":
        try:
            import uvloop  # noqa: PLC0415 - not everywhere there
        except ImportError:
            pass  # it has no build for this machine
        else:
            factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(main)


def _raise_descriptor_limit() -> None:
    """As many descriptors as the system lets us have: one for each agent, three for each worker."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
