"""Running an operation in the process of the command, for ``--offline``."""

from __future__ import annotations

from typing import Any

from graphmem.auth import local_actor
from graphmem.cli.session import fetching, run_async, tell_progress
from graphmem.registry import REGISTRY
from graphmem.settings import Settings


def run(chosen: Settings, name: str, raw: dict[str, Any]) -> bytes:
    """Open the database, run an operation, and return its answer as JSON."""

    async def in_process() -> bytes:
        from graphmem.runtime import open_services

        async with open_services(chosen, fetching(), waiting=tell_progress) as services:
            return await REGISTRY[name].run(services, local_actor("cli"), raw)

    return run_async(in_process())
