"""What the page asks of REST before it changes something, and how what it stores is recorded."""

from __future__ import annotations

from typing import Any

from tests.page.conftest import World

PAGE = {"X-Client-Name": "inspector"}


def call(served: World, path: str, **body: Any) -> dict[str, Any]:
    """Send a request as the page does."""
    answer = served.http.post(path, json=body, headers=PAGE)
    assert answer.is_success, answer.text
    return answer.json()


def test_a_preview_says_what_the_same_call_then_does_and_writes_nothing(served: World) -> None:
    one, other = served.store(
        {"entity_type": "person", "name": "Preview One", "city": "Bergen"},
        {"entity_type": "person", "name": "Preview Two", "phone": "+47 1"},
    )
    correction = {"entity_id": one, "field": "city", "value": "Oslo"}
    merge = {"source_entity_id": other, "target_entity_id": one}
    relation = {"relationship_type": "EMPLOYS", "source_entity_id": one, "target_entity_id": other}
    before = served.http.get("/stats").json()["sequence"]
    corrected, merged, related = (
        call(served, path, **body, dry_run=True)
        for path, body in (
            ("/correct", correction),
            ("/entities/merge", merge),
            ("/create_relationship", relation),
        )
    )
    assert served.http.get("/stats").json()["sequence"] == before
    nothing = {"dry_run": True, "transaction_id": None}
    assert all(answer | nothing == answer for answer in (corrected, merged, related))
    assert corrected["snapshot"]["city"] == "Oslo"
    assert related["relationship_type"] == "WORKS_AT"
    survivor, source = merged["changes"]
    assert [field["field"] for field in survivor["fields"]] == ["phone"]
    assert (source["entity_id"], source["change"]) == (other, "disappears")
    assert call(served, "/correct", **correction)["snapshot"] == corrected["snapshot"]
    stored = served.http.get("/observations", params={"entity_id": one, "field": "city"}).json()
    assert stored["observations"][0]["observation_source"] == "human"
    assert call(served, "/create_relationship", **relation)["relationship_key"] == related["relationship_key"]
    done = call(served, "/entities/merge", **merge)
    assert done["observations_moved"] == merged["observations_moved"]
    assert "changes" not in done


def test_a_preview_is_refused_as_the_call_would_be(served: World) -> None:
    (one,) = served.store({"entity_type": "person", "name": "Preview Three"})
    absent = "ent_" + "1" * 24
    for path, body in (
        ("/correct", {"entity_id": absent, "field": "city", "value": 1}),
        ("/entities/merge", {"source_entity_id": absent, "target_entity_id": one}),
        ("/entities/merge", {"source_entity_id": one, "target_entity_id": one}),
    ):
        refused = [
            served.http.post(path, json={**body, "dry_run": preview}).json() for preview in (True, False)
        ]
        first, second = ((each["error_code"], each["message"]) for each in refused)
        assert first == second
