"""The process that runs tool code: standard library only, and nothing else of the project.

Forked from the spawner, or run by another interpreter as `python -E -B <this directory> <descriptor>`.
Either way it is imported under a private name, so that no module of an author can collide with it.
"""
