"""The calls that test_parity.py makes through every face: of each operation some that succeed and fail.

An operation that has no row here is called with the example of its declaration, and with an unknown argument.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from graphmem.registry import REGISTRY

STORED = {
    "ent_0123456789abcdef01234567": "$ada",
    "ent_76543210fedcba9876543210": "$acme",
    "rel_0123456789abcdef01234567": "$link_id",
    "evt_0123456789abcdef01234567": "$event",
    "src_0123456789abcdef01234567": "$source",
    "key_0123456789abcdef": "$key",
    "con_0123456789abcdef": "$connection",
    "agr_0123456789abcdef": "$grant",
    "sub_0123456789abcdef": "$subscription",
    "rcp_0123456789abcdef0123456789abcdef": "$receipt",
    "int_0123456789abcdef01234567": "$interpretation",
    "spl_0123456789abcdef01234567": "$split",
}
"""What stands for the ids of examples."""
NOBODY = "ent_" + "0" * 24
AT = "2026-01-01T00:00:00Z"
STORE = {
    "entities": [
        {
            "entity_type": "person",
            "name": "Ada Lovelace",
            "birthday": "1815-12-10",
            "odd": [None, 1.0, 2**70, "\x00\U0001f600"],
        },
        {"entity_type": "company", "name": "Acme"},
    ],
    "relationships": [
        {"relationship_type": "works at", "source_index": 0, "target_index": 1, "metadata": {"a": 1.0}}
    ],
    "observed_at": AT,
}


FILE = {
    "file_content": "RGVhciBBZGE=",
    "original_filename": "letter.txt",
    "idempotency_key": "a file",
}
WINE = {"entity_type": "wine", "fields": {"name": {"type": "string"}, "year": "number"}}
SPLIT = {
    "source_entity_id": "$twin", "observation_field_equals": {"field": "a", "value": 1},
    "new_entity": {"entity_type": "thing", "canonical_name": "Other"}, "idempotency_key": "sp",
}  # fmt: skip
ENDS = {"relationship_type": "WORKS_AT", "source_entity_id": "$ada", "target_entity_id": "$acme"}


@dataclass(frozen=True)
class Row:
    """One call: ``code`` is that of the error expected; ``$ada``, ``$acme`` and ``$link`` stand for ids."""

    name: str
    arguments: dict[str, Any]
    code: str = ""
    not_in_cli: bool = False


def unknown(name: str) -> Row:
    # A command line has no options but those that it has.
    return Row(name, {"unknown": "x"}, "ERR_UNKNOWN_FIELD", not_in_cli=True)


def by_example(name: str) -> list[Row]:
    """Return a row that succeeds and one that fails, from the declaration of an operation."""
    return [Row(name, with_stored_ids(dict(REGISTRY[name].example))), unknown(name)]


def with_stored_ids(example: Any) -> Any:
    """Return the arguments of an example about what the test stored."""
    if isinstance(example, dict):
        return {name: with_stored_ids(value) for name, value in example.items()}
    if isinstance(example, list):
        return [with_stored_ids(value) for value in example]
    return STORED.get(example, example) if isinstance(example, str) else example


SPECIAL = [
    Row("store", STORE),
    Row("store", {**STORE, "commit": False}),
    Row("store", {**STORE, "idempotency_key": "parity"}),
    Row("store", {"entities": STORE["entities"], "idempotency_key": "parity"}, "ERR_IDEMPOTENCY_MISMATCH"),
    Row("store", FILE),
    Row("store", {**FILE, "file_content": "RGVhciBBZGE"}, "FILE_CONTENT_INVALID"),
    Row("store", {"relationships": []}, "VALIDATION_INVALID_FORMAT"),
    Row("sources.list", {"search": "LETTER", "include_total_count": True}),
    Row("sources.list", {"cursor": "nonsense"}, "INVALID_CURSOR"),
    Row("sources.search", {"search": "Dear Ada", "limit": 2}),
    Row("sources.search", {}, "VALIDATION_INVALID_FORMAT"),
    Row("sources.get", {"source_id": "$source"}),
    Row("sources.get", {"source_id": "src_" + "0" * 24}, "RESOURCE_NOT_FOUND"),
    *(
        Row(f"{noun}s.withdraw", {f"{noun}_id": f"${noun}", "dry_run": True, "limit": 1})
        for noun in ("source", "interpretation")
    ),
    *(
        Row(f"{noun}s.{verb}", {f"{noun}_id": f"${noun}", "reason": "x", "idempotency_key": f"{noun} {verb}"})
        for noun in ("source", "interpretation")
        for verb in ("withdraw", "reinstate")
    ),
    *(
        Row(f"{noun}s.{verb}", {f"{noun}_id": f"{prefix}_{'0' * 24}"}, "RESOURCE_NOT_FOUND")
        for noun, prefix in (("source", "src"), ("interpretation", "int"))
        for verb in ("withdraw", "reinstate")
    ),
    *(
        Row(f"writings.{verb}", {"transaction_id": "$transaction", "idempotency_key": f"writings {verb}"})
        for verb in ("withdraw", "reinstate")
    ),
    *(
        Row(f"writings.{verb}", {"transaction_id": "txn_0"}, "RESOURCE_NOT_FOUND")
        for verb in ("withdraw", "reinstate")
    ),
    Row("writings.withdraw", {"by_key": "x", "transaction_id": "txn_0"}, "VALIDATION_INVALID_FORMAT"),
    Row("agents.quarantine", {"by_key": "bot", "reason": "x", "idempotency_key": "quarantine"}),
    Row("agents.quarantine", {}, "VALIDATION_INVALID_FORMAT"),
    Row("agents.release", {"by_key": "bot", "reason": "x", "idempotency_key": "release"}),
    Row("agents.release", {"by_key": "bot"}, "RESOURCE_NOT_FOUND"),
    Row("undo", {"transaction_id": "txn_0"}, "RESOURCE_NOT_FOUND"),
    Row("undo", {"transaction_id": "$transaction", "dry_run": True}),
    Row("interpretations.create",
        {**with_stored_ids(REGISTRY["interpretations.create"].example), "idempotency_key": "ic"}),
    unknown("interpretations.create"),
    Row("interpretations.get", {"interpretation_id": "$interpretation"}),
    Row("interpretations.get", {"interpretation_id": "int_0"}, "RESOURCE_NOT_FOUND"),
    Row("store.unstructured", {**FILE, "mime_type": "application/pdf", "idempotency_key": "pdf"}, "", True),
    Row("store.unstructured", {"file_content": ""}, "FILE_EMPTY", True),
    Row("store.unstructured", {"file_path": "/etc/passwd"}, "FILE_PATH_REFUSED", True),
    Row("files.parse", {"file_content": "RGVhciBBZGE=", "limit": 4, "offset": 2}, "", True),
    Row("files.parse", {"file_content": "AAECAwQFBgcICQ=="}, "FILE_NOT_PARSED", True),
    Row("sources.url", {"path": "$source"}),
    Row("sources.url", {"file_path": "graphmem://src_" + "0" * 24}, "RESOURCE_NOT_FOUND", not_in_cli=True),
    Row("sources.url", {"path": "$source", "expires_in": 86_401}, "VALIDATION_INVALID_FORMAT"),
    Row("store", {"entities": [{"name": "x"}, 7]}, "ERR_STORE_RESOLUTION_FAILED"),
    Row("store", {"entities": STORE["entities"], "idempotency_key": "k" * 256}, "VALIDATION_INVALID_FORMAT"),
    Row("observations.create", {"entity_id": "$ada", "fields": {"x": {"y": []}}, "observed_at": AT}),
    Row("observations.create", {"entity_id": NOBODY, "fields": {"x": 1}}, "RESOURCE_NOT_FOUND"),
    Row("observations.create", {"entity_id": "$ada", "fields": {}}, "ERR_STORE_RESOLUTION_FAILED"),
    Row("observations.query", {"filters": {"entity_id": "$ada"}, "include_total_count": True}),
    Row("observations.query", {"filters": {"entity_id": "$ada", "observed_until": AT}, "limit": 1}),
    Row("observations.query", {"filters": {"entity_id": NOBODY}}, "RESOURCE_NOT_FOUND"),
    Row("observations.query", {"filters": {"entity_id": "$ada"}, "limit": "0"}, "VALIDATION_INVALID_FORMAT"),
    Row("entities.query", {"filters": {"entity_type": "people"}, "include_total_count": True}),
    Row("entities.query", {"filters": {"entity_types": ["person", "company"]}, "include_snapshots": False}),
    Row("entities.query", {"limit": "0"}, "VALIDATION_INVALID_FORMAT"),
    Row("entities.query", {"sort_by": "canonical_name", "sort_order": "desc", "limit": 1}),
    Row("entities.query", {"sort_by": "snapshot.odd", "include_deleted": True, "include_total_count": True}),
    Row("entities.query", {"filters": {"snapshot_filters": {"odd": {"op": "gte", "value": 1}}}}),
    Row("entities.query", {"filters": {"updated_since": "2020-01-01", "created_since": AT}}),
    Row("entities.query", {"filters": {"include_merged": True}, "sort_by": "updated_at"}),
    Row("entities.query", {"filters": {"related_to": "$ada"}, "include_total_count": True}),
    Row("entities.query", {"filters": {"related_to": "$ada", "relationship_types": ["WORKS_AT"]}}),
    Row("entities.query", {"filters": {"related_to": "ent_" + "0" * 24}}, "RESOURCE_NOT_FOUND"),
    Row("entities.query", {"filters": {"relationship_types": ["WORKS_AT"]}}, "VALIDATION_INVALID_FORMAT"),
    Row("entities.query", {"search": "ada", "filters": {"related_to": "$ada"}}),
    Row("entities.query", {"at": AT, "at_ingested": "2100-01-01", "include_total_count": True}),
    Row("entities.query", {"at": AT, "sort_by": "created_at"}, "VALIDATION_INVALID_FORMAT"),
    Row("entities.query", {"sort_by": "odd"}, "VALIDATION_INVALID_FORMAT"),
    Row("entities.query", {"filters": {"snapshot_filters": {"odd": {"op": "like", "value": 1}}}},
        "VALIDATION_INVALID_FORMAT"),
    Row("entities.query", {"cursor": "AAAA"}, "INVALID_CURSOR"),
    Row("entities.query", {"search": "ada", "entity_type": "people", "include_total_count": True}),
    Row("entities.query", {"search": "ada", "sort_by": "canonical_name"}, "VALIDATION_INVALID_FORMAT"),
    Row("observations.query", {"cursor": "AAAA"}, "INVALID_CURSOR"),
    Row("relationships.list", {"cursor": "AAAA"}, "INVALID_CURSOR"),
    Row("schemas.list", {"cursor": "AAAA"}, "INVALID_CURSOR"),
    Row("entities.duplicates", {"cursor": "AAAA"}, "INVALID_CURSOR"),
    Row("entities.get", {"entity_id": "$ada"}),
    Row("entities.get", {"entity_id": NOBODY}, "RESOURCE_NOT_FOUND"),
    Row("entities.snapshot", {"entity_id": "$ada", "expand_provenance": True}),
    Row("entities.snapshot", {"entity_id": "$ada", "at": AT}),
    Row("entities.snapshot", {"entity_id": "$ada", "at": "2020-01-01", "at_ingested": "2020-01-01"}),
    # A command line reads times in words, and says so.
    Row("entities.snapshot", {"entity_id": "$ada", "at": "soon"}, "VALIDATION_INVALID_FORMAT", True),
    Row("entities.provenance", {"entity_id": "$ada", "field": "odd"}),
    Row("entities.provenance", {"entity_id": "$ada", "field": "nose"}, "RESOURCE_NOT_FOUND"),
    Row("entities.history", {"entity_id": "$ada", "field": "odd"}),
    Row("entities.history", {"entity_id": NOBODY, "field": "odd"}, "RESOURCE_NOT_FOUND"),
    Row("entities.find", {"identifier": " ada LOVELACE", "entity_type": "people"}),
    Row("entities.find", {"identifier": "nobody"}),
    Row("entities.find", {"identifier": "x", "entity_type": "9"}, "VALIDATION_INVALID_FORMAT"),
    Row("context.retrieve", {"question": "where does Ada Lovelace work", "budget": "700"}),
    Row("context.retrieve", {"entity_id": "$ada", "unit": "characters"}),
    Row("context.retrieve", {}, "VALIDATION_INVALID_FORMAT"),
    Row("context.retrieve", {"question": "x", "budget": 7}, "VALIDATION_INVALID_FORMAT"),
    Row("search.explain", {"search": "lovelace", "filters": {"entity_type": "people"}, "limit": 5}),
    Row("search.explain", {"search": "x", "limit": "0"}, "VALIDATION_INVALID_FORMAT"),
    Row("entities.duplicates", {"entity_type": "people", "threshold": 0.9, "limit": 5}),
    Row("entities.duplicates", {"entity_id": "$ada"}),
    Row("entities.contested", {"entity_type": "people", "limit": 5}),
    Row("entities.contested", {"limit": 0}, "VALIDATION_INVALID_FORMAT"),
    Row("entities.duplicates", {"entity_id": NOBODY}, "RESOURCE_NOT_FOUND"),
    Row("entities.duplicates", {"threshold": "0.2"}, "VALIDATION_INVALID_FORMAT"),
    Row("entities.related", {"entity_id": "$ada", "relationship_types": ["works_at"], "depth": 2}),
    Row("entities.related", {"entity_id": "$ada", "depth": "9"}, "VALIDATION_INVALID_FORMAT"),
    Row("entities.related", {"entity_id": "$ada", "relationship_types": ["?"]}, "VALIDATION_INVALID_FORMAT"),
    Row("entities.related", {"entity_id": "$ada", "include_paths": True, "through_hubs": True, "limit": 1}),
    Row("entities.related", {"entity_id": "$ada", "depth": 3, "at": AT, "at_ingested": "2100-01-01"}),
    Row("entities.related", {"entity_id": "$ada", "at_ingested": "2020-01-01", "include_paths": True}),
    Row("entities.related", {"entity_id": "$ada", "cursor": "AAAA"}, "INVALID_CURSOR"),
    Row("graph.neighborhood", {"node_id": "$ada", "include_observations": True}),
    Row("graph.neighborhood", {"node_id": "$acme", "node_type": "entity", "at": AT, "limit": 1}),
    Row("graph.neighborhood", {"node_id": NOBODY}, "RESOURCE_NOT_FOUND"),
    Row("graph.neighborhood", {"node_id": "src_0", "node_type": "source"}, "RESOURCE_NOT_FOUND"),
    Row("graph.neighborhood", {"node_id": "$ada", "node_type": "event"}, "VALIDATION_INVALID_FORMAT"),
    Row("relationships.list", {"entity_id": "$ada", "at": AT, "expand_entities": True}),
    Row("relationships.list", {"at_ingested": "2100-01-01", "include_total_count": True}),
    Row("relationships.list", {"entity_id": "$ada", "at": "soon"}, "VALIDATION_INVALID_FORMAT", True),
    Row("relationships.list", {"entity_id": "$ada", "expand_entities": True, "include_total_count": True}),
    Row("relationships.list", {"entity_id": NOBODY}, "RESOURCE_NOT_FOUND"),
    Row("relationships.list", {"filters": {"relationship_type": "works at", "source_entity_id": "$ada"}}),
    Row("relationships.get", {"relationship_id": "$link_id"}),
    Row("relationships.get", {"relationship_id": "rel_0"}, "RESOURCE_NOT_FOUND"),
    Row("relationships.get", {"relationship_id": "$link_id", "at": AT}),
    Row("relationships.get", {"relationship_id": "$link_id", "at": "2020-01-01"}, "RESOURCE_NOT_FOUND"),
    Row("relationships.snapshot", {"relationship_key": "$link"}),
    Row("relationships.snapshot", {**ENDS, "at_ingested": "2100-01-01"}),
    Row("relationships.snapshot", {**ENDS, "include_deleted": True}),
    Row("relationships.snapshot", {"relationship_key": "OWNS:x:y"}, "RESOURCE_NOT_FOUND"),
    Row("relationships.create", {**ENDS, "idempotency_key": "c", "metadata": {"a": 10**30}}),
    Row("relationships.create", {**ENDS, "target_entity_id": "$ada"}, "ERR_STORE_RESOLUTION_FAILED"),
    Row("relationships.create_many", {"relationships": [ENDS], "idempotency_key": "m"}),
    Row("relationships.create_many", {"relationships": [{}]}, "VALIDATION_INVALID_FORMAT"),
    Row("relationships.delete", {"relationship_key": "$link", "reason": "x", "idempotency_key": "rd"}),
    Row("relationships.delete", {"relationship_key": "OWNS:x:y"}, "RESOURCE_NOT_FOUND"),
    Row("relationships.restore", {"relationship_key": "$link", "idempotency_key": "rr"}),
    Row("relationships.restore", {"relationship_key": "OWNS:x:y"}, "RESOURCE_NOT_FOUND"),
    Row("entities.correct", {"entity_id": "$ada", "field": "x", "value": {"y": 1.0}, "idempotency_key": "e"}),
    Row("entities.correct", {"entity_id": NOBODY, "field": "x", "value": {"y": 1}}, "RESOURCE_NOT_FOUND"),
    Row("entities.delete", {"entity_id": "$ada", "reason": "x", "idempotency_key": "ed"}),
    Row("entities.delete", {"entity_id": NOBODY}, "RESOURCE_NOT_FOUND"),
    Row("entities.restore", {"entity_id": "$ada", "idempotency_key": "er"}),
    Row("entities.restore", {"entity_id": NOBODY}, "RESOURCE_NOT_FOUND"),
    Row("entities.delete", {"entity_id": "$ada", "idempotency_key": "k" * 256}, "VALIDATION_INVALID_FORMAT"),
    Row("entities.restore", {"entity_id": "$ada", "idempotency_key": "k" * 256}, "VALIDATION_INVALID_FORMAT"),
    Row("entities.merge", {"from_entity_id": "$ada", "to_entity_id": "$ada"},
        "VALIDATION_INVALID_FORMAT", True),
    Row("entities.merge", {"source_entity_id": NOBODY, "target_entity_id": "$ada"}, "RESOURCE_NOT_FOUND"),
    Row("entities.merge", {"source_entity_id": "$acme", "target_entity_id": "$ada", "idempotency_key": "mg"}),
    Row("entities.merge", {"source_entity_id": "$ada", "target_entity_id": "$acme", "idempotency_key": "mg"},
        "ERR_IDEMPOTENCY_MISMATCH"),
    Row("entities.unmerge", {"source_entity_id": "$acme", "reason": "not one", "idempotency_key": "um"}),
    Row("entities.unmerge", {"source_entity_id": "$ada"}, "RESOURCE_NOT_FOUND"),
    Row("entities.split", SPLIT),
    Row("entities.split", {**SPLIT, "reason": "else"}, "ERR_IDEMPOTENCY_MISMATCH"),
    Row("entities.split", {
        **SPLIT, "observation_field_equals": {"field": "a", "value": 2}, "dry_run": True,
        "idempotency_key": "s2",
    }),
    Row("entities.split", {
        **SPLIT, "observation_field_equals": {"field": "a", "value": 9}, "idempotency_key": "s9",
    }, "VALIDATION_INVALID_FORMAT"),
    Row("entities.split", {
        **SPLIT, "source_entity_id": NOBODY, "idempotency_key": "sn",
    }, "RESOURCE_NOT_FOUND"),
    Row("entities.unsplit", {"split_id": "$split", "idempotency_key": "us"}),
    Row("entities.unsplit", {"split_id": "spl_" + "0" * 24}, "RESOURCE_NOT_FOUND"),
    unknown("entities.split"),
    Row("entities.dismiss_duplicates", {
        "entity_a": "$ada", "entity_b": "$acme", "reason": "two", "idempotency_key": "dd",
    }),
    Row("entities.dismiss_duplicates", {
        "entity_a": "$ada", "entity_b": "$acme", "undo": True, "idempotency_key": "du",
    }),
    Row("entities.dismiss_duplicates", {"entity_a": "$ada", "entity_b": NOBODY}, "RESOURCE_NOT_FOUND"),
    Row("entities.dismiss_duplicates", {"entity_a": "$ada", "entity_b": "$ada"},
        "VALIDATION_INVALID_FORMAT", True),
    Row("relationship_types.register", {"relationship_type": "works at", "inverse": "employs"}),
    Row("relationship_types.register", {
        "relationship_type": "parity of", "inverse": "Parity-For", "description": "x\x00\U0001f600",
    }),
    Row("relationship_types.register", {"relationship_type": "merged into"}, "VALIDATION_INVALID_FORMAT"),
    Row("relationship_types.register", {"relationship_type": "WORKS_AT", "inverse": "OWNS"},
        "VALIDATION_INVALID_FORMAT"),
    Row("relationships.create", {**ENDS, "relationship_type": "admires in parity", "idempotency_key": "own"}),
    Row("relationship_types.rename", {
        "relationship_type": "admires-in-parity", "name": "adoresInParity", "idempotency_key": "rn",
    }),
    Row("relationship_types.rename", {"relationship_type": "OWNS", "name": "X"}, "VALIDATION_INVALID_FORMAT"),
    Row("relationship_types.list", {"keyword": "work", "include_total_count": True}),
    Row("relationship_types.list", {"keyword": "parity", "offset": 0, "limit": 1}),
    Row("relationship_types.list", {"limit": "501"}, "VALIDATION_INVALID_FORMAT"),
    Row("schemas.list", {"keyword": "pers", "include_total_count": True}),
    Row("schemas.list", {"limit": "501"}, "VALIDATION_INVALID_FORMAT"),
    Row("schemas.get", {"entity_type": "people"}),
    Row("schemas.list", {"keyword": "attendee", "include_shipped": True}),
    Row("schemas.list", {"entity_type": "person", "include_shipped": True}),
    Row("schemas.get", {"entity_type": "invoice"}),
    Row("schemas.get", {"entity_type": "unicorn"}, "RESOURCE_NOT_FOUND"),
    Row("schemas.analyze", {"entity_type": "person", "min_frequency": 1, "min_confidence": 0.5}),
    Row("schemas.analyze", {"entity_id": "$acme", "min_frequency": 1}),
    Row("schemas.analyze", {"entity_id": NOBODY}, "RESOURCE_NOT_FOUND"),
    Row("schemas.analyze", {"min_confidence": 2}, "VALIDATION_INVALID_FORMAT"),
    Row("schemas.recommend", {"entity_type": "people"}),
    Row("schemas.recommend", {"entity_type": "unicorn"}, "RESOURCE_NOT_FOUND"),
    Row("schemas.register", {"schema": WINE, "idempotency_key": "sr"}),
    Row("schemas.register", {"schema": {"entity_type": "wine"}}, "SCHEMA_VALIDATION_FAILED"),
    Row("schemas.update", {"entity_type": "beer", "new_fields": {"a": "string"}}, "RESOURCE_NOT_FOUND"),
    Row("schemas.update", {"entity_type": "wine"}, "SCHEMA_VALIDATION_FAILED"),
    Row("schemas.update", {"entity_type": "task", "new_fields": {"a": "string"}, "idempotency_key": "su"}),
    Row("schemas.update", {"entity_type": "task", "new_fields": {"b": "string"}, "idempotency_key": "su"},
        "ERR_IDEMPOTENCY_MISMATCH"),
    *map(unknown, (
        "entities.find", "entities.merge", "entities.provenance", "graph.neighborhood", "observations.create",
        "relationship_types.register", "relationships.restore",
    )),
    Row("changes.list", {"entity_id": "$ada", "event_type": "entity.created", "values": True}),
    Row("changes.list", {"entity_id": "$acme", "depth": 1, "kind": "relationship.created"}),
    Row("changes.list", {"after": "", "limit": 3, "event_types": ["entity.created"]}),
    Row("changes.list", {"after": "01234567.1.1.01234567"}, "CURSOR_OF_ANOTHER_DATABASE"),
    Row("changes.list", {"subscription_id": "sub_0"}, "RESOURCE_NOT_FOUND"),
    Row("changes.list", {"event_type": "entity.seen"}, "VALIDATION_INVALID_FORMAT"),
    Row("timeline.list", {"include_total_count": True, "order": "asc"}),
    Row("timeline.list", {"entity_id": "$ada", "start_date": "1800-01-01", "end_date": "1900-01-01"}),
    Row("timeline.list", {"entity_type": "people", "event_type": "Birthday", "limit": 1}),
    Row("timeline.list", {"at": AT, "at_ingested": "2100-01-01", "include_total_count": True}),
    Row("timeline.list", {"entity_id": NOBODY}, "RESOURCE_NOT_FOUND"),
    Row("timeline.list", {"start_date": "soon"}, "VALIDATION_INVALID_FORMAT", True),
    Row("timeline.list", {"cursor": "AAAA"}, "INVALID_CURSOR"),
    Row("agents.grant", {**REGISTRY["agents.grant"].example}),
    Row("agents.grant", {"label": "x", "capabilities": [{"op": "store"}]}, "VALIDATION_INVALID_FORMAT"),
    Row("agents.suspend", {"grant_id": "$grant"}),
    Row("agents.suspend", {"grant_id": "agr_0"}, "RESOURCE_NOT_FOUND"),
    Row("agents.revoke", {"grant_id": "$grant"}),
    Row("agents.revoke", {"grant_id": "agr_0"}, "RESOURCE_NOT_FOUND"),
    Row("subscriptions.add", {**REGISTRY["subscriptions.add"].example}),
    Row("subscriptions.add", {"subscription_id": "$subscription"}),
    Row("subscriptions.add", {"delivery_method": "sse", "query": {"search": "overdue tasks"}}),
    Row("subscriptions.add", {"delivery_method": "sse", "query": {"limit": 1}}, "VALIDATION_INVALID_FORMAT"),
    Row("subscriptions.add", {"webhook_url": "https://10.0.0.1/"}, "INVALID_DELIVERY"),
    Row("subscriptions.add", {"subscription_id": "sub_0"}, "RESOURCE_NOT_FOUND"),
    Row("subscriptions.remove", {"subscription_id": "$subscription"}),
    Row("subscriptions.remove", {"subscription_id": "sub_0"}, "RESOURCE_NOT_FOUND"),
    # The service of these tests has no other copy: tests/access/test_copies.py has two databases.
    *(Row(f"copies.{name}", {}) for name in ("list", "conflicts", "sync", "leave")),
    *(unknown(f"copies.{name}") for name in ("list", "conflicts", "sync", "leave", "meet")),
    *(
        Row(f"copies.{name}", {"url": "http://memory.example.org"}, "VALIDATION_INVALID_FORMAT")
        for name in ("join", "add")
    ),
    *(Row(f"copies.{name}", {"copy_id": "link_0"}, "RESOURCE_NOT_FOUND") for name in ("accept", "pause")),
    *(Row(f"copies.{name}", {"copy_id": ""}, "VALIDATION_INVALID_FORMAT") for name in ("facts", "meet")),
    Row("copies.leave", {"copy_id": "link_0"}),
    Row("copies.facts", {"copy_id": "copy_0"}, "COPY_REFUSED"),
    Row("copies.take", {"copy_id": "copy_0", "data": "", "sha256": "0" * 64}, "COPY_REFUSED"),
    Row("copies.file", {"copy_id": "copy_0", "content_hash": "0" * 64}, "COPY_REFUSED"),
    Row(
        "copies.take_file", {"copy_id": "copy_0", "content_hash": "0" * 64, "file_content": "YQ=="},
        "COPY_REFUSED",
    ),
    Row("receipts.get", {"receipt_id": "$receipt"}),
    Row("receipts.replay", {"receipt_id": "$receipt"}),
    # Each face leaves no receipt of its own there, and who asks over HTTP may see those of its own alone.
    Row("receipts.list", {"since": "2100-01-01"}),
    Row("receipts.list", {"of": "nobody", "include_total_count": True}),
    Row("receipts.list", {"since": "soon"}, "VALIDATION_INVALID_FORMAT", True),
    Row("receipts.get", {"receipt_id": "rcp_0"}, "RESOURCE_NOT_FOUND"),
    Row("receipts.replay", {"receipt_id": "rcp_0"}, "RESOURCE_NOT_FOUND"),
    # The service of these tests is no sandbox.
    Row("sandbox.terms", {}, "RESOURCE_NOT_FOUND"),
    Row("sandbox.report", {**REGISTRY["sandbox.report"].example}, "RESOURCE_NOT_FOUND"),
    Row("sandbox.report_status", {"access_token": "gmr_x"}, "RESOURCE_NOT_FOUND"),
    Row("keys.rotate", {"key_id": "key_0"}, "RESOURCE_NOT_FOUND"),
    Row("keys.revoke", {"key_id": "$key"}),
    Row("keys.revoke", {"key_id": "key_0"}, "RESOURCE_NOT_FOUND"),
    Row("connections.list", {}),
    unknown("connections.list"),
    Row("connections.status", {}),
    Row("connections.status", {"connection_id": "con_0"}, "RESOURCE_NOT_FOUND"),
    Row("connections.revoke", {"id": "$connection"}),
    Row("connections.revoke", {"id": "con_0"}, "RESOURCE_NOT_FOUND"),
    Row("timeline.get", {"event_id": "$event"}),
    Row("timeline.get", {"event_id": "$event", "at": AT}),
    Row("timeline.get", {"event_id": "$event", "at": "2020-01-01"}, "RESOURCE_NOT_FOUND"),
    Row("timeline.get", {"event_id": "evt_0"}, "RESOURCE_NOT_FOUND"),
]  # fmt: skip
BETWEEN_COPIES = {
    f"copies.{name}"
    for name in ("accept", "add", "facts", "file", "join", "meet", "pause", "take", "take_file")
}
DERIVED = [name for name in REGISTRY if name not in {row.name for row in SPECIAL}]
ROWS = [*SPECIAL, *(row for name in DERIVED for row in by_example(name))]
MAY_DIFFER = {
    "store": {"transaction_id", "recorded_at"},
    "observations.create": {"transaction_id"},
    # Each face's stores are transactions of their own.
    "search.explain": {"milliseconds"},
    "changes.list": {"resume_cursor"},
    "server.stats": {"sequence", "last_updated", "writers"},
    "server.info": {"api_base", "mcp_url", "openapi_url"},
    # Each face makes a grant, a key and a subscription of its own.
    "subscriptions.add": {"subscription_id", "webhook_secret"},
    "subscriptions.list": {"subscriptions"},
    "agents.grant": {"grant"},
    "agents.grants": {"grants"},
    "keys.create": {"key", "secret"},
    "keys.list": {"keys"},
    # Each face asks at a time of its own, and the service has an address of its own.
    "sources.url": {"url", "expires_at"},
    # The account is that of the face.
    "auth.session": {"provenance", "tier", "why", "written_by"},
    "auth.whoami": {"account", "authentication", "client", "next_write", "storage", "user_id"},
}
