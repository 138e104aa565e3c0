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
    laptop, key = instance.loop.run(create(studio.id, studio.owner, "ada-laptop", ["read", "write"], None))
    phone, phone_key = instance.loop.run(create(studio.id, studio.owner, "phone", ["read", "write"], None))
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
        "account": studio.id, "account_name": "studio", "method": "key", "credential": key.key_id,
        "credential_name": "ada-laptop",
    }  # fmt: skip
    assert (by["agent"], by["client"]) == ("anonymous", "notes-app")
    assert described(by["by"], by["client"]) == "key `ada-laptop` of studio, by notes-app"
    snapshot = application(
        "POST", "/get_entity_snapshot", laptop, json={"entity_id": ada, "provenance": "full"}
    ).json()
    assert next(iter(snapshot["provenance_observations"].values()))["provenance"] == by
    for value in ("ada-laptop", key.key_id):
        assert names(read("/observations", by_key=value, include_total_count=True)) == [
            "Ada Lovelace",
            "Lord Byron",
        ]
        assert read("/observations", by_key=value, include_total_count=True)["total"] == 2
    assert names(read("/observations", by_client="notes-app", entity_type="person")) == names(
        read("/observations", by_key="ada-laptop")
    )
    assert names(read("/observations", by_account="studio", by_key=phone_key.key_id)) == ["Charles Babbage"]
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
    named = application("POST", "/keys", laptop, json={"name": phone_key.key_id})
    assert (named.status_code, named.json()["details"]["issues"][0]["path"]) == (400, "$.name")
    # A revoked key stays named in what it wrote.
    assert application("DELETE", f"/keys/{phone_key.key_id}", laptop).status_code == 200
    assert names(read("/observations", by_key="phone")) == ["Charles Babbage"]
    writers = {each["written_by"]: each["transactions"] for each in read("/stats")["writers"]}
    assert writers == {"key `ada-laptop` of studio, by notes-app": 1, "key `phone` of studio, by rest": 1}


def test_sources_say_who_stored_them_and_filter_by_it(instance: Instance) -> None:
    studio = instance.account("studio")
    laptop, key = instance.loop.run(
        instance.accounts.create_key(studio.id, studio.owner, "laptop", ["read", "write"], None)
    )
    application = instance.application(bearer_token=None)
    file = {"file_content": "U29tZSB3b3Jkcy4=", "mime_type": "text/plain", "original_filename": "words.txt"}
    stored(application, laptop, "rest", ADA, **file)
    (source,) = application("GET", "/sources", laptop, params={"by_key": key.key_id}).json()["sources"]
    assert source["names"][0]["provenance"]["by"]["credential_name"] == "laptop"
    assert application("GET", "/sources", laptop, params={"by_key": "phone"}).json()["sources"] == []


def test_a_caller_reads_what_the_next_write_would_carry(instance: Instance) -> None:
    studio = instance.account("studio")
    laptop, key = instance.loop.run(
        instance.accounts.create_key(studio.id, studio.owner, "laptop", ["read", "write"], None)
    )
    application = instance.application()
    said = application("GET", "/session", laptop, headers={"X-Client-Name": "notes"}).json()
    assert said["written_by"] == "key `laptop` of studio, by notes"
    assert (said["tier"], said["provenance"]["by"]["credential"]) == ("unverified_client", key.key_id)
    assert "no agent signed" in said["why"]
    assert application("GET", "/me", laptop, headers={"X-Client-Name": "notes"}).json()["next_write"] == said
    assert (
        application.tool(laptop, "get_session_identity").json()["result"]["structuredContent"]["tier"]
        == "anonymous"
    )


def test_entities_and_the_timeline_filter_by_who_wrote(instance: Instance) -> None:
    studio = instance.account("studio")
    create = instance.accounts.create_key
    keys = {
        name: instance.loop.run(create(studio.id, studio.owner, name, ["read", "write"], None))[0]
        for name in ("laptop", "phone")
    }
    application = instance.application()

    def task(name: str, due: str) -> dict[str, Any]:
        return {"entity_type": "task", "title": name, "due_date": due, "observed_at": "2026-01-01T00:00:00Z"}

    file = {"file_content": "U29tZSB3b3Jkcy4=", "original_filename": "words.txt"}
    first = stored(
        application, keys["laptop"], "notes-app",
        task("a", "2026-01-01"), task("b", "2026-01-02"), task("both", "2026-01-03"),
    )  # fmt: skip
    said = stored(application, keys["phone"], "rest", task("c", "2026-01-04"), **file)
    # The same words by another key: one observation, which both recorded.
    stored(application, keys["phone"], "rest", task("both", "2026-01-03"))
    ids = {each["canonical_name"]: each["entity_id"] for each in (*first["entities"], *said["entities"])}

    def read(path: str, **query: Any) -> Any:
        answer = application("GET", path, keys["laptop"], params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def titles(**query: Any) -> list[str]:
        page = read("/entities", **query)
        if query.get("include_total_count"):
            assert page["total"] == len(page["entities"])
        return sorted(each["canonical_name"] for each in page["entities"])

    def dates(**query: Any) -> list[str]:
        page = read("/timeline", **query)
        if query.get("include_total_count"):
            assert page["total"] == len(page["events"])
        return [each["entity_name"] for each in page["events"]]

    for more in (
        {}, {"include_total_count": True}, {"entity_type": "task"}, {"sort_by": "canonical_name"},
        {"sort_by": "snapshot.due_date"}, {"created_since": "2020-01-01"}, {"include_deleted": True},
        {"search": "tasks"},
    ):  # fmt: skip
        assert titles(by_key="phone", **more) == ["both", "c"], more
        assert titles(by_client="notes-app", **more) == ["a", "b", "both"], more
        assert titles(by_key="phone", by_client="notes-app", **more) == [], more
    pages = [read("/entities", by_client="notes-app", limit=2)]
    pages.append(read("/entities", by_client="notes-app", limit=2, cursor=pages[0]["next_cursor"]))
    assert sorted(each["canonical_name"] for page in pages for each in page["entities"]) == ["a", "b", "both"]
    named = {"by_key": "laptop", "filters": {"snapshot_filters": {"title": {"op": "eq", "value": "b"}}}}
    found = application("POST", "/entities/query", keys["laptop"], json=named).json()["entities"]
    assert [each["canonical_name"] for each in found] == ["b"]
    assert application("GET", "/entities?by_key=x&at=2026-01-01", keys["laptop"]).status_code == 400
    for more in (
        {}, {"include_total_count": True}, {"entity_type": "task"}, {"event_type": "TaskDue"},
        {"at": "2100-01-01", "include_total_count": True},
    ):  # fmt: skip
        assert dates(by_key="phone", **more) == ["c", "both"], more
        assert dates(by_account="studio", by_key="laptop", order="asc", **more) == ["a", "b", "both"], more
        assert dates(by_agent="nobody", **more) == [], more
    assert dates(by_key="phone", source_id=said["source_id"]) == ["c"]
    assert dates(by_key="laptop", source_id=said["source_id"]) == []
    assert dates(by_key="laptop", entity_id=ids["both"], include_total_count=True) == ["both"]
    assert dates(by_key="phone", entity_id=ids["a"], include_total_count=True) == []
    first_page = read("/timeline", by_key="laptop", limit=2)
    rest = dates(by_key="laptop", limit=2, cursor=first_page["next_cursor"])
    assert [*(each["entity_name"] for each in first_page["events"]), *rest] == ["both", "b", "a"]
    fields = {"title": {"type": "string"}, "due_date": {"type": "date", "filterable": True}}
    schema = {"schema": {"entity_type": "task", "fields": fields}}
    assert application("POST", "/register_schema", keys["laptop"], json=schema).status_code == 200
    by_value = {"entity_type": "task", "sort_by": "snapshot.due_date", "include_total_count": True}
    assert titles(by_key="phone", **by_value) == ["both", "c"]
    # What is withdrawn does not count; what is merged belongs to what it is merged into.
    merge = {"source_entity_id": ids["c"], "target_entity_id": ids["a"]}
    assert application("POST", "/entities/merge", keys["laptop"], json=merge).status_code == 200
    assert titles(by_key="phone") == ["a", "both"]
    withdraw = f"/sources/{said['source_id']}/withdraw"
    assert application("POST", withdraw, keys["laptop"], json={"reason": "wrong"}).status_code == 200
    assert titles(by_key="phone") == ["both"]
