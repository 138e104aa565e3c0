"""Relationships to be: their type, their ends, their metadata, and every fault told with its place."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.model import relationship
from graphmem.model.items import ItemReader
from graphmem.model.links import End, Link
from graphmem.text.spelling import nearest_type
from tests.support.walks import walk_over

ADA, LONDON = "ent_" + "a" * 24, "ent_" + "b" * 24
ENDS = {"source_index": 0, "target_entity_id": LONDON}


def reader() -> ItemReader:
    """Return a reader of one request."""
    return ItemReader("owner", "txn_" + "0" * 32, nearest_type=nearest_type)


def faults(raw: dict[str, Any], count: int = 2) -> list[tuple[str, str]]:
    """Return code and path of each fault of a relationship, the fifth of its request."""
    read = reader()
    assert read.link(4, raw, count) is None
    assert all(issue.get("index") == 4 and issue["message"] for issue in read.issues)
    return [(issue["code"], issue["path"].removeprefix("$.relationships[4]")) for issue in read.issues]


def nested(levels: int) -> Any:
    """Return that many lists in each other."""
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def test_each_end_is_an_item_or_an_entity():
    link = reader().link(4, {"relationship_type": "works-at", **ENDS}, 1)
    assert link == Link(
        index=4, relationship_type="WORKS_AT", source=End(index=0), target=End(entity_id=LONDON), fields={},
        path="$.relationships[4]",
    )  # fmt: skip


def test_an_end_is_resolved_to_its_entity():
    read = reader()
    items = [read.item(0, {"target_id": ADA, "name": "Ada"})]
    assert read.issues == []
    assert End(index=0).resolve([item for item in items if item]) == ADA
    assert End(entity_id=LONDON).resolve([]) == LONDON


def test_metadata_is_kept_as_canonical_json():
    raw = {
        "relationship_type": "OWNS",
        **ENDS,
        "metadata": {"since": 1.0, "note": None, "b": {"d": 1, "c": 2}},
    }
    link = reader().link(0, raw, 1)
    assert link is not None
    assert link.fields == {"since": "1.0", "note": "null", "b": '{"c":2,"d":1}'}


def test_metadata_of_100_levels_is_taken():
    link = reader().link(0, {"relationship_type": "OWNS", **ENDS, "metadata": {"deep": nested(100)}}, 1)
    assert link is not None
    assert link.fields == {"deep": "[" * 100 + "1" + "]" * 100}


@pytest.mark.parametrize("metadata", [None, {}])
def test_metadata_may_be_left_out(metadata):
    link = reader().link(0, {"relationship_type": "OWNS", **ENDS, "metadata": metadata}, 1)
    assert link is not None
    assert link.fields == {}


@pytest.mark.parametrize(
    ("ends", "code", "path"),
    [
        ({"source_index": 2}, "ERR_RELATIONSHIP_INDEX", ".source_index"),
        ({"source_index": -1}, "ERR_RELATIONSHIP_INDEX", ".source_index"),
        ({"source_index": 10**400}, "ERR_RELATIONSHIP_INDEX", ".source_index"),
        ({}, "ERR_RELATIONSHIP_END", ""),
        ({"source_index": None, "source_entity_id": None}, "ERR_RELATIONSHIP_END", ""),
        ({"source_index": 0, "source_entity_id": ADA}, "ERR_RELATIONSHIP_END", ""),
        ({"source_entity_id": ""}, "ERR_RELATIONSHIP_ENTITY_ID_FORMAT", ".source_entity_id"),
        ({"source_entity_id": "nope"}, "ERR_RELATIONSHIP_ENTITY_ID_FORMAT", ".source_entity_id"),
        ({"source_entity_id": ADA.upper()}, "ERR_RELATIONSHIP_ENTITY_ID_FORMAT", ".source_entity_id"),
        ({"source_entity_id": ADA + "a"}, "ERR_RELATIONSHIP_ENTITY_ID_FORMAT", ".source_entity_id"),
        ({"source_entity_id": ADA + "\n"}, "ERR_RELATIONSHIP_ENTITY_ID_FORMAT", ".source_entity_id"),
    ],
    ids=range(11),
)
@pytest.mark.parametrize("side", ["source", "target"])
def test_a_bad_end_is_told_with_its_code_and_place(side, ends, code, path):
    other = {"source": "target", "target": "source"}[side]
    side_ends = {name.replace("source", side): value for name, value in ends.items()}
    raw = {"relationship_type": "OWNS", f"{other}_index": 1, **side_ends}
    assert faults(raw) == [(code, path.replace("source", side))]


def test_an_index_out_of_range_says_how_many_items_there_are():
    read = reader()
    read.link(0, {"relationship_type": "OWNS", "source_index": 7, "target_index": 0}, 3)
    assert read.issues[0]["message"] == "the request has 3 items: there is no item 7"


@pytest.mark.parametrize(
    ("metadata", "code", "path"),
    [
        ({"": 1}, "ERR_FIELD_NAME", ".metadata."),
        ({"x" * 65: 1}, "ERR_FIELD_NAME", ".metadata." + "x" * 64),
        ({"\ud800": 1}, "ERR_FIELD_NAME", ".metadata"),
        ({"a": math.nan}, "ERR_VALUE", ".metadata.a"),
        ({"a": [{"b": "\udfff"}]}, "ERR_VALUE", ".metadata.a[0].b"),
        ({"a": nested(101)}, "ERR_VALUE", ".metadata.a" + "[0]" * 100),
    ],
    ids=range(6),
)
def test_bad_metadata_is_told_with_its_code_and_place(metadata, code, path):
    assert faults({"relationship_type": "OWNS", **ENDS, "metadata": metadata}) == [(code, path)]


def test_an_unknown_type_is_the_owners_own_and_names_the_nearest():
    read = reader()
    made = read.link(1, {"relationship_type": "work_at", **ENDS}, 1)
    assert made is not None
    assert (made.relationship_type, read.issues) == ("WORK_AT", [])
    assert read.new_types == {
        "WORK_AT": {
            "code": "NEW_RELATIONSHIP_TYPE",
            "index": 1,
            "relationship_type": "WORK_AT",
            "nearest": "WORKS_AT",
            "message": "WORK_AT is a new relationship type of your own; did you mean WORKS_AT?",
        }
    }


@pytest.mark.parametrize("unknown", ["", "123", "☃"])
def test_what_is_no_name_is_refused(unknown):
    read = reader()
    assert read.link(0, {"relationship_type": unknown, **ENDS}, 1) is None
    assert "a letter, then up to 63" in read.issues[0]["message"]


def test_all_faults_of_a_relationship_are_told_at_once():
    raw = {"relationship_type": "☃", "source_index": 9, "metadata": {"a": math.inf, "": 1}}
    assert sorted(faults(raw)) == sorted(
        [
            ("ERR_RELATIONSHIP_TYPE", ".relationship_type"),
            ("ERR_RELATIONSHIP_INDEX", ".source_index"),
            ("ERR_RELATIONSHIP_END", ""),
            ("ERR_VALUE", ".metadata.a"),
            ("ERR_FIELD_NAME", ".metadata."),
        ]
    )


@walk_over("known", sorted(relationship.BUILTIN))
def test_any_case_of_a_type_is_that_type(known):
    for spelled in (known.lower(), known.title(), known.replace("_", "-"), f" {known.replace('_', '  ')}\n"):
        meaning = relationship.meaning_of(spelled, relationship.BUILTIN)
        assert (meaning.name, meaning.is_swapped, dict(meaning.metadata)) == (known, False, {})


@given(st.text(max_size=300))
def test_what_comes_out_is_a_type_or_refused(text):
    read = reader()
    link = read.link(0, {"relationship_type": text, **ENDS}, 1)
    if link is not None:
        assert link.relationship_type in {*relationship.BUILTIN, *read.new_types}
        assert relationship.is_name(link.relationship_type)
    else:
        (issue,) = read.issues
        assert len(issue["message"]) < 1_000
