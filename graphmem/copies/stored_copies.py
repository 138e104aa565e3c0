"""The other copies that an account exchanges facts with. They are data of the instance: no dump has them."""

import secrets
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from graphmem.auth import Actor
from graphmem.context import Services
from graphmem.errors import CopyRefused, NotFound
from graphmem.model import times

CopyId = Annotated[str, Field(min_length=1, max_length=100)]
CopyStatus = Literal["active", "asks", "asked", "paused", "refused"]
"""``asks``: the other side asks, and a person here accepts; ``asked``: the other way round."""
Files = Literal["now", "later"]


class Copy(NamedTuple):
    """A row of ``copy/_row.cypher``: another copy. Times are microseconds.

    One without a ``url`` calls this one. ``peer`` is its own id. ``cursor`` is the place in its order up to
    which this copy has its facts, ``pushed`` the place in the order of the owner's node that ``node_key``
    names up to which it has those of this one. ``sent`` and ``taken`` count transactions. ``refused`` are
    kinds of facts that this version could not take, ``unsent`` those that the other one could not. ``joins``:
    nothing was here before the first exchange with it, which has not come to its end yet.
    """

    id: str
    owner: str
    account: str
    url: str | None
    copy_key: str | None
    peer: str
    peer_name: str
    status: CopyStatus
    cursor: str
    pushed: int
    node_key: str
    files: Files
    failures: int
    last_error: str | None
    exchanged_at: int | None
    due_at: int | None
    created_at: int
    sent: int
    taken: int
    refused: list[str]
    unsent: list[str]
    joins: bool


class CopySet(NamedTuple):
    """The row of ``copy.of_account``: the set, the id of this copy in it, and all other copies known here.

    ``source`` is the address that a copy reads from that takes no writes. ``node_key`` and ``sequence`` are
    of the owner's node.
    """

    set_id: str | None
    copy_id: str | None
    source: str | None
    node_key: str | None
    sequence: int
    copies: list[Copy]

    def one(self, name: str) -> Copy:
        """Return a copy by its id here or its own id. Raises NotFound: there is none."""
        for each in self.copies:
            if name in (each.id, each.peer):
                return each
        raise NotFound(f"there is no copy {name}: `graphmem copies list` has the ids", copy_id=name)

    def calling(self, peer: str) -> Copy:
        """Return the copy that calls, which was accepted.

        Raises CopyRefused: it is none, or waits; ``details.copy_status`` is its status here, if it is known.
        """
        copy = self.of_peer(peer)
        if copy is not None and copy.status == "active":
            return copy
        reason = "this copy is not, or no more, known here: run `graphmem copies leave`, then join or add"
        if copy is not None and copy.status == "asks":
            reason = f"a person at the other machine accepts first: `graphmem copies accept {copy.id}`"
        elif copy is not None:
            reason = f"the other machine has the exchange {copy.status}"
        status = None if copy is None else copy.status
        raise CopyRefused(f"the other copy refuses: {reason}", reason=reason, copy_status=status)

    def of_peer(self, peer: str) -> Copy | None:
        """Return the copy with an id of its own, if it is known here."""
        return next((each for each in self.copies if each.peer == peer), None)


def new_id(kind: Literal["set", "copy", "link"]) -> str:
    return f"{kind}_{secrets.token_hex(12)}"


async def of_account(services: Services, actor: Actor) -> CopySet:
    known = await services.database.reads(None).one("copy.of_account", CopySet, account_id=actor.account)
    return known or CopySet(None, None, None, None, 0, [])


async def begin(services: Services, actor: Actor) -> tuple[str, str]:
    """Return the ids of the set and of this copy, which are made if there are none. Raises NotFound."""
    ids = {"set_id": new_id("set"), "copy_id": new_id("copy")}
    writes = services.database.writes(None)
    made = await writes.one("copy.begin", tuple[str, str], account_id=actor.account, **ids)
    return made or _no_account(actor)


async def link(services: Services, actor: Actor, link_id: str, **properties: Any) -> Copy:
    """Keep another copy, or change what is kept of it. Raises NotFound: the caller has no account."""
    kept = await services.database.writes(actor.owner).one(
        "copy.link", Copy, account_id=actor.account, id=link_id, properties=properties
    )
    return kept or _no_account(actor)


async def link_new(
    services: Services, actor: Actor, before: Copy | None, peer: str, peer_name: str, status: CopyStatus,
    **properties: Any,
) -> Copy:  # fmt: skip
    """Keep a copy that was met; ``before`` is what is kept of it. Raises NotFound: as :func:`link` does."""
    shown = {"peer_name": peer_name[:200], "created_at": times.now(), "last_error": None, "failures": 0}
    link_id = new_id("link") if before is None else before.id
    return await link(services, actor, link_id, peer=peer, status=status, **shown, **properties)


def _no_account(actor: Actor) -> Any:
    raise NotFound("the caller has no account on this instance", account_id=actor.account)
