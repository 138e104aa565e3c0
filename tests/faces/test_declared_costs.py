"""What each operation costs: the statements that its declaration says, however much an owner has.

Each operation is called by its example, and a read also for a page of 100, now and as of a time: for owners
of two sizes, with and without registered schemas and merges. What a process keeps in memory is there: the
second of two equal reads is counted.
"""

from __future__ import annotations

import contextlib
import math
import random
import uuid
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from graphmem.context import Services
from graphmem.errors import GraphmemError
from graphmem.registry import REGISTRY, Operation, Scope
from tests.faces.example_data import filled, stored_examples
from tests.faces.parity_rows import with_stored_ids
from tests.support.event_loop import Loop
from tests.support.examples import LONG
from tests.support.faces import Call, by_runner
from tests.support.statements import counted, writes
from tests.support.worker_pass import fold_all

SMALL, LARGE = 100, 3_000
BATCH = 100
LATER = "2100-01-01T00:00:00Z"
GROWING = {"copies.sync", "copies.take", "server.check_snapshots"}
"""May only shrink: operations whose statements have no bound. A check reads everything, an exchange of
copies takes what the other has, and a page of it takes a turn for each batch."""
REDUCING = {"timeline.list"}
"""May only shrink: operations whose statements grow up to their bound. The timeline as of a time reduces up
to 2,000 entities, 100 at once, so that the event loop is free in between."""
GROWTH = 6
"""How many statements more a call may take of 3,000 things than of 100: its page is full."""
WALKED = REGISTRY if LONG else random.Random(1).sample(sorted(REGISTRY), len(REGISTRY) // 20 + 1)


class Kind(NamedTuple):
    """What an owner has: how many things, and whether their types have schemas, and some are merged."""

    size: int
    is_rich: bool


KINDS = [Kind(size, is_rich) for size in (SMALL, LARGE) for is_rich in (False, True)]


def fill(run: Call, kind: Kind, acme: str) -> None:
    """Store as many things of the types that examples name."""
    types = ("person", "task", "event", "invoice")
    if kind.is_rich:
        for entity_type in types:
            fields = {"name": "string", "number": "number", "due_date": "date"}
            schema = {"fields": fields, "additional_fields": "show"}
            run("schemas.register", entity_type=entity_type, schema=schema)
    for start in range(0, kind.size, BATCH):
        items = [
            {
                "entity_type": types[number % len(types)], "name": f"{uuid.UUID(int=number)}",
                "number": number, "due_date": f"2026-01-{number % 28 + 1:02d}",
            }
            for number in range(start, start + BATCH)
        ]  # fmt: skip
        links = [
            {"relationship_type": "WORKS_AT", "source_index": place, "target_entity_id": acme}
            for place in range(0, BATCH, len(types))
        ]
        stored = run("store", entities=items, relationships=links, find_duplicates=False)["entities"]
        if kind.is_rich:
            for one, other in zip(stored[:2], stored[4:6], strict=True):
                pair = {"source_entity_id": one["entity_id"], "target_entity_id": other["entity_id"]}
                run("entities.merge", **pair)


def calls(operation: Operation[Any]) -> Iterator[dict[str, Any]]:
    """Yield the arguments with which an operation is called; later ones of a read may be refused."""
    example = with_stored_ids(dict(operation.example))
    yield example
    if operation.scope is not Scope.READ:
        return
    for more in ({"limit": 100}, {"at": LATER}, {"limit": 100, "at": LATER}):
        if more.keys() <= operation.arguments.model_fields.keys():
            orders = ("sort_by", "sort_order") if "at" in more else ()
            yield {**{name: value for name, value in example.items() if name not in orders}, **more}


def attempt(run: Call, name: str, arguments: dict[str, Any]) -> None:
    """Call an operation. Some have no page of 100, and earlier calls may have ended what it names."""
    with contextlib.suppress(GraphmemError):
        run(name, **arguments)


def measured(loop: Loop, services: Services, kind: Kind, names: list[str]) -> dict[str, list[list[str]]]:
    """Return the statements of each call of some operations, for an owner of a kind."""
    owner = str(uuid.uuid4())
    run = by_runner(loop, services, owner)
    known = stored_examples(loop, services, owner, lambda name, arguments: run(name, **arguments))
    fill(run, kind, known["$acme"])
    fold_all(loop, services, run)
    statements: dict[str, list[list[str]]] = {name: [] for name in names}
    for name in sorted(names, key=lambda each: REGISTRY[each].scope is not Scope.READ):
        for arguments in calls(REGISTRY[name]):
            if REGISTRY[name].scope is Scope.READ:
                attempt(run, name, filled(arguments, known))
            else:
                # A turn takes the lock, and looks again, after a write of another process: of a worker that
                # folds what an earlier call left to be folded.
                fold_all(loop, services, run)
                run("store", entities=[{"entity_type": "note", "name": "this process wrote last"}])
            with counted(services.database) as each:
                attempt(run, name, filled(arguments, known))
            statements[name].append(each)
    return statements


@pytest.mark.timeout(7200)
def test_no_operation_takes_more_statements_than_it_declares(loop: Loop, services: Services) -> None:
    assert {name for name, operation in REGISTRY.items() if operation.statements == math.inf} == GROWING
    names = [name for name in WALKED if name not in GROWING]
    faults: list[str] = []
    counts = dict[tuple[str, bool], list[int]]()
    for kind in KINDS if LONG else KINDS[:2]:
        for name, each_call in measured(loop, services, kind, names).items():
            most, numbers = max(each_call, key=len), [*map(len, each_call)]
            fewer = counts.setdefault((name, kind.is_rich), numbers)
            growth = REGISTRY[name].statements if name in REDUCING else GROWTH
            if any(many > few + growth for many, few in zip(numbers, fewer, strict=True)):
                faults.append(f"{name} {kind}: {numbers} statements, of fewer things {fewer}")
            if len(most) > REGISTRY[name].statements:
                faults.append(f"{name} {kind}: {len(most)} of {REGISTRY[name].statements}: {most}")
            if REGISTRY[name].scope is Scope.READ and (written := [*map(writes, each_call)]) and any(written):
                faults.append(f"{name} {kind} writes: {written}")
    assert not faults, "\n".join(faults)
