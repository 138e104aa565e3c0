"""The check of snapshots as a job: pages of many entities, a cursor, one check of an owner at a time."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from graphmem.auth.erasing import erase_closed
from graphmem.checking import audit
from graphmem.context import Context, Services
from graphmem.database import jobs
from graphmem.errors import InvalidCursor, ServiceBusy
from graphmem.model import times
from graphmem.operations import server
from graphmem.reading import snapshot_check
from graphmem.writing import refolding
from tests.faces.conftest import Command, Together
from tests.support.actors import full_actor
from tests.support.event_loop import Loop
from tests.support.faces import Call, by_runner
from tests.support.figures import Figures
from tests.support.statements import counted
from tests.support.worker_pass import fold_all

FIELDS = {"name": "string", "email": "string", "number": "string", "total": "number"}


def store_many(run: Call, count: int, start: int = 0) -> None:
    """Store invoices with a schema, people whom a rule may merge, some merged by hand, and relationships."""
    if not start:
        run("schemas.register", schema={"entity_type": "invoice", "fields": FIELDS})
    for first in range(start, start + count, 100):
        entities = [
            {
                "entity_type": ("invoice", "person", "machine")[place % 3],
                "name": f"Thing {place}",
                "email": f"thing{place}@example.org",
                "number": f"N{place}",
                "total": place,
            }
            for place in range(first, min(first + 100, start + count))
        ]
        links = [{"relationship_type": "PART_OF", "source_index": 0, "target_index": 1}]
        answer = run("store", entities=entities, relationships=links)
        ids = [item["entity_id"] for item in answer["entities"]]
        run("entities.merge", source_entity_id=ids[2], target_entity_id=ids[5])


@pytest.fixture
def statements(services: Services) -> Iterator[list[str]]:
    """The statements that were sent since the test cleared this."""
    with counted(services.database, of_requests=False) as names:
        yield names


@pytest.fixture(autouse=True)
def whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a check come to its end, however long a busy machine plans its statements."""
    monkeypatch.setattr(server, "CHECK_SECONDS", 600.0)


@pytest.fixture
def paged(whole: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a check answer after each page, and a page have three entities."""
    monkeypatch.setattr(server, "CHECK_SECONDS", 0.0)
    for name in ("STRETCH_SUBJECTS", "STAMPED_SUBJECTS"):
        monkeypatch.setattr(audit, name, 3)


def pages_of(call: Call, **arguments: Any) -> list[dict[str, Any]]:
    """Return all answers of a check."""
    answers = [call("server.check_snapshots", **arguments)]
    while cursor := answers[-1].get("next_cursor"):
        answers.append(call("server.check_snapshots", cursor=cursor, **arguments))
    return answers


def test_a_page_of_entities_costs_its_statements(
    run: Call, statements: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    share, size = audit.STRETCH_SUBJECTS / 100, 60
    monkeypatch.setattr(audit, "STRETCH_SUBJECTS", size)
    for module, name in (
        (audit, "STAMPED_SUBJECTS"), (refolding, "HISTORIES_PER_READ"),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, getattr(module, name) * size // round(share * 100))
    counts: list[int] = []
    for start, count in ((0, 60), (60, 180)):
        store_many(run, count, start)
        statements.clear()
        assert run("server.check_snapshots")["healthy"]
        counts.append(len(statements))
    # Three pages more. Of whole pages, a statement is for 100 entities at least.
    assert counts[1] - counts[0] <= 3 * share, (counts, statements)


@pytest.mark.long
def test_thousands_of_entities_cost_a_statement_for_each_hundred(
    run: Call, statements: list[str], figures: Figures
) -> None:
    store_many(run, 4_400)
    statements.clear()
    answers = pages_of(run)
    assert (answers[-1]["healthy"], answers[-1]["stale"]) == (True, 0)
    figures(f"a check of 4,400 entities: {len(statements)} statements, {len(answers)} answers")
    # What a check asks once, and once for each of its answers, comes to it.
    assert len(statements) <= 44 + 20 + 5 * len(answers), statements


def test_pages_of_a_check_are_one_check(
    run: Call, loop: Loop, services: Services, owner: str, paged: None
) -> None:
    store_many(run, 8)
    damage = (
        "MATCH (n:Entity {owner: $o, type: 'machine'}) WHERE n.live "
        "SET n.values = ['7'], n.fields = ['x'] RETURN n.id AS id"
    )
    damaged = {row["id"] for row in loop.run(services.database.script(damage, o=owner))}
    wrong = "MATCH (n:Count {owner: $o, type: 'person'}) SET n.total = 9"
    loop.run(services.database.script(wrong, o=owner))
    first, *others = answers = pages_of(run)
    assert len(answers) > 4
    assert (first["healthy"], first["total"], "checked so far" in first["message"]) == (False, 9, True)
    checked = [answer["checked"] for answer in answers]
    assert checked == sorted(checked)
    assert others[-1]["checked"] == 9
    stale = [item["id"] for answer in answers for item in answer["stale_snapshots"]]
    assert {*stale} == damaged | {"entity person"}
    assert others[-1]["stale"] == len(stale) == len({*stale})
    repaired = pages_of(run, auto_fix=True)[-1]
    assert repaired["fixed"] == len(damaged)
    # What was mended may have come twice, so that the counters were not summed up: now they are.
    assert pages_of(run, auto_fix=True)[-1]["fixed"] == 1
    whole = pages_of(run)[-1]
    assert (whole["healthy"], whole["stale"], whole["counts_compared"]) == (True, 0, True)
    assert not {"total", "next_cursor"} & whole.keys()


def test_a_check_that_ends_in_time_answers_as_ever(run: Call) -> None:
    store_many(run, 8)
    answer = run("server.check_snapshots")
    assert answer == {
        "healthy": True, "message": "all snapshots match their observations", "checked": 9, "unchecked": 0,
        "stale": 0, "fixed": 0, "counts_compared": True, "stale_snapshots": [],
    }  # fmt: skip


def test_a_cursor_is_of_one_check(run: Call, loop: Loop, services: Services, paged: None) -> None:
    store_many(run, 8)
    cursor = run("server.check_snapshots")["next_cursor"]
    state, _, signature = cursor.partition(".")
    other = by_runner(loop, services, "another-owner")
    for call, arguments in (
        (run, {"cursor": cursor, "auto_fix": True}),
        (other, {"cursor": cursor}),
        (run, {"cursor": state}),
        (run, {"cursor": f"A{state}.{signature}"}),
        (run, {"cursor": "é"}),
    ):
        with pytest.raises(InvalidCursor):
            call("server.check_snapshots", **arguments)
    assert run("server.check_snapshots", cursor=cursor)["checked"] >= 0


def test_two_callers_at_once_run_one_check(
    run: Call, together: Together, statements: list[str], loop: Loop, services: Services
) -> None:
    store_many(run, 8)
    # A check compares when merges by rule held once nothing waits for a worker, that of another process too.
    fold_all(loop, services, run)
    run("server.check_snapshots")
    statements.clear()
    run("server.check_snapshots")
    alone = Counter(statements)
    statements.clear()
    answers = together("server.check_snapshots", [{}] * 5)
    refused = [answer for answer in answers if isinstance(answer, Exception)]
    assert {*map(type, refused)} == {ServiceBusy}
    # Whoever comes late may find that the check of another has ended, and runs one more.
    checks = Counter({name: count * (5 - len(refused)) for name, count in alone.items()})
    # Each asks for the lease, after a look whether its writer is in quarantine.
    assert (Counter(statements) - checks).keys() == {"exclusion.writings", "owner.lease"}
    assert run("server.check_snapshots")["healthy"]


def test_a_lease_that_is_given_back_is_free_though_it_was_just_renewed(
    run: Call, loop: Loop, services: Services, owner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_many(run, 8)
    monkeypatch.setattr(jobs, "_RENEWALS", 5_000)

    async def again_and_again() -> None:
        for _ in range(20):
            async with jobs.single_flight(services.database, owner):
                await asyncio.sleep(0.01)

    loop.run(again_and_again())


def test_who_has_the_cursor_goes_on_and_others_wait(
    run: Call, paged: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_many(run, 8)
    cursor = run("server.check_snapshots")["next_cursor"]
    with pytest.raises(ServiceBusy):
        run("server.check_snapshots")
    following = run("server.check_snapshots", cursor=cursor)
    # The lease has been handed on: the answer was not lost, so this is another caller.
    with pytest.raises(ServiceBusy):
        run("server.check_snapshots", cursor=cursor)
    now = times.now()
    monkeypatch.setattr(times, "now", lambda: now + round(jobs.LEASE_SECONDS * times.SECOND) + 1_000_000)
    # It has run out: whoever lost the answer may go on too.
    assert run("server.check_snapshots", cursor=cursor)["checked"] == following["checked"]


def test_who_hangs_up_ends_the_check_at_its_next_page(
    run: Call, loop: Loop, app: Any, owner: str, statements: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "STRETCH_SUBJECTS", 3)
    store_many(run, 20)
    statements.clear()
    loop.run(hung_up(app, "/health_check_snapshots", owner))
    assert statements.count("audit.nodes") == 1
    assert not {"audit.settle", "audit.passages"} & {*statements}
    # Nothing is left of it: the next caller need not wait.
    assert run("server.check_snapshots")["healthy"]


async def hung_up(app: Any, path: str, owner: str) -> None:
    """Send a request, and hang up before there is an answer."""
    requests = [{"type": "http.request", "body": b"{}", "more_body": False}]

    async def receive() -> Any:
        return requests.pop() if requests else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        """Nobody reads it."""

    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    scope = {
        "type": "http", "asgi": {"version": "3.0", "spec_version": "2.4"}, "http_version": "1.1",
        "method": "POST", "scheme": "http", "path": path, "raw_path": path.encode(), "query_string": b"",
        "headers": [*headers, (b"authorization", f"Bearer {owner}".encode())],
        "client": ("127.0.0.1", 1), "server": ("localhost", 80),
    }  # fmt: skip
    with contextlib.suppress(asyncio.CancelledError):
        await app(scope, receive, send)


class Killed(BaseException):
    """A process was killed."""


def test_a_rebuild_that_was_killed_goes_on_unless_another_check_ran(
    run: Call, loop: Loop, services: Services, owner: str, paged: None, statements: list[str], tmp_path: Path
) -> None:
    store_many(run, 20)
    context, place = Context(full_actor(owner), services), tmp_path / "rebuild.json"

    def pages_until(most: int) -> int:
        """Rebuild until so many things are derived; return how many pages of these were read."""
        derived = 0

        def progress(count: int) -> None:
            nonlocal derived
            derived += count
            if derived > most:
                raise Killed

        statements.clear()
        with contextlib.suppress(Killed):
            report = loop.run(
                snapshot_check.audit(context, fix=True, deep=True, progress=progress, place=place)
            )
            assert (report.checked, report.stale_count, derived) == (21, 0, 21)
        return statements.count("audit.nodes")

    whole = pages_until(100)
    assert not place.exists()
    some = pages_until(12)
    assert place.exists()
    rest = pages_until(100)
    # The page in which it was killed is read again.
    assert (some + rest, place.exists()) == (whole + 1, False)
    pages_until(12)
    run("server.check_snapshots", auto_fix=True)
    assert pages_until(100) == whole


def test_the_command_goes_on_to_the_end(run: Call, command: Command, paged: None) -> None:
    store_many(run, 8)
    code, out, _ = command("snapshots", "check", "--json")
    answer = json.loads(out)
    assert (code, answer["healthy"], answer["checked"]) == (0, True, 9)
    assert "next_cursor" not in answer


def test_an_erasure_waits_for_a_check(run: Call, loop: Loop, services: Services, owner: str) -> None:
    store_many(run, 8)
    ended: list[str] = []

    async def check() -> None:
        async with jobs.single_flight(services.database, owner):
            erasure = asyncio.create_task(erase())
            await refused.wait()
            ended.append("check")
        await erasure

    async def erase() -> None:
        await services.database.write("owner.close", owner, erased_at=times.now())
        await erase_closed(services.database, owner)
        ended.append("erasure")

    refused = asyncio.Event()
    write = services.database.write

    async def noting(name: str, *positional: Any, **params: Any) -> Any:
        rows = await write(name, *positional, **params)
        if any(row.get("is_free") is False for row in rows):
            refused.set()
        return rows

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(services.database, "write", noting)
        patch.setattr(jobs, "LEASE_SECONDS", 0.4)
        loop.run(check())
    assert ended == ["check", "erasure"]
    assert loop.run(services.database.script("MATCH (n) WHERE n.owner = $o RETURN n", o=owner)) == []
