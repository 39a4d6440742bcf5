"""mcppd: one always-on daemon for the MCP tools of all coding agents of a person."""

from mcppd_shim.version import VERSION

__version__ = VERSION
