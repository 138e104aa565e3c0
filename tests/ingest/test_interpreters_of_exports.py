"""What becomes of exports of graphmem, mem0 and Zep."""

from __future__ import annotations

import json
from typing import Any

from tests.support.proposals import check_storable, proposal_of, relationships, types_and_fields


def line(**more: Any) -> str:
    who = {"basis": "email", "fields": {"email": "a@b"}, "observed_at": "2026-01-01T00:00:00Z"}
    told = {"entity_type": "person", "identity": who, "observations": [], "relationships": []}
    return json.dumps({**told, **more})


def test_each_observation_of_an_export_is_stored_as_it_was() -> None:
    stored = {"source_priority": 7, "specificity_score": 0.5, "observation_source": "human"}
    seen = [
        {"fields": {"email": "a@b", "phone": None, "x": ""}, "observed_at": "2026-01-01T00:00:00Z", **stored},
        {"fields": {"name": "Ada"}, "kind": "correction", "observed_at": "2026-01-02T00:00:00Z"},
        {"fields": {"name": "x"}, "source_priority": "high"},
        {"fields": {"canonical_name": 3}},
        {"fields": {}},
        {"kind": "merge", "fields": {"into": "ent_0"}},
        {"kind": "value", "fields": {}, "hidden_fields": {"name": "Bo"}},
    ]
    acme = {"entity_type": "company", "identity": {"basis": "name", "fields": {"name": "Acme"}}}
    links = [{"relationship_type": "works at", "target": acme, "metadata": {"since": 1}}, {"target": acme}, 3]
    text = "\n".join(
        [line(observations=seen, relationships=links), "{broken", line(identity={}), line(entity_type="!")]
    )
    proposed = proposal_of("x.jsonl", text)
    assert types_and_fields(proposed) == [
        ("person", {"email": "a@b", "phone": None, "x": ""}), ("person", {"name": "Ada"}),
        ("company", {"name": "Acme"}),
    ]  # fmt: skip
    first, second, _ = proposed.entities
    assert (first.stored_as, first.identifying) == (stored, {"email": "a@b"})
    assert (second.stored_as, second.identifying) == ({"kind": "correction"}, {"email": "a@b"})
    assert [(link.source, link.target) for link in proposed.relationships] == [(0, 2)]
    assert len(proposed.warnings) == 4


def test_a_long_line_of_an_export_is_known_by_its_beginning() -> None:
    who = {"basis": "name", "fields": {"name": "Ada"}}
    seen = [{"fields": {"name": "Ada", "text": "x" * 100_000}}]
    told = {"entity_type": "person", "entity_id": "ent_0", "canonical_name": "Ada", "identity": who}
    text = json.dumps({**told, "observations": seen, "relationships": []}, separators=(",", ":"))
    assert proposal_of("x.jsonl", text).entities[0].entity_type == "person"


def test_an_exported_note_that_comes_alone_is_its_entity_with_its_long_fields() -> None:
    who = {"basis": "email", "fields": {"email": "a@b"}, "observed_at": "2026-01-01T00:00:00Z"}
    front = {"graphmem": "ent_0", "entity_type": "person", "canonical_name": "Ada", "identity": who}
    front |= {
        "updated": "2026-02-01T00:00:00Z",
        "bio": "long " * 20_000,
        "name": "Ada",
        "fields": {"identity": 3},
    }
    lines = "".join(f"{name}: {json.dumps(value)}\n" for name, value in front.items())
    links = "\n<!-- graphmem: relationships -->\n\n- WORKS_AT [[company/Acme|Acme]]\n"
    proposed = proposal_of("Ada.md", f"---\n{lines}---\n\nShe wrote it.\n{links}")
    (ada,) = proposed.entities
    assert dict(ada.fields) == {
        "bio": front["bio"], "name": "Ada", "identity": 3, "content": "She wrote it."
    }  # fmt: skip
    assert (ada.identifying, ada.identified_by) == ({"email": "a@b"}, (("email",),))
    assert "relationships of the file" in proposed.warnings[0]


def test_memories_and_graphs_of_other_programs_keep_their_ids_and_facts() -> None:
    memory = {
        "id": "m1",
        "memory": "Likes tea",
        "hash": "x",
        "metadata": {"mood": "good"},
        "created_at": "2026-01-01",
    }
    relation = {"source": "ada", "relationship": "likes", "target": "tea"}
    proposed = proposal_of(
        "x.json", json.dumps({"results": [memory, {"hash": "y"}], "relations": [relation]})
    )
    check_storable(proposed)
    note = {"id": "m1", "created_at": "2026-01-01", "mood": "good", "content": "Likes tea"}
    assert types_and_fields(proposed) == [
        ("note", note),
        ("thing", {"name": "ada"}),
        ("thing", {"name": "tea"}),
    ]
    assert relationships(proposed) == [("LIKES", "ada", "tea", {"relation_types": ["likes"]})]
    assert len(proposed.warnings) == 1
    nodes = [
        {"uuid": "n1", "name": "Ada", "labels": ["Entity", "Person"], "attributes": {"role": "x"}},
        {"uuid": "n2", "name": "Acme", "labels": ["Entity"]},
    ]
    edge = {
        "uuid": "e",
        "name": "WORKS_AT",
        "fact": "Ada works",
        "source_node_uuid": "n1",
        "target_node_uuid": "n2",
    }
    episode = {"uuid": "p", "content": "hi", "role": "user"}
    lost = {**edge, "target_node_uuid": "n9"}
    graph = {"nodes": nodes, "edges": [edge, lost], "episodes": [episode]}
    proposed = proposal_of("x.json", json.dumps(graph))
    check_storable(proposed)
    assert [entity.entity_type for entity in proposed.entities] == ["person", "thing", "message"]
    assert relationships(proposed) == [
        ("WORKS_AT", "Ada", "Acme", {"relation_types": ["WORKS_AT"], "fact": "Ada works"})
    ]
    assert len(proposed.warnings) == 1
