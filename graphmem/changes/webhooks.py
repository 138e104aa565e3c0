"""Webhooks: what changed is sent to a URL, in the owner's order, at least once, one request for each change.

A process has a subscription for a lease, which each delivery renews. What was delivered is noted after each
delivery, so that after a kill one change at most is sent a second time, under the same ``webhook-id``. What
fails is tried again later, as the database says: nothing waits in memory. Requests are signed as Standard
Webhooks has it, and go through the guarded fetch.
"""

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, Final

import orjson
import structlog
from standardwebhooks import Webhook

from graphmem.auth import Scope
from graphmem.auth.guarded_fetch import Fetcher, FetchRefused
from graphmem.changes import stored_subscriptions, wanted_changes
from graphmem.changes.change import END, Change, Place, place_after
from graphmem.changes.change_feed import ChangeFeed
from graphmem.changes.standing_changes import LOOK_MICROSECONDS, StandingAnswers
from graphmem.changes.stored_subscriptions import Subscription
from graphmem.context import Context, Services
from graphmem.errors import CapabilityDenied, GraphmemError, InvalidInput
from graphmem.model import canonical, times

CONCURRENT_DELIVERIES_LIMIT: Final = 16
"""Subscriptions to which a process delivers at once, so that one that hangs holds up no other."""
DELIVERY_SECONDS: Final = 10.0  # time for one request with its answer
LEASE_SECONDS: Final = 30.0
BATCH_SECONDS: Final = 5.0
"""How long a process delivers to one subscription, before it asks again whether that may read."""
LOOK_SECONDS: Final = 1.0
"""Pause between two looks for subscriptions that wait, while others are delivered to."""
LONGEST_SECONDS: Final = 300
"""What is due later than in so many seconds was noted before the clock was set back."""
BACKOFF_SECONDS: Final = (1, 5, 30, LONGEST_SECONDS)
"""Seconds before what failed is tried again; the last ones again and again."""
FETCHER: Final = Fetcher(seconds=DELIVERY_SECONDS)

StandingOf = Callable[[Context, Subscription], Awaitable[StandingAnswers | None]]

_log = structlog.get_logger("graphmem.webhooks")


async def deliver_waiting(services: Services, standing_of: StandingOf) -> int:
    """Deliver to the subscriptions that wait, of all owners, until none waits; return how many changes.
    ``standing_of`` reads the standing query of a subscription, if it has one."""
    running: set[asyncio.Task[int]] = set()
    delivered = 0
    try:
        while True:
            if free := CONCURRENT_DELIVERIES_LIMIT - len(running):
                ids = await services.database.reads(None).only(
                    "subscription.waiting", list[str], now=_in(0), latest=_in(LONGEST_SECONDS), limit=free
                )
                running |= {asyncio.create_task(_deliver(services, each, standing_of)) for each in ids}
            if not running:
                return delivered
            ended, running = await asyncio.wait(
                running, timeout=LOOK_SECONDS, return_when=asyncio.FIRST_COMPLETED
            )
            delivered += sum(task.result() for task in ended)
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def _deliver(services: Services, subscription_id: str, standing_of: StandingOf) -> int:
    """Deliver to a subscription, unless another process has it; return how many changes."""
    delivery = None
    try:
        token = uuid.uuid4().hex
        claimed = await services.database.writes(None).one(
            "subscription.claim", tuple[Subscription, bool], id=subscription_id, now=_in(0),
            latest=_in(LONGEST_SECONDS), until=_in(LEASE_SECONDS), token=token,
        )  # fmt: skip
        if claimed is None:
            return 0
        subscription, may_read = claimed
        delivery = _Delivery(services, subscription, token)
        if may_read:
            await delivery.run(standing_of)
        else:
            await delivery.sleep("the account or the credential that made it has ended, or may not read")
    except GraphmemError as exc:
        _log.warning("a webhook goes on later", subscription=subscription_id, reason=exc.code)
    except Exception:
        _log.exception("unexpected fault of a webhook: it goes on later", subscription=subscription_id)
    return 0 if delivery is None else delivery.count


class _Delivery:
    """Delivers what follows the place of one subscription, which this process has claimed by a token."""

    def __init__(self, services: Services, subscription: Subscription, token: str) -> None:
        self._services = services
        self._context = Context(subscription.actor, services)
        self._subscription = subscription
        self._token = token
        self._failures = subscription.failures
        self.count = 0

    async def run(self, standing_of: StandingOf) -> None:
        """Deliver for some seconds, or until a delivery fails."""
        subscription, services, actor = self._subscription, self._services, self._context.actor
        try:
            await services.agent_grants.check(actor, "changes.list", Scope.READ)
        except CapabilityDenied:
            await self.sleep("the grants of the agent that made it do not cover reading changes")
            return
        head = await services.of(ChangeFeed).head(actor.owner)
        if not head.node_key:
            # A withdrawal is being folded in.
            await self._note(due_at=_in(LOOK_SECONDS))
            return
        if subscription.node_key not in ("", head.node_key):
            await self.sleep("the database was recovered, or its data is other data: what changed is unknown")
            return
        filters = await stored_subscriptions.wanted_by(services, subscription)
        try:
            standing = await standing_of(self._context, subscription)
        except InvalidInput as refused:
            await self.sleep(f"its query is not valid any more: {refused}")
            return
        place, end = subscription.place, time.monotonic() + BATCH_SECONDS
        is_due = standing is not None
        while (is_due or place.sequence < head.sequence or place.part != END) and time.monotonic() < end:
            is_due = False
            if standing is None:
                parts, following = await services.of(ChangeFeed).after(self._context, place, head.sequence)
            else:
                parts, following = await standing.after(place, head)
            every = (change for part in parts for change in part.changes)
            for change in filters.among(actor.owner, every):
                if not await self._post(change, head.node_key):
                    return
                place = place_after(change)
                if time.monotonic() > end:
                    break
            else:
                place = following
        wakes_at = (
            _in(LOOK_MICROSECONDS / times.SECOND)
            if standing is not None and standing.query.is_timed
            else None
        )
        await self._note(**_at(place, head.node_key), due_at=0, wakes_at=wakes_at)

    async def sleep(self, reason: str) -> None:
        # The reason names the host, or what is asked for: the list of subscriptions has it.
        _log.warning("a webhook sleeps: its last_error says why", subscription=self._subscription.id)
        await self._note(status="asleep", due_at=None, last_error=reason, failures=self._failures)

    async def _post(self, change: Change, node_key: str) -> bool:
        """Deliver a change and note it; return whether the next one may follow."""
        subscription = self._subscription
        event = wanted_changes.answer(subscription.owner, node_key, change)
        delivery_id = f"dlv_{canonical.digest([subscription.id, change.id])[:24]}"
        message = {"subscription_id": subscription.id, "delivery_id": delivery_id, "event": event}
        body, now = orjson.dumps(message), datetime.now(UTC)
        headers = {
            "webhook-id": change.id,
            "webhook-timestamp": str(int(now.timestamp())),
            "webhook-signature": Webhook(subscription.secret or "").sign(change.id, now, body.decode()),
        }
        try:
            allowed = self._services.settings.webhook_allow
            await FETCHER.post(subscription.webhook_url or "", body, headers, allowed)
        except FetchRefused as refused:
            self._failures += 1
            if self._failures >= subscription.max_failures:
                await self.sleep(str(refused))
            else:
                wait = BACKOFF_SECONDS[min(self._failures, len(BACKOFF_SECONDS)) - 1]
                await self._note(failures=self._failures, last_error=str(refused), due_at=_in(wait))
            return False
        self.count += 1
        self._failures = 0
        place = _at(place_after(change), node_key)
        return await self._note(
            **place, failures=0, last_error=None, last_delivered_at=times.now(), due_at=_in(LEASE_SECONDS)
        )

    async def _note(self, **properties: Any) -> bool:
        """Note properties; return whether this process has the subscription still."""
        noted = await self._services.database.writes(self._subscription.owner).only(
            "subscription.note", int, id=self._subscription.id, token=self._token, properties=properties
        )
        return noted > 0


def _at(place: Place, node_key: str) -> dict[str, Any]:
    return {**place._asdict(), "node_key": node_key}


def _in(seconds: float) -> int:
    return times.now() + int(seconds * times.SECOND)
