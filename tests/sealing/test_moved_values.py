"""Every sealed value of the database, moved, cut or exchanged: the answers are as before, or errors."""

from __future__ import annotations

import contextlib
import re
from collections import defaultdict
from collections.abc import Callable
from typing import Any, Final, LiteralString

import pytest

from graphmem.context import Services
from graphmem.errors import GraphmemError, InternalError, ServiceBusy
from graphmem.interpretation import make_passages
from graphmem.model.facts import SEALED_MARK
from graphmem.search.passage_copies import PassageCopies
from graphmem.search.search_copies import SearchCopies
from graphmem.worker import make_vectors
from tests.support.dumps import all_answers, store_rich_example
from tests.support.event_loop import Loop
from tests.support.faces import by_runner
from tests.support.search_copies import with_new_copies

NODES: LiteralString = (
    "MATCH (n) WHERE n.owner = $owner RETURN elementId(n) AS id, labels(n)[0] AS kind, properties(n) AS kept"
)
EDGES: LiteralString = (
    "MATCH (n)-[r]->() WHERE n.owner = $owner "
    "RETURN elementId(r) AS id, type(r) AS kind, properties(r) AS kept"
)
NAMED: Final = re.compile(r"\b(ent|rel|obs|src|int|exc|txn)_[0-9a-f]{24}")
LEFT_OUT: Final = ("left_out", "damaged")
"""What answers call what is stored damaged; ``damaged`` where ``left_out`` says something else."""
LOOKED_UP: Final = frozenset({"Identifier.value", "FieldValue.value", "Entity.name_key"})
"""Properties by which queries find entities. The check of snapshots finds one that was moved."""
FOUND_BY_CHECK: Final = frozenset(
    {"Entity.canonical_name", "Entity.values", "Entity.sealed_text", "Relationship.values"}
)
"""Properties of which some reads show an older value. The check of snapshots finds each."""
COMPARED: Final = (
    "entities.snapshot",
    "entities.query {'include_deleted'",
    "relationships.list",
    "observations.",
)
"""How reads begin that compare what they read with its checksum, and thus never show an older value."""
UNCHECKED: Final = frozenset({"Meaning.packed"})
"""Properties of which an older value changes the order of answers alone."""
SET_NODE: LiteralString = "MATCH (n) WHERE elementId(n) = $id SET n[$name] = $value"
SET_EDGE: LiteralString = "MATCH ()-[r]->() WHERE elementId(r) = $id SET r[$name] = $value"


def is_sealed(value: Any) -> bool:
    """Return whether a property is sealed, or has something that is."""
    if isinstance(value, list):
        return any(map(is_sealed, value))
    mark = SEALED_MARK.encode() if isinstance(value, bytes) else SEALED_MARK
    return isinstance(value, str | bytes) and value.startswith(mark)  # pyright: ignore[reportArgumentType]


def cut(value: Any) -> Any:
    """Return a value without its end."""
    if isinstance(value, list):
        return [*value[:-1], cut(value[-1])]
    return value[:-4]


CHANGES: dict[str, Callable[[Any, Any], Any]] = {
    "moved": lambda _, other: other,
    "cut": lambda own, _: cut(own),
    "reversed": lambda own, _: own[::-1] if isinstance(own, list) else own,
}


class Reads:
    """The reads of an owner, which are repeated after each change."""

    def __init__(self, loop: Loop, services: Services, owner: str) -> None:
        self.loop, self.services, self.owner = loop, services, owner
        self.calls: list[tuple[str, dict[str, Any]]] = []
        call = by_runner(loop, services, owner)

        def noted(name: str, /, **arguments: Any) -> dict[str, Any]:
            self.calls.append((name, arguments))
            return call(name, **arguments)

        all_answers(noted)
        # Of the snapshots of many moments, some.
        moments = [each for each in self.calls if each[0] == "entities.snapshot"]
        self.calls = [each for each in self.calls if each not in moments] + moments[::9]
        for question in ("Ada", "ada@example.org", "Countess", "cedar"):
            self.calls += [
                ("entities.query", {"search": question}),
                ("context.retrieve", {"question": question}),
            ]
            self.calls += [
                ("entities.find", {"identifier": question}),
                ("sources.search", {"search": question}),
            ]
        self.calls += [("changes.list", {}), ("timeline.list", {}), ("relationship_types.list", {})]
        self.before = self.answers()

    def answers(self) -> list[Any]:
        """Return the answers, errors by their codes; nothing is read from a copy in memory."""
        fresh = with_new_copies(self.services)
        call, answers = by_runner(self.loop, fresh, self.owner), list[Any]()
        for name, arguments in self.calls:
            try:
                answers.append(call(name, **arguments))
            except GraphmemError as exc:
                answers.append(exc)
        self.loop.run(fresh.of(SearchCopies).close())
        self.loop.run(fresh.of(PassageCopies).close())
        return answers

    def wrong(self) -> list[str]:
        """Return the reads whose answer is neither that of before nor names something that does not open.

        An error names it, or ``left_out`` beside what the answer has.
        """
        wrong = []
        for (name, arguments), was, now in zip(self.calls, self.before, self.answers(), strict=True):
            if isinstance(now, GraphmemError) and not isinstance(was, GraphmemError):
                if now.code != "DECRYPTION_FAILED" and not NAMED.search(str(now)):
                    wrong.append(f"{name} {arguments}: {now.code} {now}")
            elif not isinstance(was, GraphmemError) and now != was and not _leaves_out(now):
                wrong.append(f"{name} {arguments}")
        return wrong


def _leaves_out(answer: Any) -> bool:
    """Return whether an answer says what it left out and why; an agent of a writer has no id to name."""
    return isinstance(answer, dict) and any(answer.get(name) for name in LEFT_OUT)


class Written:
    """The sealed values of an owner as they are in the database."""

    def __init__(self, loop: Loop, services: Services, owner: str) -> None:
        self.loop, self.script = loop, services.database.script
        self.values: dict[tuple[str, str], dict[str, Any]] = defaultdict(dict)
        for find in (NODES, EDGES):
            for row in loop.run(self.script(find, owner=owner)):
                for name, value in row["kept"].items():
                    if is_sealed(value):
                        self.values[row["kind"], name][row["id"]] = value

    def put(self, place: str, name: str, value: Any) -> None:
        """Write one value past the service."""
        for statement in (SET_NODE, SET_EDGE):
            # Where values are unique, the database itself refuses a second one.
            with contextlib.suppress(InternalError, ServiceBusy):
                self.loop.run(self.script(statement, id=place, name=name, value=value))


@pytest.fixture
def reads(loop: Loop, sealed_services: Services, owner: str) -> Callable[[], Reads]:
    """The reads of an owner who has a rich example, once vectors and passages are made."""
    store_rich_example(by_runner(loop, sealed_services, owner))

    def started() -> Reads:
        make_all(loop, sealed_services, owner)
        reads = Reads(loop, sealed_services, owner)
        assert reads.wrong() == []
        return reads

    return started


def make_all(loop: Loop, services: Services, owner: str) -> None:
    """Make all vectors and passages."""
    while loop.run(make_vectors(services, owner)) + loop.run(make_passages(services, owner)):
        pass


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_no_sealed_value_is_answered_in_another_place(
    loop: Loop, sealed_services: Services, owner: str, reads: Callable[[], Reads]
) -> None:
    call, started = by_runner(loop, sealed_services, owner), reads()
    written, wrong, tried = Written(loop, sealed_services, owner), dict[str, list[str]](), set[str]()
    for (kind, name), places in written.values.items():
        for change, make in CHANGES.items():
            for node, own in list(places.items())[:2]:
                other = next((value for value in places.values() if value != own and len(value)), own)
                if (changed := make(own, other)) == own:
                    continue
                tried.add(f"{kind}.{name}")
                written.put(node, name, changed)
                differences = started.wrong()
                # A look-up cannot tell a property that was moved from one that was never there.
                is_noticed = (
                    differences
                    and f"{kind}.{name}" in LOOKED_UP
                    and not call("server.check_snapshots")["healthy"]
                )
                if differences and not is_noticed:
                    wrong[f"{kind}.{name} {change}"] = differences[:3]
                written.put(node, name, own)
    assert len(tried) > 20, sorted(tried)
    assert wrong == {}, f"{wrong}; tried: {sorted(tried)}"


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_no_sealed_value_is_answered_in_an_older_form(
    loop: Loop, sealed_services: Services, owner: str, reads: Callable[[], Reads]
) -> None:
    call = by_runner(loop, sealed_services, owner)
    make_all(loop, sealed_services, owner)
    older = Written(loop, sealed_services, owner).values
    for entity in call("entities.query")["entities"]:
        fields = {
            "name": "Renamed",
            "title": "Duchess",
            "note": entity["canonical_name"][:9],
            "identifiers": "x-1",
        }
        call("store", entities=[{"target_id": entity["entity_id"], **fields}])
    for found in call("relationships.list")["relationships"]:
        ends = {name: found[name] for name in ("relationship_type", "source_entity_id", "target_entity_id")}
        call("relationships.create", **ends, metadata={"since": 1900})
    started = reads()
    written, wrong, tried = Written(loop, sealed_services, owner), dict[str, list[str]](), set[str]()
    for (kind, name), places in written.values.items():
        replaced = [node for node, own in places.items() if older[kind, name].get(node, own) != own]
        for node in replaced[:2]:
            tried.add(f"{kind}.{name}")
            written.put(node, name, older[kind, name][node])
            differences = started.wrong()
            if f"{kind}.{name}" in FOUND_BY_CHECK and not call("server.check_snapshots")["healthy"]:
                # Whole snapshots are compared by each read; a name in a list, a text, or the name before the
                # first observation is not.
                differences = [
                    each for each in differences if each.startswith(COMPARED) and "'at'" not in each
                ]
            if differences and f"{kind}.{name}" not in UNCHECKED:
                wrong[f"{kind}.{name}"] = differences[:3]
            written.put(node, name, places[node])
    assert len(tried) > 5, sorted(tried)
    assert wrong == {}, f"{wrong}; tried: {sorted(tried)}"
