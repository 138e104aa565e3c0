"""Which changes a caller wants, and subscriptions: who is told of them, by a webhook or on a stream."""

from collections.abc import Collection, Mapping
from functools import partial
from typing import Annotated, Any, Final, NotRequired, Self

import orjson
from pydantic import Field, model_validator
from typing_extensions import TypedDict

from graphmem.arguments import Arguments, EntityId, NoBool, Spelled, TypeFilters, invalid, read, with_types
from graphmem.auth.guarded_fetch import FetchRefused, read_url
from graphmem.changes import stored_subscriptions, webhooks
from graphmem.changes.change import KINDS
from graphmem.changes.derived_changes import check_entities
from graphmem.changes.standing_changes import StandingAnswers
from graphmem.changes.stored_subscriptions import Delivery, Subscription, SubscriptionStatus
from graphmem.changes.wanted_changes import WantedChanges
from graphmem.context import Context, Services
from graphmem.errors import Forbidden, InvalidDelivery
from graphmem.model import canonical, times
from graphmem.model.identity import NAME_LIMIT
from graphmem.operations.entity_lists import QueryEntities
from graphmem.reading import answers
from graphmem.reading.pages import ByWriter, Paged, PageEnvelope, page_of
from graphmem.registry import Scope, operation
from graphmem.search import standing_queries
from graphmem.search.standing_queries import KeptQuery

Kind = Annotated[str, Field(pattern=f"^({'|'.join(KINDS)})$")]
FieldName = Annotated[str, Field(min_length=1, max_length=NAME_LIMIT)]


class ChangeFilters(ByWriter, TypeFilters):
    event_type: Annotated[
        Kind | None, Spelled("kind"), Field(description=f"Kind of the changes: {', '.join(KINDS)}.")
    ] = None
    event_types: list[Kind] = Field(default=[], max_length=50)
    entity_id: EntityId | None = None
    entity_ids: list[EntityId] = Field(default=[], max_length=200)
    field: FieldName | None = None
    fields: list[FieldName] = Field(default=[], max_length=50)

    @property
    def wanted_changes(self) -> WantedChanges:
        return WantedChanges(
            kinds=frozenset({*self.event_types, *filter(None, [self.event_type])}),
            entity_types=frozenset(self.types),
            entity_ids=frozenset({*self.entity_ids, *filter(None, [self.entity_id])}),
            fields=frozenset({*self.fields, *filter(None, [self.field])}),
            writers=frozenset(self.writers),
        )


After = Annotated[
    Annotated[str, Field(max_length=100)] | None,
    Field(
        description="`cursor` of a change, or `resume_cursor`: what came after it, the oldest first. An "
        "empty text: from the beginning."
    ),
]
Values = Annotated[bool, Field(description="Also the values of the fields, before and after.")]


class FollowChanges(ChangeFilters):
    after: After = None
    values: Values = False
    subscription_id: Annotated[str, Field(max_length=100)] | None = None

    @model_validator(mode="after")
    def _without_filters(self) -> Self:
        both = sorted(ChangeFilters.model_fields.keys() & self.model_fields_set)
        if self.subscription_id is not None and both:
            raise ValueError(f"with subscription_id, leave out {', '.join(both)}")
        return self


SUBSCRIPTIONS_LIMIT: Final = 100  # subscriptions of one account
SubscriptionId = Annotated[str, Field(min_length=1, max_length=100)]


class Subscribe(ChangeFilters):
    query: dict[str, Any] | None = Field(default=None, max_length=20)

    subscription_id: SubscriptionId | None = None
    delivery_method: Delivery = "webhook"
    webhook_url: Annotated[str | None, Field(min_length=1, max_length=2_000)] = None
    max_failures: Annotated[int, NoBool] = Field(default=10, ge=1, le=100)

    @model_validator(mode="after")
    def _alone(self) -> Self:
        if self.subscription_id is not None and (more := sorted(self.model_fields_set - {"subscription_id"})):
            raise ValueError(f"with subscription_id, leave out {', '.join(more)}")
        beside = ChangeFilters.model_fields.keys() & self.model_fields_set
        if self.query is not None and beside:
            raise ValueError(
                f"with query, leave out {', '.join(sorted(beside))}: the query has its own filters"
            )
        return self


class Subscribed(TypedDict):
    """The subscription. ``webhook_secret`` verifies its requests; no later answer has it.

    ``understood`` says how the search of its query was read.
    """

    subscription_id: str
    understood: NotRequired[str]
    webhook_secret: NotRequired[str]


@operation("subscriptions.add", Scope.WRITE)
async def subscribe(context: Context, arguments: Subscribe) -> Subscribed:
    """Subscribe to what changes from now on: by signed requests to a URL, or on the event stream.

    Filter by kind, type, entity, field and writer, as for the list of changes. Each change is sent at least
    once, in order, by a POST of `{subscription_id, delivery_id, event}` that is signed as Standard Webhooks
    has it. With `query`, each says that an entity begins or ceases to be an answer of that query, which time
    alone may decide: "overdue tasks". It acts with the credential of the caller and sleeps when that ends, or
    after `max_failures` failures; a call with its `subscription_id` wakes it.
    """
    if Scope.READ not in context.actor.scopes:
        raise Forbidden(needs=Scope.READ, operation="subscriptions.add")
    await context.services.agent_grants.check(context.actor, "changes.list", Scope.READ)
    if arguments.subscription_id is not None:
        await stored_subscriptions.wake(context, arguments.subscription_id)
        return {"subscription_id": arguments.subscription_id}
    url = _deliverable(arguments, context.services.settings.webhook_allow)
    kept = None if arguments.query is None else await _kept(context, "", arguments.query)
    await check_entities(context, sorted(arguments.wanted_changes.entity_ids))
    if len(await stored_subscriptions.of_account(context)) >= SUBSCRIPTIONS_LIMIT:
        message = f"an account has {SUBSCRIPTIONS_LIMIT} subscriptions at most: POST /unsubscribe removes one"
        raise InvalidDelivery(message, limit=SUBSCRIPTIONS_LIMIT)
    made = await stored_subscriptions.create(
        context, arguments.wanted_changes, arguments.delivery_method, url, arguments.max_failures,
        None if arguments.query is None else canonical.encode(_with_zone(arguments.query)),
    )  # fmt: skip
    answer: Subscribed = {"subscription_id": made.id}
    if kept is not None and arguments.query and "search" in arguments.query:
        answer["understood"] = kept.sentence
    if made.secret is not None:
        answer["webhook_secret"] = made.secret
    return answer


def _deliverable(arguments: Subscribe, allowed: Collection[str]) -> str | None:
    """Return the URL to deliver to."""
    url = arguments.webhook_url
    if (url is None) == (arguments.delivery_method == "webhook"):
        raise InvalidDelivery("give webhook_url with delivery_method webhook, and leave it out with sse")
    if url is not None:
        try:
            read_url(url, allowed)
        except FetchRefused as refused:
            raise InvalidDelivery(f"webhook_url: {refused}") from refused
    return url


KEPT: Final = frozenset({"filters", "search"})  # arguments of a query that a subscription keeps
KEPT_FILTERS: Final = frozenset({"entity_type", "entity_types", "snapshot_filters"})


def _with_zone(query: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a query with the time zone of the request, which says what a day is in its search."""
    zone = times.ZONE.get() if "search" in query else None
    return {**query, "time_zone": zone.key} if zone else query


async def _kept(context: Context, subscription_id: str, raw: Mapping[str, Any]) -> KeptQuery:
    """Return a standing query. Raises InvalidInput: it is invalid, or has arguments that no standing query
    has."""
    query = read(QueryEntities, "entities.query", raw)
    query = with_types(query, await context.services.type_aliases.of(context.actor.owner))
    refused = [f"$.{name}" for name in query.sent() if name not in KEPT]
    refused += [f"$.filters.{name}" for name in query.filters.sent() if name not in KEPT_FILTERS]
    if refused:
        why = "not in a standing query: it has types, snapshot_filters and a search"
        raise invalid([{"path": path, "message": why} for path in refused])
    types, filters = query.filters.types, query.filters.field_filters
    return await standing_queries.kept_query(context, subscription_id, types, filters, query.search)


async def standing_of(context: Context, subscription: Subscription) -> StandingAnswers | None:
    """Return what tells how the answers of a subscription's query change, ``None`` if it has no query. Raises
    InvalidInput: the query is not valid any more."""
    if subscription.query is None:
        return None
    query = canonical.decode(subscription.query)
    zone = times.zone_of(query.pop("time_zone", context.services.settings.time_zone))
    read_again = partial(_kept, context, subscription.id, query)
    with times.days_of(zone):
        return StandingAnswers(context, await read_again(), read_again, zone)


async def changes_for(context: Context, subscription_id: str) -> tuple[WantedChanges, StandingAnswers | None]:
    """Return what an active subscription is told: some changes, or how the answers of its query change.
    Raises NotFound, SubscriptionInactive: the account has no such subscription, or it sleeps."""
    subscription = await stored_subscriptions.active(context, subscription_id)
    filters = await stored_subscriptions.wanted_by(context.services, subscription)
    return filters, await standing_of(context, subscription)


async def deliver(services: Services) -> int:
    """Deliver to the subscriptions that wait, of all owners, until none waits; return how many changes."""
    return await webhooks.deliver_waiting(services, standing_of)


class NameSubscription(Arguments):
    subscription_id: SubscriptionId


class Unsubscribed(TypedDict):
    """The subscription that was removed."""

    subscription_id: str


@operation("subscriptions.remove", Scope.WRITE)
async def unsubscribe(context: Context, arguments: NameSubscription) -> Unsubscribed:
    """Remove a subscription. What is being sent at this moment still arrives."""
    await stored_subscriptions.remove(context, arguments.subscription_id)
    return {"subscription_id": arguments.subscription_id}


class SubscriptionAnswer(TypedDict):
    """A subscription.

    ``failures`` counts those since the last delivery; ``next_try_at`` is when it is tried again. One that is
    asleep gets nothing until it is woken; ``last_error`` says why.
    """

    subscription_id: str
    delivery_method: Delivery
    webhook_url: NotRequired[str]
    filter: dict[str, list[str]]
    query: NotRequired[dict[str, Any]]
    status: SubscriptionStatus
    failures: int
    max_failures: int
    last_error: str | None
    last_delivered_at: str | None
    next_try_at: str | None
    created_at: str


class SubscriptionPage(PageEnvelope):
    """A page of the subscriptions of an account, newest first."""

    subscriptions: list[SubscriptionAnswer]


@operation("subscriptions.list", Scope.READ)
async def list_subscriptions(context: Context, arguments: Paged) -> SubscriptionPage:
    """List the subscriptions of the caller's account: whether each is active, and what failed last."""
    subscriptions = await stored_subscriptions.of_account(context)
    page, envelope = page_of(context, "subscriptions.list", arguments, subscriptions, lambda each: each.id)
    return {"subscriptions": [_shown(each) for each in page], **envelope}


def _shown(subscription: Subscription) -> SubscriptionAnswer:
    answer: SubscriptionAnswer = {
        **answers.of_row(SubscriptionAnswer, subscription),
        "subscription_id": subscription.id,
        "delivery_method": subscription.delivery,
        "filter": orjson.loads(subscription.wanted),
        "next_try_at": answers.when(subscription.due_at) if subscription.failures else None,
        "query": canonical.decode(subscription.query or "null"),
    }
    return answers.without_empty(answer, "query", "webhook_url")
