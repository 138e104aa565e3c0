"""The command line: the registry's operations as commands, and what only a local command can do."""
