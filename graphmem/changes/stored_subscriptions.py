"""Subscriptions: who is told of which changes, and how far. They are data of the instance: no dump has them.

A subscription acts with the account, the credential and the agent that made it. A webhook is in the queue of
the worker while it has a time at which it is due; one that sleeps has none.
"""

import base64
import secrets
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import orjson

from graphmem.auth import Actor, Scope, SignedAgent
from graphmem.changes.change import Place
from graphmem.changes.wanted_changes import WantedChanges
from graphmem.context import Context, Services
from graphmem.errors import NotFound, SubscriptionInactive
from graphmem.model import times

Delivery = Literal["webhook", "sse"]
SubscriptionStatus = Literal["active", "asleep"]


class Subscription(NamedTuple):
    """A row of ``subscription/_row.cypher``. Times are microseconds.

    ``sequence`` and ``part`` are the place after the last change that was delivered, in the order of the
    owner's node that ``node_key`` names; it is empty while the owner has written nothing. ``failures`` counts
    those since the last delivery. ``signer`` is the JSON of the agent that signed the request. ``query`` is
    the JSON of a standing query, and ``clock`` the time up to which it was looked at.
    """

    id: str
    owner: str
    account: str
    credential: str
    signer: str
    wanted: str
    delivery: Delivery
    webhook_url: str | None
    secret: str | None
    node_key: str
    sequence: int
    part: int
    status: SubscriptionStatus
    failures: int
    max_failures: int
    last_error: str | None
    last_delivered_at: int | None
    due_at: int | None
    created_at: int
    clock: int | None
    query: str | None

    @property
    def place(self) -> Place:
        return Place(self.sequence, self.part, self.clock)

    @property
    def actor(self) -> Actor:
        thumbprint, issuer, subject = orjson.loads(self.signer)
        signer = thumbprint and SignedAgent(thumbprint, "", "software", issuer, subject)
        return Actor(
            self.owner, frozenset({Scope.READ}), account=self.account, credential=self.credential,
            signer=signer or None,
        )  # fmt: skip


async def create(
    context: Context, filters: WantedChanges, delivery: Delivery, url: str | None, max_failures: int,
    query: str | None = None,
) -> Subscription:  # fmt: skip
    """Store a subscription to what changes from now on: to changes, or to the answers of a standing query.
    Raises NotFound: the caller has no account."""
    account_id = context.actor.account
    now = times.now()
    properties: dict[str, Any] = {
        **_awake(context.actor),
        "wanted": filters.encode(),
        "delivery": delivery,
        "webhook_url": url,
        "secret": url and f"whsec_{base64.b64encode(secrets.token_bytes(32)).decode()}",
        "max_failures": max_failures,
        "created_at": now,
        **({} if query is None else {"query": query, "clock": now, "wakes_at": now}),
    }
    subscription = await context.services.database.writes(context.actor.owner).one(
        "subscription.create", Subscription, account_id=account_id, id=f"sub_{secrets.token_hex(8)}",
        properties=properties,
    )  # fmt: skip
    if subscription is None:
        raise NotFound("the caller has no account on this instance", account_id=account_id)
    return subscription


async def of_account(context: Context) -> list[Subscription]:
    """Return the subscriptions of the caller's account, newest first."""
    return await context.services.database.reads(None).all(
        "subscription.of_account", Subscription, account_id=context.actor.account
    )


async def active(context: Context, subscription_id: str) -> Subscription:
    """Return an active subscription of the caller's account. Raises NotFound: the account has no such
    subscription. Raises SubscriptionInactive: it sleeps."""
    for subscription in await of_account(context):
        if subscription.id == subscription_id:
            if subscription.status != "active":
                raise SubscriptionInactive(
                    subscription_id=subscription_id, last_error=subscription.last_error
                )
            return subscription
    raise _missing(subscription_id)


async def wanted_by(services: Services, subscription: Subscription) -> WantedChanges:
    """Return the filter of a subscription, with its entity types by their names of now."""
    filters = WantedChanges.decode(subscription.wanted)
    aliases = await services.type_aliases.of(subscription.owner)
    return replace(filters, entity_types=frozenset(aliases.get(each, each) for each in filters.entity_types))


async def wake(context: Context, subscription_id: str) -> None:
    """Have a subscription go on for the caller: after its place, or from now on if that is of other data.
    Raises NotFound: the account has no such subscription."""
    subscription = await context.services.database.writes(context.actor.owner).one(
        "subscription.wake", Subscription, account_id=context.actor.account, id=subscription_id,
        properties=_awake(context.actor),
    )  # fmt: skip
    if subscription is None:
        raise _missing(subscription_id)


async def remove(context: Context, subscription_id: str) -> None:
    """Remove a subscription; raises NotFound: the account has none of this id."""
    removed = await context.services.database.writes(None).one(
        "subscription.remove", bool, account_id=context.actor.account, id=subscription_id
    )
    if removed is None:
        raise _missing(subscription_id)


def _missing(subscription_id: str) -> NotFound:
    message = f"there is no subscription {subscription_id}: GET /subscriptions has the ids"
    return NotFound(message, subscription_id=subscription_id)


def _awake(actor: Actor) -> dict[str, Any]:
    signer = actor.signer
    agent = (signer.thumbprint, signer.issuer, signer.subject) if signer else ("", None, None)
    credential = {"credential": actor.credential, "signer": orjson.dumps(agent).decode()}
    return {**credential, "status": "active", "failures": 0, "last_error": None}
