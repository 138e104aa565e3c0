"""The records of a dump: canonical lines, read strictly, in one order."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.dump import records
from graphmem.dump.batches import Batch, BatchPart, OwnerStart, batches
from graphmem.dump.records import AccountRecord, Owner, RecordOrder, RelationshipTypeRecord
from graphmem.model import canonical, times
from graphmem.model.fact_records import ObservationRecord, Record, SchemaRecord, TransactionRecord
from graphmem.model.schema import SchemaDocument
from tests.support.walks import walk_over

ENTITY = "ent_" + "0" * 24
OTHER = "ent_" + "1" * 24
TEXT = st.text(st.characters(exclude_categories=["Cs"]))


def transaction(number: int = 1, at: int = 1) -> TransactionRecord:
    return TransactionRecord(
        id=f"txn_{number:032x}", recorded_at=at, operation="store", client="c", agent="anonymous",
        request_hash="h", answer="{}",
    )  # fmt: skip


def observation(number: int = 1, subject_id: str = ENTITY, **more: object) -> ObservationRecord:
    properties = {
        "id": f"obs_{number:032x}", "home": subject_id, "kind": "value", "observed_at": 1, "recorded_at": 1,
        "fields": ["a"], "values": ["1"], "priority": 100.0, "specificity": 1.0,
        "observation_source": "human", "agent": "anonymous", "entity_type": "person",
    }  # fmt: skip
    return ObservationRecord.model_validate({**properties, **more})


def schema(kind: str = "wine", version: str = "1.0", document: str | None = None) -> SchemaRecord:
    return SchemaRecord(
        entity_type=kind, version=version, document=document or SchemaDocument(kind).text, change="{}",
        recorded_at=1, transaction="t",
    )  # fmt: skip


def account(name: str) -> AccountRecord:
    return AccountRecord(id=name, name=name, owner=name, scopes=["read"], disabled=False)


def named(name: str) -> RelationshipTypeRecord:
    return RelationshipTypeRecord(name=name, registered_at=1, agent="anonymous")


@given(
    values=st.lists(TEXT, max_size=5),
    numbers=st.floats(allow_nan=False, allow_infinity=False),
    basis=st.none() | TEXT,
    micros=st.integers(times.EARLIEST, times.LATEST),
)
def test_a_line_is_canonical_json_and_is_read_as_it_was(
    values: list[str], numbers: float, basis: str | None, micros: int
) -> None:
    record = observation(
        fields=[f"f{i}" for i in range(len(values))], values=list(map(canonical.encode, values)),
        priority=numbers, specificity=-0.0,
        identity_basis=basis, observed_at=micros,
    )  # fmt: skip
    line = record.line()
    stored_names = {"subject_id": "home"}
    assert line.decode() == canonical.encode(
        {stored_names.get(name, name): value for name, value in record if value is not None}
    )
    read = records.read(line)
    assert (read, read.line()) == (record, line)
    assert b"\n" not in line


@walk_over(
    "line",
    [
        b"", b"1", b"[]", b"{}", b'{"record":"owner"}', b'{"record":"source","id":"x"}',
        b'{"record":"owner","id":1}', b'{"record":"owner","id":"x","more":1}', b'{"record":"owner","id":""}',
        b'{"record":"owner","id":"\xff"}',
        b'{"agent":"a","name":"works at","record":"relationship_type","registered_at":1}',
    ],
)  # fmt: skip
def test_what_is_no_record_is_refused(line: bytes) -> None:
    with pytest.raises(ValueError):
        records.read(line)


@walk_over(
    "changed",
    [
        {"values": []}, {"fields": ["a", "a"], "values": ["1", "2"]}, {"entity_type": None}, {"home": "x"},
        {"home": f"WORKS_AT:{ENTITY}:{OTHER}"}, {"kind": "guess"}, {"observed_at": 2**63}, {"id": "obs_1"},
        {"home": ENTITY + "\n"}, {"entity_type": "Person"}, {"observed_at": times.LATEST + 1},
        {"recorded_at": times.LATEST}, {"recorded_at": times.EARLIEST - 1},
        *({"values": [text]} for text in ("", "Ada", "1,2", "1]", "NaN", "1e999", '"\\ud800"', "[" * 200)),
    ],
)  # fmt: skip
def test_an_observation_that_the_graph_could_not_hold_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        observation(**changed)


@pytest.mark.parametrize("answer", ["", "{", "{}{}"])
def test_an_answer_that_could_not_be_given_again_is_refused(answer: str) -> None:
    with pytest.raises(ValueError):
        TransactionRecord.model_validate({**dict(transaction()), "answer": answer})


@pytest.mark.parametrize("document", ["{}", "[]", "{", '{"entity_type":"wine","fields":{"a":1}}'])
def test_a_document_that_is_no_schema_is_refused(document: str) -> None:
    with pytest.raises(ValueError):
        schema(document=document)


def test_what_was_recorded_leaves_room_for_what_follows() -> None:
    assert transaction(at=times.LATEST // 2).recorded_at < times.LATEST
    with pytest.raises(ValueError):
        transaction(at=times.LATEST // 2 + 1)


def test_an_observation_of_a_relationship_has_no_entity_type() -> None:
    assert observation(subject_id=f"WORKS_AT:{ENTITY}:{OTHER}", entity_type=None).entity_type is None


RIGHT = [
    named("A"), named("B"), account("ada"), account("bob"),
    Owner(id="a"), schema("a", "2.0"), schema("a", "10.0"), schema("b"), transaction(2, 1), observation(1),
    observation(2), transaction(1, 2), observation(1), transaction(3, 2), observation(1),
    Owner(id="b"), transaction(1, 1),
]  # fmt: skip


def take(sequence: list[Record]) -> None:
    order = RecordOrder()
    for record in sequence:
        order.check(record)


def test_the_right_order_is_taken() -> None:
    take(RIGHT)


@given(st.integers(0, len(RIGHT) - 2), st.integers(0, len(RIGHT) - 2))
def test_no_two_records_can_stand_in_each_others_place(place: int, other_place: int) -> None:
    """Those of one owner, that is: of another owner, a record could be as well."""
    order = list(RIGHT)
    order[place], order[other_place] = order[other_place], order[place]
    if order == RIGHT:
        return
    with pytest.raises(ValueError):
        take(order)


def test_nothing_comes_twice() -> None:
    for index in range(len(RIGHT)):
        with pytest.raises(ValueError):
            take([*RIGHT[: index + 1], *RIGHT[index:]])


def test_batches_of_no_records_are_none() -> None:
    assert list(batches([])) == []


def test_an_owner_without_transactions_begins_all_the_same() -> None:
    records_of_owners = [
        named("A"),
        Owner(id="a"),
        schema(),
        Owner(id="b"),
        transaction(),
        observation(),
        Owner(id="c"),
    ]
    part = BatchPart(transaction(), {ObservationRecord: [observation()]})
    assert list(batches(records_of_owners)) == [
        named("A"), OwnerStart("a", [schema()]), OwnerStart("b"), Batch("b", [part]), OwnerStart("c"),
    ]  # fmt: skip
