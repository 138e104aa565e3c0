"""Who calls: the actor that every operation acts for.

A face names its actor; nothing below a face has a default one. :mod:`graphmem.auth.authenticator` finds the
actor of a credential. A network address never gives a right.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache, lru_cache
from typing import Any

from graphmem.errors import InternalError
from graphmem.model import attribution
from graphmem.settings import DEFAULT_OWNER, LOCAL_ACCOUNT, TierName

CLIENT_NAME_LIMIT = 100  # characters of a client's name that are kept
HOOK_HEADER = "X-Graphmem-Hook"  # says that a hook of an agent asks, so that what it tells leaves a receipt
ACCOUNT_HEADER = "X-Graphmem-Account"
"""The account as which a request over the Unix socket acts, percent-encoded. Over TCP it is refused."""
FIRST_CREDENTIAL = (
    "callers over TCP need a credential from now on, in all processes within 5 seconds; commands on this "
    "machine need none"
)
"""What the first key or password of an open instance changes."""
_UNNAMED_CLIENTS = frozenset({"unknown", "rest", "mcp"})
"""The names that faces give to clients that have none."""
LOCAL_NAME = "local"  # the name of the account of this machine's user


class Scope(enum.StrEnum):
    """What an actor may do."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"
    """Operations on the whole instance, of all owners. The local account and the static token have it."""
    COPY = "copy"
    """Exchanging facts with another copy: writing whatever the account may, in the name of anybody."""
    KEYS = "keys"
    """Saying who may call: making keys and grants of agents. Who may write has it, but not by OAuth."""


ALL_SCOPES = frozenset(Scope) - {Scope.KEYS}  # the scopes that accounts and keys have of their own
SUPPORTED_SCOPES = (Scope.READ, Scope.WRITE)
"""The scopes that a client of OAuth gets by default, and those that documents and challenges name.

Some clients ask for all that are named, so ``admin`` is not among them: who allows it gives the instance
away.
"""


class Method(enum.StrEnum):
    NONE = "none"
    """Not at all: the service is on loopback, in development, and nothing guards it."""
    TOKEN = "token"
    """By ``SERVICE_BEARER_TOKEN``."""
    KEY = "key"
    OAUTH = "oauth"
    SOCKET = "socket"
    """By access to the Unix socket of the data directory."""
    SANDBOX = "sandbox"
    """Not at all: the service is a public sandbox, and every caller is its shared account."""
    PROCESS = "process"
    """By access to the database: a command that works in its own process."""


def stored_name(text: str) -> str:
    """Return the name of an account as it is stored, from what a person typed."""
    return text.strip().lower()


@dataclass(frozen=True, slots=True)
class SignedAgent:
    """The agent that signed a request, by the thumbprint of its key (RFC 7638).

    ``tier`` is ``operator_attested`` if an issuer that this service knows vouches for the agent, else
    ``software``. ``issuer`` and ``subject`` are those of a token that such an issuer signed. What a token
    says that the agent signed itself is in ``claimed_issuer`` and ``claimed_subject``, and proves nothing.
    ``token_id`` is the ``jti`` of the token.
    """

    thumbprint: str
    algorithm: str
    tier: TierName
    issuer: str | None = None
    subject: str | None = None
    token_id: str | None = None
    claimed_issuer: str | None = None
    claimed_subject: str | None = None


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts: the owner of the data, the scopes, the account, the agent that writes and its client program.

    ``agent`` is the thumbprint of the key that signed the request; ``signer`` says more of that agent.
    ``client`` is the name that the program gives itself. It is stored with what the program writes and proves
    nothing. ``account`` is the id of the account, ``credential`` that of the key or the grant that was used,
    which is no secret; ``credential_name`` is the name of the key or of the client of OAuth. ``grantable``
    has the scopes that a program of OAuth may get by asking the person again. ``asked_by`` is the
    attribution of the caller for whom the worker acts.
    """

    owner: str
    scopes: frozenset[Scope]
    agent: str = "anonymous"
    client: str = "unknown"
    account: str = ""
    account_name: str = ""
    method: Method = Method.NONE
    credential: str = ""
    credential_name: str = ""
    grantable: frozenset[Scope] = frozenset()
    signer: SignedAgent | None = None
    asked_by: str | None = None

    @property
    def tier(self) -> TierName:
        """How well it is known who writes; a client that names itself is known by that name alone."""
        if self.signer is not None:
            return self.signer.tier
        return "anonymous" if self.client in _UNNAMED_CLIENTS else "unverified_client"

    @property
    def writer_columns(self) -> dict[str, str]:
        """What is kept of who writes; of the account only if that can be deleted with its data."""
        is_local = self.method is Method.NONE or self.account == LOCAL_ACCOUNT
        account = "" if is_local else self.account
        return {"account": account, "agent": self.agent, "client": self.client, "by": self.by}

    @property
    def by(self) -> str:
        """Who writes, as transactions keep it: :class:`graphmem.model.attribution.Attribution`."""
        if self.asked_by is not None:
            return self.asked_by
        return _attributed(
            self.account, self.account_name, self.method, self.credential, self.credential_name, self.signer
        )

    def may(self, scope: Scope) -> bool:
        """Return whether it has a scope; a person allows a program the scope ``keys`` in words alone."""
        implied = scope is Scope.KEYS and self.method is not Method.OAUTH and Scope.WRITE in self.scopes
        return implied or scope in self.scopes

    def signed(self, signer: SignedAgent) -> Actor:
        return replace(self, agent=signer.thumbprint, signer=signer)

    def named(self, client: str) -> Actor:
        name = client[:CLIENT_NAME_LIMIT]
        return replace(self, client=name) if name and name != self.client else self


@lru_cache(1_000)
def _attributed(
    account: str, account_name: str, method: str, credential: str, credential_name: str,
    signer: SignedAgent | None,
) -> str:  # fmt: skip
    members = {
        "account": account, "account_name": account_name, "method": str(method), "credential": credential,
        "credential_name": credential_name,
    }  # fmt: skip
    return attribution.encode(members | ({} if signer is None else asdict(signer)))


_taken_over: list[str] = []
"""The owner that the local account took over when it joined a copy, if it did."""


def take_over(owner: str) -> None:
    """Have this process work on the data of an owner for the local account, which joined a copy."""
    _taken_over[:] = [] if owner == DEFAULT_OWNER else [owner]
    local_actor.cache_clear()


@lru_cache(100)
def local_actor(client: str, method: Method = Method.PROCESS) -> Actor:
    """Return the local account with every scope, for faces that only this machine's user reaches."""
    owner = _taken_over[0] if _taken_over else DEFAULT_OWNER
    return Actor(
        owner=owner, scopes=ALL_SCOPES, client=client, account=LOCAL_ACCOUNT, account_name=LOCAL_NAME,
        method=method,
    )  # fmt: skip


@cache
def public_actor() -> Actor:
    """Return the actor of a public operation: it may read, and it owns nothing."""
    return Actor(owner="", scopes=frozenset({Scope.READ}))


def request_actor(scope: Mapping[str, Any]) -> Actor:
    """Return the actor that the gate put into an ASGI scope; raises InternalError: there is none."""
    actor = scope.get("state", {}).get("actor")
    if not isinstance(actor, Actor):
        raise InternalError("the request has no actor: it did not pass the gate")
    return actor
