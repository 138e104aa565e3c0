"""Who wrote: each transaction names its account, its credential and its client, and lists filter by them."""

from __future__ import annotations

from typing import Any

from graphmem.model.attribution import described
from tests.access.conftest import Application, Instance

ADA = {"entity_type": "person", "name": "Ada Lovelace"}
BYRON = {"entity_type": "person", "name": "Lord Byron"}
KNOWS = {"source_index": 0, "target_index": 1, "relationship_type": "KNOWS"}
TOKEN = "s" * 40


def stored(application: Application, key: str, client: str, *entities: Any, **more: Any) -> Any:
    body = {"entities": list(entities), **more}
    answer = application("POST", "/store", key, json=body, headers={"X-Client-Name": client})
    assert answer.status_code == 200, answer.text
    return answer.json()


def names(answer: Any) -> list[str]:
    return sorted(each["fields"]["name"] for each in answer["observations"])


def test_what_a_key_wrote_names_the_key_and_lists_filter_by_it(instance: Instance) -> None:
    studio, other = instance.account("studio"), instance.account("other")
    create = instance.accounts.create_key
    laptop, key = instance.loop.run(create(studio.id, "ada-laptop", ["read", "write"], None))
    phone, phone_key = instance.loop.run(create(studio.id, "phone", ["read", "write"], None))
    application = instance.application()
    first = stored(application, laptop, "notes-app", ADA, BYRON, relationships=[KNOWS])
    stored(application, phone, "rest", {"entity_type": "person", "name": "Charles Babbage"})
    ada = first["entities"][0]["entity_id"]

    def read(path: str, **query: Any) -> Any:
        answer = application("GET", path, laptop, params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    by = read("/observations", entity_id=ada)["observations"][0]["provenance"]
    assert by["by"] == {
        "account": studio.id, "account_name": "studio", "method": "key", "credential": key.id,
        "credential_name": "ada-laptop",
    }  # fmt: skip
    assert (by["agent"], by["client"]) == ("anonymous", "notes-app")
    assert described(by["by"], by["client"]) == "key `ada-laptop` of studio, by notes-app"
    snapshot = application(
        "POST", "/get_entity_snapshot", laptop, json={"entity_id": ada, "provenance": "full"}
    ).json()
    assert next(iter(snapshot["provenance_observations"].values()))["provenance"] == by
    for value in ("ada-laptop", key.id):
        assert names(read("/observations", by_key=value, include_total_count=True)) == [
            "Ada Lovelace",
            "Lord Byron",
        ]
        assert read("/observations", by_key=value, include_total_count=True)["total"] == 2
    assert names(read("/observations", by_client="notes-app", entity_type="person")) == names(
        read("/observations", by_key="ada-laptop")
    )
    assert names(read("/observations", by_account="studio", by_key=phone_key.id)) == ["Charles Babbage"]
    assert names(read("/observations", by_account=other.id)) == []
    assert names(read("/observations", entity_id=ada, by_key="phone")) == []
    since = {"by_key": "phone", "created_since": "2020-01-01", "include_total_count": True}
    assert read("/observations", **since)["total"] == 1
    assert len(read("/relationships", by_key="ada-laptop")["relationships"]) == 1
    assert len(read("/relationships", by_client="notes-app", relationship_type="KNOWS")["relationships"]) == 1
    for path in ("/relationships", f"/entities/{ada}/relationships"):
        assert read(path, by_key="phone", include_total_count=True)["total"] == 0
    refused = application("GET", "/relationships", laptop, params={"by_key": "phone", "at": "2026-01-01"})
    assert refused.status_code == 400
    # A revoked key stays named in what it wrote.
    assert application("DELETE", f"/keys/{phone_key.id}", laptop).status_code == 200
    assert names(read("/observations", by_key="phone")) == ["Charles Babbage"]
    writers = {each["written_by"]: each["transactions"] for each in read("/stats")["writers"]}
    assert writers == {"key `ada-laptop` of studio, by notes-app": 1, "key `phone` of studio, by rest": 1}


def test_sources_say_who_stored_them_and_filter_by_it(instance: Instance) -> None:
    studio = instance.account("studio")
    laptop, key = instance.loop.run(
        instance.accounts.create_key(studio.id, "laptop", ["read", "write"], None)
    )
    application = instance.application(bearer_token=None)
    file = {"file_content": "U29tZSB3b3Jkcy4=", "mime_type": "text/plain", "original_filename": "words.txt"}
    stored(application, laptop, "rest", ADA, **file)
    (source,) = application("GET", "/sources", laptop, params={"by_key": key.id}).json()["sources"]
    assert source["names"][0]["provenance"]["by"]["credential_name"] == "laptop"
    assert application("GET", "/sources", laptop, params={"by_key": "phone"}).json()["sources"] == []


def test_a_caller_reads_what_the_next_write_would_carry(instance: Instance) -> None:
    studio = instance.account("studio")
    laptop, key = instance.loop.run(
        instance.accounts.create_key(studio.id, "laptop", ["read", "write"], None)
    )
    application = instance.application()
    said = application("GET", "/session", laptop, headers={"X-Client-Name": "notes"}).json()
    assert said["written_by"] == "key `laptop` of studio, by notes"
    assert (said["tier"], said["provenance"]["by"]["credential"]) == ("unverified_client", key.id)
    assert "no agent signed" in said["why"]
    assert application("GET", "/me", laptop, headers={"X-Client-Name": "notes"}).json()["next_write"] == said
    assert (
        application.tool(laptop, "get_session_identity").json()["result"]["structuredContent"]["tier"]
        == "anonymous"
    )
