"""Running an operation in the process of the command, for ``--offline``."""

from __future__ import annotations

from typing import Any

from graphmem.auth import Actor, Method, local_actor
from graphmem.auth.accounts import Accounts, actor_of
from graphmem.cli.session import fetching, run_async, tell_progress
from graphmem.registry import REGISTRY, Services
from graphmem.settings import Settings


def run(chosen: Settings, name: str, raw: dict[str, Any], account: str | None = None) -> bytes:
    """Open the database, run an operation as an account, and return its answer as JSON."""

    async def in_process() -> bytes:
        from graphmem.runtime import open_services

        async with open_services(chosen, fetching(), waiting=tell_progress) as services:
            return await REGISTRY[name].run(services, await _actor(services, account), raw)

    return run_async(in_process())


async def _actor(services: Services, account: str | None) -> Actor:
    """Return the actor of a command.

    Raises:
        NotFound: there is no such account.
    """
    if account is None:
        return local_actor("cli")
    return actor_of(await Accounts(services.database).by_name(account), "cli", Method.PROCESS)
