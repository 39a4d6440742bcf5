"""A server of the package `mcp` 2.x with the tool `echo`; runs in the peer's environment."""

from mcp.server import MCPServer  # type: ignore[import-not-found]

server = MCPServer("echo")


@server.tool(structured_output=False)  # type: ignore[untyped-decorator]
def echo(text: str) -> str:
    """Says what it is told."""
    return text


server.run()
