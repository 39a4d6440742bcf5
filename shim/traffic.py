"""The life of a shim between its host and one daemon after another, driven by poll."""

from __future__ import annotations

import posix
from select import POLLERR, POLLHUP, POLLIN, POLLNVAL, POLLOUT, poll
from time import monotonic

from .ledger import CALL, EXIT, INITIALIZE, INITIALIZED_LINE, Entry, Ledger
from .lines import STDIN, STDOUT, Connection, Host

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final

    from .seams import Path

# Each way holds this much before its source has to wait: a few pipes full, and little beside the interpreter.
BUFFER_BYTES: Final = 256 * 1024
# What may wait for a daemon; the host then has to wait too.
WAITING_BYTES: Final = 1024 * 1024
# How long requests wait for a daemon before we answer them: it starts in less, and agents give a server 30 s or more.
ALONE_SECONDS: Final = 10.0
# How long a daemon that has sent us to the next one may take to close.
MOVING_SECONDS: Final = 2.0
# How often we look whether our parent is still there (A2: gone in 2 s), when the host's end wouldn't tell.
PARENT_SECONDS: Final = 1.0
# A reader that is gone: all of them at once, whatever was asked for.
GONE: Final = POLLERR | POLLHUP | POLLNVAL
END_LINE: Final = b'{"jsonrpc":"2.0","method":"mcppd/end"}\n'
STOPPED: Final = "mcppd was stopped by its person with `mcppd stop`; `mcppd start` starts it again"


class Traffic:
    """Everything that is under way; `run` is the whole life of a shim."""

    __slots__ = (
        *("_connection", "_has_served", "_has_told", "_hello", "_interest", "_is_doubted", "_ledger"),
        *("_leave_by", "_next", "_parent", "_poll", "_tell", "_way", "host", "is_alone", "is_confined"),
    )

    def __init__(self, way: Path, hello: bytes, parent: int, tell: Callable[[str], None]) -> None:
        self.host = Host()
        self.is_alone = False
        """There is no daemon, and we answer in its place."""
        self.is_confined = False
        """There will never be a daemon, and the host has nothing yet of what a daemon would say."""
        self._way = way
        self._hello = hello
        self._parent = parent
        self._tell = tell
        self._ledger = Ledger()
        self._connection: Connection | None = None
        self._has_served = self._has_told = False
        self._is_doubted = False
        """The last daemon refused us, so this one may as well."""
        self._next = 0.0
        self._leave_by: float | None = None
        self._poll = poll()
        self._interest: dict[int, int] = {}

    def run(self) -> None:
        """Forward until the host has ended and has its answers, or nobody is left to read, or it is confined."""
        self.is_confined = False
        self._reach()
        while not self._is_over():
            self._watch()
            if self._forward():
                continue
            limit = self._limit()
            for descriptor, events in self._poll.poll(limit):
                self._serve(descriptor, events)
            if limit is not None:
                self._look_around()

    def _forward(self) -> bool:
        """Serve as long as both sides take all: what we watch and wait for stays the same then. Whether they do."""
        host, connection = self.host, self._connection
        is_even = False
        while connection is not None and connection is self._connection and connection.is_sendable:
            if connection.unsent or host.unwritten or host.has_ended or host.is_gone:
                break
            is_even = True
            for descriptor, events in self._poll.poll():
                self._serve(descriptor, events)
        return is_even

    def take(self, data: bytes) -> None:
        """Take in what was read from stdin before."""
        for line in self.host.cut(data):
            self._take_line(line)

    def untaken(self) -> bytes:
        """What has come from stdin and nobody has been given yet."""
        lines = []
        for entry in self._ledger.waiting:
            lines.append(entry.line)
            if entry.method == INITIALIZE and self._ledger.is_initialized:
                lines.append(INITIALIZED_LINE)
        return b"".join(lines) + self.host.broken_off

    def _is_over(self) -> bool:
        host = self.host
        is_done = self._is_done() and self._connection is None and not host.unwritten
        return host.is_gone or bool(host.failure) or is_done or self.is_confined

    def _is_done(self) -> bool:
        """The host wants nothing more."""
        return self.host.has_ended and self._ledger.is_done

    def _limit(self) -> int | None:
        """Milliseconds until something has to be looked at; None where news comes of itself."""
        now = monotonic()
        if self._connection is None:
            seconds = PARENT_SECONDS if self._is_done() else min(self._next - now, PARENT_SECONDS)
        elif self._leave_by is not None:
            seconds = self._leave_by - now
        elif self.host.has_ended:
            seconds = PARENT_SECONDS
        else:
            return None
        return max(0, int(seconds * 1000) + 1)

    def _look_around(self) -> None:
        """What no event tells."""
        if posix.getppid() != self._parent:
            self.host.is_gone = True
        elif self._connection is not None:
            if self._leave_by is not None and monotonic() >= self._leave_by:
                self._lose(self._connection)
        else:
            if monotonic() >= self._next and not self._is_done():
                self._reach()
            if self._connection is None and not (self.is_alone or self.is_confined) and self._must_answer():
                self._answer_alone()

    # descriptors

    def _watch(self) -> None:
        """Ask only for what can be taken: a full side is not read, so its source has to wait."""
        host, connection = self.host, self._connection
        self._ask(STDIN, POLLIN if not host.has_ended and self._has_room() else 0, keep=False)
        self._ask(STDOUT, POLLOUT if host.unwritten else 0, keep=True)
        if connection is not None:
            is_last_chance = self._leave_by is not None  # what isn't read by then is lost
            reading = POLLIN if is_last_chance or len(host.unwritten) < BUFFER_BYTES else 0
            sending = POLLOUT if connection.unsent and connection.is_sendable else 0
            self._ask(connection.number, reading | sending, keep=False)

    def _has_room(self) -> bool:
        connection = self._connection
        if connection is not None and connection.is_sendable:
            return len(connection.unsent) < BUFFER_BYTES
        waiting = sum(len(entry.line) for entry in self._ledger.waiting)
        return waiting < WAITING_BYTES and len(self.host.unwritten) < BUFFER_BYTES

    def _ask(self, descriptor: int, events: int, *, keep: bool) -> None:
        """Without `keep`, what we want nothing of is left out: poll would report for ever that it hung up."""
        wanted = events if events or keep else None
        if self._interest.get(descriptor) == wanted:
            return
        if wanted is None:
            self._poll.unregister(descriptor)
            del self._interest[descriptor]
        else:
            self._poll.register(descriptor, wanted)
            self._interest[descriptor] = wanted

    def _serve(self, descriptor: int, events: int) -> None:
        connection = self._connection
        if descriptor == STDIN:
            self._read_host()
        elif descriptor == STDOUT:
            if events & GONE:
                self.host.is_gone = True
            else:
                self.host.write()
        elif connection is not None and descriptor == connection.number:
            if events & POLLOUT:
                connection.send()
            if events & (POLLIN | POLLHUP | POLLERR):
                self._receive(connection)

    # the host

    def _read_host(self) -> None:
        connection = self._connection
        is_first = connection is not None and not connection.unsent
        for line in self.host.read():
            self._take_line(line)
        if connection is not None:
            if self.host.has_ended and connection.is_sendable:
                connection.put(END_LINE)
                connection.finish()
            elif is_first:
                connection.send()  # it mostly takes it, which saves a poll

    def _take_line(self, line: bytes) -> None:
        """A line of the host's: mostly it is to go to the daemon, if there is one."""
        ledger, connection = self._ledger, self._connection
        entry = ledger.from_host(line)
        if entry is None:
            return
        if entry.method == EXIT:
            self.host.has_ended = True
        if connection is not None and connection.is_sendable and not (ledger.is_stopped and entry.ids):
            is_ours = ledger.has_offered and entry.method == CALL and not self._is_doubted
            if not (is_ours and self._answer_status(entry)):
                ledger.sent(entry, connection.put(entry.line))
            return
        ledger.hold(entry)
        if self._must_answer():
            self._answer_alone()
        else:
            self._answer_pings([entry])

    def _answer_pings(self, entries: list[Entry]) -> None:
        """Clients take a server that is silent to them for dead."""
        if self._ledger.is_answered:
            pings = [entry for entry in entries if entry.method == b"ping" and not entry.is_modern]
            if pings:
                self._answer_alone(pings)

    def _must_answer(self) -> bool:
        """Whether it is for us to answer what the host wants."""
        if self._ledger.is_stopped:
            return True
        return self._connection is None and (self._way.is_hopeless or self._way.seconds >= ALONE_SECONDS)

    def _answer_status(self, entry: Entry) -> bool:
        from .alone import status_answer

        answer = status_answer(entry) if b"mcppd_status" in entry.line else None
        if answer is not None:
            self._ledger.release(entry)
            self.host.say(answer)
        return answer is not None

    def _answer_alone(self, entries: list[Entry] | None = None) -> None:
        from .alone import answers

        why = STOPPED if self._ledger.is_stopped else self._way.explain()
        if entries is None:
            self.is_alone = True
            if not self._has_told:
                self._has_told = True
                self._tell(why)
        for entry in self._ledger.waiting if entries is None else entries:
            self.host.say(b"".join(answers(self._ledger, entry, why)))

    # the daemon

    def _reach(self) -> None:
        """One attempt; then either everything that waits goes there, or the next attempt has its time."""
        self._way.may_launch = not self._ledger.is_stopped
        socket = self._way.attempt()
        if socket is None:
            self._next = monotonic() + self._way.pause()
            self.is_confined = self._way.is_confined and not self.is_alone
        else:
            self._connection = Connection(socket)
            self._greet(self._connection)

    def _greet(self, connection: Connection) -> None:
        """Who we are, what has been settled before, what waits: all at once, since the daemon takes it in order."""
        ledger = self._ledger
        self.is_alone = self._has_served = False
        ledger.is_stopped = ledger.is_moving = False
        ledger.refusal = b""
        opening = [self._hello]
        if ledger.is_answered or ledger.settings or ledger.lists:
            from .replay import known_lists, settled, with_lists

            opening = [with_lists(self._hello, known_lists(ledger)), *settled(ledger)]
        connection.put(b"".join(opening))
        for entry in ledger.waiting:
            ledger.sent(entry, connection.put(entry.line))
            if entry.method == INITIALIZE and ledger.is_initialized and not ledger.is_answered:
                connection.put(INITIALIZED_LINE)
        if self.host.has_ended:
            connection.put(END_LINE)
            connection.finish()
        connection.send()

    def _receive(self, connection: Connection) -> None:
        ledger = self._ledger
        passed = [ledger.from_daemon(line) for line in connection.receive()]
        if passed:
            self.host.say(b"".join(passed))
            if not (self._has_served or ledger.refusal):
                self._has_served = True
                self._is_doubted = False
                if ledger.told:
                    from .alone import list_changes

                    self.host.say(b"".join(list_changes(ledger)))
            if ledger.is_moving and self._leave_by is None:
                self._leave_by = monotonic() + MOVING_SECONDS
                connection.shut()
            elif ledger.is_stopped and ledger.waiting:
                self._answer_alone()
        if connection.has_ended:
            self._lose(connection)

    def _lose(self, connection: Connection) -> None:
        """It is over: what can't be asked again is answered, the rest waits; then the next attempt."""
        ledger, way = self._ledger, self._way
        self._ask(connection.number, 0, keep=False)
        connection.close()
        self._connection = self._leave_by = None
        self.host.say(b"".join(ledger.lost(0 if ledger.refusal else connection.sent)))
        self._answer_pings(ledger.waiting)
        way.lost(has_served=self._has_served)
        if ledger.refusal:
            self._is_doubted = True
            way.refused(ledger.refusal)
        self._next = monotonic() + (0 if way.is_steady else way.pause())
        self._look_around()
