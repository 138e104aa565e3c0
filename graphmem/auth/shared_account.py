"""The shared account of a public sandbox: every caller is it, whatever credential comes along.

Its data is that of an owner who is replaced at each wipe. So a wipe takes one statement, after which nothing
of before can be reached, and what is left of the owner before is erased afterwards.
"""

import asyncio
import time
import uuid
from typing import Final, NamedTuple

from graphmem.auth import Actor, Method, Scope
from graphmem.auth.accounts import Accounts
from graphmem.database.driver import Database
from graphmem.database.queries import Queries
from graphmem.model import times
from graphmem.settings import Settings

ACCOUNT_ID: Final = "11111111-1111-1111-1111-111111111111"
ACCOUNT_NAME: Final = "sandbox"
REMEMBERED_SECONDS: Final = 0.25
"""Seconds for which a process does not look again who the owner is. A flood then costs few look-ups."""


class SandboxState(NamedTuple):
    """The row of ``sandbox/state.cypher``: the owner now, and how far the last wipe is. ``retired`` are
    earlier owners of whom something is left. Times are microseconds."""

    owner: str
    wiped_at: int
    is_seeded: bool
    retired: list[str]


class SharedAccount:
    def __init__(self, database: Database) -> None:
        self._reads: Queries = database.reads(None)
        self._writes: Queries = database.writes(None)
        self._looking = asyncio.Lock()
        self._actor: Actor | None = None
        self._looked_at = 0.0

    async def actor(self, client: str = "rest") -> Actor:
        async with self._looking:
            if self._actor is None or time.monotonic() - self._looked_at > REMEMBERED_SECONDS:
                looked_at = time.monotonic()
                owner = (await self.state()).owner
                self._looked_at = looked_at
                self._actor = Actor(
                    owner=owner, scopes=frozenset({Scope.READ, Scope.WRITE}), account=ACCOUNT_ID,
                    account_name=ACCOUNT_NAME, method=Method.SANDBOX,
                )  # fmt: skip
            return self._actor.named(client)

    async def state(self) -> SandboxState:
        """Return the state of the sandbox; the first call on a database makes the account."""
        state = await self._reads.one("sandbox.state", SandboxState, name=ACCOUNT_NAME)
        if state is not None:
            return state
        return await self._writes.only(
            "sandbox.open", SandboxState, name=ACCOUNT_NAME, id=ACCOUNT_ID, owner_id=str(uuid.uuid4()),
            now=times.now(),
        )  # fmt: skip

    async def wipe(self, before: int, now: int) -> bool:
        """Give the account an empty owner if the last wipe was before a time; return whether this did it.
        Afterwards no process writes for the owner before, and within ``REMEMBERED_SECONDS`` none reads."""
        retired = await self._writes.one(
            "sandbox.wipe", str, name=ACCOUNT_NAME, owner_id=str(uuid.uuid4()), before=before, now=now
        )
        self._actor = None
        return retired is not None

    async def lease(self, holder: str, seconds: float) -> bool:
        """Take or keep the work on the account for some seconds; return whether no other process has it."""
        now = times.now()
        until = now + int(seconds * times.SECOND)
        leased_by = await self._writes.one(
            "sandbox.lease", str, name=ACCOUNT_NAME, holder=holder, now=now, until=until
        )
        return leased_by is not None


async def person_actor(
    database: Database, settings: Settings, name: str | None, client: str, method: Method
) -> Actor:
    """Return the actor of a person at this machine, who in a sandbox is the shared account too.

    Raises:
        NotFound, AccountConflict: as :meth:`Accounts.actor` does.
    """
    if settings.sandbox:
        return await SharedAccount(database).actor(client)
    return await Accounts(database).actor(name, client, method)
