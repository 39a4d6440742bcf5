"""Byte streams: reading, writing, Unix sockets and the lock of one daemon."""
