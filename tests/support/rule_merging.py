"""Merges by rule in tests: people who are known by a name and by an e-mail, and what each id leads to."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from graphmem.model import times
from tests.support.faces import Call

ADA = {"entity_type": "person", "name": "Ada Lovelace"}
ADA_BY_EMAIL = {**ADA, "email": "ada@example.org"}
OTHER_ADA = {**ADA, "email": "ada@example.com"}
Audited = Callable[[bool], dict[str, Any]]
"""Compares all that is stored with what the facts come to, deep or not; returns what differs."""


def store(run: Call, *items: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    """Store items and return what became of each."""
    return run("store", entities=list(items), **more)["entities"]


def home_of(run: Call, item: dict[str, Any], **more: Any) -> str:
    """Store an item; return the entity that it is about, whatever that is merged into."""
    return homes(store(run, item, **more))[0]


def homes(stored: list[dict[str, Any]]) -> list[str]:
    """Return the entities that stored items are about."""
    return [each.get("home_entity_id", each["entity_id"]) for each in stored]


def file_of(run: Call, *items: dict[str, Any]) -> tuple[str, list[str]]:
    """Store items with a file of their own; return the file, and the entities that they are about."""
    content = base64.b64encode(str(items).encode()).decode()
    more = {"file_content": content, "mime_type": "text/plain", "find_duplicates": False}
    answer = run("store", entities=list(items), **more)
    return answer["source_id"], homes(answer["entities"])


def shown_as(run: Call, *entity_ids: str, **clocks: str) -> list[str]:
    """Return the entity that each id leads to, now or as of a time."""
    if not clocks:
        return [run("entities.get", entity_id=entity_id)["entity_id"] for entity_id in entity_ids]
    return [run("entities.snapshot", entity_id=entity_id, **clocks)["entity_id"] for entity_id in entity_ids]


def before(moment: str) -> str:
    """Return the microsecond before a time."""
    return times.render(times.parse(moment) - 1)
