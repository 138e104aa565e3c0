"""Merges by rule through the operations: whoever stores a name alone reaches the one entity of this name."""

from __future__ import annotations

import base64
import itertools
from dataclasses import replace
from typing import Any, LiteralString

import pytest

from graphmem.context import Context, Services
from graphmem.errors import InvalidInput
from graphmem.reading import snapshot_check
from graphmem.writing import Writers, forms
from tests.support.actors import full_actor
from tests.support.event_loop import Loop
from tests.support.faces import Call
from tests.support.rule_merging import ADA, ADA_BY_EMAIL, OTHER_ADA, Audited, shown_as, store

ACME = {"entity_type": "company", "name": "Acme"}


def test_a_name_alone_reaches_the_entity_with_this_name_and_an_email(run: Call) -> None:
    (by_email,) = store(run, ADA_BY_EMAIL)
    (by_name,) = store(run, {**ADA, "town": "London"})
    assert by_name["entity_id"] == by_email["entity_id"]
    outcome = [by_name[name] for name in ("action", "identity_basis", "resolved_by")]
    assert outcome == ["matched_existing", "name", "rule"]
    entity = run("entities.get", entity_id=by_email["entity_id"])
    assert entity["snapshot"] == {"name": "Ada Lovelace", "email": "ada@example.org", "town": "London"}


def test_an_entity_that_is_there_under_a_name_is_merged_when_the_email_comes(run: Call) -> None:
    (by_name,) = store(run, {**ADA, "town": "London"})
    (by_email,) = store(run, ADA_BY_EMAIL)
    assert shown_as(run, by_name["entity_id"]) == [by_email["entity_id"]]


def test_a_second_that_fits_ends_the_merge(run: Call) -> None:
    (by_name,) = store(run, ADA)
    (by_email,) = store(run, ADA_BY_EMAIL)
    assert shown_as(run, by_name["entity_id"]) == [by_email["entity_id"]]
    store(run, OTHER_ADA)
    assert shown_as(run, by_name["entity_id"]) == [by_name["entity_id"]]


@pytest.mark.parametrize("together", [False, True])
def test_every_order_comes_to_the_same(run: Call, together: bool) -> None:
    orders = list(itertools.permutations([ADA, ADA_BY_EMAIL, ACME]))
    states = []
    for number, order in enumerate(orders):
        items = [{**item, "name": f"{item['name']} {number}"} for item in order]
        items = [{**item, "email": f"{number}@example.org"} if "email" in item else item for item in items]
        stored = store(run, *items) if together else [store(run, item)[0] for item in items]
        people = {shown_as(run, item["entity_id"])[0] for item in stored if item["entity_type"] == "person"}
        states.append(len(people))
    assert states == [1] * len(orders)


def test_relationships_follow_a_merge_by_rule_and_come_back(run: Call) -> None:
    link = {"relationship_type": "WORKS_AT", "source_index": 0, "target_index": 1}
    by_name, company = store(run, ADA, ACME, relationships=[link])
    (by_email,) = store(run, ADA_BY_EMAIL)

    def ends() -> list[str]:
        filters = {"entity_id": company["entity_id"]}
        return [
            each["source_entity_id"] for each in run("relationships.list", filters=filters)["relationships"]
        ]

    assert ends() == [by_email["entity_id"]]
    store(run, OTHER_ADA)
    assert ends() == [by_name["entity_id"]]


def test_an_unmerge_overrules_the_rule_for_ever(run: Call) -> None:
    (by_name,) = store(run, ADA)
    store(run, ADA_BY_EMAIL)
    run("entities.unmerge", entity_id=by_name["entity_id"])
    assert shown_as(run, by_name["entity_id"]) == [by_name["entity_id"]]
    store(run, ADA)
    store(run, {**ADA_BY_EMAIL, "town": "London"})
    assert shown_as(run, by_name["entity_id"]) == [by_name["entity_id"]]


def test_two_that_fit_and_are_merged_by_hand_are_one(run: Call) -> None:
    by_name, by_email, other = store(run, ADA, ADA_BY_EMAIL, OTHER_ADA)
    assert shown_as(run, by_name["entity_id"]) == [by_name["entity_id"]]
    run("entities.merge", source_entity_id=other["entity_id"], target_entity_id=by_email["entity_id"])
    assert shown_as(run, by_name["entity_id"]) == [by_email["entity_id"]]
    run("entities.unmerge", entity_id=other["entity_id"])
    assert shown_as(run, by_name["entity_id"]) == [by_name["entity_id"]]


def test_a_deleted_survivor_hides_what_is_stored_under_the_name(run: Call) -> None:
    (by_email,) = store(run, ADA_BY_EMAIL)
    run("entities.delete", entity_id=by_email["entity_id"])
    answer = run("store", entities=[ADA])
    assert answer["entities"][0]["entity_id"] == by_email["entity_id"]
    assert [each["code"] for each in answer["store_warnings"]] == ["ENTITY_DELETED"]


def test_a_correction_of_the_name_splits_nothing(run: Call) -> None:
    (by_name,) = store(run, ADA)
    (by_email,) = store(run, ADA_BY_EMAIL)
    run("entities.correct", entity_id=by_email["entity_id"], field="name", value="Ada King")
    assert shown_as(run, by_name["entity_id"]) == [by_email["entity_id"]]
    assert store(run, ADA)[0]["entity_id"] == by_email["entity_id"]


def test_an_entity_that_was_asked_to_be_new_is_another_candidate(run: Call) -> None:
    store(run, {**ADA, "intent": "create_new"})
    store(run, ADA_BY_EMAIL)
    (by_name,) = store(run, ADA)
    assert shown_as(run, by_name["entity_id"]) == [by_name["entity_id"]]


def test_earlier_times_of_recording_show_the_entities_apart(run: Call) -> None:
    def stored(item: dict[str, Any]) -> tuple[str, str, dict[str, Any]]:
        answer = run("store", entities=[item])
        entity_id = answer["entities"][0]["entity_id"]
        return entity_id, answer["recorded_at"], run("entities.get", entity_id=entity_id)

    by_name, first, apart = stored({**ADA, "town": "London"})
    by_email, second, merged = stored(ADA_BY_EMAIL)
    stored(OTHER_ADA)
    assert shown_as(run, by_name, by_email) == [by_name, by_email]
    before = run("entities.snapshot", entity_id=by_name, at_ingested=first)
    assert (before["entity_id"], before["snapshot"]) == (by_name, apart["snapshot"])
    meanwhile = run("entities.snapshot", entity_id=by_name, at_ingested=second)
    assert (meanwhile["entity_id"], meanwhile["snapshot"]) == (by_email, merged["snapshot"])
    assert meanwhile["version"] == merged["version"]


@pytest.mark.parametrize("deep", [False, True])
def test_a_check_of_all_snapshots_finds_nothing_to_mend(run: Call, audited: Audited, deep: bool) -> None:
    link = {"relationship_type": "WORKS_AT", "source_index": 0, "target_index": 1}
    by_name, _ = store(run, ADA, ACME, relationships=[link])
    by_email = store(run, ADA_BY_EMAIL)[0]["entity_id"]
    run("entities.correct", entity_id=by_email, field="name", value="Ada King")
    assert audited(deep) == {}
    store(run, OTHER_ADA)
    assert audited(deep) == {}
    run("entities.delete", entity_id=by_email)
    store(run, {**ADA, "name": "Ada King"})
    assert audited(deep) == {}
    run("entities.unmerge", entity_id=store(run, {**ADA, "name": "Ada King"})[0]["home_entity_id"])
    assert audited(deep) == {}
    run(
        "entities.merge",
        source_entity_id=by_name["entity_id"],
        target_entity_id=store(run, OTHER_ADA)[0]["entity_id"],
    )
    assert audited(deep) == {}


def test_a_name_and_a_birthday_identify_between_email_and_name(run: Call) -> None:
    by_birthday = {**ADA, "birthday": "1815-12-10"}
    middle = store(run, by_birthday)[0]
    assert middle["identity_basis"] == "name+birthday"
    assert store(run, ADA)[0]["entity_id"] == middle["entity_id"]
    by_email = store(run, {**by_birthday, "email": "ada@example.org"})[0]["entity_id"]
    assert store(run, ADA, by_birthday)[1]["entity_id"] == by_email
    assert store(run, ADA)[0]["entity_id"] == by_email


def test_another_birthday_keeps_two_apart(run: Call) -> None:
    by_birthday = store(run, {**ADA, "birthday": "1815-12-10"})[0]["entity_id"]
    by_email = store(run, {**ADA_BY_EMAIL, "birthday": "1990-01-01"})[0]["entity_id"]
    assert shown_as(run, by_birthday, by_email) == [by_birthday, by_email]


def test_a_withdrawn_candidate_is_none(run: Call, audited: Audited) -> None:
    by_name, by_email = (item["entity_id"] for item in store(run, ADA, ADA_BY_EMAIL))
    assert by_name == by_email
    by_name = store(run, ADA)[0]["home_entity_id"]
    other = run("store", entities=[OTHER_ADA], file_content="YQ==", mime_type="text/plain")
    assert shown_as(run, by_name) == [by_name]
    run("sources.withdraw", source_id=other["source_id"])
    assert shown_as(run, by_name) == [by_email]
    assert audited(True) == {}
    run("sources.reinstate", source_id=other["source_id"])
    assert shown_as(run, by_name) == [by_name]
    assert audited(True) == {}


def test_a_registered_rule_merges_by_its_alternatives(run: Call, audited: Audited) -> None:
    album = {"entity_type": "album", "title": "Dune"}
    by_title = store(run, album)[0]["entity_id"]
    by_barcode = store(run, {**album, "barcode": "1"})[0]["entity_id"]
    assert by_title == by_barcode
    run(
        "schemas.register", entity_type="album",
        schema_definition={
            "fields": {"title": {"type": "string"}, "barcode": {"type": "string"}},
            "canonical_name_fields": [{"composite": ["barcode"]}, {"composite": ["title"]}],
        },
    )  # fmt: skip
    by_barcode = store(run, {**album, "barcode": "1"})[0]["entity_id"]
    assert by_barcode != by_title
    assert store(run, album)[0]["entity_id"] == by_barcode
    assert audited(True) == {}
    albums = [store(run, {**album, "title": "Dune 2", **more})[0] for more in ({}, {"barcode": "2"})]
    assert shown_as(run, albums[0]["entity_id"]) == [albums[1]["entity_id"]]
    assert audited(True) == {}


DAMAGES = {
    "a merge that the rule does not make": (
        "MATCH (a:Entity {id: $id})-[edge:MERGED_INTO]->() DELETE edge "
        "SET a.merged_into = null, a.merged_by = null"
    ),
    "a key that is missing": (
        "MATCH (key:Identifier {owner: $owner})-[edge:IDENTIFIES]->() "
        "WHERE key.kind STARTS WITH 'key:' DELETE edge"
    ),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_rebuild_makes_keys_and_merges_by_rule_again(
    run: Call, services: Services, owner: str, loop: Loop, audited: Audited, damage: LiteralString
) -> None:
    by_name = store(run, ADA)[0]["entity_id"]
    by_email = store(run, ADA_BY_EMAIL)[0]["entity_id"]
    loop.run(services.database.script(damage, id=by_name, owner=owner))
    assert set(audited(True)) & {by_name, by_email}
    context = Context(full_actor(owner, client="test"), services)
    for _ in range(2):
        loop.run(snapshot_check.audit(context, fix=True, deep=True))
    assert audited(True) == {}
    assert shown_as(run, by_name) == [by_email]


def test_a_survivor_that_shows_another_name_still_bears_its_own(run: Call, audited: Audited) -> None:
    (by_email,) = store(run, ADA_BY_EMAIL)
    (married,) = store(run, {"entity_type": "person", "name": "Ada King", "intent": "create_new"})
    run("entities.merge", source_entity_id=married["entity_id"], target_entity_id=by_email["entity_id"])
    (by_name,) = store(run, ADA)
    assert (by_name["entity_id"], by_name["resolved_by"]) == (by_email["entity_id"], "rule")
    assert audited(True) == {}


def test_two_that_are_dismissed_as_duplicates_are_not_merged(run: Call, audited: Audited) -> None:
    by_name, by_email, _ = (item["entity_id"] for item in store(run, ADA, ADA_BY_EMAIL, OTHER_ADA))
    run("entities.dismiss_duplicates", entity_a=by_name, entity_b=by_email)
    assert audited(True) == {}
    rest = store(run, {**ADA, "note": "a"})[0]["entity_id"]
    assert rest == by_name
    run("entities.dismiss_duplicates", entity_a=by_name, entity_b=by_email, undo=True)
    assert audited(True) == {}


def test_many_that_merge_by_rule_are_looked_at_no_more_often_than_few(
    run: Call, monkeypatch: pytest.MonkeyPatch, audited: Audited
) -> None:
    looks = 0
    read = forms.read

    async def counted(*args: Any) -> Any:
        nonlocal looks
        looks += 1
        return await read(*args)

    monkeypatch.setattr(forms, "read", counted)

    def looks_of(town: str, count: int) -> list[int]:
        """Return how often each call looks: stores of names and of e-mails, a withdrawal and its end."""
        nonlocal looks
        people = [{"entity_type": "person", "name": f"{town} {number}"} for number in range(count)]
        by_email = [{**each, "email": f"{index}@{town}.example"} for index, each in enumerate(people)]
        company = {"entity_type": "company", "name": f"Acme {town}"}
        links = [
            {"relationship_type": "WORKS_AT", "source_index": index, "target_index": count}
            for index in range(count)
        ]
        file = {"file_content": base64.b64encode(town.encode()).decode(), "mime_type": "text/plain"}
        looks = 0
        run("store", entities=[*people, company], relationships=links)
        counts, looks = [looks], 0
        source_id = run("store", entities=by_email, **file)["source_id"]
        counts.append(looks)
        for operation in ("sources.withdraw", "sources.reinstate"):
            looks = 0
            run(operation, source_id=source_id)
            counts.append(looks)
        return counts

    few, many = looks_of("few", 2), looks_of("many", 12)
    # What a worker of another test folds meanwhile has a turn look once more.
    assert all(of_many <= of_few + 1 for of_many, of_few in zip(many, few, strict=True)), (few, many)
    assert audited(True) == {}


def test_a_dismissal_ends_a_merge_by_rule_until_it_is_undone(run: Call, audited: Audited) -> None:
    by_name, by_email = (store(run, item)[0] for item in (ADA, ADA_BY_EMAIL))
    pair = {"entity_a": by_name["entity_id"], "entity_b": by_email["entity_id"]}
    assert shown_as(run, *pair.values()) == [by_email["entity_id"]] * 2
    answer = run("entities.dismiss_duplicates", **pair, reason="mother and daughter")
    assert (answer["dismissed"], answer["changed"]) == (True, True)
    assert shown_as(run, *pair.values()) == list(pair.values())
    assert store(run, ADA, {**ADA_BY_EMAIL, "town": "London"})[0]["entity_id"] == by_name["entity_id"]
    assert run("entities.duplicates")["candidates"] == []
    assert audited(True) == {}
    assert run("entities.dismiss_duplicates", **pair)["changed"] is False
    run("entities.dismiss_duplicates", **pair, undo=True)
    assert shown_as(run, *pair.values()) == [by_email["entity_id"]] * 2
    assert audited(True) == {}


def test_a_dismissal_separates_two_that_a_rule_merged_into_a_third(run: Call, audited: Audited) -> None:
    both = {**ADA_BY_EMAIL, "town": "London"}
    by_email = store(run, both)[0]["entity_id"]
    store(run, {"name": "Augusta King", "target_id": by_email})
    by_name, by_other = (
        store(run, item)[0]["home_entity_id"] for item in (ADA, {**ADA, "name": "Augusta King"})
    )
    assert shown_as(run, by_name, by_other) == [by_email] * 2
    run("entities.dismiss_duplicates", entity_a=by_name, entity_b=by_other)
    assert shown_as(run, by_name, by_other) == [by_name, by_other]
    assert audited(True) == {}


def test_a_dismissal_of_what_somebody_merged_is_refused_also_beside_a_rule(run: Call) -> None:
    by_name, by_email = (store(run, item)[0]["entity_id"] for item in (ADA, ADA_BY_EMAIL))
    other = store(run, {**ADA, "name": "Augusta King"})[0]["entity_id"]
    run("entities.merge", source_entity_id=other, target_entity_id=by_email)
    with pytest.raises(InvalidInput, match="unmerge"):
        run("entities.dismiss_duplicates", entity_a=other, entity_b=by_email)
    run("entities.dismiss_duplicates", entity_a=other, entity_b=by_name)
    assert shown_as(run, by_name, other) == [by_name, by_email]


@pytest.mark.parametrize("deep", [False, True])
def test_a_rebuild_ends_merges_by_an_alternative_that_is_off_and_makes_them_again(
    run: Call, services: Services, owner: str, loop: Loop, audited: Audited, deep: bool
) -> None:
    by_name = store(run, ADA)[0]["entity_id"]
    by_email = store(run, ADA_BY_EMAIL)[0]["entity_id"]
    settings = services.settings.model_copy(update={"merge_rules_off": ("person:name",)})
    # The copy has the cached property of the original.
    vars(settings).pop("merge_rules_off_by_type", None)
    writers = Writers(services.database, settings, services.writers.embedder)
    actor = full_actor(owner, client="test")
    off = Context(actor, replace(services, settings=settings, writers=writers))
    for context, expected in ((off, by_name), (Context(actor, services), by_email)):
        assert by_name in loop.run(snapshot_check.audit(context, fix=False, deep=deep)).stale
        loop.run(snapshot_check.audit(context, fix=True, deep=deep))
        assert loop.run(snapshot_check.audit(context, fix=False, deep=deep)).stale == {}
        assert shown_as(run, by_name) == [expected]
    assert audited(True) == {}


def test_a_meeting_in_two_zones_is_one(run: Call) -> None:
    starts = ("2026-03-01T09:30+01:00", "2026-03-01T08:30Z", "2026-03-01", "2026-03-01T08:30:00+00:00")
    meeting = {"entity_type": "event", "title": "Standup"}
    stored = [run("store", entities=[{**meeting, "date_start": start}])["entities"][0] for start in starts]
    homes = [each.get("home_entity_id", each["entity_id"]) for each in stored]
    assert len(set(homes)) == 4
    shown = [run("entities.get", entity_id=home)["entity_id"] for home in homes]
    first = min(homes[0], homes[1], homes[3])
    assert shown == [first, first, homes[2], first]
    assert stored[3]["entity_id"] == first
    member = next(home for home in homes if home not in (first, homes[2]))
    run("entities.unmerge", source_entity_id=member)
    assert run("entities.get", entity_id=member)["entity_id"] == member
    assert run("server.check_snapshots")["healthy"]
