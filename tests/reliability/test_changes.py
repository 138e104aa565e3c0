"""Whoever applies all changes in their order has what reads as of each time answer."""

from __future__ import annotations

import asyncio
import contextlib
import random
import signal
import uuid
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem import worker
from graphmem.changes import recorded_transactions
from graphmem.changes.change import END, Change, Place, cursor_of, place_of
from graphmem.changes.change_feed import INTERVAL_SECONDS, ChangeFeed
from graphmem.changes.standing_changes import StandingAnswers
from graphmem.context import Context, Services
from graphmem.errors import GraphmemError
from graphmem.model import canonical, times
from graphmem.model.comparison import Filter
from graphmem.registry import REGISTRY
from graphmem.search import standing_queries
from graphmem.settings import Settings
from graphmem.writing import forms
from tests.reliability.test_withdrawals import FILES, HISTORY, Run, Step, is_sound, item
from tests.support.actors import full_actor
from tests.support.event_loop import Loop
from tests.support.examples import LONG, examples
from tests.support.faces import Call, by_runner
from tests.support.killed_services import until
from tests.support.long_cases import mostly_long
from tests.support.service import Service, running
from tests.support.worker_pass import fold_all


def every_change(call: Call, page: int, start: str = "", **wanted: Any) -> list[dict[str, Any]]:
    """Return all changes after a cursor, read in pages of some size."""
    told, cursor, more = [], start, True
    while more:
        answer = call("changes.list", after=cursor, limit=page, values=True, **wanted)
        told += answer["changes"]
        cursor, more = answer["resume_cursor"], "more" in answer
        assert len(answer["changes"]) <= page
    return told


def applied(changes: list[dict[str, Any]], until: str = "9999") -> dict[str, dict[str, Any]]:
    """Return what the changes come to: by entity or relationship that is shown, its fields with winners."""
    shown: dict[str, dict[str, Any]] = {}
    for change in changes:
        subject = str(change.get("relationship_key") or change.get("entity_id"))
        noun, _, action = change["event_type"].partition(".")
        if noun not in ("entity", "relationship") or change["timestamp"] > until:
            continue
        fields = shown.setdefault(subject, {})
        for name, sides in change.get("fields", {}).items():
            assert fields.get(name) == (sides["before"]["value"] if "before" in sides else None), change
            if "after" in sides:
                fields[name] = sides["after"]["value"]
            else:
                del fields[name]
        if action in ("deleted", "merged") or change.get("merged_into"):
            assert not shown.pop(subject), change
    return shown


def newest_changes(call: Call, **wanted: str) -> list[dict[str, Any]]:
    """Return the changes of all pages, the newest first."""
    changes, cursor = list[dict[str, Any]](), {}
    while True:
        page = call("changes.list", limit=500, values=True, **wanted, **cursor)
        changes += page["changes"]
        if "next_cursor" not in page:
            return changes
        cursor = {"cursor": page["next_cursor"]}


def check_filters(call: Call, newest: list[dict[str, Any]]) -> None:
    """Check that a list by type or entity has what the list of all has of it; some are tried."""
    types = {each["entity_id"]: each["entity_type"] for each in newest if "entity_id" in each}
    for entity_id, entity_type in sorted(types.items())[:: len(types) // 3 + 1]:
        of_type = newest_changes(call, entity_type=entity_type)
        assert of_type == [
            each for each in newest
            if entity_type in [each.get("entity_type"), *(types[end] for end in ends_of(each))]
        ]  # fmt: skip
        own = newest_changes(call, entity_id=entity_id)
        listed = {each["event_id"] for each in own}
        # It has those of the entities that were ever merged with it as well.
        assert own == [each for each in newest if each["event_id"] in listed]
        of_one = [each for each in newest if entity_id in (each.get("entity_id"), *ends_of(each))]
        assert {each["event_id"] for each in of_one} <= listed


def ends_of(change: dict[str, Any]) -> list[str]:
    """Return the entities at the ends of a relationship."""
    return [change[end] for end in ("source_entity_id", "target_entity_id") if end in change]


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("of_writers", [False, True])
def test_all_changes_in_their_order_come_to_what_each_time_shows(
    loop: Loop, services: Services, monkeypatch: pytest.MonkeyPatch, of_writers: bool
) -> None:
    @examples(2)
    @given(history=HISTORY, observations_a_transaction=st.sampled_from([2, 2_000]), page=st.integers(1, 40))
    def compare(history: list[Step], observations_a_transaction: int, page: int) -> None:
        monkeypatch.setattr(forms, "STAMPED_LIMIT", observations_a_transaction)
        owner = str(uuid.uuid4())
        call = by_runner(loop, services, owner)
        names = FILES if of_writers else ()
        run = Run(
            call, [0, 0], writers={name: by_runner(loop, services, owner, client=name) for name in names}
        )
        run.begin()
        for place, step in enumerate(history):
            run.take(place, step)
            run.look()
        # A change has the name of now, which the worker of another process may fold meanwhile.
        fold_all(loop, services, call)
        told = every_change(call, page)
        assert told == every_change(call, 500)
        assert len({each["event_id"] for each in told}) == len(told)
        for moment, entities in run.seen:
            expected = {entity_id: values[3] for entity_id, values in entities.items()}
            entities_then = {
                subject: fields for subject, fields in applied(told, moment).items() if ":" not in subject
            }
            assert entities_then == expected
        links = call("relationships.list", include_deleted=False)["relationships"]
        newest = newest_changes(call)
        assert [each["event_id"] for each in reversed(newest)] == [each["event_id"] for each in told]
        check_filters(call, newest)
        # A relationship of a deleted entity is not listed, and one of a merged entity is listed elsewhere.
        told_now = applied(told)
        moved = {each["entity_id"] for each in told if each.get("merged_into")}
        ends = {subject for subject in told_now if ":" not in subject}
        ends -= moved | {each["merged_into"] for each in told if "merged_into" in each}
        of_ends = {
            key: fields for key, fields in told_now.items() if ":" in key and {*key.split(":")[1:]} <= ends
        }
        assert of_ends == {
            each["relationship_key"]: each["snapshot"]
            for each in links
            if {*each["relationship_key"].split(":")[1:]} <= ends
        }

    compare()


START = times.parse("2024-04-30T09:30:00Z")
"""No step begins at a midnight: what the clock alone changes is noticed two seconds later."""
STEP_MICROSECONDS = 5 * 3600 * 1_000_000
STANDING: tuple[tuple[list[str], dict[str, Filter], str | None], ...] = (
    (["thing"], {"a": Filter("a", "in", [1, "x", 7])}, None),
    ([], {}, "x"),
    ([], {}, "overdue events"),
    (["event"], {}, "events due today"),
)
"""The types, the conditions and the searches of standing queries."""


def answering(call: Call, types: list[str], filters: dict[str, Filter], search: str | None) -> set[str]:
    """Return the entities that a query of now answers; of words, those that have them as a value."""
    conditions = {name: {"op": each.op, "value": each.value} for name, each in filters.items()}
    if search is None:
        body = {"filters": {"entity_types": types, "snapshot_filters": conditions}, "limit": 100}
        return {each["entity_id"] for each in call("entities.query", **body)["entities"]}
    if " " in search:
        found = call("entities.query", search=search, limit=100)
        count = found.get("understood", {"count": 0})["count"]
        return {each["entity_id"] for each in found["entities"][:count]}
    every = call("entities.query", limit=100)["entities"]
    return {
        each["entity_id"]
        for each in every
        if any(value == search or (isinstance(value, list) and search in value)
               for value in each["snapshot"].values())
    }  # fmt: skip


class Told:
    """What a reader of a standing query was told from a place on."""

    def __init__(self, loop: Loop, context: Context, place: Place, number: int) -> None:
        self.loop, self.context, self.place = loop, context, place
        types, filters, search = STANDING[number]
        read = partial(standing_queries.kept_query, context, f"sub_{number}", types, filters, search)
        self.answers = StandingAnswers(context, loop.run(read()), read)
        self.changes: list[Change] = []
        self.first = set[str]()

    def read(self, most: int = 1_000) -> None:
        """Read up to where the owner has written; go on after so many changes as if it had been killed."""
        head = self.loop.run(self.context.services.of(ChangeFeed).head(self.context.actor.owner))
        while True:
            parts, following = self.loop.run(self.answers.after(self.place, head))
            changes = [change for part in parts for change in part.changes]
            self.changes += changes[:most]
            if len(changes) > most:
                text = cursor_of(head.node_key, changes[most - 1])
                self.place = self.loop.run(place_of(self.context, text, is_standing=True))
                continue
            self.place = following
            if following.sequence >= head.sequence:
                return

    def fold(self) -> set[str]:
        """Return the answers that the changes come to."""
        members = set(self.first)
        for change in self.changes:
            assert (change.kind == "answer.began") == (change.subject not in members), change
            members ^= {change.subject}
        return members


@pytest.mark.timeout(3600)
def test_the_changes_of_answers_come_to_what_a_standing_query_answers(
    loop: Loop, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, began, ahead = times.now, times.now(), [0]
    monkeypatch.setattr(times, "now", lambda: START + ahead[0] + real() - began)

    @examples(2)
    @given(history=HISTORY, most=st.integers(1, 3))
    def compare(history: list[Step], most: int) -> None:
        owner, ahead[0] = str(uuid.uuid4()), 0
        call, context = by_runner(loop, services, owner), Context(full_actor(owner), services)
        run = Run(call, [0, 0])
        run.begin()
        # Which fields decide whether something is overdue depends on those in use.
        call("store", entities=[item(7, due="2024-05-01", b="x")])
        place = Place(loop.run(services.of(ChangeFeed).head(owner)).sequence, clock=times.now())
        live = [Told(loop, context, place, number) for number in range(len(STANDING))]
        for told, query in zip(live, STANDING, strict=True):
            told.first = answering(call, *query)
        # What a change of a schema changes is not told.
        steps = [step for step in history if step["do"] != "register"]
        for number, step in enumerate([*steps, None, None, None, None, None]):
            if step is not None:
                run.take(number, step)
            for told, query in zip(live, STANDING, strict=True):
                told.read()
                assert told.fold() == answering(call, *query), (number, step, query)
            ahead[0] += STEP_MICROSECONDS
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(recorded_transactions, "TRANSACTIONS_PER_READ", 2)
            compare_late(most, live, context, place)

    def compare_late(most: int, live: list[Told], context: Context, place: Place) -> None:
        for number, told in enumerate(live):
            late = Told(loop, context, place, number)
            late.read(most)
            assert [each.id for each in late.changes] == [each.id for each in told.changes]

    compare()


def test_a_change_is_the_same_whenever_it_is_read(loop: Loop, services: Services, owner: str) -> None:
    """What a withdrawal concerns grows as its writer goes on, and merges join more and more entities."""
    by_a, by_b = (by_runner(loop, services, owner, client=name) for name in "ab")

    def note(call: Call, *titles: str) -> list[str]:
        entities = [{"entity_type": "note", "title": title, "number": len(titles)} for title in titles]
        link = {"relationship_type": "REFERS_TO", "source_index": 0, "target_index": len(titles) - 1}
        answer = call("store", entities=entities, relationships=[link] if len(titles) > 1 else [])
        return [each["entity_id"] for each in answer["entities"]]

    one, two, three = note(by_b, "one", "two", "three")
    live = every_change(by_a, 500)
    for step in (
        lambda: by_b("entities.merge", source_entity_id=two, target_entity_id=one),
        lambda: by_a("writings.withdraw", by_client="b"),
        lambda: note(by_b, "six", "one", "seven"),
        lambda: note(by_a, "four", "one"),
        lambda: by_a("writings.reinstate", by_client="b"),
        lambda: by_a("entities.merge", source_entity_id=three, target_entity_id=one),
        lambda: by_a("entities.merge", source_entity_id=one, target_entity_id=note(by_a, "five")[0]),
    ):
        step()
        live += every_change(by_a, 500, live[-1]["cursor"])
    read = every_change(by_a, 500)
    told = [(each["event_type"], each["event_id"], each["cursor"]) for each in read]
    assert [(each["event_type"], each["event_id"], each["cursor"]) for each in live] == told
    assert {one, two, three} <= {each["entity_id"] for each in read if each["event_type"] == "entity.merged"}
    created = [each["name"] for each in read if each["event_type"] == "entity.created"]
    assert sorted(created) == ["five", "four", "one", "one", "three", "two"]
    applied(read)


TITLES = 6
"""Notes that all writers change."""
REQUESTS = 100 if LONG else 20
"""Requests of each writer of a round that is not killed before."""
LIMIT_SECONDS = 300.0
WAYS = (
    ["store"] * 6 + ["entities.correct"] * 3
    + ["entities.delete", "entities.restore", "entities.merge", "entities.unmerge"]
    + ["writings.withdraw", "writings.reinstate"]
)  # fmt: skip
WITHDRAWN = "bd"
"""The writers whose writings are withdrawn: one of each process."""


class RandomWriter:
    """One of four writers at random: what it sends next, and what of it was answered.

    ``entities`` are the ids that all of them know.
    """

    def __init__(self, letter: str, seed: int, entities: list[str]) -> None:
        self.letter, self.entities = letter, entities
        self.rng = random.Random(f"{letter}{seed}")
        self.sent = 0
        self.stored: list[str] = []

    def request(self) -> tuple[str, dict[str, Any]]:
        """Return an operation and its arguments."""
        rng, self.sent = self.rng, self.sent + 1
        way = rng.choice(WAYS) if len(self.entities) > TITLES else "store"
        if way == "store":
            titles = [f"{self.letter}{self.sent}", *(f"n{rng.randrange(TITLES)}" for _ in range(2))]
            items = [{"entity_type": "note", "title": each, "number": rng.randrange(5)} for each in titles]
            link = {"relationship_type": "REFERS_TO", "source_index": 0, "target_index": rng.choice((1, 2))}
            return way, {"entities": items, "relationships": [link] * rng.randrange(2)}
        if way.startswith("writings."):
            return way, {"by_client": rng.choice(WITHDRAWN)}
        one, other = rng.sample(self.entities, 2)
        return way, {
            "entities.correct": {"entity_id": one, "field": "number", "value": rng.randrange(5)},
            "entities.merge": {"source_entity_id": one, "target_entity_id": other},
            "entities.unmerge": {"source_entity_id": one},
        }.get(way, {"entity_id": one})

    def answered(self, arguments: dict[str, Any], answer: dict[str, Any]) -> None:
        """Note what was stored."""
        if "entities" in arguments:
            self.stored.append(arguments["entities"][0]["title"])
            ids = [each["entity_id"] for each in answer["entities"]]
            self.entities += [each for each in ids if each not in self.entities]

    def send_until_killed(self, service: Service) -> None:
        """Send requests to a service; what is refused changes nothing."""
        with contextlib.suppress(httpx.TransportError), service.http() as http:
            for _ in range(REQUESTS):
                name, arguments = self.request()
                _, path = REGISTRY[name].routes[0]
                answer = http.post(path, json=arguments, headers={"X-Client-Name": self.letter})
                assert answer.status_code < 500, answer.text
                if answer.is_success:
                    self.answered(arguments, answer.json())

    async def send_here(self, services: Services, owner: str, count: int) -> None:
        """Send requests in this process."""
        for _ in range(count):
            name, arguments = self.request()
            with contextlib.suppress(GraphmemError):
                actor = full_actor(owner, client=self.letter)
                answer = canonical.decode(await REGISTRY[name].run(services, actor, arguments))
                self.answered(arguments, answer)


async def watch(services: Services, owner: str, last: asyncio.Future[int], rng: random.Random) -> list[str]:
    """Return the changes up to the last transaction; go away now and then, and resume where that was."""
    told: list[str] = []
    context, place = Context(full_actor(owner), services), Place()
    while True:
        stretches = rng.randint(1, 8)
        async with aclosing(services.of(ChangeFeed).follow(context, place)) as followed:
            async for parts, place in followed:
                told += [
                    change.id
                    for part in parts
                    for change in part.changes
                    if change.kind != "observation.created"
                ]
                if last.done() and place >= (last.result(), END):
                    return told
                stretches -= bool(parts)
                if not stretches:
                    break


async def work(services: Services, owner: str) -> None:
    """Do what the worker does after withdrawals: watchers wait for it."""
    while True:
        with contextlib.suppress(GraphmemError):
            await services.writers.refold_withdrawn(owner, worker.WITHDRAWN_LIMIT)
        await asyncio.sleep(INTERVAL_SECONDS)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", mostly_long(range(8), 0))
def test_watchers_see_each_change_once_in_order_beside_writers_of_two_processes_and_a_kill(
    loop: Loop, services: Services, settings: Settings, owner: str, tmp_path: Path, seed: int
) -> None:
    rng, entities = random.Random(seed), list[str]()
    there, here = ([RandomWriter(each, seed, entities) for each in letters] for letters in ("ab", "cd"))

    async def beside(service: Service) -> None:
        """Have all write, and kill the service meanwhile."""
        clients = [asyncio.create_task(asyncio.to_thread(each.send_until_killed, service)) for each in there]
        own = [asyncio.create_task(each.send_here(services, owner, REQUESTS // 2)) for each in here]
        count = sum(each.sent for each in there) + rng.randint(5, REQUESTS)
        await asyncio.to_thread(until, lambda: sum(each.sent for each in there) >= count, 600)
        service.send(signal.SIGKILL)
        await asyncio.gather(*clients, *own)

    async def begin(last: asyncio.Future[int]) -> tuple[list[asyncio.Task[list[str]]], asyncio.Task[None]]:
        watching = [watch(services, owner, last, random.Random(seed + number)) for number in (0, 1)]
        return [*map(asyncio.create_task, watching)], asyncio.create_task(work(services, owner))

    async def end(last: asyncio.Future[int], watching: list[asyncio.Task[list[str]]]) -> list[list[str]]:
        # The last commit of the killed service may still be on its way.
        await asyncio.sleep(2 * INTERVAL_SECONDS)
        await here[0].send_here(services, owner, 1)
        last.set_result(canonical.decode(await REGISTRY["server.stats"].run(services, actor, {}))["sequence"])
        return await asyncio.wait_for(asyncio.gather(*watching), 60)

    actor, last = full_actor(owner), loop.run(future())
    watching, working = loop.run(begin(last))
    for number in range(3 if LONG else 1):
        with running(settings, tmp_path / f"service{number}", owner) as service:
            loop.run(beside(service), LIMIT_SECONDS)
    told = loop.run(end(last, watching), LIMIT_SECONDS)
    working.cancel()
    call = by_runner(loop, services, owner)
    read = every_change(call, 500)
    assert [each["event_id"] for each in read] == told[0] == told[1]
    assert len(set(told[0])) == len(told[0])
    created = {each["name"] for each in read if each["event_type"] == "entity.created"}
    writers = [each for each in (*there, *here) if each.letter not in WITHDRAWN]
    assert {title for each in writers for title in each.stored} <= created
    shown = {each["entity_id"]: each["snapshot"] for each in call("entities.query", limit=500)["entities"]}
    assert {subject: fields for subject, fields in applied(read).items() if ":" not in subject} == shown
    is_sound(call)


async def future() -> asyncio.Future[int]:
    """Return a future of the loop."""
    return asyncio.get_running_loop().create_future()
