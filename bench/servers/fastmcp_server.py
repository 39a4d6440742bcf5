"""A server of the package `fastmcp` with the tool `echo`; runs in the peer's environment."""

from fastmcp import FastMCP  # type: ignore[import-not-found]

server = FastMCP("echo")


@server.tool(output_schema=None)  # type: ignore[untyped-decorator]
def echo(text: str) -> str:
    """Says what it is told."""
    return text


server.run(show_banner=False)
