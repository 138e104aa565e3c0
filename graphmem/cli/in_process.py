"""Running an operation in the process of the command, for ``--offline``."""

from __future__ import annotations

from typing import Any

from graphmem.auth import Method
from graphmem.auth.accounts import Accounts
from graphmem.cli.session import fetching, run_async, tell_progress
from graphmem.registry import REGISTRY
from graphmem.settings import Settings


def run(chosen: Settings, name: str, raw: dict[str, Any], account: str | None = None) -> bytes:
    """Open the database, run an operation as an account, and return its answer as JSON.

    Raises:
        NotFound: there is no such account.
    """

    async def in_process() -> bytes:
        from graphmem.runtime import open_services

        async with open_services(chosen, fetching(), waiting=tell_progress) as services:
            actor = await Accounts(services.database).actor(account, "cli", Method.PROCESS)
            return await REGISTRY[name].run(services, actor, raw)

    return run_async(in_process())
