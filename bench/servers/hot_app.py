"""What mcp-hmr serves and reloads: the tool `echo`; runs in the peer's environment, from a copy that is edited."""

from fastmcp import FastMCP  # type: ignore[import-not-found]

VALUE = ""
app = FastMCP("echo")


@app.tool(output_schema=None)  # type: ignore[untyped-decorator]
def echo(text: str) -> str:
    """Says what it is told."""
    return VALUE + text
