"""Work on the data of this machine in the process of the command; operations too, with ``--offline``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from graphmem.auth import Method
from graphmem.auth.accounts import Accounts
from graphmem.cli.session import fetching, run_async, tell_progress
from graphmem.registry import REGISTRY, Services
from graphmem.settings import Settings

T = TypeVar("T")


def on_services(chosen: Settings, work: Callable[[Services], Awaitable[T]]) -> T:
    """Open the services of this machine, and run ``work`` with them."""

    async def run() -> T:
        from graphmem.runtime import open_services

        async with open_services(chosen, fetching(), waiting=tell_progress) as services:
            return await work(services)

    return run_async(run())


def run(chosen: Settings, name: str, raw: dict[str, Any], account: str | None = None) -> bytes:
    """Open the database, run an operation as an account, and return its answer as JSON.

    Raises:
        NotFound: there is no such account.
    """

    async def work(services: Services) -> bytes:
        actor = await Accounts(services.database).actor(account, "cli", Method.PROCESS)
        return await REGISTRY[name].run(services, actor, raw)

    return on_services(chosen, work)
