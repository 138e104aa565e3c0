"""The command line: the operations as commands, and the commands that only this machine has.

Commands that are operations are made from ``listed.json``, which ``listing`` writes from the registry.
Modules import what only some commands need (settings, operations, runtime, tables) inside their functions:
``--help``, ``--version`` and calls of the local service then start sooner. Each command raises
:class:`graphmem.errors.GraphmemError`, which ``session.telling_errors`` prints.
"""
