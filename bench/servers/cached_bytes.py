"""The floor of a list: answers each line on a Unix socket with the same bytes.

The arguments are the path of the socket, and a file that holds the bytes.
"""

import asyncio
import contextlib
import sys
from pathlib import Path
from typing import cast


class Answering(asyncio.Protocol):
    """Writes the bytes when a line is whole."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport."""
        self.transport = cast(asyncio.Transport, transport)
        self.answer = Path(sys.argv[2]).read_bytes()

    def data_received(self, data: bytes) -> None:
        """Answer."""
        if data.endswith(b"\n"):
            self.transport.write(self.answer)


async def main() -> None:
    """Serve for ever."""
    server = await asyncio.get_running_loop().create_unix_server(Answering, sys.argv[1])
    await server.serve_forever()


with contextlib.suppress(KeyboardInterrupt, ImportError):
    import uvloop

    uvloop.install()
with contextlib.suppress(KeyboardInterrupt):
    asyncio.run(main())
