"""The timeline events of entities, and the events that a turn writes."""

from dataclasses import dataclass, field
from typing import Any

from graphmem.model import timeline_fields
from graphmem.model.rules import Rules
from graphmem.writing.things import Thing


def listed(owner: str, view: Thing | None, rules: Rules) -> dict[str, dict[str, Any]]:
    """Return the properties of the events of an entity with its members, by id."""
    if view is None:
        return {}
    return {
        event.id: {
            **event._asdict(),
            "owner": owner,
            "entity_id": view.subject_id,
            "entity_type": view.kind,
            "listed_at": event.at,
        }
        for event in timeline_fields.events(owner, view.subject_id, view.kind, view.fold, rules).values()
    }


@dataclass(slots=True)
class EventChanges:
    """The events that a turn writes, flat: Neo4j charges a row with a list in it for the whole list.

    ``superseded`` are the ids of events that are no longer listed. Of the ``renewed`` entities, no events but
    those written now are listed.
    """

    owner: str
    events: list[dict[str, Any]] = field(default_factory=list)
    superseded: list[str] = field(default_factory=list)
    renewed: list[str] = field(default_factory=list)

    def change(
        self, subject_id: str, before: Thing | None, after: Thing | None, rules: Rules, *, is_renewed: bool
    ) -> None:
        """Write the difference between the events of two states of an entity; all of them where its rules
        have changed (``is_renewed``), as those of before are not known."""
        old, new = listed(self.owner, None if is_renewed else before, rules), listed(self.owner, after, rules)
        self.renewed += [subject_id] if is_renewed else []
        self.superseded += sorted(old.keys() - new.keys())
        self.events += [event for event_id, event in sorted(new.items()) if old.get(event_id) != event]

    @property
    def parameters(self) -> dict[str, Any]:
        return {"events": self.events, "superseded": self.superseded, "renewed": self.renewed}
