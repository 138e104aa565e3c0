"""Sources: files that are stored alone or with entities, each once, under every name they were given."""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import hashlib
import uuid
from pathlib import Path
from typing import Any

import orjson
import pytest

from graphmem.context import Services
from graphmem.errors import (
    FileContentInvalid,
    FileEmpty,
    FileNotParsed,
    FileTooLarge,
    IdempotencyMismatch,
    InvalidInput,
    NotFound,
    ObjectStoreUnavailable,
    StoreRefused,
)
from graphmem.model import ids
from graphmem.objects import new_object_store
from graphmem.registry import REGISTRY
from graphmem.settings import load
from tests.support.actors import full_actor
from tests.support.event_loop import Loop
from tests.support.faces import Call, by_runner

ADA = {"entity_type": "person", "name": "Ada Lovelace"}
LETTER = b"Dear Ada,\nyours, Charles"


def encoded(data: bytes) -> str:
    """Return bytes as a request has them."""
    return base64.b64encode(data).decode()


def with_file(data: bytes = LETTER, name: str | None = "letter.txt", **more: Any) -> dict[str, Any]:
    """Return the arguments of a file."""
    return {"file_content": encoded(data), **({"original_filename": name} if name else {}), **more}


def kept(loop: Loop, services: Services, owner: str) -> list[str]:
    """Return the hashes of the objects of an owner."""

    async def listed() -> list[str]:
        return [each.name async for each in services.objects.keys(owner)]

    return loop.run(listed())


def test_a_file_is_stored_alone(run: Call, loop: Loop, services: Services, owner: str) -> None:
    answer = run("store", **with_file(mime_type="text/plain"))
    digest = hashlib.sha256(LETTER).hexdigest()
    assert answer["source_id"] == ids.source_id(owner, digest)
    assert (answer["content_hash"], answer["file_size"]) == (digest, len(LETTER))
    assert (answer["mime_type"], answer["deduplicated"]) == ("text/plain", False)
    assert (answer["entities"], answer["entities_created"], answer["observations_created"]) == ([], 0, 0)
    assert set(kept(loop, services, owner)) == loop.run(services.objects.names(owner, [digest]))
    source = run("sources.get", source_id=answer["source_id"])
    assert source["names"] == [{
        "name": "letter.txt", "mime_type": "text/plain", "stored_at": answer["recorded_at"],
        "transaction_id": answer["transaction_id"], "client": "test",
        "provenance": source["names"][0]["provenance"],
    }]  # fmt: skip
    assert (source["original_filename"], source["created_at"]) == ("letter.txt", answer["recorded_at"])
    assert source["storage_url"] == f"graphmem://{answer['source_id']}"
    assert run("server.stats")["sources_count"] == 1


def test_what_is_stored_with_a_file_names_the_source(run: Call) -> None:
    company = {"entity_type": "company", "name": "Acme", "observed_at": "1843-07-01"}
    link = {"relationship_type": "WORKS_AT", "source_index": 0, "target_index": 1}
    answer = run("store", entities=[ADA, company], relationships=[link], **with_file())
    ada, acme = (item["entity_id"] for item in answer["entities"])
    source_id = answer["source_id"]
    for entity_id in (ada, acme):
        (observation,) = run("observations.query", entity_id=entity_id)["observations"]
        assert (observation["source_id"], observation["source_priority"]) == (source_id, 100)
        assert observation["interpretation_id"] is None
        provenance = run("entities.provenance", entity_id=entity_id, field="name")
        assert [source["source_id"] for source in provenance["sources"]] == [source_id]
        around = run("graph.neighborhood", node_id=entity_id)
        assert [source["original_filename"] for source in around["sources"]] == ["letter.txt"]
    snapshot = run(
        "relationships.snapshot", relationship_key=answer["relationships_created"][0]["relationship_key"]
    )
    assert [each["source_id"] for each in snapshot["observations"]] == [source_id]
    of_source = run("graph.neighborhood", node_id=source_id, node_type="source")
    assert {entity["entity_id"] for entity in of_source["related_entities"]} == {ada, acme}
    assert run("sources.get", source_id=source_id)["observation_count"] == 3
    listed = run("observations.query", source_id=source_id)["observations"]
    assert {each["entity_id"] for each in listed} == {ada, acme}


def test_the_same_bytes_are_one_source_with_every_name(
    run: Call, loop: Loop, services: Services, owner: str
) -> None:
    first = run("store", **with_file(name="first.txt"))
    second = run("store", **with_file(name="second.txt", mime_type="text/markdown"))
    assert (second["source_id"], second["deduplicated"]) == (first["source_id"], True)
    run("store", **with_file(name=None))
    source = run("sources.get", source_id=first["source_id"])
    assert [each["name"] for each in source["names"]] == [None, "second.txt", "first.txt"]
    assert (source["original_filename"], source["mime_type"]) == ("second.txt", "text/plain")
    assert source["created_at"] == first["recorded_at"]
    assert len(kept(loop, services, owner)) == 1
    assert run("sources.list", include_total_count=True)["total"] == 1


def test_an_observation_of_another_file_is_another_observation(run: Call) -> None:
    dated = {**ADA, "observed_at": "1843-01-01"}
    (plain,) = run("store", entities=[dated])["entities"]
    (from_file,) = run("store", entities=[dated], **with_file())["entities"]
    (again,) = run("store", entities=[dated], **with_file(name="copy.txt"))["entities"]
    assert plain["observation_id"] != from_file["observation_id"] == again["observation_id"]
    assert (from_file["deduplicated"], again["deduplicated"]) == (False, True)


def test_a_file_is_part_of_what_an_idempotency_key_stands_for(run: Call) -> None:
    first = run("store", entities=[ADA], idempotency_key="k", **with_file())
    again = run("store", entities=[ADA], idempotency_key="k", **with_file(name="other.txt"))
    assert again["replayed"]
    names = "transaction_id", "source_id", "content_hash", "file_size", "mime_type"
    assert [again[name] for name in names] == [first[name] for name in names]
    assert again["deduplicated"]
    for arguments in (with_file(b"other bytes"), {}):
        with pytest.raises(IdempotencyMismatch):
            run("store", entities=[ADA], idempotency_key="k", **arguments)
    assert len(run("sources.get", source_id=first["source_id"])["names"]) == 1


@pytest.mark.parametrize(
    "content", ["", "a", "!!!!", "YWJj\n", "YW Jj", "YWJj=", "data:text/plain;base64,YWJj", "ÿÿÿÿ"], ids=ascii
)
def test_what_is_no_file_in_base64_is_refused(run: Call, content: str) -> None:
    with pytest.raises(FileContentInvalid) as refused:
        run("store", entities=[ADA], file_content=content)
    assert "$.file_content" in str(refused.value)
    assert [issue["path"] for issue in refused.value.details["issues"]] == ["$.file_content"]
    stats = run("server.stats")
    assert (stats["total_entities"], stats["sources_count"]) == (0, 0)


def test_a_file_above_the_limit_is_refused(loop: Loop, services: Services, owner: str) -> None:
    settings = services.settings.model_copy(update={"max_file_bytes": 100})
    run = by_runner(loop, dataclasses.replace(services, settings=settings), owner)
    assert run("store", **with_file(b"x" * 100))["file_size"] == 100
    for size in (101, 102, 103, 1_000):
        with pytest.raises(FileTooLarge) as refused:
            run("store", **with_file(b"x" * size))
        assert refused.value.details["max_size"] == 100
        assert abs(refused.value.details["file_size"] - size) <= 2
    assert len(kept(loop, services, owner)) == 1


@pytest.mark.parametrize("arguments", [{}, {"entities": []}, {"relationships": []}])
def test_a_store_needs_entities_or_a_file(run: Call, arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="entities, a file, or both"):
        run("store", **arguments)


@pytest.mark.parametrize("name", ["mime_type", "original_filename", "file_idempotency_key"])
def test_what_describes_a_file_asks_for_nothing_without_one(run: Call, name: str) -> None:
    receipt = run("store", entities=[ADA], **{name: "text/plain"})
    assert (receipt["entities_created"], "source_id" in receipt) == (1, False)
    assert run("sources.list", include_total_count=True)["total"] == 0
    with pytest.raises(InvalidInput, match="entities, a file, or both"):
        run("store", **{name: "text/plain"})


def test_a_plan_keeps_no_file(run: Call, loop: Loop, services: Services, owner: str) -> None:
    planned = run("store", entities=[ADA], commit=False, **with_file())
    assert planned["source_id"] == ids.source_id(owner, hashlib.sha256(LETTER).hexdigest())
    assert kept(loop, services, owner) == []
    assert run("sources.list")["sources"] == []


def test_a_refused_store_writes_no_source(run: Call) -> None:
    with pytest.raises(StoreRefused):
        run("store", entities=[ADA, {"name": "no type"}], **with_file())
    assert run("sources.list")["sources"] == []


def test_if_the_object_store_is_down_nothing_is_written(
    loop: Loop, services: Services, owner: str, tmp_path: Path
) -> None:
    (tmp_path / "objects").write_text("a file where the directory should be")
    objects = new_object_store(load(env="test", data_dir=tmp_path))
    run = by_runner(loop, dataclasses.replace(services, objects=objects), owner)
    with pytest.raises(ObjectStoreUnavailable):
        run("store", entities=[ADA], **with_file())
    stats = run("server.stats")
    assert (stats["total_entities"], stats["sources_count"], stats["sequence"]) == (0, 0, 0)


def test_sources_are_listed_newest_first_in_pages(run: Call) -> None:
    stored = [run("store", **with_file(f"file {number}".encode()))["source_id"] for number in range(5)]
    listed: list[str] = []
    cursor = None
    while True:
        page = run("sources.list", limit=2, include_total_count=True, cursor=cursor)
        assert page["total"] == 5
        listed += [source["source_id"] for source in page["sources"]]
        cursor = page.get("next_cursor")
        if cursor is None:
            break
    assert listed == stored[::-1]
    assert [each["source_id"] for each in run("sources.list", limit=2, offset=3)["sources"]] == stored[1::-1]


def test_sources_are_found_by_a_part_of_any_name_and_by_mime_type(run: Call) -> None:
    letter = run("store", **with_file(name="Letter to Ada.txt"))["source_id"]
    run("store", **with_file(name="kopie.txt"))
    table = run("store", **with_file(b"a,b\n1,2\n", name="numbers.csv"))["source_id"]

    def listed(**filters: Any) -> list[str]:
        page = run("sources.list", include_total_count=True, **filters)
        assert page["total"] == len(page["sources"])
        return [source["source_id"] for source in page["sources"]]

    assert listed(search="to ada") == listed(search="KOPIE") == [letter]
    assert listed(search="%") == listed(search=".*") == []
    assert listed(mime_type="text/csv") == listed(mime_type="TEXT/CSV") == [table]
    assert listed(mime_type="text/csv", search="kopie") == []


def test_a_source_of_another_owner_is_not_there(run: Call, loop: Loop, services: Services) -> None:
    source_id = run("store", **with_file())["source_id"]
    stranger = by_runner(loop, services, str(uuid.uuid4()))
    with pytest.raises(NotFound):
        stranger("sources.get", source_id=source_id)
    with pytest.raises(NotFound):
        stranger("graph.neighborhood", node_id=source_id, node_type="source")
    assert stranger("sources.list")["sources"] == []
    assert stranger("observations.query", source_id=source_id)["observations"] == []


def test_many_stores_of_one_file_at_once_make_one_source(loop: Loop, services: Services, owner: str) -> None:
    async def store_all() -> list[dict[str, Any]]:
        actor = full_actor(owner)
        calls = (
            REGISTRY["store"].run(services, actor, with_file(name=f"{number}.txt")) for number in range(20)
        )
        return [orjson.loads(answer) for answer in await asyncio.gather(*calls)]

    answers = loop.run(store_all())
    assert len({answer["source_id"] for answer in answers}) == 1
    assert sum(not answer["deduplicated"] for answer in answers) == 1
    run = by_runner(loop, services, owner)
    assert len(run("sources.get", source_id=answers[0]["source_id"])["names"]) == 20


def test_store_unstructured_stores_a_file_alone(
    run: Call, loop: Loop, services: Services, owner: str
) -> None:
    stored = run("store.unstructured", **with_file(mime_type="text/plain", idempotency_key="k"))
    digest = hashlib.sha256(LETTER).hexdigest()
    assert stored["source_id"] == ids.source_id(owner, digest)
    assert (stored["content_hash"], stored["file_size"]) == (digest, len(LETTER))
    assert (stored["deduplicated"], stored["replayed"], stored["entities_created"]) == (False, False, 0)
    assert set(kept(loop, services, owner)) == loop.run(services.objects.names(owner, [digest]))
    # A store of the file alone is the same request, so the key stands for both.
    again = run("store", **with_file(mime_type="text/plain", idempotency_key="k"))
    assert (again["replayed"], again["transaction_id"]) == (True, stored["transaction_id"])
    with pytest.raises(IdempotencyMismatch):
        run("store.unstructured", **with_file(b"other bytes", idempotency_key="k"))
    with pytest.raises(InvalidInput, match="there is no file"):
        run("store.unstructured")


def test_a_key_of_a_file_stands_for_its_bytes(run: Call, loop: Loop, services: Services, owner: str) -> None:
    first = run("store", entities=[ADA], file_idempotency_key="f", **with_file())
    again = run("store", entities=[{**ADA, "x": 1}], file_idempotency_key="f", **with_file(name="b.txt"))
    assert (again["source_id"], again["deduplicated"]) == (first["source_id"], True)
    sequence = run("server.stats")["sequence"]
    with pytest.raises(IdempotencyMismatch) as refused:
        run("store", entities=[ADA], file_idempotency_key="f", **with_file(b"other bytes"))
    assert refused.value.details["file_idempotency_key"] == "f"
    assert run("server.stats")["sequence"] == sequence
    assert run("sources.list", include_total_count=True)["total"] == 1
    stranger = by_runner(loop, services, str(uuid.uuid4()))
    assert stranger("store", file_idempotency_key="f", **with_file(b"other bytes"))["deduplicated"] is False
    # The key is that of a file: without one it stands for nothing.
    assert "source_id" not in run("store", entities=[ADA], file_idempotency_key="f")


def test_of_many_stores_at_once_with_one_key_of_a_file_one_content_wins(
    loop: Loop, services: Services, owner: str
) -> None:
    async def store_all() -> list[Any]:
        actor = full_actor(owner)
        files = (with_file(f"content {n % 4}".encode(), file_idempotency_key="f") for n in range(12))
        calls = (REGISTRY["store"].run(services, actor, file) for file in files)
        return await asyncio.gather(*calls, return_exceptions=True)

    outcomes = loop.run(store_all())
    stored = [orjson.loads(outcome) for outcome in outcomes if isinstance(outcome, bytes)]
    assert len({answer["content_hash"] for answer in stored}) == 1
    assert len(stored) == 3
    assert all(isinstance(each, bytes | IdempotencyMismatch) for each in outcomes)


def test_an_empty_file_has_a_code_of_its_own(run: Call) -> None:
    with pytest.raises(FileEmpty):
        run("store", **with_file(b""))


@pytest.mark.parametrize(
    ("data", "declared", "detected"),
    [
        (LETTER, "text/plain", None),
        (LETTER, "application/pdf", "text/plain"),
        (b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n", "text/csv", "application/pdf"),
        (b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n", "text/plain; charset=utf-8", "application/pdf"),
        (b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n", "application/octet-stream", None),
        (b"a,b\n1,2\n", "application/csv", None),
        (b"{}", "application/json; charset=utf-8", None),
        (b"{\\rtf1 Dear Ada}", "text/html", "application/rtf"),
        (b"BEGIN:VCARD\nFN:Ada\nEND:VCARD\n", "text/x-vcard", None),
    ],
)
def test_a_declared_type_that_contradicts_the_bytes_is_kept_and_warned_of(
    run: Call, data: bytes, declared: str, detected: str | None
) -> None:
    for operation in ("store", "store.unstructured"):
        stored = run(operation, **with_file(data, name=None, mime_type=declared, idempotency_key=operation))
        types = [
            (warning["declared_type"], warning["mime_type"])
            for warning in stored["store_warnings"]
            if warning["code"] == "MIME_TYPE_MISMATCH"
        ]
        assert types == ([(declared, detected)] if detected else [])
    (name, _) = run("sources.get", source_id=stored["source_id"])["names"]
    assert name["mime_type"] == declared


def test_a_stored_file_is_read_back_as_text_page_by_page(run: Call) -> None:
    lines = [f"{number}: {'größer ' * (number % 7)}\\ end\n" for number in range(3_000)]
    text = "".join(lines)
    source_id = run("store", **with_file(text.encode(), "notes.txt"))["source_id"]
    assert "document" not in run("sources.get", source_id=source_id)
    read, offset, pages = "", 0, 0
    while offset is not None:
        answer = run(
            "sources.get", source_id=source_id, include_text=True, offset=offset, max_characters=20_000
        )
        assert len(orjson.dumps(answer).decode()) <= 20_000
        assert "omitted" not in answer
        page = answer["document"]
        assert (page["offset"], page["total_characters"]) == (offset, len(text))
        assert page["content_hash"] == answer["content_hash"]
        read, offset, pages = read + page["text"], page.get("next_offset"), pages + 1
    assert read == text
    # The greatest pages that fit, not single lines.
    assert len(text) / 20_000 < pages < len(text) / 14_000
    part = run("sources.get", source_id=source_id, include_text=True, offset=3, limit=40)["document"]
    assert (part["text"], part["next_offset"]) == (text[3:43], 43)
    beyond = run("sources.get", source_id=source_id, include_text=True, offset=len(text))["document"]
    assert (beyond["text"], beyond.get("next_offset")) == ("", None)


def test_the_text_of_a_file_that_nobody_can_read_is_refused(
    run: Call, services: Services, loop: Loop
) -> None:
    source_id = run("store", **with_file(b"\x89PNG\r\n\x1a\n\x00\x01", "odd.bin"))["source_id"]
    with pytest.raises(FileNotParsed) as refused:
        run("sources.get", source_id=source_id, include_text=True)
    assert refused.value.details["reason"] in ("unsupported", "damaged")
    stranger = by_runner(loop, services, str(uuid.uuid4()))
    with pytest.raises(NotFound):
        stranger("sources.get", source_id=source_id, include_text=True)
