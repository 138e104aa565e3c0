"""The timeline events of entities as their nodes list them, and what a turn writes of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from graphmem.model import timeline
from graphmem.model.rules import Rules
from graphmem.writing.things import Thing


def listed(owner: str, view: Thing | None, rules: Rules) -> dict[str, dict[str, Any]]:
    """Return what the events of an entity hold, by id.

    Args:
        view: the entity as it is shown, ``None`` where it is in no answer itself.
    """
    if view is None:
        return {}
    return {
        one.id: {
            "id": one.id,
            "owner": owner,
            "entity_id": view.subject_id,
            "entity_type": view.kind,
            "event_type": one.event_type,
            "field": one.field,
            "at": one.at,
            "listed_at": one.at,
            "text": one.text,
            "precision": one.precision,
            "observation_id": one.observation_id,
        }
        for one in timeline.events(owner, view.subject_id, view.kind, view.fold, rules).values()
    }


@dataclass(slots=True)
class Drawn:
    """What a turn writes of events, flat: a row that carried a list would be charged for all of it.

    ``superseded`` are the ids of events that are listed no more, ``renewed`` the entities of which none is
    but those that are written now.
    """

    owner: str
    events: list[dict[str, Any]] = field(default_factory=list)
    superseded: list[str] = field(default_factory=list)
    renewed: list[str] = field(default_factory=list)

    def change(self, was: Thing | None, now: Thing | None, rules: Rules) -> None:
        """Write the difference between what an entity listed and what it lists."""
        if was is None and now is None:
            return
        before, after = listed(self.owner, was, rules), listed(self.owner, now, rules)
        self.superseded += sorted(before.keys() - after.keys())
        self.events += [one for name, one in sorted(after.items()) if before.get(name) != one]

    def renew(self, subject_id: str, now: Thing | None, rules: Rules) -> None:
        """Write all that an entity lists: what it listed is not known, as it was drawn under other rules."""
        self.renewed.append(subject_id)
        self.events += [one for _, one in sorted(listed(self.owner, now, rules).items())]

    @property
    def parameters(self) -> dict[str, Any]:
        """Those of ``write.turn``."""
        return {"events": self.events, "superseded": self.superseded, "renewed": self.renewed}
