"""What a turn makes of a fault that its write meets: what is tried again, and what is told."""

from __future__ import annotations

import asyncio
import contextlib
import time
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from graphmem.context import Services
from graphmem.database.admission import Admission
from graphmem.database.typed_rows import Row
from graphmem.errors import (
    DatabaseCrowded,
    DatabaseFull,
    DatabaseUnavailable,
    DiskFull,
    GraphmemError,
    InternalError,
    ServiceBusy,
    TransactionTooLarge,
)
from graphmem.model import canonical
from graphmem.observability.tracing import NO_TRACES, Tracer
from graphmem.registry import REGISTRY
from graphmem.writing import Writers
from graphmem.writing.turn import LARGE_CHARACTERS
from tests.support.actors import full_actor
from tests.support.event_loop import Loop
from tests.support.faces import by_runner
from tests.support.faulty_database import Fault, FaultyDatabase, Write, faulty_services, lost

RETRY = 1.0
ADA = {"entity_type": "person", "name": "Ada Lovelace"}


@dataclass
class Broken:
    """Services whose writes of turns meet some faults, one after the other, and none after those."""

    loop: Loop
    services: Services
    database: FaultyDatabase
    owner: str

    def store(self, count: int = 1, **more: Any) -> list[Any]:
        """Store so many things at once; return answers and errors."""

        async def send(i: int) -> Any:
            arguments = {"entities": [{"entity_type": "thing", "name": f"n{i}"}], **more}
            try:
                answer = await REGISTRY["store"].run(self.services, full_actor(self.owner), arguments)
            except GraphmemError as exc:
                return exc
            return canonical.decode(answer)

        async def every() -> list[Any]:
            return await asyncio.gather(*map(send, range(count)))

        return self.loop.run(every())


@pytest.fixture
def broken(loop: Loop, services: Services, planned: None, owner: str) -> Iterator[Broken]:
    """Services that try again for a second."""
    with trying_again(loop, services, owner, RETRY) as broken:
        yield broken


@pytest.fixture
def patient(loop: Loop, services: Services, planned: None, owner: str) -> Iterator[Broken]:
    """Services that try again for longer than any test takes."""
    with trying_again(loop, services, owner, 300.0) as broken:
        yield broken


@contextlib.contextmanager
def trying_again(loop: Loop, services: Services, owner: str, seconds: float) -> Iterator[Broken]:
    settings = services.settings.model_copy(update={"retry_seconds": seconds})
    with faulty_services(loop, services, settings) as (faulty, database):
        broken = Broken(loop, faulty, database, owner)
        broken.store(1, entities=[ADA])
        database.turns.clear()
        yield broken


def rolled_back(error: type[GraphmemError]) -> Fault:
    """Return a fault that leaves nothing written."""

    async def fails(write: Write) -> Any:
        raise error

    return fails


async def not_answered(write: Write) -> Any:
    """A fault after which nobody knows whether it was written: it was not."""
    raise DatabaseUnavailable


async def lost_for_long(write: Write) -> Any:
    """Another process was faster, until it is too late."""
    await asyncio.sleep(RETRY)
    return await lost(write)


# Memory


def test_memory_that_others_take_is_waited_for_together(patient: Broken) -> None:
    patient.database.faults = [rolled_back(DatabaseCrowded)] * 3
    begin = time.monotonic()
    assert all(isinstance(outcome, dict) for outcome in patient.store(5))
    assert (len(patient.database.turns), len(patient.database.turns[-1]["transactions"])) == (4, 5)
    assert time.monotonic() - begin > 0.3, "it did not wait"


@pytest.mark.parametrize("count", [1, 5])
def test_memory_that_others_take_for_long_is_told_and_no_fault_of_a_request(
    broken: Broken, count: int
) -> None:
    broken.database.faults = [rolled_back(DatabaseCrowded)] * 100
    errors = broken.store(count)
    summaries = [(type(error), error.code, error.status, error.details) for error in errors]
    assert summaries == [(DatabaseCrowded, "DB_OUT_OF_MEMORY", 503, {"in_doubt": False})] * count
    assert len(broken.database.turns) < 20


def test_one_request_that_does_not_fit_is_told_so_and_the_others_are_written(broken: Broken) -> None:
    broken.database.faults = [rolled_back(DatabaseFull)] * 2
    outcomes = broken.store(3, find_duplicates=False)
    assert [type(outcome) for outcome in outcomes] == [TransactionTooLarge, dict, dict]
    assert outcomes[0].details == {"in_doubt": False}


# Doubt


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (rolled_back(DatabaseFull), DatabaseFull),
        (rolled_back(DatabaseCrowded), DatabaseCrowded),
        (rolled_back(InternalError), InternalError),
    ],
    ids=["full", "crowded", "ours"],
)
def test_what_ends_a_request_after_a_write_that_was_not_answered_says_so(
    broken: Broken, fault: Fault, kind: type[GraphmemError], count: int
) -> None:
    broken.database.faults = [not_answered, *[fault] * 100]
    for error in broken.store(count):
        assert (type(error), error.details) == (kind, {"in_doubt": True})
        assert "idempotency_key" in str(error)


@pytest.mark.parametrize("before", [[], [not_answered]], ids=["at once", "in doubt"])
def test_who_loses_until_it_is_late_takes_the_lock(broken: Broken, before: list[Fault]) -> None:
    broken.database.faults = [*before, lost_for_long]
    assert [answer["entities_created"] for answer in broken.store(3)] == [1, 1, 1]
    assert len(broken.database.turns) == len(before) + 2


def test_what_is_tried_alone_after_a_doubt_is_no_doubt_once_it_is_written(broken: Broken) -> None:
    broken.database.faults = [not_answered, rolled_back(InternalError)]
    assert all(isinstance(outcome, dict) for outcome in broken.store(3))
    assert [len(turn["transactions"]) for turn in broken.database.turns] == [3, 3, 1, 1, 1]


# Around a turn


class FailingTracer(Tracer):
    """A tracer that cannot span a turn."""

    def turn(self, requests: Iterable[Any]) -> Any:
        raise RuntimeError("a fault of tracing")


def test_a_fault_of_tracing_answers_the_callers_of_the_turn(broken: Broken) -> None:
    broken.database.tracer = FailingTracer()
    assert [type(outcome) for outcome in broken.store(3)] == [InternalError] * 3
    broken.database.tracer = NO_TRACES
    assert isinstance(broken.store()[0], dict)


def test_a_full_disk_refuses_to_fold_again(broken: Broken) -> None:
    full = broken.services.settings.model_copy(update={"neo4j_uri": None, "disk_reserve": 1 << 60})
    writers = Writers(broken.services.database, full, broken.services.embedder)
    blocked = replace(broken.services, writers=writers)
    run, run_blocked = (
        by_runner(broken.loop, services, broken.owner) for services in (broken.services, blocked)
    )
    person = run("entities.query")["entities"][0]["entity_id"]
    run("schemas.register", schema={"entity_type": "person", "fields": {"name": "string"}})
    broken.database.turns.clear()
    calls: list[tuple[str, dict[str, Any]]] = [
        ("entities.get", {"entity_id": person}),
        ("store", {"entities": [ADA], "commit": False}),
    ]
    for name, arguments in calls:
        with pytest.raises(DiskFull) as refused:
            run_blocked(name, **arguments)
        assert refused.value.details["in_doubt"] is False
    assert not broken.database.turns, "something was written"
    assert run("entities.get", entity_id=person)["canonical_name"] == ADA["name"]


def test_a_service_that_stops_writes_the_turn_under_way_and_refuses_the_requests_behind_it(
    loop: Loop, services: Services, planned: None, owner: str
) -> None:
    settings = services.settings.model_copy(update={"shutdown_seconds": 0.05})
    with faulty_services(loop, services, settings) as (stopping, database):
        Broken(loop, stopping, database, owner).store()
        began, release = asyncio.Event(), asyncio.Event()

        async def held_back(write: Write) -> Any:
            began.set()
            await release.wait()
            return await write()

        async def store(name: str) -> Any:
            arguments = {"entities": [{"entity_type": "thing", "name": name}]}
            return await REGISTRY["store"].run(stopping, full_actor(owner), arguments)

        async def stop() -> None:
            database.faults = [held_back]
            first = asyncio.create_task(store("first"))
            await began.wait()
            second = asyncio.create_task(store("second"))
            while not stopping.writers.waiting():  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            closing = asyncio.create_task(stopping.writers.close())
            with pytest.raises(ServiceBusy, match="the service is stopping"):
                await second
            assert not first.done()
            release.set()
            assert canonical.decode(await first)["entities_created"] == 1
            await closing

        loop.run(stop())
    names = {
        entity["canonical_name"] for entity in by_runner(loop, services, owner)("entities.query")["entities"]
    }
    assert names == {"n0", "first"}


def test_large_stores_of_several_owners_are_written_one_after_another(broken: Broken) -> None:
    large = broken.services.writers.known.large = Admission(1, what="large stores run")
    under_way, most = 0, 0

    async def noted(write: Write) -> list[Row]:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        # Both others wait for their places, or one of them is written beside this one.
        while under_way == 1 and large._waiting < len(broken.database.faults):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        try:
            return await write()
        finally:
            under_way -= 1

    async def store(number: int) -> Any:
        item = {"entity_type": "thing", "name": f"n{number}", "text": "x" * (LARGE_CHARACTERS + number)}
        actor = full_actor(str(uuid.uuid4()))
        return await REGISTRY["store"].run(broken.services, actor, {"entities": [item]})

    async def every() -> list[Any]:
        return await asyncio.gather(*map(store, range(1, 4)))

    broken.database.faults += [noted] * 3
    assert len(broken.loop.run(every())) == 3
    assert most == 1
