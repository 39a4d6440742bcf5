"""What is open between the host and the daemon: the one place that knows what a daemon's end leaves undone.

Lines go in, what is to be passed on comes out; it reads no result and touches no descriptor. What each private word
asks of the shim is told at `_on_word`; what the shim expects of the daemon with it, there too.
"""

from __future__ import annotations

from .scan import ANSWER, NOTICE, key_of, look, value_end, value_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from .scan import Message

LISTEN: Final = b"subscriptions/listen"
CALL: Final = b"tools/call"
INITIALIZE: Final = b"initialize"
EXIT: Final = b"exit"
"""With it some hosts say that they end, before they do."""
AGAIN: Final = frozenset(
    {
        *(INITIALIZE, LISTEN, b"server/discover", b"ping", b"completion/complete", b"logging/setLevel"),
        *(b"tools/list", b"prompts/list", b"prompts/get", b"resources/list", b"resources/templates/list"),
        *(b"resources/read", b"resources/subscribe", b"resources/unsubscribe"),
    }
)
"""What may be asked twice: it changes nothing, or comes to the same."""
INITIALIZED_LINE: Final = NOTICE + b'notifications/initialized"}\n'
SETTINGS: Final = (b"logging/setLevel", b"resources/subscribe", b"resources/unsubscribe")
OWN: Final = b'"mcppd-shim:'
"""How the ids of our own requests begin; their answers are for nobody."""
REFUSAL: Final = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"mcppd: '
"""How the daemon says that it doesn't want this shim; then it closes, and has done nothing of what came after."""
UNREADABLE: Final = b'null,"error":{"code":-32700,'
BATCH_REFUSED: Final = b'null,"error":{"code":-32600,"message":"Invalid request: a batch'
WORD: Final = NOTICE + b"mcppd/"
LISTS: Final = WORD + b'lists","params":{"hashes":'
KEPT_BYTES: Final = 64 * 1024 * 1024
"""Of open requests, one of the largest lines; what goes over it can't be asked again."""
TIMES: Final = 3
"""How often one request may lose its daemon: one that ends each daemon must not go on for ever."""
SETTINGS_LIMIT: Final = 2500
"""Lines that are kept before those that no longer hold are sorted out: a connection may have 1000 subscriptions."""
FORGOTTEN: Final = 1000
"""Questions of dead daemons whose late answers we look out for."""


class Entry:
    """A line of the host's that is open: it waits for a daemon (`end` is None) or for an answer."""

    __slots__ = ("answers", "end", "id", "ids", "is_acknowledged", "is_modern", "line", "losses", "method")

    def __init__(self, line: bytes, ident: bytes, method: bytes, ids: dict[bytes, bytes]) -> None:
        self.line = line
        self.id = ident
        """As JSON text; empty in a batch."""
        self.method = method
        """Empty in a batch."""
        self.ids = ids
        """The ids that are open, by their keys: several in a batch, none in what is never answered."""
        self.end: int | None = None
        """How much has been sent on the connection when all of it has."""
        self.losses = 0
        self.is_modern = b'"io.modelcontextprotocol/protocolVersion"' in line
        self.is_acknowledged = False
        """The client has the acknowledgement of this listen."""
        self.answers: list[bytes] = []
        """Of those in a batch that are answered already, by us."""

    @property
    def is_batch(self) -> bool:
        """Whether its line holds several messages."""
        return bool(self.ids) and not self.method


class Ledger:
    """All that is open, in order of coming, and what a session has settled."""

    __slots__ = (
        *("_count", "_dead", "_kept", "_open", "_questions", "handshake", "has_offered", "is_answered"),
        *("is_initialized", "is_moving", "is_stopped", "lists", "refusal", "settings", "told"),
    )

    def __init__(self) -> None:
        self._open: dict[bytes, Entry] = {}
        self._kept = 0
        self._count = 0
        self._questions: dict[bytes, bytes] = {}
        self._dead: dict[bytes, None] = {}
        self.handshake = b""
        """The line of the last `initialize`."""
        self.is_answered = False
        self.is_initialized = False
        self.settings: list[bytes] = []
        """Lines of the requests that have set something, in order."""
        self.lists = b""
        """The hashes of the lists as the daemon told them last, as JSON text."""
        self.told: set[str] = set()
        """Which lists the client has from us and not from a daemon: `tools`, `prompts`, `resources`."""
        self.has_offered = False
        """The client has seen the tool that only we have."""
        self.is_stopped = False
        self.is_moving = False
        self.refusal = b""
        """Why the daemon doesn't want us, as JSON text without quotes."""

    @property
    def entries(self) -> list[Entry]:
        """What is open, in order of coming."""
        return list(dict.fromkeys(self._open.values()))

    @property
    def waiting(self) -> list[Entry]:
        """What waits for a daemon."""
        return [entry for entry in self.entries if entry.end is None]

    @property
    def listens(self) -> list[Entry]:
        """The subscriptions that are open."""
        return [entry for entry in self._open.values() if entry.method == LISTEN]

    @property
    def is_done(self) -> bool:
        """Nobody waits for anything but news."""
        return all(entry.method == LISTEN for entry in self._open.values())

    # what the host says

    def from_host(self, line: bytes) -> Entry | None:
        """Take in a line of the host's: what is to be sent, None if nothing."""
        found = look(line)
        if isinstance(found, list):
            return self._on_batch(line, found)
        ident, method = found
        if ident and method:
            entry = Entry(line, ident, method, {key_of(ident) if b"\\" in ident else ident: ident})
            if method == INITIALIZE:
                self.handshake, self.is_answered, self.is_initialized = line, False, False
                self.settings.clear()
            self._keep(entry)
            return entry
        if method == b"notifications/initialized":
            self.is_initialized = True
        elif method == b"notifications/cancelled" and self._cancel(line):
            return None
        elif ident:
            key = key_of(ident)
            self._questions.pop(key, None)
            if key in self._dead:
                del self._dead[key]
                return None
        return Entry(line, ident, method, {})

    def _on_batch(self, line: bytes, messages: list[Message]) -> Entry:
        requests = [ident for ident, method in messages if ident and method]
        entry = Entry(line, b"", b"", {key_of(ident): ident for ident in requests})
        self.is_initialized |= any(method == b"notifications/initialized" for _, method in messages)
        for ident, method in messages:
            if ident and not method:
                self._questions.pop(key_of(ident), None)
        self._keep(entry)
        return entry

    def _keep(self, entry: Entry) -> None:
        for key in entry.ids:
            if key in self._open:
                self.release(self._open[key])  # its id is used again: the answer that comes first ends both
            self._open[key] = entry
        self._kept += len(entry.line) if entry.ids else 0

    def _cancel(self, line: bytes) -> bool:
        """The client wants a request no more; whether the daemon needn't know, since it hasn't begun."""
        key = key_of(value_of(line, b'"requestId"'))
        entry = self._open.pop(key, None)
        if entry is None:
            return False
        is_whole = len(entry.ids) == 1
        if is_whole:
            self._kept -= len(entry.line)
        del entry.ids[key]
        return is_whole and entry.end is None

    def hold(self, entry: Entry) -> None:
        """There is no daemon for this now: keep it till there is, if it has to be sent at all.

        Notifications are over by then, or part of what `resume` sends; answers are to a daemon that is gone.
        """
        if not (entry.id or entry.method or entry.ids):
            self._count += 1
            entry.ids[b"#%d" % self._count] = b""  # a key like no id's; so it is sent in its turn
            self._keep(entry)

    def sent(self, entry: Entry, end: int) -> None:
        """A line is on its way: all of it has gone when `end` bytes of the connection have."""
        entry.end = end
        if not entry.method and b"" in entry.ids.values():
            self.release(entry)  # there is nothing that its answer could be known by
        elif self._kept > KEPT_BYTES and not entry.is_batch:
            self._kept -= len(entry.line)
            entry.line = b""

    def release(self, entry: Entry) -> None:
        """It is answered."""
        self._kept -= len(entry.line)
        for key in entry.ids:
            self._open.pop(key, None)

    def replace(self, entry: Entry, line: bytes) -> None:
        """What is left of a batch."""
        self._kept += len(line) - len(entry.line)
        entry.line = line

    def settle(self, entry: Entry) -> None:
        """It is answered, with a result: what it has settled holds for the next daemon too."""
        if entry.method == INITIALIZE:
            self.is_answered = True
        elif entry.method in SETTINGS:
            self.settings.append(entry.line)
            if len(self.settings) > SETTINGS_LIMIT:
                from .replay import still_valid

                self.settings = still_valid(self.settings)
        self.release(entry)

    # what the daemon says

    def from_daemon(self, line: bytes) -> bytes:
        """Take in a line of the daemon's: what the host is to have of it."""
        if line.startswith(ANSWER):
            end = line.find(b",", len(ANSWER))
            ident = line[len(ANSWER) : end]
            entry = self._open.get(ident) if ident.isdigit() else None
            if entry is not None and entry.method == CALL and line.startswith(b',"result":', end):
                self.release(entry)
                return line  # as mostly
            return self._on_other(line)
        if line.startswith(NOTICE):
            return self._on_notice(line)
        return self._on_batch_answer(line) if line[:1] == b"[" else line

    def _on_other(self, line: bytes) -> bytes:
        end = value_end(line, len(ANSWER))
        ident = line[len(ANSWER) : end]
        if ident.startswith(OWN):
            return b""
        if line.startswith(b',"method":', end):
            self._questions[key_of(ident)] = ident
            return line
        if line.startswith(REFUSAL):
            self.refusal = line[len(REFUSAL) : -4]
            return b""
        if line.startswith(UNREADABLE, len(ANSWER)):
            self._forget_unreadable()
        elif line.startswith(BATCH_REFUSED, len(ANSWER)):
            self._forget_batch()
        entry = self._open.get(key_of(ident))
        return line if entry is None else self._on_answer(entry, line, end)

    def _forget_unreadable(self) -> None:
        """The daemon could not read a line: it may be one of which we have seen no more than its beginning."""
        from .speech import is_readable

        for entry in self.entries:
            if entry.end is not None and entry.line and not is_readable(entry.line):
                self.release(entry)
                break

    def _forget_batch(self) -> None:
        """The daemon took none of a batch: the first that it has, since it takes lines in order."""
        refused = (entry for entry in self.entries if entry.end is not None and entry.is_batch)
        if (entry := next(refused, None)) is not None:
            self.release(entry)

    def _on_answer(self, entry: Entry, line: bytes, end: int) -> bytes:
        if line.startswith(b',"error"', end):
            self.release(entry)
        elif entry.method == LISTEN:
            return b""  # only a daemon that ends does this; the next one goes on with it
        else:
            self.settle(entry)
        return line

    def _on_batch_answer(self, line: bytes) -> bytes:
        start = 1 + len(ANSWER)
        entry = self._open.get(key_of(line[start : value_end(line, start)]))
        if entry is None:
            return line
        self.release(entry)
        return b",".join([line.rstrip()[:-1], *entry.answers]) + b"]\n" if entry.answers else line

    def _on_notice(self, line: bytes) -> bytes:
        if line.startswith(WORD):
            self._on_word(line)
            return b""
        if line.startswith(b"notifications/cancelled", len(NOTICE)):
            key = key_of(value_of(line, b'"requestId"'))
            self._questions.pop(key, None)
            return b"" if key in self._open else line
        if line.startswith(b"notifications/subscriptions/acknowledged", len(NOTICE)):
            entry = self._open.get(key_of(value_of(line, b'"io.modelcontextprotocol/subscriptionId"')))
            if entry is not None:
                is_repeated, entry.is_acknowledged = entry.is_acknowledged, True
                return b"" if is_repeated else line
        return line

    def _on_word(self, line: bytes) -> None:
        """One of the daemon's words to us; one that we don't know is for a newer shim.

        `mcppd/lists` {"hashes": {kind: text, …}}: kept; the next hello carries the object as it came, as `lists`.
        `mcppd/resend` {"id": …}: that request was not begun and isn't answered: it is asked again at the next
        connection (a batch by any of its ids, as a whole). `mcppd/handover`: we end our writing side; the daemon
        answers or gives back what it has read, then closes; then we connect to whoever has the socket. `mcppd/stop`:
        the person stopped the daemon: nobody is started, until there is a daemon again.
        """
        if line.startswith(LISTS):
            self.lists = line.rstrip()[len(LISTS) : -2]
        elif line.startswith(b'resend"', len(WORD)):
            entry = self._open.get(key_of(value_of(line, b'"id"')))
            if entry is not None:
                entry.end = None
        elif line.startswith(b'handover"', len(WORD)):
            self.is_moving = True
        elif line.startswith(b'stop"', len(WORD)):
            self.is_stopped = True

    # when the daemon is gone

    def lost(self, sent: int) -> list[bytes]:
        """A connection is over on which so much was sent: what the host is to have; the rest waits for the next."""
        lines = [
            b'%bnotifications/cancelled","params":{"requestId":%b,"reason":"the daemon that asked has ended"}}\n'
            % (NOTICE, ident)
            for ident in self._questions.values()
        ]
        self._dead.update(dict.fromkeys(self._questions))
        self._questions.clear()
        while len(self._dead) > FORGOTTEN:
            del self._dead[next(iter(self._dead))]
        for entry in self.entries:
            was_sent = entry.end is not None and entry.end <= sent
            entry.end = None
            entry.losses += was_sent and entry.method != LISTEN
            is_asked_again = not was_sent or (entry.method in AGAIN and entry.losses < TIMES)
            if not (is_asked_again and entry.line):
                from .speech import left_undone

                lines += left_undone(self, entry, was_sent=was_sent)
        return lines
