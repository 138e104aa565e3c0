"""The command line: the operations as commands, and the commands that only this machine has.

Commands that are operations are made from ``listed.json``, which ``listing`` writes from the registry. The
other ones are functions that ``command_table.toml`` names; ``command_help.toml`` has their help. A module is
imported when somebody calls its command. It imports what takes long (settings, operations, runtime) inside
the functions that need it: ``--help`` and calls of the local service then start sooner. Each command raises
:class:`graphmem.errors.GraphmemError`, which ``session.telling_errors`` prints.
"""
