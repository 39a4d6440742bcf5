"""The daemon: the one place that builds and joins everything: start, signals, the order of stopping."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Mapping
from typing import Any

from mcppd_shim import places

import mcppd
from mcppd import dumping, logs
from mcppd.agents import server_block, shim_command
from mcppd.core.errors import McppdError
from mcppd.core.events import Event, Reloaded, Stopping
from mcppd.door import Accept, Door
from mcppd.handing_over import IDLE_LIMIT, LAST_TASKS_LIMIT, Ending, Following, Leaving
from mcppd.parts import Parts
from mcppd.running import Terminal, raise_descriptor_limit, run_loop
from mcppd.serving.control import accept_control
from mcppd.starting import Claim
from mcppd.status import listing
from mcppd.supervision import Supervision
from mcppd.tasks import Tasks
from mcppd.views import View

logger = logging.getLogger("mcppd")


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
    status = 0
    try:
        parts = Parts(found, os.environ)  # before anybody can connect, whose requests would be lost
        daemon = Daemon(claimed, parts, supervision, view, has_person=has_person, stays=stays)
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
        parts: Parts,
        supervision: Supervision,
        view: View | None = None,
        *,
        has_person: bool = False,
        stays: bool = True,
    ) -> None:
        self.places = claimed.places
        self._lock = claimed.lock
        self._has_person = has_person  # who ends it by ending this process, and then wants none
        self._terminal = Terminal() if has_person else None
        self._stays = stays
        self._parts = parts
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
                        self._parts.reloader.run(),
                        self._parts.reloader.follow(),
                        self._door.look_after(self._end),
                        *(() if self._stays else (self._end_when_idle(),)),
                    )
                ]
                self._say_started()
                self._parts.prune(tasks)
                await self._leaving.wait()
                self._say_stopping()
                self._parts.pool.close()  # what still runs is answered: its worker ended
                await self._leaving.say_goodbye()
            finally:
                self._parts.close(loops)
                self._door.close()
            await tasks.end(LAST_TASKS_LIMIT)

    async def _begin(self, tasks: asyncio.TaskGroup, passed: Mapping[str, socket.socket]) -> None:
        """Load everything and listen: first listen, unless there is one to be followed, who listens till then."""
        following = None if self._door.is_ours else Following(self._door, self.places.sockets.control)
        if following is not None:
            await self._parts.reloader.start()
            await following.take_lock()
        accepts: dict[str, Accept] = {
            self.places.sockets.mcp: self._parts.agents.accept,
            self.places.sockets.control: lambda: accept_control(self._methods(), tasks.create_task),
        }
        self._door.open(accepts, passed)
        if following is not None:
            await following.say_moved()
        else:
            await self._parts.reloader.start()
        self._parts.begin()

    def _end(self) -> None:
        """Begin to end; a shim may start another."""
        self._leave(Ending.END)

    def stop(self) -> None:
        """Begin to stop: a person wants no daemon."""
        self._leave(Ending.STOP)

    def _interrupt(self) -> None:
        """Ctrl-C: begin to stop; the second time without waiting for the calls that run."""
        if self._is_stopping:
            self._parts.pool.close()
        self.stop()

    def _hang_up(self, tasks: asyncio.TaskGroup) -> None:
        """SIGHUP: a reload; but with its terminal a daemon ends, which nobody would see any more.

        Shims may start another: that a line was lost doesn't mean that somebody wants none.
        """
        if self._terminal is not None and self._terminal.is_gone:
            self._terminal.forget()
            self._end()
        else:
            tasks.create_task(self._reload_by_signal())

    def _leave(self, reason: Ending) -> None:
        self._leaving.begin(reason)
        self._say_stopping()

    def _say_stopping(self) -> None:
        if not self._is_stopping:
            self._is_stopping = True
            self._supervision.stopping()
            self._tell(Stopping(is_followed=self._leaving.reason is Ending.RESTART))

    async def _end_when_idle(self) -> None:
        await self._leaving.wait_idle()
        logger.info("nobody has been here for %g s", IDLE_LIMIT)
        self._end()

    def status(self) -> Mapping[str, Any]:
        """What there is now: the daemon, its sessions, its modules."""
        reached = {
            "socket": self.places.sockets.mcp,
            "control": self.places.sockets.control,
            "supervisor": self._supervision.by,
            "stays": self._stays,
        }
        return {**self._parts.status(), **reached}

    def _build(self, tasks: asyncio.TaskGroup) -> None:
        self._parts.join(tasks, self._tell)
        self._door = Door(self.places.sockets, self._lock, tasks.create_task)
        self._leaving = Leaving(self._parts.agents, self._door)
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self.stop if self._has_person else self._end)
        loop.add_signal_handler(signal.SIGINT, self._interrupt if self._has_person else self._end)
        loop.add_signal_handler(signal.SIGHUP, self._hang_up, tasks)
        loop.add_signal_handler(signal.SIGUSR1, lambda: dumping.dump(self.status()))

    def _say_started(self) -> None:
        self._supervision.ready(self._parts.served)
        logger.info(
            "mcppd %s serves %s at %s (registry %s, pid %d, %.0f ms)",
            mcppd.__version__,
            self._parts.served,
            self.places.sockets.mcp,
            self._parts.reloader.registry,
            os.getpid(),
            (time.monotonic() - self._parts.started) * 1000,
        )

    def _tell(self, event: Event) -> None:
        """Have an event noted right after what is being done now: no answer waits for a line of a log."""
        asyncio.get_running_loop().call_soon(self._note, event)

    def _note(self, event: Event) -> None:
        logs.log_event(event)
        if isinstance(event, Reloaded):
            self._supervision.show(self._parts.served)
        if self._view is not None:
            self._view.tell(event)

    async def _show(self, view: View) -> None:
        try:
            await view.show(self.status)
        finally:
            self.stop()

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
            "mcppd/renew": self._renew,
            "mcppd/moved": self._moved,
        }

    async def _status(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        await self._parts.reloader.settled(None)
        return self.status()

    async def _list(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        await self._parts.reloader.settled(None)
        return listing(self._parts.reloader.catalog)

    async def _reload(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        named = params.get("module")
        if named is not None and not isinstance(named, str):
            raise McppdError("Invalid params: `module` is the name of a module, a string")
        with self._supervision.reloading():
            return (await self._parts.reloader.reload(named)).as_json()

    async def _stop(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        self._parts.agents.say_stopped()
        if params.get("end") is not False:  # else somebody else ends us
            asyncio.get_running_loop().call_soon(self.stop)  # after this answer has been written
        return {}

    async def _restart(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        logger.info("mcppd %s is to follow, pid %s", params.get("version"), params.get("pid"))
        await self._leaving.give_way()
        return {}

    async def _renew(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Replace the workers of one module, and of no other."""
        return await self._parts.renew(str(params.get("module")))

    async def _moved(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        self._leaving.moved()
        return {}


def _tell(text: str) -> None:
    """A line for whoever started us."""
    sys.stderr.write(f"{text}\n")
