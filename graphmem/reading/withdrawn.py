"""Why observations do not count: the withdrawals of their files, interpretations, transactions and agents."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from graphmem.model import membership, times
from graphmem.reading import answers
from graphmem.reading.shared_rows import ObservationRow
from graphmem.registry import Context


class _Withdrawal(NamedTuple):
    """A row of ``exclusion/of_observations.cypher``."""

    observation_id: str
    exclusion_id: str
    subject_kind: str
    subject: str
    recorded_at: int
    reason: str | None


async def stored_observations(context: Context, observation_ids: Iterable[str]) -> list[ObservationRow]:
    """Return the rows of some observations, those of deleted entities and those that do not count too."""
    return await context.graph.only(
        "observation.by_id",
        list[ObservationRow],
        observation_ids=sorted(set(observation_ids)),
        include_deleted=True,
        include_excluded=True,
    )


async def observations(context: Context, rows: Iterable[ObservationRow]) -> list[answers.Observation]:
    """Return the answers for some observations; one that does not count now names its withdrawals.

    They are read only if there is such an observation.
    """
    rows = list(rows)
    shown = [answers.observation(row) for row in rows]
    withdrawn = [row.id for row in rows if not membership.counts(row.excluded)]
    if not withdrawn:
        return shown
    withdrawals = await context.graph.only(
        "exclusion.of_observations", list[_Withdrawal], observation_ids=withdrawn
    )
    by_observation: dict[str, list[answers.Fields]] = {}
    for row in withdrawals:
        by_observation.setdefault(row.observation_id, []).append({
            "exclusion_id": row.exclusion_id,
            "subject_kind": row.subject_kind,
            "subject_id": row.subject,
            "since": times.render(row.recorded_at),
            "reason": row.reason,
        })  # fmt: skip
    for answer in shown:
        if answer["id"] in by_observation:
            answer["exclusions"] = by_observation[answer["id"]]
    return shown
