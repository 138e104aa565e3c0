"""What OAuth keeps: clients, requests that wait for a person, and grants with their codes and tokens.

A request that a person allows becomes a grant of the person's account, with a code. The code is redeemed for
an access token and a refresh token, and a refresh token is exchanged for the next pair. Codes and refresh
tokens are good once: whoever uses one again ends its grant, because one of the two users stole it. A refresh
token has a short grace, for two windows of one client and for an answer that was lost. Only digests are
stored.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from graphmem.auth import Scope, tokens
from graphmem.auth.accounts import Account, Proof
from graphmem.auth.credentials import CredentialCache
from graphmem.database.driver import Database
from graphmem.errors import GraphmemError, NotFound, OAuthRefused, ServiceBusy
from graphmem.model import times

if TYPE_CHECKING:
    from graphmem.auth.client_rules import ClientMetadata

REQUEST_SECONDS: Final = 600  # seconds in which a person may decide on a request
CODE_SECONDS: Final = 60
ACCESS_SECONDS: Final = 900
KEYS_SECONDS: Final = 300  # seconds for which an access token with the scope ``keys`` is valid
REFRESH_SECONDS: Final = 30 * 24 * 3600
ATTEMPTS_LIMIT: Final = 10
"""Attempts to allow one request. A wrong password is an attempt."""
CLIENTS_LIMIT: Final = 100_000
UNUSED_CLIENT_SECONDS: Final = 24 * 3600
"""Seconds for which a registered client is kept that nobody has allowed anything."""
USED_CLIENT_SECONDS: Final = 365 * 24 * 3600
"""Seconds for which a registered client is kept after a person allowed it something."""
REMOVAL_SECONDS: Final = 60.0  # least seconds between two removals of what has expired, of one process
REMOVED_AT_ONCE: Final = 200
KEPT_SECONDS: Final = 24 * 3600
"""Seconds for which what has expired is kept, so that its use is told from that of an unknown secret."""
DIRECT_CLIENT: Final = "direct"
"""The client id of a program that asks by ``/mcp/oauth/initiate`` without being registered."""
PAGE_CLIENT: Final = "page"
"""The client id of the page of this service: of what asks there for an answer at the address of the page."""


class AuthorizationRequest(NamedTuple):
    """A row of ``oauth/_request.cypher``: what a client asks a person for."""

    client_id: str
    client_name: str
    redirect_uri: str
    state: str | None
    resource: str
    scopes: list[str]
    expires_at: int


class Grant(NamedTuple):
    """A row of ``oauth/_grant.cypher``: what an account allows a client. Times are microseconds.

    ``redeemed_at`` is None until the client has its first tokens. ``expires_at`` is when the last token ends.
    ``made_by`` is the id of the API key by which a person allowed it, None for another proof.
    """

    connection_id: str
    client_id: str
    client_name: str
    scopes: list[str]
    resource: str
    created_at: int
    last_used_at: int | None
    redeemed_at: int | None
    expires_at: int
    made_by: str | None = None


_Redemption = tuple[str, str, bool | None, list[str]]
"""The outcome of a redemption, the id of the grant, whether its client refreshes, and the scopes."""


class TokenOfAccount(NamedTuple):
    """The row of ``oauth/of_token.cypher``: an access token, its account and its grant."""

    account: Account
    grant_id: str
    client_name: str
    scopes: list[str]
    resource: str
    expires_at: int
    last_used_at: int | None
    revoked_at: int | None

    def is_valid(self, now: int) -> bool:
        """Return whether the token, its grant and its account are in force at a time."""
        return self.revoked_at is None and self.expires_at > now and not self.account.disabled


class NewRequest(NamedTuple):
    """An authorization request that was checked: ``resource`` is canonical."""

    client_id: str
    client_name: str
    redirect_uri: str
    state: str | None
    code_challenge: str
    resource: str
    scopes: list[str]
    can_refresh: bool


class Presented(NamedTuple):
    """What a client sends with a code or a refresh token. None: it does not send the parameter."""

    client_id: str | None
    resource: str | None
    scopes: list[str] | None


class IssuedTokens(NamedTuple):
    """New tokens, which are not stored themselves. ``refresh_token`` is None for a client without refresh."""

    access_token: str
    refresh_token: str | None
    scopes: list[str]
    expires_in: int


_FAILURES: Final = {
    "replayed": ("invalid_grant", "it was used before, so everything that came of it has ended: ask again"),
    "ended": ("invalid_grant", "the permission has ended: ask again"),
    "expired": ("invalid_grant", "it has expired: ask again"),
    "client": ("invalid_grant", "it belongs to another client"),
    "redirect_uri": ("invalid_grant", "redirect_uri is not that of the authorization request"),
    "verifier": ("invalid_grant", "code_verifier does not belong to the code_challenge of the request"),
    "resource": ("invalid_target", "resource is not what was allowed"),
    "scope": ("invalid_scope", "scope is more than what was allowed"),
    "kind": ("invalid_grant", "it is not a refresh token"),
    "unknown": ("invalid_grant", "it is unknown"),
}
"""The error of RFC 6749 or RFC 8707, and its description, for each outcome of a redemption."""


class Grants:
    """Clients, requests, grants and tokens. ``credentials`` forget the tokens of a grant that ends."""

    def __init__(self, database: Database, credentials: CredentialCache | None = None) -> None:
        self._reads = database.reads(None)
        self._writes = database.writes(None)
        self._credentials = CredentialCache() if credentials is None else credentials
        self._removed_at = float("-inf")
        self._removals: set[asyncio.Task[None]] = set()

    async def register(self, metadata: ClientMetadata) -> tuple[str, int]:
        """Keep a client; return its new id and the time in microseconds. Raises ServiceBusy: there are too
        many."""
        client_id, now = f"client_{secrets.token_hex(16)}", times.now()
        rows = await self._writes.rows(
            "oauth.create_client", id=client_id, metadata=metadata.model_dump_json(exclude_none=True),
            limit=CLIENTS_LIMIT, created_at=now, expires_at=now + UNUSED_CLIENT_SECONDS * times.SECOND,
        )  # fmt: skip
        self._remove_expired()
        if not rows:
            raise ServiceBusy("too many OAuth clients are registered: try again tomorrow")
        return client_id, now

    async def client(self, client_id: str) -> ClientMetadata | None:
        # Not above: commands that work in their own process start sooner without the rules for clients.
        from graphmem.auth.client_rules import ClientMetadata

        metadata = await self._reads.one("oauth.client", str, id=client_id)
        return ClientMetadata.model_validate_json(metadata) if metadata is not None else None

    async def create_request(self, request: NewRequest) -> tuple[str, int]:
        """Keep a request; return the secret that names it, and when it expires."""
        secret, expires_at = secrets.token_urlsafe(32), times.now() + REQUEST_SECONDS * times.SECOND
        await self._writes.rows(
            "oauth.create_request", digest=tokens.digest(secret), expires_at=expires_at, **request._asdict()
        )
        self._remove_expired()
        return secret, expires_at

    async def request(self, secret: str) -> AuthorizationRequest | None:
        return await self._reads.one(
            "oauth.request", AuthorizationRequest, digest=tokens.digest(secret), now=times.now()
        )

    async def count_attempt(self, secret: str) -> AuthorizationRequest | None:
        """Count an attempt to allow a request; None if no attempt is left, or the request has ended."""
        return await self._writes.one(
            "oauth.count_attempt", AuthorizationRequest, digest=tokens.digest(secret), limit=ATTEMPTS_LIMIT,
            now=times.now(),
        )  # fmt: skip

    async def allow(self, secret: str, proof: Proof, scopes: Collection[str], browser: str) -> str | None:
        """Allow a request; return the code, None if it has ended. What an API key allows ends with the key.
        ``browser``: the secret in its cookie."""
        code, now = secrets.token_urlsafe(32), times.now()
        row = await self._writes.one(
            "oauth.grant", AuthorizationRequest, digest=tokens.digest(secret), account_id=proof.account.id,
            key_id=proof.key and proof.key.key_id,
            grant_id=f"con_{secrets.token_hex(8)}", scopes=sorted(scopes), code_digest=tokens.digest(code),
            browser=tokens.digest(browser), now=now, expires_at=now + CODE_SECONDS * times.SECOND,
            client_expires_at=now + USED_CLIENT_SECONDS * times.SECOND,
        )  # fmt: skip
        return code if row is not None else None

    async def deny(self, secret: str) -> AuthorizationRequest | None:
        return await self._writes.one(
            "oauth.deny", AuthorizationRequest, digest=tokens.digest(secret), now=times.now()
        )

    async def finish(self, secret: str, code: str, browser: str) -> AuthorizationRequest | None:
        """End a request that was allowed; None for another code, another browser, or a second time."""
        return await self._writes.one(
            "oauth.finish_request", AuthorizationRequest, digest=tokens.digest(secret),
            code_digest=tokens.digest(code), browser=tokens.digest(browser), now=times.now(),
        )  # fmt: skip

    async def redeem(
        self, code: str, challenge: str, redirect_uri: str | None, presented: Presented
    ) -> IssuedTokens:
        """Redeem a code for tokens. ``challenge`` is that of the code verifier that the client sends.

        Raises:
            OAuthRefused: the code is not good for it; the code is burnt and its grant has ended.
        """
        access_token, refresh_token, params = _new_tokens(code, presented)
        row = await self._writes.one(
            "oauth.redeem_code", _Redemption, challenge=challenge, redirect_uri=redirect_uri,
            keys_expires_at=times.now() + KEYS_SECONDS * times.SECOND, **params,
        )  # fmt: skip
        return self._issued(row, access_token, refresh_token)

    async def rotate(self, token: str, presented: Presented, grace_seconds: float = 0.0) -> IssuedTokens:
        """Exchange a refresh token for new tokens.

        Args:
            grace_seconds: how long after its first use a token gives further tokens of its grant, as long as
                none of the refresh tokens that it gave was used.

        Raises:
            OAuthRefused: as of a code; a later use ends the grant.
        """
        access_token, refresh_token, params = _new_tokens(token, presented)
        grace = int(grace_seconds * times.SECOND)
        row = await self._writes.one("oauth.rotate", _Redemption, grace=grace, **params)
        return self._issued(row, access_token, refresh_token)

    async def of_token(self, digest: str) -> TokenOfAccount | None:
        """Return the access token of a digest with its account, valid or not."""
        return await self._reads.one("oauth.of_token", TokenOfAccount, digest=digest)

    async def revoke_token(self, token: str, client_id: str | None) -> None:
        """End an access token, or with a refresh token its grant. An unknown token changes nothing."""
        row = await self._writes.one(
            "oauth.revoke_token", tuple[str, str], digest=tokens.digest(token), client_id=client_id,
            now=times.now(),
        )  # fmt: skip
        if row is not None:
            self._credentials.end(row[1])

    async def connections(self, account_id: str) -> list[Grant]:
        """Return the grants of an account whose tokens are in force, newest first."""
        return await self._reads.all("oauth.connections", Grant, account_id=account_id, now=times.now())

    async def connection(self, account_id: str, grant_id: str) -> Grant:
        """Return a grant of an account; raises NotFound: the account has no such grant, or it was revoked."""
        grant = await self._reads.one("oauth.connection", Grant, account_id=account_id, id=grant_id)
        return _found(grant, grant_id)

    async def revoke(self, account_id: str, grant_id: str) -> Grant:
        """End a grant of an account with all its tokens; NotFound as for :meth:`connection`."""
        grant = await self._writes.one(
            "oauth.revoke", Grant, account_id=account_id, id=grant_id, now=times.now()
        )
        grant = _found(grant, grant_id)
        self._credentials.end(grant_id)
        return grant

    def _issued(self, row: _Redemption | None, access_token: str, refresh_token: str) -> IssuedTokens:
        self._remove_expired()
        outcome, grant_id, can_refresh, scopes = row or ("unknown", "", None, [])
        if outcome != "valid":
            if grant_id:
                # What failed may have ended the grant. To look its tokens up again costs little.
                self._credentials.end(grant_id)
            error, description = _FAILURES[outcome]
            raise OAuthRefused(description, error=error)
        seconds = KEYS_SECONDS if Scope.KEYS in scopes else ACCESS_SECONDS
        return IssuedTokens(access_token, refresh_token if can_refresh else None, scopes, seconds)

    def _remove_expired(self) -> None:
        if time.monotonic() - self._removed_at < REMOVAL_SECONDS:
            return
        self._removed_at = time.monotonic()
        task = asyncio.create_task(self.remove_expired())
        self._removals.add(task)
        task.add_done_callback(self._removals.discard)

    async def remove_expired(self) -> None:
        """Remove some requests, tokens, grants and clients that have expired a while ago."""
        with contextlib.suppress(GraphmemError):
            before = times.now() - KEPT_SECONDS * times.SECOND
            await self._writes.rows("oauth.remove_expired", before=before, limit=REMOVED_AT_ONCE)


def granted_scopes(requested: Collection[str], proof: Proof) -> list[str]:
    """Return the scopes that a person may allow a client: those of the proof; ``keys`` if it is no key."""
    allowed = set(proof.account.scopes) & set(proof.account.scopes if proof.key is None else proof.key.scopes)
    if proof.key is None and Scope.WRITE in allowed:
        allowed.add(Scope.KEYS)
    return [scope for scope in Scope if scope in requested and scope in allowed]


def _new_tokens(secret: str, presented: Presented) -> tuple[str, str, dict[str, Any]]:
    """Return new tokens, and the parameters of a query that exchanges a secret for them."""
    access_token, refresh_token = tokens.make(tokens.ACCESS_PREFIX), tokens.make(tokens.REFRESH_PREFIX)
    now = times.now()
    return access_token, refresh_token, {
        "digest": tokens.digest(secret), **presented._asdict(), "now": now,
        "access_digest": tokens.digest(access_token),
        "access_expires_at": now + ACCESS_SECONDS * times.SECOND,
        "refresh_digest": tokens.digest(refresh_token),
        "refresh_expires_at": now + REFRESH_SECONDS * times.SECOND,
    }  # fmt: skip


def _found(grant: Grant | None, grant_id: str) -> Grant:
    if grant is None:
        message = f"there is no connection {grant_id[:100]}: the list of connections has the ids"
        raise NotFound(message, connection_id=grant_id[:100])
    return grant
