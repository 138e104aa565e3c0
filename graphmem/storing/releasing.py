"""Ending a correction: it counts on as an ordinary observation of its time, and the newest one wins again.

Observations never change. The transaction of the correction is withdrawn, and its value is stored again as an
ordinary observation, with the time of the correction.
"""

from __future__ import annotations

from typing import Final

import orjson

from graphmem.model import canonical, reduction, times
from graphmem.model.reduction import Fold
from graphmem.reading import answers, recomputed
from graphmem.reading.shared_rows import EntityRow, ObservationRow
from graphmem.registry import Context
from graphmem.storing.acceptance import StoredEntity, Writing, accept, submit, transaction
from graphmem.storing.withdrawal_changes import apply_withdrawals
from graphmem.writing import Receipt, WithdrawalRequest

HELD: Final = "HELD_BY_CORRECTION"
"""The warning of a store whose value a correction hides."""
RELEASED_LIMIT: Final = 50
"""Corrections of one field that one call ends."""


async def release(context: Context, entity_id: str, field: str) -> int:
    """End the corrections that hold a field of what an entity's id leads to; return how many there were."""
    for count in range(RELEASED_LIMIT):
        winner = (await shown(context, entity_id))[1].get(field)
        observations = await context.graph.only(
            "observation.by_id",
            list[ObservationRow],
            observation_ids=winner.observation_id.split(",") if winner else [],
            include_deleted=True,
            include_excluded=False,
        )
        correction = next((each for each in observations if each.kind == "correction"), None)
        if correction is None:
            return count
        await _demote(context, correction, field)
    return RELEASED_LIMIT


async def shown(context: Context, entity_id: str) -> tuple[EntityRow, Fold]:
    """Return the row and the fold of the entity that an id leads to.

    Raises:
        NotFound: there is none.
    """
    now = await recomputed.entities(context, [entity_id], times.LATEST, times.LATEST)
    row = now.get(entity_id)
    if row is None:
        raise answers.no_entity(entity_id)
    return row, now.folds[row.id]


async def _demote(context: Context, correction: ObservationRow, field: str) -> None:
    about = {
        "target_id": correction.entity_id,
        "observed_at": times.render(correction.observed_at),
        "observation_source": correction.observation_source,
    }
    said = {
        name: canonical.decode(value)
        for name, value in zip(correction.fields, correction.values, strict=True)
    }
    writing, operation = Writing(), "entities.correct"
    await accept(
        context, operation, writing, lambda reader: ([reader.observation(0, "$", "$", about, said)], [])
    )
    withdrawal = WithdrawalRequest(
        **transaction(context, operation, writing),
        kind="exclude",
        subject_kind="transaction",
        subject=correction.transaction_id,
        reason=f"the correction of {field} has ended",
    )
    await submit(context, withdrawal)
    await apply_withdrawals(context)


async def release_held(
    context: Context, receipt: Receipt, stored: list[StoredEntity], wanted: set[int]
) -> None:
    """End the corrections that hold fields of some items of a store, and show in its answer what follows.

    Args:
        wanted: the indexes of the items that end corrections; the receipt loses the warnings of these.
    """
    held = [each for each in receipt.warnings if each["code"] == HELD and each["index"] in wanted]
    receipt.warnings[:] = [each for each in receipt.warnings if each not in held]
    for warning in [] if receipt.replayed else held:
        entry = stored[warning["index"]]
        await release(context, entry["entity_id"], warning["field"])
        row, fold = await shown(context, entry["entity_id"])
        entry["version"], entry["canonical_name"] = row.version, row.name
        entry["entity_snapshot_after"] = {
            name: orjson.Fragment(winner.value) for name, winner in reduction.snapshot_fields(fold)
        }
