"""From a request to its actor: the credential is looked up, and remembered for a few seconds."""

import asyncio
import contextlib
import hmac
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, LiteralString, Protocol

from graphmem.auth import ACCOUNT_HEADER, SUPPORTED_SCOPES, Actor, Method, local_actor, tokens
from graphmem.auth.accounts import Accounts, actor_of
from graphmem.auth.client_rules import canonical_resource, resource_covers
from graphmem.auth.credentials import Credential, CredentialCache, Guard
from graphmem.auth.grants import Grants
from graphmem.auth.shared_account import SharedAccount
from graphmem.auth.signed_requests import SignedRequests
from graphmem.database.driver import Database
from graphmem.errors import AuthInvalid, AuthRequired, GraphmemError
from graphmem.model import times
from graphmem.settings import Settings

_MINUTE: Final = 60_000_000  # microseconds of a minute: the last use of a credential is noted once in each


class SentBody(Protocol):
    async def is_empty(self) -> bool: ...

    async def expect(self, digests: Mapping[str, bytes]) -> None:
        """Compare it with its digests by hash algorithms; raises AgentSignatureInvalid: it differs."""
        ...


@dataclass(frozen=True, slots=True)
class Caller:
    """What a request says of its caller.

    ``path`` and ``query`` are as they were sent, still percent-encoded. ``headers`` are found by any case of
    their names; ``fields`` has all of them, those too that were sent several times.
    """

    method: str
    path: bytes
    query: bytes
    headers: Mapping[str, str]
    fields: Sequence[tuple[bytes, bytes]]
    body: SentBody


Authenticate = Callable[[Caller], Awaitable[Actor]]


class Authenticator:
    """Finds the actor of each request of a process, whose ``guard`` and ``credentials`` hear of changes."""

    def __init__(
        self, database: Database, settings: Settings, guard: Guard, credentials: CredentialCache | None = None
    ) -> None:
        self._accounts, self._grants = Accounts(database), Grants(database)
        self._writes, self._settings = database.writes(None), settings
        self._credentials = CredentialCache() if credentials is None else credentials
        self._guard = guard
        self._shared = SharedAccount(database) if settings.sandbox else None
        self._signatures = SignedRequests(settings, settings.advertised_url())
        self._notes: set[asyncio.Task[None]] = set()

    async def actor(self, caller: Caller) -> Actor:
        """Return the actor of a request: that of its credential, with the agent that signed it.

        Raises:
            AuthRequired: it has no credential, and needs one.
            AuthInvalid: its credential is wrong, revoked or expired. It is never taken for none.
            AgentSignatureInvalid: its signature is wrong. It is never taken for none.
            DatabaseUnavailable, DatabaseTimeout: the credential could not be looked up.
        """
        # The credential comes first: the signature of whoever has none costs nothing.
        return await self._signatures.signed(await self._of_credential(caller), caller)

    async def _of_credential(self, caller: Caller) -> Actor:
        if self._shared is not None:
            # A stale credential, or one of another service, is no reason to refuse anybody here.
            return await self._shared.actor()
        if ACCOUNT_HEADER in caller.headers:
            raise AuthInvalid(
                f"{ACCOUNT_HEADER} is for the Unix socket: over TCP the credential says which account acts"
            )
        authorization = caller.headers.get("authorization")
        if authorization is None:
            if await self._guard.is_open(self._settings):
                return local_actor("rest", Method.NONE)
            raise AuthRequired
        scheme, _, rest = authorization.partition(" ")
        token = rest.strip()
        if scheme.lower() != "bearer" or not token:
            raise AuthInvalid
        # As bytes: hmac.compare_digest raises TypeError for text outside ASCII.
        expected, sent = self._settings.bearer_token, token.encode(errors="surrogateescape")
        if expected is not None and hmac.compare_digest(sent, expected.get_secret_value().encode()):
            return local_actor("rest", Method.TOKEN)
        for prefix, look_up in (
            (tokens.KEY_PREFIX, self._of_key),
            (tokens.ACCESS_PREFIX, self._of_access_token),
        ):
            if token.startswith(prefix):
                return await self._remembered(token, caller, look_up)
        raise AuthInvalid

    async def _remembered(
        self, token: str, caller: Caller, look_up: Callable[[str], Awaitable[Credential]]
    ) -> Actor:
        credential = await self._credentials.get(tokens.digest(token), look_up)
        if credential.expires_at is not None and credential.expires_at <= times.now():
            raise AuthInvalid
        if credential.resource:
            # The resource that the request uses: its address, in the one spelling of resources.
            path = re.sub("^/api/", "/", caller.path.decode("latin-1")).rstrip("/")
            used = f"{canonical_resource(self._settings.advertised_url())}{path}"
            if not resource_covers(credential.resource, used):
                raise AuthInvalid(
                    f"the access token is for {credential.resource} alone: ask for one for this address",
                    resource=credential.resource,
                )
        return credential.actor

    async def _of_access_token(self, digest: str) -> Credential:
        row = await self._grants.of_token(digest)
        now = times.now()
        if row is None or not row.is_valid(now):
            raise AuthInvalid
        self._note_use("oauth.use_grant", row.last_used_at, id=row.grant_id, used_at=now - now % _MINUTE)
        actor = actor_of(row.account, "rest", Method.OAUTH, row.scopes, row.grant_id, row.client_name)
        grantable = frozenset(scope for scope in SUPPORTED_SCOPES if scope in row.account.scopes)
        return Credential(replace(actor, grantable=grantable), row.expires_at, row.resource)

    async def _of_key(self, digest: str) -> Credential:
        now = times.now()
        account, key = await self._accounts.of_key(digest) or (None, None)
        if account is None or account.disabled or key is None or not key.is_valid(now):
            raise AuthInvalid
        self._note_use("account.use_key", key.last_used_at, digest=digest, used_at=now - now % _MINUTE)
        actor = actor_of(account, "rest", Method.KEY, key.scopes, key.key_id, key.name)
        return Credential(actor, key.expires_at)

    def _note_use(
        self, query: LiteralString, last_used_at: int | None, *, used_at: int, **names: Any
    ) -> None:
        """Note the last use of a credential beside the request, once a minute."""
        if last_used_at is not None and used_at - last_used_at < _MINUTE:
            return

        async def note() -> None:
            with contextlib.suppress(GraphmemError):
                await self._writes.rows(query, used_at=used_at, **names)

        task = asyncio.create_task(note())
        self._notes.add(task)
        task.add_done_callback(self._notes.discard)
