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

    def change(self, before: Thing | None, after: Thing | None, rules: Rules) -> None:
        """Write the difference between the events of two states of an entity."""
        old, new = listed(self.owner, before, rules), listed(self.owner, after, rules)
        self.superseded += sorted(old.keys() - new.keys())
        self.events += [event for event_id, event in sorted(new.items()) if old.get(event_id) != event]

    def renew(self, subject_id: str, after: Thing | None, rules: Rules) -> None:
        """Write all events of an entity: those of before were made under other rules, and are not known."""
        self.renewed.append(subject_id)
        self.events += [event for _, event in sorted(listed(self.owner, after, rules).items())]

    @property
    def parameters(self) -> dict[str, Any]:
        return {"events": self.events, "superseded": self.superseded, "renewed": self.renewed}
