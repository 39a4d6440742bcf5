"""A link: the only read loop and the only write path for a byte stream.

It knows framing and limits; what a frame means is its owner's business.
"""

from __future__ import annotations

import asyncio
import logging
import select
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, Protocol, TypeVar, cast

from mcppd.core.errors import McppdError

logger = logging.getLogger("mcppd.transport")

UNSENT_LIMIT: Final = 128 * 1024 * 1024
"""Bytes that may wait for a peer that doesn't read: two of the largest lines; beyond it the link is cut (D13)."""

TURN: Final = 200
"""Frames of one link that are taken before everybody else has a turn: a few milliseconds. A chunk of what is read may
hold a hundred thousand."""

COPIED: Final = 32 * 1024
"""Bytes of a frame in parts up to which they are put together first: that costs less than a call with many."""

Frame = TypeVar("Frame", covariant=True)


class Framing(Protocol[Frame]):
    """Turns chunks of bytes into frames."""

    def feed(self, data: bytes) -> Sequence[Frame]:
        """The frames that these bytes complete; raises McppdError where the stream can't go on."""
        ...


class Receiver(Protocol):
    """Who owns a link."""

    def receive(self, frame: Any) -> None:
        """Take the next frame; called on the event loop, in order."""

    def ended(self) -> None:
        """The peer has ended its writing side; the link can still send."""

    def closed(self) -> None:
        """The link is gone; called once."""


class Link(asyncio.Protocol, Generic[Frame]):
    """One connected byte stream."""

    def __init__(self, framing: Framing[Frame], unsent_limit: int = UNSENT_LIMIT) -> None:
        self._framing = framing
        self._unsent_limit = unsent_limit
        self._transport: asyncio.Transport | None = None
        self._receiver: Receiver | None = None
        self._hangup: select.epoll | None = None
        self._frames: deque[Frame] = deque()  # that have come and wait for their turn
        self._turn: asyncio.Handle | None = None
        self._is_paused = False  # by the owner
        self._is_reading = True
        self.is_closed = False
        self.error: Exception | None = None  # of the stream, by which it was closed

    def attach(self, receiver: Receiver) -> None:
        """Name who takes the frames; before the first byte comes."""
        self._receiver = receiver

    def send(self, *parts: bytes) -> None:
        """Write a whole frame, or nothing if the link is gone; a peer that never reads is cut off."""
        if self._transport is None or self.is_closed or not parts:
            return
        if len(parts) == 1:
            self._transport.write(parts[0])
        elif sum(map(len, parts)) < COPIED:
            self._transport.write(b"".join(parts))
        else:
            self._transport.writelines(parts)
        if self._transport.get_write_buffer_size() > self._unsent_limit:
            self.abort()

    def close(self) -> None:
        """Close after what was sent has been written."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Close at once; what is unsent is lost."""
        if self._transport is not None:
            self._transport.abort()

    def pause(self, *, paused: bool) -> None:
        """Stop reading from a peer that asks for more than it may have, or go on; what was read already waits too."""
        self._is_paused = paused
        self._go_on()

    @property
    def descriptor(self) -> int:
        """The number of the socket's descriptor."""
        assert self._transport is not None
        return int(self._transport.get_extra_info("socket").fileno())

    def watch_hangup(self, gone: Callable[[], None]) -> None:
        """Call `gone` when a peer that has ended its writing side closes the other one as well.

        After the end of file the transport reads no more, so a peer's death would go unseen
        until the next write; an epoll that waits for nothing still reports the hang-up.
        """
        if self.is_closed or self._hangup is not None:
            return
        self._hangup = select.epoll()
        self._hangup.register(self.descriptor, 0)
        asyncio.get_running_loop().add_reader(self._hangup.fileno(), gone)

    # what asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is one in all but its class

    def data_received(self, data: bytes) -> None:
        assert self._receiver is not None
        try:
            frames = self._framing.feed(data)
        except McppdError:
            self.abort()
            return
        if (
            len(frames) == 1 and not self._frames and not self._is_paused
        ):  # as mostly: it needn't wait for a turn
            self._give(frames[0])
            return
        self._frames.extend(frames)
        if self._turn is None:
            self._take()

    def eof_received(self) -> bool:
        if self._receiver is not None:
            self._receiver.ended()
        return True  # the owner closes when it has answered

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_closed, self.error = True, exc
        if self._hangup is not None:
            asyncio.get_running_loop().remove_reader(self._hangup.fileno())
            self._hangup.close()
            self._hangup = None
        if self._receiver is not None:
            self._receiver.closed()

    # inside

    def _take(self) -> None:
        """Take the frames of one turn."""
        self._turn = None
        for _ in range(min(TURN, len(self._frames))):
            if self._is_paused or self.is_closed:
                break
            self._give(self._frames.popleft())
        self._go_on()

    def _give(self, frame: Frame) -> None:  # type: ignore[misc] # a link gives what its framing makes
        assert self._receiver is not None
        try:
            self._receiver.receive(frame)
        except Exception:  # a fault of ours must not end somebody's connection
            logger.exception("a frame could not be taken; the connection goes on")

    def _go_on(self) -> None:
        """Take the next frames soon, or read more where there are none."""
        if self._transport is None or self.is_closed:
            return
        if self._frames and not self._is_paused and self._turn is None:
            self._turn = asyncio.get_running_loop().call_soon(self._take)
        reads = not (self._frames or self._is_paused)
        if reads == self._is_reading or self._transport.is_closing():
            return
        self._is_reading = reads
        if reads:
            self._transport.resume_reading()
        else:
            self._transport.pause_reading()
