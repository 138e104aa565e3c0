"""Who wrote a transaction: the account, how it authenticated, its credential, and the agent that signed.

A transaction keeps this as one text of canonical JSON, which never changes: the names in it are those of the
time of the write. It is part of no id while no agent signed.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field

from graphmem.model import canonical, ids

UNATTRIBUTED: Final = "unattributed"  # the writer of what was stored before transactions named theirs
ANONYMOUS: Final = "anonymous"  # the agent of a transaction that no agent signed

AttributedText = Annotated[str, Field(max_length=2_000)]
_ID: Final = re.compile(r"(?:key|con)_[0-9a-f]{16}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Attribution(BaseModel):
    """Who wrote a transaction.

    ``account`` and ``account_name`` are the account that acted, ``method`` is how it authenticated
    (:class:`graphmem.auth.Method`). ``credential`` is the id of its API key or of its OAuth connection,
    ``credential_name`` the name of the key or of the OAuth client. The other fields are those of the agent
    that signed (:class:`graphmem.auth.SignedAgent`).
    """

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    thumbprint: AttributedText | None = None
    algorithm: AttributedText | None = None
    tier: AttributedText | None = None
    issuer: AttributedText | None = None
    subject: AttributedText | None = None
    token_id: AttributedText | None = None
    client: AttributedText | None = None
    client_version: AttributedText | None = None
    account: AttributedText | None = None
    account_name: AttributedText | None = None
    method: AttributedText | None = None
    credential: AttributedText | None = None
    credential_name: AttributedText | None = None
    claimed_issuer: AttributedText | None = None
    claimed_subject: AttributedText | None = None

    @property
    def text(self) -> str:
        return canonical.encode(self.model_dump(exclude_none=True))


def encode(members: dict[str, Any]) -> str:
    return canonical.encode({name: value for name, value in members.items() if value})


@lru_cache(1_000)
def agent_row(owner: str, thumbprint: str, client: str, by: str | None) -> dict[str, Any]:
    """Return the node of who wrote a transaction, one for all of the same writer: ``id`` and ``properties``.

    Without an attribution the id depends on the owner and the thumbprint alone. ``writers`` are the keys by
    which lists and withdrawals find what was written (:func:`writer_key`): the id and the name of the
    account, of the API key, of the client, and of the agent. A name in the form of an id is left out, since
    programs name themselves.
    """
    if by is None:
        properties = {"owner": owner, "thumbprint": thumbprint}
        return {"id": ids.agent_id(owner, thumbprint), "properties": properties}
    author = canonical.decode(by)
    author.pop("token_id", None)
    credential = "key" if author.get("method") == "key" else "client"
    names = {
        ("account", author.get("account_name")), ("client", client),
        (credential, author.get("credential_name")), ("agent", author.get("subject")),
    }  # fmt: skip
    keys = {(kind, name) for kind, name in names if name and not is_writer_id(name)} | {
        ("account", author.get("account")), (credential, author.get("credential")),
        ("agent", author.get("thumbprint")),
    }  # fmt: skip
    properties = {
        "owner": owner, "thumbprint": thumbprint, "client": client, "by": encode(author),
        "writers": sorted(writer_key(kind, name) for kind, name in keys if name),
    }  # fmt: skip
    written_by = canonical.encode([thumbprint, client, author])
    return {"id": ids.agent_id(owner, written_by), "properties": properties}


def writers_of(owner: str, thumbprint: str, client: str, by: str | None) -> list[str]:
    """Return the keys of who wrote a transaction, unless unattributed. See :func:`agent_row`."""
    return agent_row(owner, thumbprint, client, by)["properties"].get("writers", [])


def is_writer_id(name: str) -> bool:
    return _ID.fullmatch(name) is not None


def writer_key(kind: str, name: str) -> str:
    """Return the key of a writer: its kind (account, key, client, agent) and its id or name."""
    return f"{kind}:{name}"


def described(by: str | Mapping[str, Any] | None, client: str | None) -> str:
    """Return who wrote (an attribution, or its JSON) as a person reads it: key `laptop` of ada, by rest."""
    program = f", by {client}" if client else ""
    if by is None:
        return f"{UNATTRIBUTED}{program}"
    author: Mapping[str, Any] = canonical.decode(by) if isinstance(by, str) else by
    account = author.get("account_name", "")
    ways = {"token": "static token", "key": "key `{}`", "oauth": "client `{}`"}
    way = ways.get(author.get("method", ""), "").format(author.get("credential_name"))
    writer = f"{way} of {account}" if way and account else way or account or ANONYMOUS
    if thumbprint := author.get("thumbprint"):
        subject = author.get("subject")
        # What an agent says of itself is no name for it.
        agent = f"{subject}, verified" if subject else f"{thumbprint[:12]}, signed"
        writer = f"agent {agent}, with {writer}"
    return f"{writer}{program}"
