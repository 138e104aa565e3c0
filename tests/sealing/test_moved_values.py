"""Every sealed value of the database, moved, cut or exchanged: the answers are as before, or errors."""

from __future__ import annotations

import contextlib
import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, LiteralString

import pytest

from graphmem.errors import GraphmemError, InternalError
from graphmem.interpretation import make_passages
from graphmem.model.facts import SEALED_MARK
from graphmem.registry import Services
from graphmem.search.passage_copies import PassageCopies
from graphmem.search.search_copies import SearchCopies
from graphmem.settings import Limits
from graphmem.worker import make_vectors
from tests.support.dumps import all_answers, store_rich_example
from tests.support.event_loop import Loop
from tests.support.faces import by_runner

NODES: LiteralString = (
    "MATCH (n) WHERE n.owner = $owner RETURN elementId(n) AS id, labels(n)[0] AS kind, properties(n) AS kept"
)
EDGES: LiteralString = (
    "MATCH (n)-[r]->() WHERE n.owner = $owner "
    "RETURN elementId(r) AS id, type(r) AS kind, properties(r) AS kept"
)
NAMED: Final = re.compile(r"\b(ent|rel|obs|src|txn)_[0-9a-f]{24}")
LOOKED_UP: Final = frozenset({"Identifier.value", "FieldValue.value", "Entity.name_key"})
"""Properties by which queries find entities. The check of snapshots finds one that was moved."""
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
        database = self.services.database
        fresh = replace(
            self.services,
            # On a slow machine an answer may lack what is not read into memory in time.
            limits=Limits(copy_wait_seconds=60.0, exact_wait_seconds=60.0),
            search_copies=SearchCopies(database, 100_000_000),
            passage_copies=PassageCopies(database, 100_000_000, self.services.embedder.model),
        )
        call, answers = by_runner(self.loop, fresh, self.owner), list[Any]()
        for name, arguments in self.calls:
            try:
                answers.append(call(name, **arguments))
            except InternalError:
                raise
            except GraphmemError as exc:
                answers.append(exc)
        self.loop.run(fresh.search_copies.close())
        self.loop.run(fresh.passage_copies.close())
        return answers

    def wrong(self) -> list[str]:
        """Return the reads whose answer is neither that of before nor an error that names something."""
        wrong = []
        for (name, arguments), was, now in zip(self.calls, self.before, self.answers(), strict=True):
            if isinstance(now, GraphmemError) and not isinstance(was, GraphmemError):
                if now.code != "DECRYPTION_FAILED" and not NAMED.search(str(now)):
                    wrong.append(f"{name} {arguments}: {now.code} {now}")
            elif not isinstance(was, GraphmemError) and now != was:
                wrong.append(f"{name} {arguments}")
        return wrong


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_no_sealed_value_is_answered_in_another_place(
    loop: Loop, sealed_services: Services, owner: str
) -> None:
    call = by_runner(loop, sealed_services, owner)
    store_rich_example(call)
    while loop.run(make_vectors(sealed_services, owner)) + loop.run(make_passages(sealed_services, owner)):
        pass
    reads = Reads(loop, sealed_services, owner)
    assert reads.wrong() == []
    script, wrong, tried = sealed_services.database.script, dict[str, list[str]](), set[str]()
    statements: list[tuple[LiteralString, LiteralString]] = [(NODES, SET_NODE), (EDGES, SET_EDGE)]
    for find, put in statements:
        groups: dict[tuple[str, str], list[tuple[str, Any]]] = defaultdict(list)
        for row in loop.run(script(find, owner=owner)):
            for name, value in row["kept"].items():
                if is_sealed(value):
                    groups[row["kind"], name].append((row["id"], value))
        for (kind, name), places in groups.items():
            for change, make in CHANGES.items():
                for node, own in places[:2]:
                    other = next((value for _, value in places if value != own and len(value)), own)
                    changed = make(own, other)
                    if changed == own:
                        continue
                    tried.add(f"{kind}.{name}")
                    with contextlib.suppress(InternalError):
                        # Where values are unique, the database itself refuses a second one.
                        loop.run(script(put, id=node, name=name, value=changed))
                    differences = reads.wrong()
                    # A look-up cannot tell a property that was moved from one that was never there.
                    is_noticed = (
                        differences
                        and f"{kind}.{name}" in LOOKED_UP
                        and not call("server.check_snapshots")["healthy"]
                    )
                    if differences and not is_noticed:
                        wrong[f"{kind}.{name} {change}"] = differences[:3]
                    loop.run(script(put, id=node, name=name, value=own))
    assert len(tried) > 20, sorted(tried)
    assert wrong == {}, sorted(tried)
