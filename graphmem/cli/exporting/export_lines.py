"""Formats of lines: the JSON Lines of graphmem, and the `memory.jsonl` of the MCP memory server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from graphmem.cli.exporting.export_spool import ExportSpool, Row, compact, fields_of
from graphmem.ingest.interpreters.interpret_memory import NAME, RELATION_TYPES, TEXTS, TYPE_FIELD
from graphmem.model import identity


def json_lines(spool: ExportSpool) -> Iterator[str]:
    """Yield a line for each entity: :mod:`graphmem.ingest.interpreters.interpret_exported` reads it."""
    for row in spool.entities():
        links = spool.relationships(row["entity_id"])
        yield compact({
            **_named(spool, row),
            "observations": _observations(spool, row),
            "relationships": [link for each in links if (link := _relationship(spool, each))],
        }) + "\n"  # fmt: skip


def _named(spool: ExportSpool, row: Row) -> Row:
    named = {name: row[name] for name in ("entity_type", "entity_id", "canonical_name")}
    return {**named, "identity": spool.identity(row["entity_id"])}


def _observations(spool: ExportSpool, row: Row) -> list[Row]:
    """Return the observations of an entity, the earliest first.

    What a merge hides of the merged entity, such as its name, stands apart as ``hidden_fields``: by its time
    it would be shown where it is imported.
    """
    rows = {each["id"]: each for each in spool.observations(row["entity_id"])}
    lines = [_observation(spool, each) for each in rows.values()]
    places = {each["id"]: (each["kind"] == "correction", each["observed_at"]) for each in rows.values()}
    for each in lines:
        observation_id = each["observation_id"]
        if rows[observation_id]["entity_id"] == row["entity_id"]:
            continue
        winners = {name: row["provenance"].get(name) for name in each["fields"]}
        hidden = {
            name: each["fields"].pop(name)
            for name, winner in winners.items()
            if winner in places and winner != observation_id and places[winner] <= places[observation_id]
        }
        each |= {"hidden_fields": hidden} if hidden else {}
    return lines


def _observation(spool: ExportSpool, row: Row) -> Row:
    names = "observed_at", "kind", "source_priority", "specificity_score", "observation_source", "recorded_at"
    line: Row = {**{name: row[name] for name in names}, "fields": fields_of(row), "observation_id": row["id"]}
    source = spool.source(row["source_id"])
    if source is not None:
        kept = ("source_id", "original_filename", "content_hash", "mime_type")
        line["source"] = {name: source[name] for name in kept}
    return line | {"written_by": row["provenance"]}


def _relationship(spool: ExportSpool, row: Row) -> Row | None:
    target = spool.entity(row["target_entity_id"])
    if target is None:
        return None
    return {
        "relationship_type": row["relationship_type"],
        "target": _named(spool, target),
        "metadata": row["snapshot"],
        "observed_at": row["last_observation_at"],
    }


def memory_lines(spool: ExportSpool) -> Iterator[str]:
    """Yield the entities, then the relations. Two entities of one name are told apart by type, then by id."""
    names: dict[str, str] = {}
    used_names: set[str] = set()
    for row in spool.entities():
        name, also = row["canonical_name"], f"{row['canonical_name']} ({row['entity_type']})"
        choices = name, also, f"{name} ({row['entity_id']})"
        name = next(each for each in choices if identity.fold_text(each) not in used_names)
        used_names.add(identity.fold_text(name))
        names[row["entity_id"]] = name
        snapshot = row["snapshot"]
        kind = snapshot.get(TYPE_FIELD) or row["entity_type"]
        yield (
            compact({"type": "entity", "name": name, "entityType": kind, "observations": _texts(snapshot)})
            + "\n"
        )
    for row in spool.relationships():
        ends = {"from": names[row["source_entity_id"]], "to": names[row["target_entity_id"]]}
        for kind in _spellings(row):
            yield compact({"type": "relation", **ends, "relationType": kind}) + "\n"


def _texts(snapshot: Row) -> list[str]:
    texts: list[str] = []
    for name, value in snapshot.items():
        if name == TEXTS and isinstance(value, list):
            texts += [each if isinstance(each, str) else compact(each) for each in value]
        elif name not in (NAME, TYPE_FIELD):
            texts.append(f"{name}: {_text(value)}")
    return texts


def _text(value: Any) -> str:
    return value if isinstance(value, str) else compact(value)


def _spellings(row: Row) -> list[str]:
    spelled = row["snapshot"].get(RELATION_TYPES)
    are_texts = isinstance(spelled, list) and spelled and all(isinstance(each, str) for each in spelled)
    return spelled if are_texts else [row["relationship_type"]]
