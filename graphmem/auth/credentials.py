"""What a process looked up about credentials: whose they are, and whether callers over TCP need one."""

from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple

from cachetools import TTLCache

from graphmem.auth import Actor
from graphmem.auth.accounts import Accounts
from graphmem.database.driver import Database

REMEMBERED_SECONDS: Final = 4.0
"""Seconds for which a credential, or that none is needed, is not looked up again: changes hold within 5 s."""
CHECK_SECONDS: Final = 1.0
"""Seconds between two looks whether the credential and the grant of a read that goes on still hold."""
CREDENTIALS_LIMIT: Final = 10_000


class Credential(NamedTuple):
    """The actor of a credential. It holds until ``expires_at``, below ``resource`` if that is not empty."""

    actor: Actor
    expires_at: int | None = None
    resource: str = ""


class CredentialCache:
    """The credentials that a process looked up in the last seconds, by the digests of their secrets."""

    def __init__(self) -> None:
        self._credentials: TTLCache[str, Credential] = TTLCache(CREDENTIALS_LIMIT, REMEMBERED_SECONDS)
        self._ended = 0
        """How many credentials have ended in this process."""

    async def get(self, digest: str, look_up: Callable[[str], Awaitable[Credential]]) -> Credential:
        """Return a credential. One that is looked up is kept, unless another has ended meanwhile."""
        credential = self._credentials.get(digest)
        if credential is None:
            ended = self._ended
            credential = await look_up(digest)
            if ended == self._ended:
                self._credentials[digest] = credential
        return credential

    def end(self, credential_id: str) -> None:
        """Forget an API key, or all access tokens of a grant, so that the next request looks it up."""
        self._ended += 1
        for digest in list(self._credentials):
            credential = self._credentials.get(digest)
            if credential is not None and credential.actor.credential == credential_id:
                self._credentials.pop(digest, None)


class Guard(Accounts):
    """The accounts, of which it asks the database at most every 4 s whether one has a password or a key."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._guarded: TTLCache[None, bool] = TTLCache(1, REMEMBERED_SECONDS)
        self.was_guarded = False
        """The last answer of the database, however old."""

    async def are_guarded(self) -> bool:
        """Return what the database answered within the last 4 s, else ask it."""
        if None not in self._guarded:
            self.was_guarded = self._guarded[None] = await super().are_guarded()
        return self.was_guarded

    def forget(self) -> None:
        """Ask the database again at the next call: a key or a password was just made."""
        self._guarded.clear()
