"""From a request to its actor: the credential is looked up, and remembered for a few seconds."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

from cachetools import TTLCache

from graphmem.auth import ACCOUNT_HEADER, Actor, Method, Scope, local_actor, tokens
from graphmem.auth.accounts import Accounts, ApiKey
from graphmem.auth.guard import REMEMBERED_SECONDS, Guard
from graphmem.database.driver import Database
from graphmem.errors import AuthInvalid, AuthRequired, GraphmemError
from graphmem.model import times
from graphmem.settings import Settings

_REMEMBERED_LIMIT: Final = 10_000
_MINUTE: Final = 60_000_000
"""Microseconds of a minute: the last use of a credential is noted once in each."""


@dataclass(frozen=True, slots=True)
class Caller:
    """What a request says of its caller.

    ``path`` and ``query`` are as they were sent, still percent-encoded. ``headers`` are found by any case of
    their names. ``body_digest`` reads the body and returns its digest by the name of a hash algorithm: a
    signature may cover it.
    """

    method: str
    path: bytes
    query: bytes
    headers: Mapping[str, str]
    body_digest: Callable[[str], Awaitable[bytes]]


Authenticate = Callable[[Caller], Awaitable[Actor]]


class Authenticator:
    """Finds the actor of each request of one process."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self._accounts = Accounts(database)
        self._settings = settings
        self._actors: TTLCache[str, Actor] = TTLCache(_REMEMBERED_LIMIT, REMEMBERED_SECONDS)
        self._guard = Guard(database)
        self._lookups: dict[str, Callable[[str, Caller], Awaitable[Actor]]] = {
            tokens.KEY_PREFIX: self._of_key,
        }
        self._notes: set[asyncio.Task[None]] = set()

    async def actor(self, caller: Caller) -> Actor:
        """Return the actor of a request.

        Raises:
            AuthRequired: it has no credential, and needs one.
            AuthInvalid: its credential is wrong, revoked or expired. It is never taken for none.
            DatabaseUnavailable, DatabaseTimeout: the credential could not be looked up.
        """
        if ACCOUNT_HEADER in caller.headers:
            raise AuthInvalid(
                f"{ACCOUNT_HEADER} is for the Unix socket: over TCP the credential says which account acts"
            )
        authorization = caller.headers.get("authorization")
        if authorization is None:
            if await self.is_open():
                return local_actor("rest", Method.NONE)
            raise AuthRequired
        scheme, _, rest = authorization.partition(" ")
        token = rest.strip()
        if scheme.lower() != "bearer" or not token:
            raise AuthInvalid
        if self._is_static(token):
            return local_actor("rest", Method.TOKEN)
        for prefix, look_up in self._lookups.items():
            if token.startswith(prefix):
                return await self._remembered(token, caller, look_up)
        raise AuthInvalid

    async def is_open(self) -> bool:
        """Return whether callers need no credential: on loopback, in development, and nothing guards it."""
        return await self._guard.is_open(self._settings)

    def _is_static(self, token: str) -> bool:
        expected = self._settings.bearer_token
        if expected is None:
            return False
        # As bytes: hmac.compare_digest raises TypeError for text outside ASCII.
        sent = token.encode(errors="surrogateescape")
        return hmac.compare_digest(sent, expected.get_secret_value().encode())

    async def _remembered(
        self, token: str, caller: Caller, look_up: Callable[[str, Caller], Awaitable[Actor]]
    ) -> Actor:
        digest = tokens.digest(token)
        actor = self._actors.get(digest)
        if actor is None:
            actor = self._actors[digest] = await look_up(digest, caller)
        return actor

    async def _of_key(self, digest: str, caller: Caller) -> Actor:
        row = await self._accounts.of_key(digest)
        now = times.now()
        if row is None or row.account.disabled or not row.key.is_valid(now):
            raise AuthInvalid
        self._note_use(digest, row.key, now)
        account = row.account
        return Actor(
            owner=account.owner,
            scopes=frozenset(map(Scope, row.key.scopes)) & frozenset(map(Scope, account.scopes)),
            client="rest",
            account=account.id,
            account_name=account.name,
            method=Method.KEY,
            credential=row.key.id,
        )

    def _note_use(self, digest: str, key: ApiKey, now: int) -> None:
        """Note the last use of a key, once a minute and beside the request."""
        if key.last_used_at is not None and now - key.last_used_at < _MINUTE:
            return

        async def note() -> None:
            with contextlib.suppress(GraphmemError):
                await self._accounts.use_key(digest, now - now % _MINUTE)

        task = asyncio.create_task(note())
        self._notes.add(task)
        task.add_done_callback(self._notes.discard)
