"""Look-up: by id, identifier, name, words and meaning; the first stage that has a hit answers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from graphmem.context import Services
from graphmem.errors import InvalidInput
from graphmem.model.ids import ENTITY_ID
from tests.support.event_loop import Loop
from tests.support.faces import Call, by_runner
from tests.support.walks import walk_over

ADA = {"entity_type": "person", "name": "Ada Lovelace", "email": "Ada@Example.org", "born": 1815}
NOBODY = "ent_" + "0" * 24


def ids(answer: dict[str, Any]) -> list[str]:
    return [item["entity_id"] for item in answer["entities"]]


def store_thing(run: Call, **fields: Any) -> str:
    return ids(run("store", entities=[{"entity_type": "thing", **fields}]))[0]


def matches(answer: dict[str, Any]) -> tuple[list[str], str]:
    return ids(answer), answer["match_mode"]


@pytest.fixture
def ada(run: Call) -> str:
    return ids(run("store", entities=[ADA]))[0]


@walk_over(
    "identifier, mode, matched, field",
    [
        ("Ada Lovelace", "name", "name", "name"),
        ("  ada \t LOVELACE ", "name", "name", "name"),
        ("Ａｄａ Lovelace", "name", "name", "name"),
        ("ADA@example.ORG", "identifier", "email", "email"),
        ("mailto:ada@example.org", "identifier", "email", "email"),
        ("x-77", "identifier", "external_id", "external_id"),
        ("X-77", "identifier", "external_id", "external_id"),
        ("+44 (20) 7946-0018", "identifier", "phone", "phone"),
        ("00442079460018", "identifier", "phone", "phone"),
        ("ada.example.org", "identifier", "url", "website"),
        ("HTTPS://ada.example.org:443/", "identifier", "url", "website"),
        ("countess of lovelace", "name", "alias", "aliases"),
        ("enchantress of numbers", "name", "alias", "aliases"),
    ],
)
def test_an_entity_is_found_by_what_names_it(
    run: Call, identifier: str, mode: str, matched: str, field: str
) -> None:
    more = {
        "external_id": "x-77", "phone": "+44 20 7946 0018", "website": "https://www.ada.example.org/",
        "aliases": ["Countess of Lovelace", 7, "Enchantress of Numbers"],
    }  # fmt: skip
    (entity_id,) = ids(run("store", entities=[{**ADA, **more}]))
    answer = run("entities.find", identifier=identifier)
    assert (*matches(answer), answer["total"]) == ([entity_id], mode, 1)
    first = answer["entities"][0]
    assert (first["matched"], first["matched_field"], first["score"]) == (matched, field, 1.0)


def test_an_entity_is_found_by_its_id(run: Call) -> None:
    (entity_id,) = ids(run("store", entities=[ADA]))
    for spelled in (entity_id, f" {entity_id} ", entity_id.upper()):
        assert matches(run("entities.find", identifier=spelled)) == ([entity_id], "id")


def test_the_domain_of_a_site_finds_it_and_not_its_pages(run: Call) -> None:
    acme = store_thing(run, name="Acme", url="https://www.acme.example/")
    page = store_thing(run, name="A page", url="https://acme.example/jobs?x=1")
    other = store_thing(run, name="Other", domain="ACME.example")
    answer = run("entities.find", identifier="acme.example")
    assert set(ids(answer)) == {acme, other}
    assert ids(run("entities.find", identifier="acme.example/jobs?x=1")) == [page]


def test_a_number_without_a_country_is_found_by_its_digits(
    run: Call, services: Services, loop: Loop, owner: str
) -> None:
    national = store_thing(run, name="At home", phone="030 / 901820")
    abroad = store_thing(run, name="Abroad", phone="+49 30 901821")
    assert ids(run("entities.find", identifier="(030) 901-820")) == [national]
    assert ids(run("entities.find", identifier="030901821")) == []
    german = replace(services, settings=services.settings.model_copy(update={"phone_region": "DE"}))
    german_run = by_runner(loop, german, owner)
    assert ids(german_run("entities.find", identifier="030 901821")) == [abroad]
    assert ids(german_run("entities.find", identifier="+49 30 901820")) == [national]


@walk_over(
    "identifier",
    ["Ann", "*", "/.*/", "zeta OR omega", NOBODY, "ent_", "ent_x",
     "x" * 10_000, "'; MATCH (n) DELETE n //", '"', "\\", "~0.5", "[a TO z]", "+owner:x", "1815",
     "ada@example.com", "example.org/x", "+44 20 7946 0019", "👩‍🚀", "volcano eruption", "unicorn"],
)  # fmt: skip
def test_what_names_nothing_finds_nothing_and_says_what_was_tried(
    run: Call, ada: str, identifier: str
) -> None:
    run("store", entities=[{"entity_type": "task", "title": "planning"}])
    answer = run("entities.find", identifier=identifier)
    assert (*matches(answer), answer["total"]) == ([], "none", 0)
    assert answer["hint"]


BLANK = ("", " ", "\x00", " \x00\x1f ", "\t\n")


@walk_over(
    "name, arguments",
    [
        ("entities.find", {"identifier": None}),
        ("entities.query", {"search": None}),
        ("search.explain", {"search": None}),
        ("context.retrieve", {"question": None}),
        ("schemas.list", {"keyword": None}),
        ("relationship_types.list", {"keyword": None}),
        ("observations.query", {"observation_id": None}),
        ("observations.query", {"source_id": None}),
        ("observations.create", {"entity_type": "person", "entity_identifier": None, "fields": {"x": 1}}),
    ],
)
def test_a_blank_look_up_is_refused(run: Call, name: str, arguments: dict[str, Any]) -> None:
    (place,) = (argument for argument, value in arguments.items() if value is None)
    for blank in BLANK:
        with pytest.raises(InvalidInput) as refused:
            run(name, **{**arguments, place: blank})
        (issue,) = refused.value.details["issues"]
        assert issue["path"].endswith(f".{place}")


@walk_over("words", ["Ada", "lovelace ada", "Ada*", "LOVELACE", '"ada"', "ada ada"])
def test_a_part_of_a_name_finds_a_person(run: Call, ada: str, words: str) -> None:
    answer = run("entities.find", identifier=words)
    assert matches(answer) == ([ada], "name_part")
    (first,) = answer["entities"]
    assert (first["matched"], first["matched_field"], first["score"]) == ("name_part", "canonical_name", 1)


def test_whole_words_find_where_no_name_does(run: Call, ada: str) -> None:
    note = store_thing(run, name="Blue guitar")
    for words, entity_id, field in (("example.org", ada, "email"), ("guitar", note, "canonical_name")):
        answer = run("entities.find", identifier=words)
        assert matches(answer) == ([entity_id], "text")
        (first,) = answer["entities"]
        assert (first["matched"], first["matched_field"]) == ("text", field)
        assert first["score"] > 0


def test_meaning_finds_where_no_word_does(run: Call) -> None:
    (milk, _) = ids(
        run("store", entities=[
            {"entity_type": "task", "title": "Buy milk and eggs", "note": "groceries"},
            {"entity_type": "task", "title": "Fix the login bug", "note": "users cannot sign in"},
        ])
    )  # fmt: skip
    answer = run("entities.find", identifier="food from the supermarket")
    assert matches(answer) == ([milk], "meaning")
    assert (answer["entities"][0]["matched"], answer["semantic"]) == ("meaning", "ready")
    assert 0.3 <= answer["entities"][0]["score"] <= 1


def test_an_identifier_comes_before_a_name_before_words(run: Call) -> None:
    named = store_thing(run, name="Jordan")
    mention = store_thing(run, name="Somebody else", note="jordan wrote it")
    assert matches(run("entities.find", identifier="jordan")) == ([named], "name")
    numbered = store_thing(run, name="A third", external_id="JORDAN")
    assert matches(run("entities.find", identifier="jordan")) == ([numbered], "identifier")
    run("entities.delete", entity_id=numbered)
    run("entities.delete", entity_id=named)
    assert matches(run("entities.find", identifier="jordan")) == ([mention], "text")


def test_a_look_up_costs_one_round_trip_a_miss_two_and_a_question_three_or_four(
    run: Call, ada: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from graphmem.database import driver

    sent: list[str] = []
    known = driver.Database._run

    async def counted(self: Any, name: str, *rest: Any) -> Any:
        # It is sent beside the look-up, and once for all reads of the next two seconds.
        if name != "exclusion.pending":
            sent.append(name)
        return await known(self, name, *rest)

    monkeypatch.setattr(driver.Database, "_run", counted)
    for identifier in (ada, "ada@example.org", "Ada Lovelace"):
        run("entities.find", identifier=identifier)
    assert sent == ["entity.get", "entity.find", "entity.find"]
    sent.clear()
    run("entities.find", identifier="nobody at all")
    assert sent == ["entity.find", "search.copy", "search.follow"]
    sent.clear()
    run("entities.find", identifier="nobody at all")
    assert sent == ["entity.find", "search.follow"]
    sent.clear()
    run("entities.find", identifier="Lovelace the countess")
    assert sent == ["entity.find", "search.follow", "entity.rows"]
    sent.clear()
    run("entities.find", identifier="Who is the boss of Ada?")
    assert sent == ["entity.find", "search.follow", "search.related", "entity.rows"]
    run("store", entities=[{"entity_type": "order", "title": "Chairs", "order_number": "ORD-77"}])
    for identifier, queries in (
        ("ORD-78", ["entity.find", "search.follow"]),
        ("ORD-77", ["entity.find", "search.follow", "search.identified", "entity.rows"]),
        ("Status of ORD-78?", ["entity.find", "search.follow"]),
        ("Status of ORD-77?", ["entity.find", "search.follow", "search.identified", "entity.rows"]),
    ):
        sent.clear()
        run("entities.find", identifier=identifier)
        assert sent == queries, identifier


def test_an_id_is_never_matched_as_text(run: Call) -> None:
    run("store", entities=[{"entity_type": "note", "canonical_name": NOBODY, "x": 1}])
    assert ENTITY_ID.fullmatch(NOBODY)
    assert run("entities.find", identifier=NOBODY)["entities"] == []


@pytest.mark.parametrize(
    ("identifier", "mode", "what"),
    [("guitar blue", "text", "words"), ("something to play songs on", "meaning", "meaning")],
)
def test_what_only_resembles_is_marked_before_anything_else(
    run: Call, identifier: str, mode: str, what: str
) -> None:
    entity_id = store_thing(run, name="Blue guitar", note="a musical instrument with six strings")
    answer = run("entities.find", identifier=identifier)
    assert matches(answer) == ([entity_id], mode)
    assert list(answer)[:2] == ["hint", "match"]
    assert answer["hint"] == f"No entity has this name or identifier: these resemble it by their {what}."
    assert [answer["match"], answer["entities"][0]["match"]] == ["resemblance", "resemblance"]


def test_what_is_named_is_not_marked_as_a_resemblance(run: Call, ada: str) -> None:
    for identifier in ("Ada Lovelace", "ada@example.org", ada):
        answer = run("entities.find", identifier=identifier)
        assert "match" not in answer
        assert "hint" not in answer
        assert "match" not in answer["entities"][0]


def test_an_identifier_that_is_too_long_is_refused(run: Call) -> None:
    with pytest.raises(InvalidInput):
        run("entities.find", identifier="x" * 10_001)


def test_a_long_name_is_found_whole_and_only_whole(run: Call) -> None:
    name = "long " * 100
    (a, b) = ids(run("store", entities=[{"entity_type": "thing", "name": name + end} for end in ("a", "b")]))
    assert matches(run("entities.find", identifier=name + "A")) == ([a], "name")
    assert matches(run("entities.find", identifier=name + "b")) == ([b], "name")
    assert run("entities.find", identifier=name)["match_mode"] == "text"


def test_a_type_narrows_a_look_up_before_any_limit(run: Call) -> None:
    items = [{"entity_type": "person", "name": "Jordan", "intent": "create_new"} for _ in range(4)]
    company = {"entity_type": "company", "name": "Jordan"}
    *people, company = ids(run("store", entities=[*items, company]))
    assert set(ids(run("entities.find", identifier="jordan"))) == {*people, company}
    for words in ("jordan", "JORDAN "):
        narrowed = run("entities.find", identifier=words, entity_type="company", limit=1)
        assert (ids(narrowed), narrowed["total"]) == ([company], 1)
    answer = run("entities.find", identifier="jordan", entity_type="people", limit=3)
    assert (ids(answer), answer["total"]) == (sorted(people)[:3], 4)
    assert ids(run("entities.find", identifier=people[0], entity_type="company")) == []


def test_after_a_rename_the_old_name_matches_as_a_former_one(run: Call, ada: str) -> None:
    run("store", entities=[{"target_id": ada, "name": "Countess"}])
    former = run("entities.find", identifier="Ada Lovelace")
    assert (matches(former), former["entities"][0]["formerly"]) == (([ada], "name"), True)
    assert matches(run("entities.find", identifier="countess")) == ([ada], "name")
    assert ids(run("store", entities=[ADA])) == [ada]
    current = run("entities.find", identifier="Ada Lovelace")
    assert (matches(current), "formerly" in current["entities"][0]) == (([ada], "name"), False)


def test_an_observation_goes_to_what_is_named_outright_only(run: Call, ada: str) -> None:
    from graphmem.errors import NotFound

    with pytest.raises(NotFound):
        run("observations.create", entity_type="person", entity_identifier="Ada", fields={"x": 1})
    observation = run(
        "observations.create", entity_type="person", entity_identifier="ADA lovelace", fields={"x": 1}
    )
    assert observation["entity_id"] == ada


def test_a_look_up_as_of_a_time_answers_what_was_then(run: Call) -> None:
    item = {"entity_type": "person", "name": "Ilse Wandt", "email": "ilse@alt.example"}
    (entity_id,) = ids(run("store", entities=[item], observed_at="2020-05-01"))
    later = {"fields": {"email": "ilse@neu.example"}, "observed_at": "2025-05-01"}
    run("observations.create", entity_id=entity_id, **later)
    for identifier in ("Ilse Wandt", "ilse@alt.example", "Wandt", entity_id):
        answer = run("entities.find", identifier=identifier, at="2021-01-01")
        (then,) = answer["entities"]
        assert (then["entity_id"], then["snapshot"]["email"]) == (entity_id, "ilse@alt.example")
        assert answer["at"] == "2021-01-01T00:00:00.000000Z"
        answer = run("entities.find", identifier=identifier, at="2019-01-01")
        assert (answer["entities"], "nothing counts at this time" in answer["hint"]) == ([], True)


def test_a_total_as_of_a_time_counts_what_lived_then(run: Call) -> None:
    for year in (2020, 2022, 2024):
        item = {"entity_type": "note", "title": f"Mooring {year}", "text": "harbour fees"}
        run("store", entities=[item], observed_at=f"{year}-05-01", find_duplicates=False)

    def searched(**more: Any) -> dict[str, Any]:
        return run("entities.query", search="harbour fees", include_total_count=True, at="2023-01-01", **more)

    whole = searched()
    assert (len(whole["entities"]), whole["total"]) == (2, 2)
    first = searched(limit=1)
    assert ("total" in first, first["total_is_at_least"]) == (False, len(first["entities"]))
    then = run("entities.find", identifier="harbour fees", at="2023-01-01")
    assert (len(then["entities"]), then["total"]) == (2, 2)
    assert run("entities.find", identifier="harbour fees", at="2019-01-01")["total"] == 0
