"""Work on the data of this machine in the process of the command; operations too, with ``--offline``."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from graphmem.auth import Method, local_actor
from graphmem.auth.shared_account import person_actor
from graphmem.cli.session import Session, fetching, run_async, tell_progress
from graphmem.context import Context, Services
from graphmem.errors import SandboxDisabled
from graphmem.registry import REGISTRY
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
    """Open the database, run an operation as an account, and return its answer as JSON."""

    from graphmem.client.agent_signing import AgentSigner

    async def work(services: Services) -> bytes:
        actor = await person_actor(services.database, chosen, account, "cli", Method.PROCESS)
        if (signer := AgentSigner.configured(chosen)) is not None:
            # This process has the key of the agent, so it need not sign.
            actor = actor.signed(signer.agent)
        return await REGISTRY[name].run(services, actor, raw)

    return on_services(chosen, work)


def open_database(chosen: Settings) -> None:
    """Start the database, if it is the embedded one, and bring its schema up to date."""
    on_services(chosen, lambda services: asyncio.sleep(0))


def refuse_in_sandbox(chosen: Settings, operation: str) -> None:
    """Refuse a command that no sandbox allows.

    Raises SandboxDisabled: the settings are those of a sandbox.
    """
    if chosen.sandbox:
        raise SandboxDisabled(operation=operation)


def rebuild(session: Session) -> dict[str, Any]:
    """Derive everything of the local owner again, with a progress bar; return what was repaired."""
    from graphmem.cli.progress import counted_task
    from graphmem.operations.server import health_of
    from graphmem.reading.snapshot_check import audit, stored_types

    chosen = session.local_settings(
        ", or repair the data of that service with `graphmem snapshots check --auto-fix`"
    )
    refuse_in_sandbox(chosen, "rebuild")

    async def work(services: Services) -> dict[str, Any]:
        context = Context(local_actor("cli"), services)
        *_, total = await stored_types(context)
        with counted_task("deriving entities and relationships", total) as advance:
            place = chosen.data_path / "rebuild.json"
            report = await audit(context, fix=True, deep=True, progress=advance, place=place)
            return dict(health_of(report))

    return on_services(chosen, work)
