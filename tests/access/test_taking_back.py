"""Taking back what one writer wrote: by transaction, by writer and span, by quarantine, and by undo."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from graphmem.model import times
from tests.access.conftest import Application, Instance

DAY = "2026-05-01T00:00:00Z"


@dataclass
class Studio:
    """An account whose keys `ada` and `bot` write to one memory."""

    application: Application
    keys: dict[str, str]
    ids: dict[str, str]

    def __call__(self, key: str, path: str, **body: Any) -> Any:
        answer = self.application("POST", path, self.keys[key], json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def refused(self, key: str, path: str, **body: Any) -> tuple[int, str]:
        answer = self.application("POST", path, self.keys[key], json=body)
        return answer.status_code, answer.json()["error_code"]

    def store(self, key: str, name: str, **fields: Any) -> Any:
        entity = {"entity_type": "person", "name": name, "observed_at": DAY, **fields}
        return self(key, "/store", entities=[entity])

    def changes(self, key: str) -> list[str]:
        """Return the kinds of the changes that a writer is named for."""
        answer = self.application("GET", f"/changes?by_key={key}", self.keys["ada"]).json()
        return [each["event_type"] for each in answer["changes"]]

    def snapshot(self, name: str, **clocks: str) -> Any:
        found = self("ada", "/retrieve_entity_by_identifier", identifier=name, **clocks)["entities"]
        return next((each["snapshot"] for each in found if each["snapshot"].get("name") == name), None)

    def audit(self) -> None:
        """Check that what is stored is what the facts come to."""
        checked = self.application("POST", "/health_check_snapshots", self.keys["ada"], json={}).json()
        assert checked["healthy"], checked["stale_snapshots"]


@pytest.fixture
def studio(instance: Instance) -> Iterator[Studio]:
    account = instance.account("studio")
    keys, key_ids = {}, {}
    for name in ("ada", "bot"):
        create = instance.accounts.create_key(account.id, account.owner, name, ["read", "write"], None)
        keys[name], key = instance.loop.run(create)
        key_ids[name] = key.key_id
    made = Studio(instance.application(), keys, key_ids)
    yield made
    made.audit()


def test_a_transaction_is_withdrawn_and_what_others_recorded_too_stays(studio: Studio) -> None:
    first = studio.store("bot", "Grace Hopper", phone="1")
    studio.store("bot", "Alan Turing", phone="2")
    assert studio.store("ada", "Alan Turing", phone="2")["entities"][0]["deduplicated"]
    studio.store("ada", "Grace Hopper", city="Arlington")
    plan = studio("ada", "/withdraw", transaction_id=first["transaction_id"], dry_run=True)
    assert (plan["counts"]["observations"], plan["entities"][0]["change"]) == (1, "changes")
    assert studio.snapshot("Grace Hopper")["phone"] == "1"
    answer = studio("ada", "/withdraw", transaction_id=first["transaction_id"], reason="made up")
    assert (answer["observations"], answer["state"]) == (1, "withdrawn")
    assert "phone" not in studio.snapshot("Grace Hopper")
    assert studio.snapshot("Grace Hopper", at_ingested=first["recorded_at"])["phone"] == "1"
    known = studio("ada", "/withdraw", by_key=studio.ids["bot"], since="2020-01-01")
    assert known["observations"] == 2
    assert studio.snapshot("Alan Turing")["phone"] == "2"
    studio("ada", "/reinstate", by_key=studio.ids["bot"], since="2020-01-01")
    studio("ada", "/reinstate", transaction_id=first["transaction_id"])
    assert studio.snapshot("Grace Hopper")["phone"] == "1"


def test_what_was_withdrawn_counts_again_once_another_writer_records_it(studio: Studio) -> None:
    studio.store("bot", "Alan Turing", phone="2")
    studio("ada", "/withdraw", by_key="bot")
    assert studio.snapshot("Alan Turing") is None
    assert studio.store("ada", "Alan Turing", phone="2")["entities"][0]["deduplicated"]
    assert studio.snapshot("Alan Turing")["phone"] == "2"
    page = studio("ada", "/observations/query", by_key="ada")
    assert [each["provenance"]["by"]["credential_name"] for each in page["observations"]] == ["bot"]


def test_a_span_of_a_writer_is_closed_and_an_open_one_holds_for_what_follows(studio: Studio) -> None:
    studio.store("bot", "Grace Hopper", phone="1")
    middle = times.render(times.now() + 1)
    studio.store("bot", "Grace Hopper", city="Arlington")
    studio("ada", "/withdraw", by_key="bot", until=middle)
    assert studio.snapshot("Grace Hopper") == {"name": "Grace Hopper", "city": "Arlington"}
    studio("ada", "/withdraw", by_client="rest", until=middle)
    assert studio.refused("ada", "/withdraw", by_key="bot", until=middle) == (404, "RESOURCE_NOT_FOUND")
    assert studio.refused("ada", "/withdraw", by_key="nobody") == (404, "RESOURCE_NOT_FOUND")
    assert studio.refused("ada", "/withdraw", by_key="ada") == (400, "VALIDATION_INVALID_FORMAT")
    assert studio.refused("ada", "/withdraw", by_key="bot", transaction_id="txn_1")[0] == 400
    studio("ada", "/withdraw", by_key="bot")
    later = studio.store("bot", "Grace Hopper", email="grace@example.org")
    assert [each["code"] for each in later["store_warnings"]].count("WRITER_QUARANTINED") == 1
    assert studio.snapshot("Grace Hopper") is None
    studio("ada", "/reinstate", by_key="bot")
    assert studio.snapshot("Grace Hopper")["email"] == "grace@example.org"
    assert "phone" not in studio.snapshot("Grace Hopper")


def test_what_a_writer_in_quarantine_writes_is_kept_and_counts_once_it_is_released(studio: Studio) -> None:
    ada = studio.store("bot", "Ada Lovelace", phone="1")["entities"][0]["entity_id"]
    other = studio.store("bot", "A. Lovelace", email="ada@example.org")["entities"][0]["entity_id"]
    studio("ada", "/agents/quarantine", by_key="bot", reason="it invents")
    assert studio.refused("ada", "/agents/quarantine", by_key="bot")[0] == 404
    stored = studio.store("bot", "Ada Lovelace", phone="666", observed_at="2026-05-02")
    assert "WRITER_QUARANTINED" in [each["code"] for each in stored["store_warnings"]]
    assert studio.snapshot("Ada Lovelace")["phone"] == "1"
    hidden = studio("ada", "/observations/query", entity_id=ada, include_excluded=True)["observations"]
    assert [each["fields"].get("phone") for each in hidden] == ["666", "1"] or len(hidden) == 2
    merge = {"from_entity_id": other, "to_entity_id": ada}
    assert studio.refused("bot", "/entities/merge", **merge) == (403, "WRITER_QUARANTINED")
    assert studio.refused("bot", "/agents/release", by_key="bot") == (403, "WRITER_QUARANTINED")
    assert studio.refused("bot", "/undo")[0] == 403
    assert studio.snapshot("Ada Lovelace")["phone"] == "1"
    studio("ada", "/agents/release", by_key="bot")
    assert studio.snapshot("Ada Lovelace")["phone"] == "666"
    assert studio.refused("ada", "/agents/release", by_key="bot")[0] == 404


def test_a_writer_in_quarantine_may_store_and_nothing_else(studio: Studio) -> None:
    stored = studio.store("ada", "Ada Lovelace", phone="1")["entities"][0]["entity_id"]
    other = studio.store("ada", "Grace Hopper")["entities"][0]["entity_id"]
    person = {"entity_id": stored, "entity_type": "person"}
    link = {"relationship_type": "KNOWS", "source_entity_id": stored, "target_entity_id": other}
    studio("ada", "/create_relationship", **link)
    studio("ada", "/agents/quarantine", by_key="bot")
    for path, body in {
        "/keys": {"name": "child"},
        "/agents/grants": {"thumbprint": "x" * 43, "capabilities": [{"op": "*"}], "label": "x"},
        "/subscribe": {"webhook_url": "https://example.org/hook"},
        "/agents/release": {"by_key": "bot"},
        "/correct": {**person, "field": "phone", "value": "2"},
        "/delete_entity": person,
        "/create_relationship": {**link, "relationship_type": "WORKS_WITH"},
        "/delete_relationship": link,
    }.items():
        assert studio.refused("bot", path, **body) == (403, "WRITER_QUARANTINED"), path
    studio("bot", "/store", entities=[{"entity_type": "person", "name": "Alan Turing"}])
    assert studio.snapshot("Alan Turing") is None


def test_a_quarantine_of_a_key_holds_for_the_keys_that_it_made(studio: Studio) -> None:
    child = studio("bot", "/keys", name="child")
    studio.keys["child"] = child["secret"]
    studio.keys["grandchild"] = studio("child", "/keys", name="grandchild")["secret"]
    studio("ada", "/agents/quarantine", by_key="bot")
    for key in ("child", "grandchild"):
        stored = studio.store(key, f"By {key}")
        assert "WRITER_QUARANTINED" in [each["code"] for each in stored["store_warnings"]]
        assert studio.refused(key, "/keys", name="more") == (403, "WRITER_QUARANTINED")
        assert studio.refused(key, "/agents/release", by_key="bot") == (403, "WRITER_QUARANTINED")
    studio("ada", "/agents/release", by_key="bot")
    assert studio.snapshot("By grandchild")["name"] == "By grandchild"
    assert studio("grandchild", "/keys", name="more")["key"]["name"] == "more"


def test_undo_takes_back_the_newest_of_the_caller_and_its_own_undo(studio: Studio) -> None:
    studio.store("ada", "Grace Hopper", phone="1")
    studio.store("ada", "Grace Hopper", phone="2", observed_at="2026-05-02")
    studio.store("bot", "Grace Hopper", city="Arlington")
    plan = studio("ada", "/undo", dry_run=True)
    (changed,) = plan["entities"]
    assert {each["field"]: each["old_value"] for each in changed["fields"]}["phone"] == "2"
    undone = studio("ada", "/undo")
    assert [each["operation"] for each in undone["undone"]] == ["store"]
    assert (studio.snapshot("Grace Hopper")["phone"], studio.snapshot("Grace Hopper")["city"]) == (
        "1",
        "Arlington",
    )
    studio("ada", "/undo", transaction_id=undone["transaction_id"])
    assert studio.snapshot("Grace Hopper")["phone"] == "2"
    assert len(studio("ada", "/undo", last=3)["undone"]) == 2
    assert studio.snapshot("Grace Hopper") == {"name": "Grace Hopper", "city": "Arlington"}
    assert studio.refused("ada", "/undo") == (404, "RESOURCE_NOT_FOUND")
    assert studio.refused("ada", "/undo", transaction_id="txn_unknown") == (404, "RESOURCE_NOT_FOUND")


def test_undo_takes_back_merges_deletions_corrections_and_withdrawals(studio: Studio) -> None:
    ada = studio.store("ada", "Ada Lovelace", phone="1")["entities"][0]["entity_id"]
    other = studio.store("ada", "A. Lovelace", email="ada@example.org")["entities"][0]["entity_id"]
    studio("ada", "/entities/merge", from_entity_id=other, to_entity_id=ada)
    assert studio.snapshot("Ada Lovelace")["email"] == "ada@example.org"
    assert studio("ada", "/undo")["undone"][0]["operation"] == "entities.merge"
    assert "email" not in studio.snapshot("Ada Lovelace")
    assert studio.snapshot("A. Lovelace")["email"] == "ada@example.org"
    studio("ada", "/delete_entity", entity_id=ada, entity_type="person")
    assert studio.snapshot("Ada Lovelace") is None
    studio("ada", "/undo")
    assert studio.snapshot("Ada Lovelace")["phone"] == "1"
    studio(
        "ada", "/correct", entity_id=ada, entity_type="person", field="phone", value="3", idempotency_key="k"
    )
    studio("ada", "/undo")
    assert studio.snapshot("Ada Lovelace")["phone"] == "1"
    studio.store("bot", "Ada Lovelace", city="London")
    studio("ada", "/withdraw", by_key="bot", until="2999-01-01")
    assert "city" not in studio.snapshot("Ada Lovelace")
    studio("ada", "/undo")
    assert studio.snapshot("Ada Lovelace")["city"] == "London"
