"""The shim: the stdio process that an agent starts, and that outlives every daemon.

It forwards lines, of which it knows no more than which request, answer or notification each is; it speaks itself only
where a daemon is missing.
"""
