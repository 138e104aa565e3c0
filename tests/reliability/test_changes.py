"""Whoever applies all changes in their order has what reads as of each time answer."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import uuid
from contextlib import aclosing
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.changes.change_cursors import Place
from graphmem.changes.change_feed import INTERVAL_SECONDS
from graphmem.registry import REGISTRY, Context, Services
from graphmem.settings import Settings
from graphmem.writing import forms
from tests.reliability.test_withdrawals import FILES, HISTORY, Run, Step
from tests.support.actors import full_actor
from tests.support.event_loop import Loop
from tests.support.examples import examples
from tests.support.faces import Call, by_runner
from tests.support.service import Service, running


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


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("of_writers", [False, True])
def test_all_changes_in_their_order_come_to_what_each_time_shows(
    loop: Loop, services: Services, monkeypatch: pytest.MonkeyPatch, of_writers: bool
) -> None:
    @examples(3)
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
        newest = call("changes.list", limit=500, values=True)
        assert [each["event_id"] for each in reversed(newest["changes"])] == [
            each["event_id"] for each in told
        ]
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


async def store(services: Services, owner: str, names: list[str]) -> None:
    """Store notes, in one transaction."""
    raw = {"entities": [{"entity_type": "note", "title": name} for name in names]}
    await REGISTRY["store"].run(services, full_actor(owner), raw)


def store_by_http(service: Service, letter: str, count: int, stored: list[str]) -> None:
    """Store notes by a service until it is killed; note those that were answered."""
    with contextlib.suppress(httpx.TransportError), service.http() as http:
        for number in range(count):
            name = f"{letter}{number}"
            # The next transaction changes one of the notes again.
            items = [{"title": name}, {"title": letter, "number": number}]
            body = {"entities": [{"entity_type": "note", **item} for item in items]}
            if http.post("/store", json=body).is_success:
                stored.append(name)


def test_watchers_see_each_change_once_in_order_beside_writers_of_two_processes_and_a_kill(
    loop: Loop, services: Services, settings: Settings, owner: str, tmp_path: Path
) -> None:
    stored: list[str] = []

    async def watch(place: Place | None, told: list[str], done: asyncio.Event) -> None:
        context = Context(full_actor(owner), services)
        async with aclosing(services.change_feed.follow(context, place)) as parts_after:
            async for parts, _ in parts_after:
                told += [
                    change.id
                    for part in parts
                    for change in part.changes
                    if change.kind != "observation.created"
                ]
                if done.is_set() and not parts:
                    return

    async def beside(service: Service) -> list[list[str]]:
        told: list[list[str]] = [[], []]
        done = asyncio.Event()
        watching = [asyncio.create_task(watch(Place(), each, done)) for each in told]
        clients = [
            asyncio.create_task(asyncio.to_thread(store_by_http, service, letter, 60, stored))
            for letter in "ab"
        ]
        for number in range(12):
            await asyncio.gather(*(store(services, owner, [f"{letter}{number}", letter]) for letter in "cd"))
            if number == 6:
                service.send(signal.SIGKILL)
        await asyncio.gather(*clients)
        # The last commit of the killed service may still be on its way.
        await asyncio.sleep(2 * INTERVAL_SECONDS)
        await store(services, owner, ["the last"])
        await asyncio.sleep(2 * INTERVAL_SECONDS)
        done.set()
        await asyncio.wait_for(asyncio.gather(*watching), 60)
        return told

    call = by_runner(loop, services, owner)
    with running(settings, tmp_path / "service", owner) as service:
        told = loop.run(beside(service))
    read = every_change(call, 500)
    assert [each["event_id"] for each in read] == told[0] == told[1]
    assert len(set(told[0])) == len(told[0])
    created = [each["name"] for each in read if each["event_type"] == "entity.created"]
    assert {*stored, *(f"{letter}{number}" for letter in "cd" for number in range(12))} <= {*created}
    shown = {each["entity_id"]: each["snapshot"] for each in call("entities.query", limit=500)["entities"]}
    assert applied(read) == shown
