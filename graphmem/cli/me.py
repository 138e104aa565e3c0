"""``graphmem me``: who asks."""

from __future__ import annotations

from typing import Any

from graphmem.cli.commands import entry_of
from graphmem.cli.entity_names import with_ids
from graphmem.cli.session import Session


def me(session: Session, entity: str | None = None) -> dict[str, Any]:
    if entity is not None:
        create = entry_of("observations.create")
        marking = {"entity_id": entity, "fields": {"self": True}, "observation_source": "human"}
        session.run(create, with_ids(session, create, marking))
    answer = session.ask("entities.query", {"search": "myself", "limit": 1, "provenance": "none"})
    marked = [each for each in answer["entities"] if each.get("matched") == "self"]
    if not marked:
        return {"hint": answer.get("hint")}
    return {name: marked[0][name] for name in ("entity_id", "entity_type", "canonical_name")}
