"""The reducer that everything else is measured by: what a snapshot must be, said as plainly as it can be.

It is written for reading, shares no code with the product and keeps no state. An observation is a dict::

    {"id": "obs_…", "kind": "value", "observed_at": …, "recorded_at": …, "fields": {"name": "Ada"}}

Times may be microseconds or the texts that graphmem answers: both sort as times do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class View:
    """An entity as of two clocks."""

    snapshot: dict[str, Any]
    provenance: dict[str, str]
    observation_count: int
    version: int
    last_observation_at: Any


def reduce(observations: Iterable[Mapping[str, Any]], at: Any = None, at_ingested: Any = None) -> View:
    """Return what is true at ``at``, as it was known at ``at_ingested``; ``None`` is now, by either clock."""
    # An observation is a fact: said twice, it is still one.
    facts = {observation["id"]: observation for observation in observations}
    visible = [
        fact
        for fact in facts.values()
        if (at is None or fact["observed_at"] <= at)
        and (at_ingested is None or fact["recorded_at"] <= at_ingested)
    ]
    # From the least to the greatest, so that what comes later overwrites: corrections over all other
    # kinds, then the later time, then the greater id. The order of arrival is nowhere asked.
    visible.sort(key=lambda fact: (fact["kind"] == "correction", fact["observed_at"], fact["id"]))
    snapshot: dict[str, Any] = {}
    provenance: dict[str, str] = {}
    for fact in visible:
        for name, value in fact["fields"].items():
            snapshot[name] = value
            provenance[name] = fact["id"]
    # A null that won clears its field; the canonical name is folded like a field and is none.
    hidden = {name for name, value in snapshot.items() if value is None} | {"canonical_name"}
    return View(
        snapshot={name: value for name, value in snapshot.items() if name not in hidden},
        provenance={name: winner for name, winner in provenance.items() if name not in hidden},
        observation_count=len(visible),
        # Each accepted transaction has a recorded_at of its own, and raises the version by one.
        version=len({fact["recorded_at"] for fact in visible}),
        last_observation_at=max((fact["observed_at"] for fact in visible), default=None),
    )
