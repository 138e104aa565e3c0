"""What a dry run of a withdrawal answers, and what the withdrawal then changes, in one form."""

from __future__ import annotations

from typing import Any

from tests.support.faces import Call

Shown = tuple[str, dict[str, Any], dict[str, str]]
"""The name, the snapshot and the provenance of an entity; a relationship has no name."""


def listed(run: Call) -> dict[str, Shown]:
    """Return what lists of entities and relationships show, by id and key."""
    entities = run("entities.query", limit=500)["entities"]
    links = run("relationships.list", limit=500)["relationships"]
    return {
        **{row["entity_id"]: (row["canonical_name"], row["snapshot"], row["provenance"]) for row in entities},
        **{row["relationship_key"]: ("", row["snapshot"], row["provenance"]) for row in links},
    }


def planned(run: Call, name: str, limit: int = 100, **subject: Any) -> dict[str, Any]:
    """Return what a dry run answers on all of its pages, by id and key."""
    changes: dict[str, Any] = {}
    page: dict[str, Any] = {"next_cursor": None}
    while "next_cursor" in page:
        page = run(name, dry_run=True, limit=limit, cursor=page["next_cursor"], **subject)
        assert page["dry_run"]
        assert page["transaction_id"] is None
        assert max(len(page["entities"]), len(page["relationships"])) <= limit
        for change in page["entities"] + page["relationships"]:
            subject_id = change.get("entity_id") or change["relationship_key"]
            assert subject_id not in changes
            changes[subject_id] = change
    return changes


def difference(before: dict[str, Shown], after: dict[str, Shown]) -> dict[str, Any]:
    """Return what differs between two lists: the change, and of each field both values and the winner."""
    changes: dict[str, Any] = {}
    for subject_id in before.keys() | after.keys():
        old, new = before.get(subject_id), after.get(subject_id)
        if old != new:
            change = "changes" if old and new else "appears" if new else "disappears"
            changes[subject_id] = change, _fields(old, new)
    return changes


def _fields(old: Shown | None, new: Shown | None) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if old and new and old[0] != new[0]:
        fields["canonical_name"] = old[0], new[0]
    for name in {**(old[1] if old else {}), **(new[1] if new else {})}:
        before, after = (
            (side[1].get(name), side[2].get(name)) if side else (None, None) for side in (old, new)
        )
        if before != after:
            fields[name] = before[0], *after
    return fields


def as_difference(plan: dict[str, Any]) -> dict[str, Any]:
    """Return a plan in the form of :func:`difference`."""
    return {
        subject_id: (change["change"], {each["field"]: _field(each) for each in change["fields"]})
        for subject_id, change in plan.items()
    }


def _field(change: dict[str, Any]) -> tuple[Any, ...]:
    values = change["old_value"], change["new_value"]
    if change["field"] == "canonical_name":
        return values
    return *values, (change["winner"] or {}).get("observation_id")
