"""What the traffic of a shim sees of the way to its daemon; for the type checker alone."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket
    from typing import Protocol

    class Path(Protocol):
        """Leads to one daemon after another, or says why there is none."""

        may_launch: bool
        """Whether a daemon may be started."""
        is_hopeless: bool
        """Somebody has to change something first; it is tried on all the same."""
        is_confined: bool
        """No daemon has been reached, none ever will be, and something else can be done."""

        @property
        def seconds(self) -> float:
            """How long there has been no daemon."""
            ...

        @property
        def is_steady(self) -> bool:
            """The last daemon has worked for a while."""
            ...

        def attempt(self) -> _socket.socket | None:
            """A connection, non-blocking; None if there is none now."""
            ...

        def pause(self) -> float:
            """Seconds until the next attempt."""
            ...

        def lost(self, *, has_served: bool) -> None:
            """The connection has ended; `has_served`: something had come on it."""

        def refused(self, why: bytes) -> None:
            """The daemon doesn't want us, and says why in a JSON text without its quotes."""

        def explain(self) -> str:
            """Why there is no daemon, in one line."""
            ...
