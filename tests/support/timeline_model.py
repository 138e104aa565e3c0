"""A plain model of the timeline: every date in the snapshot of every live entity.

It shares no code with the product, and knows the few names and forms of dates that the tests draw.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from tests.support.knowledge_model import Knowledge, display_name

BY_NAME = {"due": "Due"}
"""The drawn fields that are times by their names, with the types of their events."""


def events(known: Knowledge, owner: str) -> list[dict[str, Any]]:
    """Return what answers about the timeline must say, the earliest event first."""
    every = [event for root in known.roots() if known.lives(root) for event in _of(known, owner, root)]
    unique = {event["id"]: event for event in every[::-1]}
    return sorted(unique.values(), key=lambda event: (event["instant"], event["id"]))


def _of(known: Knowledge, owner: str, root: str) -> Iterator[dict[str, Any]]:
    states, temporal = known.holding(root), dict(known.schema(root).temporal) or BY_NAME
    recorded = {fact.id: fact.recorded_at for fact in known.facts}
    for name in sorted(set(states) & set(temporal)):
        value, winners = states[name].value, states[name].winners
        for text in value if isinstance(value, list) else [value]:
            when = instant(text)
            if when is None:
                continue
            hashed = json.dumps([owner, root, name, text], separators=(",", ":"))
            event = {
                "id": "evt_" + hashlib.sha256(hashed.encode()).hexdigest()[:24],
                "event_type": temporal[name],
                "instant": when,
                "text": text,
                "source_field": name,
                "entity_id": root,
                "entity_type": known.types[root],
                "entity_name": display_name(known.types[root], root, states, known.names.get(root)),
            }
            # Another test asks which of several observations an element of a union comes from.
            source = {"observation_id": winners[0], "created_at": recorded[winners[0]]}
            yield event | (source if len(winners) == 1 else {})


def instant(text: Any) -> str | None:
    """Return the instant of a date as answers write it, ``None`` where a value is none."""
    shape = r"\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d(\.\d{6})?(Z|[+-]\d\d:\d\d))?"
    if not isinstance(text, str) or re.fullmatch(shape, text) is None:
        return None
    moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    utc = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return f"{utc.year:04d}-{utc:%m-%dT%H:%M:%S.%f}Z"
