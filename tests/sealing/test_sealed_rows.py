"""What is sealed opens at its own node alone, and equal texts of one node or of one kind are equal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from graphmem.errors import DecryptionFailed, KeyDestroyed
from graphmem.model.facts import SEALED_MARK
from graphmem.sealing import InstanceKeys, RootKey
from graphmem.sealing.sealed_rows import RowSealer
from graphmem.writing.things import NEAR_KIND

OWNER = "owner"
ADA, EVE = "ent_ada", "ent_eve"


@pytest.fixture
def keys(tmp_path: Path) -> InstanceKeys:
    return InstanceKeys.create(tmp_path / "keys.json", RootKey.new())


@pytest.fixture
def sealer(keys: InstanceKeys) -> RowSealer:
    return RowSealer(keys, NEAR_KIND)


def entity(sealer: RowSealer, entity_id: str, *values: str, owner: str = OWNER) -> dict[str, Any]:
    """Return the properties of an entity as the database has them."""
    properties = {
        "values": list(values),
        "canonical_name": "Ada",
        "text": "ada",
        "check": 7,
        "type": "person",
    }
    rows = [{"subject_id": entity_id, "properties": properties}]
    (row,) = sealer.seal("write.turn[plain]", {"entities": rows}, owner)["entities"]
    return row["properties"]


def read(sealer: RowSealer, *values: Any, owner: str | None = OWNER) -> list[Any]:
    (row,) = sealer.open([{"entity": list(values)}], owner)
    return row["entity"]


@pytest.mark.parametrize("text", ["", '"Ada"', "a" * 100_000, '"\ud800 🔒t"', '"🔒"'])
def test_what_is_sealed_opens_at_its_node(sealer: RowSealer, text: str) -> None:
    sealed = entity(sealer, ADA, text)
    assert all(each.startswith(SEALED_MARK) for each in (*sealed["values"], sealed["canonical_name"]))
    assert (sealed["text"], sealed["type"]) == (None, "person")
    assert read(sealer, ADA, sealed["check"], sealed["sealed_text"]) == [ADA, 7, "ada"]
    assert read(sealer, ADA, "person", sealed["values"]) == [ADA, "person", [text]]
    # The worker reads for no owner.
    assert read(sealer, ADA, sealed["values"], owner=None) == [ADA, [text]]
    assert entity(sealer, ADA, text) == sealed, "a text that is written again is equal"
    assert entity(sealer, EVE, text)["values"] != sealed["values"], "elsewhere it is another"


def test_a_sealed_value_that_was_moved_cut_or_changed_does_not_open(sealer: RowSealer) -> None:
    (value,), (other,) = entity(sealer, ADA, '"x"')["values"], entity(sealer, EVE, '"x"')["values"]
    foreign = entity(sealer, ADA, '"x"', owner="another")["values"][0]
    changed = [value[:at] + ("A" if value[at] != "A" else "B") + value[at + 1 :] for at in (7, 30, -6)]
    for wrong in (other, foreign, value[:-4], value[:9], *changed):
        with pytest.raises(DecryptionFailed, match=ADA) as refused:
            read(sealer, ADA, "person", [wrong])
        assert refused.value.details["place"] == ADA
    with pytest.raises(DecryptionFailed):
        read(sealer, [value])
    (row,) = sealer.open([{"value": f"{SEALED_MARK}@{ADA}{value}"}], OWNER, names_nodes=True)
    assert row["value"] == '"x"', "a query names the node of a value"
    texts = [SEALED_MARK, f"{SEALED_MARK}t{'A' * 40}", f"{SEALED_MARK}@{EVE}{value}"]
    assert read(sealer, *texts) == texts, "a text that merely looks sealed is no value of the database"
    with pytest.raises(DecryptionFailed, match=EVE):
        sealer.open([{"value": f"{SEALED_MARK}@{EVE}{value}"}], OWNER, names_nodes=True)
    with pytest.raises(DecryptionFailed):
        sealer.open([{"value": f"{SEALED_MARK}@{EVE}{texts[2]}"}], OWNER, names_nodes=True)


def test_a_value_of_an_observation_opens_as_that_of_its_field_alone(sealer: RowSealer) -> None:
    row = {"properties": {"id": "obs_1", "fields": ["a", "b"], "values": ["1", "2"]}}
    entities = [{"subject_id": ADA, "observations": [row]}]
    (sealed,) = sealer.seal("write.turn", {"entities": entities}, OWNER)["entities"][0]["observations"]
    first, second = sealed["properties"]["values"]
    assert read(sealer, "obs_1", ["a", "b"], [first, second]) == ["obs_1", ["a", "b"], ["1", "2"]]
    placed = f"{SEALED_MARK}@obs_1{second}"
    rows = [{"entity": [["a", "b"], [f"{SEALED_MARK}@obs_1{first}", placed], ["b", placed]]}]
    (opened,) = sealer.open([{"winner": ["b", 2, "obs_1", placed]}], OWNER, names_nodes=True)
    assert opened["winner"] == ["b", 2, "obs_1", "2"]
    (opened,) = sealer.open(rows, OWNER, names_nodes=True)
    assert opened["entity"] == [["a", "b"], ["1", "2"], ["b", "2"]]
    pairs = [["a", f"{SEALED_MARK}@obs_1{first}"], ["b", placed]]
    assert sealer.open([{"dates": pairs}], OWNER, names_nodes=True) == [{"dates": [["a", "1"], ["b", "2"]]}]
    for wrong in (
        ["obs_1", ["a", "b"], [second, first]],
        ["obs_1", ["a", "b"], [first, first]],
        ["obs_1", ["a"], [second]],
        ["a", "obs_1", second],
        ["b", "obs_1", second],
        ["obs_2", ["a", "b"], [first, second]],
    ):
        with pytest.raises(DecryptionFailed):
            read(sealer, *wrong)
    unbound = sealer._sealing(OWNER).placed(["1", "2"], "obs_1")
    assert read(sealer, "obs_1", ["a", "b"], unbound)[2] == ["1", "2"], "earlier versions bound none"
    renewed = sealer.anew({**sealed["properties"], "id": "obs_1"}, ["obs_1"], ["a", "b"])
    assert renewed == {}, "the newest key sealed it"


def test_a_name_of_a_file_opens_beside_the_transaction_that_gave_it(sealer: RowSealer) -> None:
    rows = [
        {
            "id": "src_1",
            "transaction_id": each,
            "stored": {"name": f"{each}.txt", "declared_type": "text/plain"},
        }
        for each in ("txn_1", "txn_2")
    ]
    first, second = (
        each["stored"] for each in sealer.seal("write.turn", {"sources": rows}, OWNER)["sources"]
    )
    stored = [
        [
            each and f"{SEALED_MARK}@src_1 {transaction}{each}"
            for each in (row["name"], row.get("declared_type"))
        ]
        for row, transaction in ((second, "txn_2"), ({"name": first["name"]}, "txn_1"))
    ]
    (opened,) = sealer.open([{"source": ["src_1", stored]}], OWNER, names_nodes=True)
    assert opened["source"] == ["src_1", [["txn_2.txt", "text/plain"], ["txn_1.txt", None]]]
    rows = [{"row": [["x", "y"], ["src_1", f"{SEALED_MARK}@src_1 txn_1{first['name']}"]]}]
    assert sealer.open(rows, OWNER, names_nodes=True)[0]["row"][1] == ["src_1", "txn_1.txt"]
    with pytest.raises(DecryptionFailed):
        read(sealer, "src_1", [[first["name"], None, "txn_2"]])


def test_what_is_looked_up_is_equal_for_its_kind_alone(sealer: RowSealer) -> None:
    def pair(kind: str, value: str, owner: str = OWNER) -> str:
        return sealer.seal("search.follow", {"pairs": [[kind, value]]}, owner)["pairs"][0][1]

    sealed = pair("email", "ada@example.org")
    assert pair("email", "ada@example.org") == sealed
    assert read(sealer, "email", sealed) == ["email", "ada@example.org"]
    others = {pair("name", "ada@example.org"), pair("email", "ada@example.org", "another")}
    assert sealed not in others
    assert len(others) == 2


def test_names_of_one_group_begin_alike(sealer: RowSealer) -> None:
    def near(value: str) -> str:
        return sealer.seal("write.look", {"near": [[f"{NEAR_KIND}name", value]]}, OWNER)["near"][0][1]

    group = near("person:smith|")
    assert near("person:smith|ada smith|own").startswith(group)
    assert not near("person:smithson|ada smithson|own").startswith(group)
    assert read(sealer, near("person:smith|ada smith|own"), group) == [
        "person:smith|ada smith|own",
        "person:smith|",
    ]


def test_a_destroyed_key_opens_nothing(sealer: RowSealer, keys: InstanceKeys) -> None:
    values = entity(sealer, ADA, '"x"')["values"]
    keys.destroy(OWNER)
    with pytest.raises(KeyDestroyed):
        read(RowSealer(keys, NEAR_KIND), ADA, values)


def test_vectors_are_sealed_as_bytes(sealer: RowSealer) -> None:
    row = {"subject_id": ADA, "properties": {}, "meaning": {"of": "k", "packed": b"\x01"}}
    (sealed,) = sealer.seal("write.turn", {"entities": [row]}, OWNER)["entities"]
    assert read(sealer, ADA, sealed["meaning"]["packed"], sealed["meaning"]["of"]) == [ADA, b"\x01", "k"]
    with pytest.raises(DecryptionFailed):
        read(sealer, EVE, sealed["meaning"]["packed"])


def test_a_member_that_nothing_declares_is_refused(sealer: RowSealer) -> None:
    row = {"subject_id": ADA, "properties": {"nickname": "Countess"}}
    with pytest.raises(ValueError, match=r"nickname of entities\.properties is sealed"):
        sealer.seal("write.turn", {"entities": [row]}, OWNER)


def test_what_is_declared_says_how_each_parameter_is_written(sealer: RowSealer) -> None:
    texts = {"key": "k", "texts": ["a", "b"], "packed": b"v", "title": "t"}
    params = {"source_id": "src_1", "reader": "r", "places": [0, 1], "is_cut": False, **texts}
    written = sealer.seal("passages.set", params, OWNER)
    assert {name for name in params if written[name] != params[name]} == texts.keys()
    assert read(sealer, "src_1", *(written[name] for name in texts)) == ["src_1", *texts.values()]
    column = {"title": written["title"], "source_id": "src_1"}
    assert sealer.open([column], OWNER, columns=frozenset({"title"})) == [
        {"title": "t", "source_id": "src_1"}
    ]
    assert sealer.open([column], OWNER, columns=frozenset({"source_id"})) == [column], (
        "it is declared in clear"
    )
    sealed = sealer.seal("entity.by_value[asc]", {"field": "motto", "values": ["x"]}, OWNER)["values"]
    pairs = [{"subject_id": ADA, "values": [["motto", "x"]]}]
    assert sealer.seal("write.turn", {"entities": pairs}, OWNER)["entities"][0]["values"][0][1] == sealed[0]
