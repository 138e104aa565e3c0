"""Hashes and ids of write requests: they are stored, so no release may change them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from graphmem.model.items import Defaults, Item, ItemReader
from graphmem.model.links import End, Link
from graphmem.model.schema import Change
from graphmem.writing import MergeRequest, Merging, SchemaRequest, StoreRequest

OWNER = "00000000-0000-0000-0000-000000000001"
TRANSACTION = "txn_" + "0" * 32
FIELDS: dict[str, Any] = {
    "owner": OWNER, "agent": "a", "client": "c", "by": "{}", "transaction_id": TRANSACTION,
}  # fmt: skip


def items() -> list[Item]:
    reader = ItemReader(OWNER, TRANSACTION, Defaults(5, 1.0, "human"))
    raw = ({"name": "Ada"}, {"name": "Bo", "observed_at": "2026-01-01T00:00:00Z"})
    read = [reader.item(index, {"entity_type": "person", **fields}) for index, fields in enumerate(raw)]
    return [item for item in read if item]


LINK = Link(
    index=0, relationship_type="KNOWS", source=End(0), target=End(1), fields={"n": "1"}, observed_at=5,
    priority=1.0, observation_source="human",
)  # fmt: skip
STORE = StoreRequest(
    **FIELDS, operation="store", items=items(), links=[LINK], defaults=Defaults(5, 1.0, "human")
)
MERGE = MergeRequest(**FIELDS, operation="entities.merge", merging=Merging("merge", "ent_1", "ent_2", "why"))
SCHEMA = SchemaRequest(
    **FIELDS,
    operation="schemas.register",
    change=Change("register", "wine", document={"entity_type": "wine"}),
)


def test_the_hash_of_each_kind_of_request_stays():
    plain = StoreRequest(**FIELDS, operation="store", items=items()[:1])
    assert [request.request_hash for request in (STORE, plain, MERGE, SCHEMA)] == [
        "7a42248469d2fde9dd9a787fce4ab6f80fe633e00dd343fe76ea170fe9ca21ee",
        "447a71356b70b3707c7f15536d5e1c0fd5022bc56ccfecac4d3499623f70bd17",
        "a1281ae7f264437fc65d096d6cbb7284d00d7ad15530b01d876e71b09257f3da",
        "2c2a506eed4fce0c1b503152fa296d2ac20464d4fa1fe4e0a167ebed34699347",
    ]


def test_the_ids_of_observations_stay():
    assert [STORE.item_observation_id(item) for item in STORE.items] == [
        "obs_2f77812de5d055db393c7789a43825b3",
        "obs_a55b79e4a2ba5d4241244d9a01a081f6",
    ]
    assert STORE.link_observation_id(LINK) == "obs_7f663202d41ec50f929ed792a5518fc1"
    assert STORE.link_observation_id(LINK, "KNOWS:x:y", 2) == "obs_a71344067b49332a559899b420cb2426"
    undated = replace(LINK, observed_at=None)
    of_undated = replace(STORE, links=[undated])
    assert of_undated.link_observation_id(undated) == "obs_ed1b5c2b86fdeae86e55e14100000002"
    assert of_undated.link_observation_id(undated, "KNOWS:x:y", 2) == "obs_ed1b5c2b86fdeae86e55e14100000005"
    assert MERGE.observation("person", 7).id == "obs_ed1b5c2b86fdeae86e55e14100000000"


def test_a_merge_shares_no_turn_and_a_store_does():
    assert (STORE.shares_turn, MERGE.shares_turn, SCHEMA.shares_turn) == (True, False, False)
