"""What a withdrawal or a split would change: it is applied in a transaction that is rolled back."""

import asyncio
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from graphmem.database.driver import NOBODY, Database
from graphmem.database.queries import Queries
from graphmem.embedding.meaning import Embedder
from graphmem.model import ids, state_hash, times
from graphmem.model.items import ItemReader
from graphmem.writing import forms, refolding, vectors
from graphmem.writing import state as states
from graphmem.writing.draft import Draft
from graphmem.writing.state import State
from graphmem.writing.store_request import StoreRequest
from graphmem.writing.things import Thing
from graphmem.writing.transaction import TransactionRequest
from graphmem.writing.turn_rows import Node, parameters
from graphmem.writing.withdrawing import WithdrawalRequest
from graphmem.writing.write_requests import LookAgain, Receipt, Touched

Sides = tuple[Thing | None, Thing | None]
"""A thing as answers show it now, and as they would show it; ``None`` where they do not."""


@dataclass(frozen=True, slots=True)
class Supposition:
    """Some entities and relationships now, and as a request would leave them."""

    now: State
    then: State

    def entity(self, entity_id: str) -> Sides:
        return _listed(self.now, entity_id), _listed(self.then, entity_id)

    def relationship(self, key: str) -> Sides:
        """Return both sides of a relationship, which is shown while it and its ends live."""
        return _linked(self.now, key), _linked(self.then, key)


def _listed(state: State, entity_id: str) -> Thing | None:
    node = Node.of(state.entities, entity_id, is_entity=True)
    return node.as_listed if node else None


def _linked(state: State, key: str) -> Thing | None:
    node = Node.of(state.relationships, key, is_entity=False)
    if node is None or not node.live or not all(_listed(state, end) for end in ids.ends(key)):
        return None
    return node.view


async def suppose(
    database: Database,
    request: WithdrawalRequest,
    entity_ids: Iterable[str],
    relationship_keys: Iterable[str] = (),
) -> Supposition:
    """Return some entities and relationships, with what they are merged with, before and after a withdrawal.
    The owner's lock is held meanwhile, and nothing is written. Raises as a write does."""
    touched = Touched()
    touched.add_subjects([*entity_ids, *relationship_keys])
    request.touch(touched)
    subjects = [change.subject for change in request.changes]
    async with database.transaction(request.owner, commit=False) as tx:
        await tx.rows("owner.lock")
        now = await _state(touched, request.owner, tx)
        draft = Draft.of(now, request, max(times.now(), now.read.recorded_at + 1))
        request.apply(draft)
        draft.raise_issues()
        toggles = [(each, [*now.read.toggles.get(each, ()), draft.recorded_at]) for each in subjects]
        subject_ids = [*now.entities, *now.relationships]
        changed_ids = await tx.only("exclusion.suppose", list[str], subjects=toggles, subject_ids=subject_ids)
        then = replace(now, entities=now.entities.copy(), relationships=now.relationships.copy())
        for things in (then.entities, then.relationships):
            changed = {each for subject_id in changed_ids for each in (subject_id, things.root(subject_id))}
            for thing in filter(None, map(things.get, sorted(changed))):
                things.put(replace(thing, refold=thing.refold + 1))
        await refolding.refold(tx, then)
    return Supposition(now, then)


async def suppose_written(
    database: Database, request: TransactionRequest, embedder: Embedder | None
) -> tuple[Receipt, Supposition]:
    """Return what a request would answer, and what it touches before and after it; see :func:`suppose`.
    Without an embedder nothing is embedded, and the owner may be one that has written nothing."""
    touched = Touched()
    request.touch(touched)
    async with database.transaction(request.owner, commit=False) as tx:
        if embedder is None:
            await tx.rows("owner.create", state_hash=state_hash.EMPTY, account_id=request.account)
        await tx.rows("owner.lock")
        while True:
            state = await _state(touched, request.owner, tx)
            now = replace(state, entities=state.entities.copy(), relationships=state.relationships.copy())
            informed = await request.identified(state).informed(tx, state)
            try:
                receipt = informed.decide(state, times.now())
            except LookAgain as exc:
                touched.add(exc.further)
                continue
            break
        params = parameters(state)
        if embedder is not None:
            await vectors.embed(params, embedder)
        await forms.write(params, tx)
        touched.add_subjects([*state.entities, *state.relationships])
        return receipt, Supposition(now, await _state(touched, request.owner, tx))


async def _state(touched: Touched, owner: str, queries: Queries) -> State:
    state = states.of_look(await forms.read(touched, queries), owner, touched)
    await refolding.refold(queries, state)
    return state


QUIET_SECONDS: Final = 60.0  # without a request, after which the stores begin, or go on
STORES: Final = 200
PAUSE_FACTOR: Final = 2.0  # between two stores, times the seconds of the last one


async def practise(database: Database, stores: int = STORES) -> None:
    """Store and look in transactions that are rolled back, while no request comes. Not in a sealed instance:
    the owner would have a data key there. It raises as a write does."""
    await asyncio.sleep(QUIET_SECONDS)
    for number in range(0 if database.is_sealed else stores):
        await database.planning.wait_until_quiet(QUIET_SECONDS)
        start = time.monotonic()
        await suppose_written(database, request(number), None)
        await asyncio.sleep(PAUSE_FACTOR * (time.monotonic() - start))


def request(number: int) -> StoreRequest:
    """Return a store of a person, a task and a company, as agents send them."""
    reader = ItemReader(NOBODY, ids.transaction_id())
    entities = [
        {
            "entity_type": "person",
            "name": f"Ada {number}",
            "email": f"ada{number}@example.org",
            "city": "London",
        },
        {"entity_type": "task", "title": f"Oil the engine {number}", "due_date": "2030-01-01"},
        {"entity_type": "company", "name": f"Analytical Engines {number}"},
    ]
    items = [item for index, each in enumerate(entities) if (item := reader.item(index, each))]
    return StoreRequest(
        owner=NOBODY, account="", transaction_id=reader.transaction_id, operation="store", agent="anonymous",
        client="graphmem", by="{}", items=items,
    )  # fmt: skip
