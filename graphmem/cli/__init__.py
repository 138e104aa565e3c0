"""The command line: the registry's operations as commands, and the commands that only this machine has.

Commands import what only they need (runtime, uvicorn, the doctor, dumps, the client) inside their functions:
``--help`` and ``--version`` then start sooner.
"""
