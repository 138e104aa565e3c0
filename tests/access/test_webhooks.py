"""Webhooks: each change arrives in order, signed, at least once, whatever receiver and processes do."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from graphmem.auth import Actor, Method, Scope, SignedAgent
from graphmem.auth.accounts import actor_of
from graphmem.auth.agent_grants import Capability
from graphmem.changes import stored_subscriptions, webhooks
from graphmem.changes.change import Place
from graphmem.changes.change_feed import ChangeFeed
from graphmem.changes.wanted_changes import WantedChanges
from graphmem.context import Context
from graphmem.errors import (
    CapabilityDenied,
    Forbidden,
    GraphmemError,
    InvalidDelivery,
    InvalidInput,
    NotFound,
    SubscriptionInactive,
)
from graphmem.model import canonical, times
from graphmem.operations import subscriptions
from graphmem.registry import REGISTRY
from graphmem.runtime import open_services
from tests.access.conftest import Command, Instance
from tests.support.event_loop import Loop
from tests.support.faces import Call
from tests.support.proxied_services import behind_proxy
from tests.support.tls_server import Authority
from tests.support.webhook_receiver import URL, Receiver

SECONDS = 20.0


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def receiver(loop: Loop, authority: Authority, monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    """A receiver to which all webhooks go, and which is tried again at once."""
    receiver = Receiver()
    server = loop.run(receiver.start(authority))
    monkeypatch.setattr(webhooks, "FETCHER", receiver.fetcher(authority))
    monkeypatch.setattr(webhooks, "BACKOFF_SECONDS", (0.01,))
    yield receiver
    receiver.released.set()
    server.close()


def calling(instance: Instance, actor: Actor) -> Call:
    """Return the operations as an actor runs them."""

    def call(name: str, /, **arguments: Any) -> dict[str, Any]:
        return canonical.decode(instance.loop.run(REGISTRY[name].run(instance.services, actor, arguments)))

    return call


@pytest.fixture
def ada(instance: Instance) -> Actor:
    return actor_of(instance.account("ada"), "rest", Method.KEY)


@pytest.fixture
def call(instance: Instance, ada: Actor) -> Call:
    return calling(instance, ada)


def store(call: Call, *names: str) -> None:
    for name in names:
        call("store", entities=[{"entity_type": "task", "title": name}])


def changed(call: Call) -> list[str]:
    """Return the ids of all changes in order."""
    return [each["event_id"] for each in call("changes.list", after="", limit=500)["changes"]]


def deliver(instance: Instance, is_done: Callable[[], bool]) -> None:
    """Do passes of the worker until something holds."""
    end = time.monotonic() + SECONDS
    while not is_done():
        assert time.monotonic() < end
        instance.loop.run(subscriptions.deliver(instance.services))


async def until(is_so: Callable[[], bool]) -> None:
    """Wait until something holds, while something else runs."""
    end = time.monotonic() + SECONDS
    while not is_so():
        assert time.monotonic() < end
        await asyncio.sleep(0.01)


def only(call: Call) -> dict[str, Any]:
    (subscription,) = call("subscriptions.list")["subscriptions"]
    return subscription


def test_each_change_arrives_in_order_and_signed_though_the_receiver_fails_and_hangs(
    instance: Instance, call: Call, receiver: Receiver, ada: Actor
) -> None:
    store(call, "before")
    before = changed(call)
    made = call("subscriptions.add", webhook_url=URL)
    receiver.outcomes.extend([204, 500, 0, 302, 204, 503])
    names = [f"task {number}" for number in range(5)]
    store(call, *names)
    wanted = changed(call)[len(before) :]
    assert len(wanted) == 5
    deliver(instance, lambda: len(receiver.accepted) == 5)
    assert [each.event_id for each in receiver.accepted] == wanted
    # What failed came again under its id, before anything else.
    assert [wanted.index(each.event_id) for each in receiver.got] == [0, 1, 1, 1, 1, 2, 2, 3, 4]
    for each in receiver.got:
        assert each.is_signed_with(made["webhook_secret"])
        assert each.message["subscription_id"] == made["subscription_id"]
    assert len({each.message["delivery_id"] for each in receiver.got}) == 5
    event = receiver.accepted[0].message["event"]
    assert (event["event_type"], event["name"], event["user_id"]) == ("entity.created", "task 0", ada.owner)
    shown = only(call)
    assert (shown["status"], shown["failures"], shown["last_error"]) == ("active", 0, None)
    assert shown["last_delivered_at"]
    assert made["webhook_secret"] not in str(shown)
    instance.loop.run(subscriptions.deliver(instance.services))
    assert len(receiver.got) == 9


def test_a_webhook_that_failed_before_the_clock_went_back_goes_on(
    instance: Instance, call: Call, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    call("subscriptions.add", webhook_url=URL)
    store(call, "one")
    receiver.outcomes.append(500)
    real = times.now
    with monkeypatch.context() as patch:
        patch.setattr(times, "now", lambda: real() + 48 * HOUR)
        patch.setattr(webhooks, "BACKOFF_SECONDS", (60,))
        deliver(instance, lambda: len(receiver.got) == 1)
    deliver(instance, lambda: len(receiver.accepted) == 1)


def test_only_what_a_filter_names_is_sent_by_the_names_of_now(
    instance: Instance, call: Call, receiver: Receiver
) -> None:
    call("subscriptions.add", webhook_url=URL, entity_type="chore", event_types=["entity.created"])
    store(call, "a")
    call("store", entities=[{"entity_type": "chore", "title": "b"}, {"entity_type": "person", "name": "c"}])
    instance.loop.run(subscriptions.deliver(instance.services))
    assert [each.message["event"]["name"] for each in receiver.accepted] == ["b"]
    assert only(call)["filter"] == {"event_types": ["entity.created"], "entity_types": ["chore"]}


def test_a_receiver_that_hangs_holds_up_no_other(instance: Instance, call: Call, receiver: Receiver) -> None:
    receiver.hanging.add("/hangs")
    call("subscriptions.add", webhook_url=URL.replace("graphmem", "hangs"))
    call("subscriptions.add", webhook_url=URL)

    async def both() -> None:
        working = asyncio.create_task(subscriptions.deliver(instance.services))
        await until(lambda: {each.path for each in receiver.got} == {"/hangs", "/graphmem"})
        await until(lambda: len(receiver.accepted) == 2)
        assert not working.done()
        working.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await working

    store(call, "a", "b")
    instance.loop.run(both())
    assert [each.path for each in receiver.accepted] == ["/graphmem", "/graphmem"]


def test_two_processes_share_the_work_and_one_goes_on_where_the_other_was_killed(
    instance: Instance, call: Call, receiver: Receiver
) -> None:
    made = [call("subscriptions.add", webhook_url=f"{URL}/{number}") for number in range(6)]
    store(call, "a", "b", "c")
    wanted = changed(call)
    loop = instance.loop

    async def together() -> list[int]:
        async with open_services(instance.services.settings) as other:
            services = (instance.services, other)
            return await asyncio.gather(*(subscriptions.deliver(each) for each in services))

    assert sum(loop.run(together())) == len(wanted) * 6
    for each in made:
        told = [got for got in receiver.got if got.message["subscription_id"] == each["subscription_id"]]
        assert [got.event_id for got in told] == wanted
    receiver.got.clear()
    for each in made[1:]:
        call("subscriptions.remove", subscription_id=each["subscription_id"])
    store(call, "d", "e", "f")
    receiver.outcomes.extend([204, 0])

    async def killed() -> None:
        async with open_services(instance.services.settings) as other:
            working = asyncio.create_task(subscriptions.deliver(other))
            await until(lambda: len(receiver.got) == 2)
            working.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await working

    loop.run(killed())
    assert loop.run(subscriptions.deliver(instance.services)) == 0
    instance.rows("MATCH (n:Subscription) SET n.due_at = n.due_at - $lease", lease=30_000_000)
    deliver(instance, lambda: len(receiver.got) == 4)
    # The second was under way when the process ended: it comes again, and the first does not.
    rest = changed(call)[len(wanted) :]
    assert [rest.index(each.event_id) for each in receiver.got] == [0, 1, 1, 2]


def test_changes_arrive_in_order_though_the_database_goes_away_while_they_are_delivered(
    instance: Instance, call: Call, receiver: Receiver, owner: str
) -> None:
    call("subscriptions.add", webhook_url=URL)
    names = [f"task {number}" for number in range(6)]
    store(call, *names)
    wanted = changed(call)
    patient = instance.services.settings.model_copy(update={"retry_seconds": 0.1, "connection_timeout": 1.0})
    with behind_proxy(instance.loop, patient, owner) as faulty:

        async def cut_off() -> None:
            # The third waits for its answer until the database is away.
            receiver.outcomes.extend([204, 204, 0])
            working = asyncio.create_task(subscriptions.deliver(faulty.services))
            await until(lambda: len(receiver.got) == 3)
            faulty.proxy.refuse()
            receiver.released.set()
            with contextlib.suppress(GraphmemError):
                await working

        instance.loop.run(cut_off())
        assert len(receiver.got) < len(wanted)
    # The lease of who lost the database ends.
    instance.rows("MATCH (n:Subscription) SET n.due_at = n.due_at - $lease", lease=30_000_000)
    deliver(instance, lambda: receiver.got[-1].event_id == wanted[-1])
    places = [wanted.index(each.event_id) for each in receiver.got]
    assert (sorted(places), list(dict.fromkeys(places))) == (places, list(range(len(wanted))))
    # What arrived and could not be noted comes again, and nothing before it.
    assert len(places) <= len(wanted) + 1


def test_a_private_address_is_refused_and_the_subscription_sleeps_until_it_is_woken(
    instance: Instance, call: Call, receiver: Receiver, authority: Authority, ada: Actor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    for url in (
        "http://hooks.example.org/",
        "https://127.0.0.1/",
        "https://localhost/",
        "https://hooks.example.org:8443/",
        "x",
    ):
        with pytest.raises(InvalidDelivery):
            call("subscriptions.add", webhook_url=url)
    for wrong in ({}, {"delivery_method": "sse", "webhook_url": URL}):
        with pytest.raises(InvalidDelivery, match="webhook_url"):
            call("subscriptions.add", **wrong)
    made = call("subscriptions.add", webhook_url=URL, max_failures=2)["subscription_id"]
    for address in ("10.0.0.1", "127.0.0.1", "169.254.169.254"):
        monkeypatch.setattr(webhooks, "FETCHER", receiver.fetcher(authority, "93.184.216.34", address))
        store(call, address)
        deliver(instance, lambda: only(call)["status"] == "asleep")
        shown = only(call)
        assert (shown["failures"], shown["next_try_at"]) == (2, None)
        assert shown["last_error"] == "hooks.example.org does not resolve to public addresses only"
        context = Context(ada, instance.services)
        with pytest.raises(SubscriptionInactive):
            instance.loop.run(stored_subscriptions.active(context, made))
        call("subscriptions.add", subscription_id=made)
    assert receiver.addresses == []
    monkeypatch.setattr(webhooks, "FETCHER", receiver.fetcher(authority))
    deliver(instance, lambda: len(receiver.accepted) == 3)
    assert [each.event_id for each in receiver.accepted] == changed(call)
    assert only(call)["status"] == "active"


def test_an_origin_that_is_allowed_is_reached_at_any_address(
    instance: Instance, ada: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    receiver = Receiver()
    server = instance.loop.run(asyncio.start_server(receiver.serve, "127.0.0.1", 0))
    origin = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    settings = instance.services.settings.model_copy(update={"webhook_allow": (origin,)})
    allowing = replace(instance, services=replace(instance.services, settings=settings))
    call = calling(allowing, ada)
    for url in (
        origin.replace("http:", "https:"),
        "http://127.0.0.1/",
        origin.replace("127.0.0.1", "localhost"),
    ):
        with pytest.raises(InvalidDelivery):
            call("subscriptions.add", webhook_url=f"{url}/hook")
    call("subscriptions.add", webhook_url=f"{origin}/hook?a=1")
    store(call, "Ada")
    deliver(allowing, lambda: len(receiver.accepted) == 1)
    # Without the setting it is refused as before.
    store(call, "Bob")
    deliver(instance, lambda: only(call)["failures"] == 1)
    server.close()


def test_a_subscription_ends_with_what_made_it(
    instance: Instance, call: Call, receiver: Receiver, ada: Actor
) -> None:
    loop, accounts = instance.loop, instance.accounts
    account = loop.run(accounts.by_name("ada"))
    _, key = loop.run(accounts.create_key(account.id, account.owner, "k", ["read", "write"], None))
    signer = SignedAgent("thumbprint", "Ed25519", "software")
    with_key = calling(instance, actor_of(account, "rest", Method.KEY, credential=key.key_id))
    signed = calling(instance, ada.signed(signer))
    agents = instance.services.agent_grants
    of_agent = "thumbprint", None, None
    grant = loop.run(agents.create(ada, "a", of_agent, [Capability("write", [])]))
    with pytest.raises(CapabilityDenied):
        signed("subscriptions.add", webhook_url=URL)
    grant = loop.run(agents.create(ada, "a", of_agent, [Capability("*", [])]))
    no_read = actor_of(account, "rest", Method.KEY, [Scope.WRITE])
    with pytest.raises(Forbidden):
        calling(instance, no_read)("subscriptions.add", webhook_url=URL)
    by_key, by_agent = (each("subscriptions.add", webhook_url=URL) for each in (with_key, signed))
    store(call, "a")
    deliver(instance, lambda: len(receiver.accepted) == 2)
    loop.run(accounts.revoke_key(account.id, key.key_id))
    loop.run(agents.change(account.id, grant.grant_id, "revoked"))
    store(call, "b")
    instance.loop.run(subscriptions.deliver(instance.services))
    assert len(receiver.got) == 2
    shown = {each["subscription_id"]: each for each in call("subscriptions.list")["subscriptions"]}
    assert {each["status"] for each in shown.values()} == {"asleep"}
    assert "credential" in shown[by_key["subscription_id"]]["last_error"]
    assert "grants" in shown[by_agent["subscription_id"]]["last_error"]
    # Who may read still wakes it, and it acts for that caller from then on.
    call("subscriptions.add", subscription_id=by_key["subscription_id"])
    instance.loop.run(subscriptions.deliver(instance.services))
    assert [each.message["event"]["name"] for each in receiver.got[2:]] == ["b"]
    loop.run(accounts.delete("ada"))
    assert instance.rows("MATCH (n:Subscription) RETURN n.id AS id") == []


def test_a_subscription_sleeps_when_its_data_is_that_of_another_database(
    instance: Instance, call: Call, receiver: Receiver, ada: Actor
) -> None:
    store(call, "a")
    made = call("subscriptions.add", webhook_url=URL)["subscription_id"]
    instance.rows("MATCH (n:Owner {id: $id}) SET n.node_key = 'another'", id=ada.owner)
    instance.loop.run(subscriptions.deliver(instance.services))
    assert (only(call)["status"], "recovered" in only(call)["last_error"]) == ("asleep", True)
    call("subscriptions.add", subscription_id=made)
    store(call, "b")
    instance.loop.run(subscriptions.deliver(instance.services))
    assert [each.message["event"]["name"] for each in receiver.got] == ["b"]


def test_a_subscription_of_another_account_is_not_there(
    instance: Instance, call: Call, receiver: Receiver, ada: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = call("subscriptions.add", webhook_url=URL)["subscription_id"]
    sse = call("subscriptions.add", delivery_method="sse", fields=["title"])
    assert set(sse) == {"subscription_id"}
    services = instance.services
    of_ada = instance.loop.run(stored_subscriptions.active(Context(ada, services), sse["subscription_id"]))
    assert WantedChanges.decode(of_ada.wanted).fields == {"title"}
    bob = actor_of(instance.account("bob"), "rest", Method.KEY)
    other = calling(instance, bob)
    assert other("subscriptions.list")["subscriptions"] == []
    for name in ("subscriptions.add", "subscriptions.remove"):
        with pytest.raises(NotFound):
            other(name, subscription_id=made)
    with pytest.raises(NotFound):
        instance.loop.run(stored_subscriptions.active(Context(bob, services), made))
    store(other, "of bob")
    instance.loop.run(subscriptions.deliver(services))
    assert receiver.got == []
    monkeypatch.setattr("graphmem.operations.subscriptions.SUBSCRIPTIONS_LIMIT", 2)
    with pytest.raises(InvalidDelivery, match="2 subscriptions at most"):
        call("subscriptions.add", webhook_url=URL)
    call("subscriptions.remove", subscription_id=made)
    assert only(call)["delivery_method"] == "sse"


HOUR = 3600 * 1_000_000


def answers(receiver: Receiver) -> list[tuple[str, str]]:
    """Return what was told of the answers of a standing query: what happened to which name."""
    events = [each.message["event"] for each in receiver.accepted]
    return [(each["event_type"].removeprefix("answer."), each["name"]) for each in events]


def test_a_standing_query_tells_what_begins_and_ceases_by_writing_and_by_time_alone(
    instance: Instance, call: Call, receiver: Receiver, forward: Callable[[int], None]
) -> None:
    loop, services = instance.loop, instance.services

    def due_in(title: str, hours: int) -> str:
        due = times.render(times.now() + hours * HOUR)
        task = {"entity_type": "task", "title": title, "due_date": due, "status": "open"}
        return call("store", entities=[task])["entities"][0]["entity_id"]

    due_in("before", -1)
    made = call("subscriptions.add", webhook_url=URL, query={"search": "overdue tasks"})
    assert made["understood"].startswith("every task that is marked as late")
    assert only(call)["query"] == {"search": "overdue tasks"}
    first, second, third = due_in("first", 1), due_in("second", 2), due_in("third", 3)
    due_in("late", -5)
    deliver(instance, lambda: answers(receiver) == [("began", "late")])
    assert receiver.accepted[0].message["event"]["transaction_id"]
    receiver.got.clear()
    receiver.accepted.clear()
    forward(2 * HOUR + HOUR // 2)
    # No answer: the second is under way when the process ends, and comes again under its id.
    receiver.outcomes.extend([204, 0])

    async def killed() -> None:
        working = asyncio.create_task(subscriptions.deliver(services))
        await until(lambda: len(receiver.got) == 2)
        working.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await working

    loop.run(killed())
    call("entities.correct", entity_id=first, field="status", value="done")
    instance.rows("MATCH (n:Subscription) SET n.due_at = n.due_at - $lease", lease=30_000_000)
    deliver(instance, lambda: len(receiver.accepted) == 3)
    assert answers(receiver) == [("began", "first"), ("began", "second"), ("ended", "first")]
    assert receiver.got[1].event_id == receiver.got[2].event_id
    by_time, by_writing = (receiver.accepted[place].message["event"] for place in (1, 2))
    assert "transaction_id" not in by_time
    assert by_writing["operation"] == "entities.correct"
    assert by_time["timestamp"] < by_writing["timestamp"]
    call("entities.delete", entity_id=second)
    forward(HOUR)
    deliver(instance, lambda: len(receiver.accepted) == 5)
    assert answers(receiver)[3:] == [("ended", "second"), ("began", "third")]
    call("entities.merge", source_entity_id=third, target_entity_id=first)
    deliver(instance, lambda: len(receiver.accepted) == 6)
    assert answers(receiver)[5:] == [("ended", "third")]


def test_the_type_of_a_standing_query_may_come_later_and_have_another_name(
    instance: Instance, call: Call, receiver: Receiver
) -> None:
    call("subscriptions.add", webhook_url=URL, query={"entity_type": "chore"})
    store(call, "a")
    instance.loop.run(subscriptions.deliver(instance.services))
    assert receiver.got == []
    schema = {"entity_type": "task", "aliases": ["chore"], "fields": {"title": {"type": "string"}}}
    call("schemas.register", schema=schema)
    store(call, "b")
    deliver(instance, lambda: len(receiver.accepted) == 1)
    assert answers(receiver) == [("began", "b")]


def test_a_bad_standing_query_is_refused_as_the_query_is(call: Call) -> None:
    for query in (
        {"filters": {"snapshot_filters": {"a": {"op": "near", "value": 1}}}},
        {"filters": {"tipe": "task"}},
        {"sort_by": "size"},
    ):
        with pytest.raises(InvalidInput) as refused:
            call("entities.query", **query)
        with pytest.raises(type(refused.value), match=re.escape(str(refused.value))):
            call("subscriptions.add", delivery_method="sse", query=query)
    for query, path in (
        ({"limit": 5}, "$.limit"),
        ({"sort_by": "created_at"}, "$.sort_by"),
        ({"at": "2026-01-01"}, "$.at"),
        ({"filters": {"related_to": "ent_" + "0" * 24}}, "$.filters.related_to"),
        ({"search": "Tom's tasks"}, "$.search"),
        ({"search": "my overdue tasks"}, "$.search"),
    ):
        with pytest.raises(InvalidInput, match=re.escape(path)):
            call("subscriptions.add", delivery_method="sse", query=query)
    with pytest.raises(InvalidInput, match="leave out fields"):
        call("subscriptions.add", delivery_method="sse", query={"search": "x"}, fields=["title"])


def test_the_commands_add_list_and_remove(instance: Instance, command: Command) -> None:
    def run(*words: str) -> dict[str, Any]:
        result = command("subscriptions", *words, "--json")
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    made = run("add", "--webhook-url", URL, "--entity-type", "task", "--max-failures", "3")
    assert made["webhook_secret"].startswith("whsec_")
    assert run("list")["subscriptions"][0]["max_failures"] == 3
    assert made["subscription_id"] in command("subscriptions", "list").stdout
    assert run("remove", made["subscription_id"]) == {"subscription_id": made["subscription_id"]}
    assert run("list")["subscriptions"] == []


def test_days_of_a_standing_query_are_those_of_the_request_that_made_it(
    instance: Instance, call: Call, ada: Actor, loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    evening = times.parse("2026-05-01T20:00:00Z")
    monkeypatch.setattr(times, "now", lambda: evening)
    store(call, "before")
    made = dict[str, str]()
    for name in ("Pacific/Auckland", "America/New_York"):
        with times.days_of(times.zone_of(name)):
            query = {"search": "events due today", "filters": {"entity_type": "event"}}
            made[name] = call("subscriptions.add", query=query, delivery_method="sse")["subscription_id"]
    listed = call("subscriptions.list")["subscriptions"]
    assert {each["query"]["time_zone"]: each["subscription_id"] for each in listed} == made
    feed = instance.services.of(ChangeFeed)
    place = Place(loop.run(feed.head(ada.owner)).sequence)
    call("store", entities=[{"entity_type": "event", "name": "Fair", "due": "2026-05-02"}])
    head = loop.run(feed.head(ada.owner))
    kinds_by_zone = dict[str, list[str]]()
    for name, subscription_id in made.items():
        context = Context(ada, instance.services)
        _, standing = loop.run(subscriptions.changes_for(context, subscription_id))
        assert standing
        parts, _ = loop.run(standing.after(place, head))
        kinds_by_zone[name] = [change.kind for part in parts for change in part.changes]
    # In Auckland it is the 2nd already.
    assert kinds_by_zone == {"Pacific/Auckland": ["answer.began"], "America/New_York": []}
