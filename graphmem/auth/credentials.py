"""What a process looked up about credentials, remembered for a few seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from cachetools import TTLCache

from graphmem.auth import Actor

REMEMBERED_SECONDS: Final = 4.0
"""Seconds for which a credential, or that none is needed, is not looked up again: changes hold within 5 s."""
CREDENTIALS_LIMIT: Final = 10_000


@dataclass(frozen=True, slots=True)
class Credential:
    """The actor of a credential. It holds until ``expires_at``, below ``resource`` if that is not empty."""

    actor: Actor
    expires_at: int | None = None
    resource: str = ""


class CredentialCache:
    """The credentials that a process looked up in the last seconds, by the digests of their secrets."""

    def __init__(self) -> None:
        self._credentials: TTLCache[str, Credential] = TTLCache(CREDENTIALS_LIMIT, REMEMBERED_SECONDS)
        self.revision = 0
        """Changes whenever a credential ends in this process."""

    def __len__(self) -> int:
        return len(self._credentials)

    def get(self, digest: str) -> Credential | None:
        """Return a credential; None if it must be looked up."""
        return self._credentials.get(digest)

    def put(self, digest: str, credential: Credential, revision: int) -> None:
        """Keep a credential that was looked up at a revision, unless one has ended since then."""
        if revision == self.revision:
            self._credentials[digest] = credential

    def end(self, credential_id: str) -> None:
        """Forget an API key, or all access tokens of a grant, so that the next request looks it up."""
        self.revision += 1
        for digest in list(self._credentials):
            credential = self._credentials.get(digest)
            if credential is not None and credential.actor.credential == credential_id:
                self._credentials.pop(digest, None)
