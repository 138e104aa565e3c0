"""Writing facts again that were written elsewhere: the same folds, counters and edges come of them as there.

A restoring request holds transactions as they were, in the order in which they were recorded. Each is decided
like one that is new, except that nothing of it is refused or made up: it was accepted once. So all that is
derived is derived by the same code, whatever there is to derive.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from graphmem.model import facts, schema
from graphmem.model.reduction import Observation
from graphmem.writing import merging
from graphmem.writing.draft import Draft
from graphmem.writing.requests import Receipt, WriteRequest
from graphmem.writing.restored import Restoring, Written
from graphmem.writing.state import State


def decide(state: State, request: WriteRequest) -> Receipt:
    """Make what a request restores part of ``state``; what is there already stays as it is."""
    restoring = request.restoring
    assert restoring is not None
    _activate(state, request, restoring)
    for written in restoring.written:
        draft = Draft.of(state, request, written.properties["recorded_at"])
        # Entities first: relationships are shown where their ends are.
        for said in sorted(written.observations, key=lambda one: ":" in one.subject_id):
            if not draft.is_known(said):
                _observe(draft, said, moves=restoring.moves)
        new = written.id not in state.transactions
        if new:
            for one in written.versions:
                draft.versions.append({"transaction_id": written.id, "properties": dict(one)})
                # Its head is as it will be already; what changes is when it was changed last.
                draft.heads[one["entity_type"]] = draft.head(one["entity_type"])
        draft.take_in(_row(state, written) if new else None)
    return Receipt(request.transaction_id, state.recorded_at, [], [])


def _activate(state: State, request: WriteRequest, restoring: Restoring) -> None:
    """Have each type follow the schema that counts in the end; the greater version counts."""
    for kind, (active, registered_at) in sorted(restoring.schemas.items()):
        draft = Draft.of(state, request, registered_at)
        head = draft.head(kind)
        known = head.active
        if known is not None and schema.version_order(known.version) >= schema.version_order(active.version):
            continue
        new, old = set(active.document.aliases), set(known.document.aliases if known else ())
        taken = {name for name in new if state.aliases.get(name, kind) != kind or name in state.heads}
        draft.renamed = {**dict.fromkeys(new - taken, kind), **dict.fromkeys(old - new, None)}
        # Where nothing is stored of the type yet, there is nothing to fold again.
        changed = head.with_active(active)
        draft.heads[kind] = changed if kind in state.heads else replace(changed, changed=False)
        draft.take_in(None)


def _observe(draft: Draft, said: Observation, *, moves: bool) -> None:
    if ":" in said.subject_id:
        draft.observe_relationship(said)
    elif said.kind in facts.MERGE_KINDS:
        merging.observed(draft, said, facts.target(said.kind, said.fields), moves=moves)
    else:
        draft.observe_entity(said)


def _row(state: State, written: Written) -> dict[str, Any]:
    properties = dict(written.properties)
    if properties.get("idempotency_key") in state.keys:
        # The key stands for another transaction here: this one is written without it.
        properties["idempotency_key"] = None
    return {"agent": written.agent, "properties": properties}
