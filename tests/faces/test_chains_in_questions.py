"""Who asks, and chains of relationships in questions."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.faces import Call
from tests.support.walks import walk_over

PEOPLE: dict[str, dict[str, Any]] = {
    "Edda Moll": {"address": "Kanalweg 3", "shoe_size": 39, "manager": "Nobody Known"},
    "Kalle Berg": {"phone": "+49 40 5550001"},
    "Ruth Amsel": {"phone": "+49 40 5550002"},
    "Sven Kamp": {"phone": "+49 40 5550003", "landlord": "Ruth Amsel", "owner": "Zoo Ltd"},
    "Lone Wolf": {"phone": "+49 40 5550004"},
}
NAMES = [*PEOPLE, "Nordwind GmbH", "Blue Van", "Old Bike"]
LINKS = (
    ("Edda Moll", "REPORTS_TO", "Kalle Berg"),
    ("Kalle Berg", "REPORTS_TO", "Ruth Amsel"),
    ("Sven Kamp", "WORKS_AT", "Nordwind GmbH"),
    ("Ruth Amsel", "OWNS", "Nordwind GmbH"),
    ("Edda Moll", "OWNS", "Blue Van"),
)


@pytest.fixture
def world(run: Call) -> Call:
    entities = [{"entity_type": "person", "name": name, **fields} for name, fields in PEOPLE.items()]
    entities += [{"entity_type": "company", "name": "Nordwind GmbH"}]
    entities += [{"entity_type": "vehicle", "name": name} for name in ("Blue Van", "Old Bike")]
    links = [
        {"relationship_type": kind, "source_index": NAMES.index(source), "target_index": NAMES.index(target)}
        for source, kind, target in LINKS
    ]
    run("store", entities=entities, relationships=links, find_duplicates=False)
    return run


@pytest.fixture
def mine(world: Call) -> Call:
    mark(world, "Edda Moll")
    return world


def id_of(run: Call, name: str) -> str:
    (entity,) = run("entities.find", identifier=name)["entities"]
    return entity["entity_id"]


def mark(run: Call, name: str, **more: Any) -> None:
    run("observations.create", entity_id=id_of(run, name), fields={"self": True}, **more)


def names(answer: dict[str, Any]) -> list[str]:
    return [each["canonical_name"] for each in answer["entities"]]


@walk_over(
    "question, end, between",
    [
        ("Who is the boss of Edda Moll's boss?", "Ruth Amsel", "Kalle Berg"),
        ("Edda's boss's boss", "Ruth Amsel", "Kalle Berg"),
        ("the owner of the employer of Sven", "Ruth Amsel", "Nordwind GmbH"),
        ("What is the phone number of Edda's boss?", "Kalle Berg", "Edda Moll"),
        ("Kalle's boss's phone", "Ruth Amsel", "Kalle Berg"),
        # The step before the last is a field with a name.
        ("my boss's boss", "Ruth Amsel", "Kalle Berg"),
        ("phone of my boss", "Kalle Berg", "Edda Moll"),
    ],
)
def test_the_entity_at_the_end_of_a_chain_is_answered_first(
    mine: Call, question: str, end: str, between: str
) -> None:
    looked_up = mine("entities.find", identifier=question)
    assert names(looked_up)[0] == end
    assert looked_up["match_mode"] == "relationship"
    assert names(mine("entities.query", search=question))[0] == end
    first, second, *_ = mine("context.retrieve", question=question)["lines"]
    assert first.startswith(f"{end} (")
    assert second.startswith(f"{between} (")
    # The relationship between them stands in a line.
    assert between in first


def test_a_field_that_holds_a_name_is_a_step(world: Call) -> None:
    world("store", entities=[{"entity_type": "person", "name": "Lone Wolf", "boss": "Sven Kamp"}])
    assert names(world("entities.find", identifier="phone of Lone Wolf's boss"))[0] == "Sven Kamp"
    world("store", entities=[{"entity_type": "person", "name": "Lone Wolf", "plumber": "Kalle Berg"}])
    assert names(world("entities.find", identifier="Lone Wolf's plumber's phone"))[0] == "Kalle Berg"
    # No field has this name, so the words are read as without it.
    assert names(world("entities.find", identifier="Lone Wolf's gardener's phone"))[0] == "Lone Wolf"
    # The owner of Sven is no entity: the field of Sven says who it is.
    found = world("entities.find", identifier="the owner of Lone Wolf's boss")
    assert names(found)[0] == "Sven Kamp"
    assert "the owner of Sven Kamp is Zoo Ltd" in found["hint"]


FAMILY = (
    ("Bent Lykke", "BROTHER_OF", "Asta Lykke"),
    ("Asta Lykke", "HAS_SISTER", "Cora Lykke"),
    ("Cora Lykke", "REPORTS_TO", "Dora Vik"),
    ("Emil Holt", "BOSS_OF", "Bent Lykke"),
    ("Asta Lykke", "HAS_DENTIST", "Fritz Zahn"),
    ("Gerd Vik", "HUSBAND_OF", "Dora Vik"),
    ("Asta Lykke", "CHILD_OF", "Hanne Lykke"),
    ("Asta Lykke", "WORKS_AT", "Kontor Syd"),
    ("Cora Lykke", "WORKS_AT", "Klinik Nord"),
)


@pytest.fixture
def family(run: Call) -> Call:
    every = list(dict.fromkeys(name for source, _, target in FAMILY for name in (source, target)))
    links = [
        {"relationship_type": kind, "source_index": every.index(source), "target_index": every.index(target)}
        for source, kind, target in FAMILY
    ]
    people = [{"entity_type": "person", "name": name} for name in every]
    run("store", entities=people, relationships=links, find_duplicates=False)
    mark(run, "Asta Lykke")
    return run


@walk_over(
    "question, ends",
    [
        ("Who is the boss of Asta's sister?", ["Dora Vik"]),
        ("my brother's boss", ["Emil Holt"]),
        ("the boss of my siblings", ["Dora Vik", "Emil Holt"]),
        ("Chef der Schwester von Asta Lykke", ["Dora Vik"]),
        ("Wie heißt der Chef meiner Schwester?", ["Dora Vik"]),
        ("Wie heißt mein Zahnarzt?", ["Fritz Zahn"]),
        ("Chef meines Bruders", ["Emil Holt"]),
        ("Wer ist Astas Schwester?", ["Cora Lykke"]),
        ("my dentist", ["Fritz Zahn"]),
        ("my sister", ["Cora Lykke"]),
        ("Who is Asta's brother?", ["Bent Lykke"]),
        ("my mum", ["Hanne Lykke"]),
        ("Where does my sister work?", ["Cora Lykke", "Klinik Nord"]),
        ("Who does Asta's sister report to?", ["Cora Lykke", "Dora Vik"]),
        ("Where do I work?", ["Kontor Syd"]),
        ("Who treats me?", ["Fritz Zahn"]),
        ("the husband of my sister's boss", []),
        ("the boss of my sister's husband", []),
        ("el marido de la jefa de Cora", ["Gerd Vik"]),
    ],
)
def test_kin_are_told_apart_in_a_chain(family: Call, question: str, ends: list[str]) -> None:
    hits = family("entities.find", identifier=question)["entities"]
    found = sorted(each["canonical_name"] for each in hits if each["matched"] == "relationship")
    assert found == ends


@walk_over(
    "question, hint",
    [
        ("Who is the boss of the owner of Nordwind GmbH?", "no boss of Ruth Amsel is known"),
        ("the boss of Lone Wolf's owner", "no owner of Lone Wolf is known"),
        ("phone of Lone Wolf's boss", "no boss of Lone Wolf is known"),
        ("phone of Edda's manager's owner's boss", "2 steps"),
    ],
)
def test_nothing_is_answered_where_a_step_is_missing(world: Call, question: str, hint: str) -> None:
    looked_up = world("entities.find", identifier=question)
    assert (looked_up["entities"], looked_up["match_mode"]) == ([], "none")
    assert hint in looked_up["hint"]
    page = world("entities.query", search=question)
    assert (page["entities"], hint in page["hint"]) == ([], True)
    context = world("context.retrieve", question=question)
    assert (context["lines"], hint in context["hint"]) == ([], True)


def test_the_hint_of_a_missing_step_names_what_is_known(world: Call) -> None:
    hint = world("entities.query", search="Who is the boss of Kalle's boss?")["hint"]
    known = f"the boss of Kalle Berg is Ruth Amsel ({id_of(world, 'Ruth Amsel')})"
    assert hint == f"{known}; no boss of Ruth Amsel is known"


@walk_over(
    "question, first",
    [
        ("Where do I live?", "Edda Moll"),
        ("What is my shoe size?", "Edda Moll"),
        ("Who am I?", "Edda Moll"),
        ("wo wohne ich?", "Edda Moll"),
        ("Who is my boss?", "Kalle Berg"),
        ("Who do I report to?", "Kalle Berg"),
        ("myself", "Edda Moll"),
        ("What was my old address?", "Edda Moll"),
    ],
)
def test_who_asks_is_meant_by_my_and_i(mine: Call, question: str, first: str) -> None:
    assert names(mine("entities.query", search=question))[0] == first
    # "My boss" names the boss, and "who do I report to" who asks.
    begins = first if "my boss" in question else "Edda Moll"
    assert mine("context.retrieve", question=question)["lines"][0].startswith(f"{begins} (")


def test_what_a_value_of_who_asks_does_not_say_is_marked(mine: Call) -> None:
    mine("store", entities=[{"entity_type": "person", "name": "Edda Moll", "phone": "+49 40 5550009"}])
    mine(
        "store",
        entities=[{"entity_type": "laptop", "name": "Kiesel", "serial_number": "K-1", "colour": "red"}],
    )
    for question, word in (
        ("What is the serial number of my phone?", "serial"),
        ("the colour of my phone", "colour"),
    ):
        answer = mine("entities.query", search=question)
        assert {each["match"] for each in answer["entities"]} == {"resemblance"}, question
        assert f'nothing that is stored says "{word}"' in answer["hint"]
        assert mine("context.retrieve", question=question)["match"] == "resemblance"
    assert "match" not in mine("entities.find", identifier="the number of my phone")


def test_of_several_who_may_be_meant_the_one_that_has_what_is_asked_comes_first(mine: Call) -> None:
    for name, more in (("Ole Moll", {"allergy": "nuts"}), ("Per Moll", {"school": "Nordschule"})):
        mine("store", entities=[{"entity_type": "person", "name": name, **more}])
        mine(
            "relationships.create", relationship_type="PARENT_OF",
            source_entity_id=id_of(mine, "Edda Moll"), target_entity_id=id_of(mine, name),
        )  # fmt: skip
    for question, first in (
        ("my son's school", "Per Moll"),
        ("Which school does my son go to?", "Per Moll"),
        ("my son's allergy", "Ole Moll"),
    ):
        assert mine("context.retrieve", question=question)["lines"][0].startswith(f"{first} ("), question


def test_something_of_a_thing_of_who_asks_is_asked_of_the_thing(mine: Call) -> None:
    # "Car" is also a form of the word in CARES_FOR.
    car = {"entity_type": "car", "name": "Rocinante", "number_plate": "KI-204"}
    mine("store", entities=[car], find_duplicates=False)
    question = "What is the number plate of my car?"
    assert names(mine("entities.query", search=question))[0] == "Rocinante"
    assert mine("context.retrieve", question=question)["lines"][0].startswith("Rocinante (")


def test_nobody_is_answered_for_a_relationship_that_who_asks_does_not_have(mine: Call) -> None:
    page = mine("entities.query", search="Who is my landlord?")
    assert (page["entities"], page["hint"]) == ([], "no landlord of Edda Moll is known")
    assert names(mine("entities.query", search="Is Sven my landlord?"))[0] == "Sven Kamp"
    mine("store", entities=[{"entity_type": "person", "name": "Edda Moll", "landlord": "Hotel Sol"}])
    page = mine("entities.query", search="Who is my landlord?")
    assert (names(page)[0], page["hint"]) == ("Edda Moll", "the landlord of Edda Moll is Hotel Sol")


@walk_over(
    "question", ["How do I reach Sven?", "show me Sven", "What did I hear about the zoo?", "a zoo ltd for me"]
)
def test_what_asks_nothing_of_who_asks_does_not_mean_them(mine: Call, question: str) -> None:
    assert "Edda Moll" not in names(mine("entities.query", search=question))


def test_nobody_is_meant_where_nobody_is_marked_and_the_hint_says_how(world: Call) -> None:
    for question in ("Where do I live?", "Who is my boss's boss?"):
        assert "`graphmem me ENTITY`" in world("entities.query", search=question)["hint"]
        assert "Kalle Berg" not in names(world("entities.query", search=question))
        assert "graphmem me" in world("context.retrieve", question=question)["hint"]
    assert "hint" not in world("entities.query", search="How do I reach Sven?")


def test_the_mark_that_was_observed_last_counts_until_it_is_ended_and_over_a_merge(mine: Call) -> None:
    mark(mine, "Sven Kamp", observed_at="2001-01-01T00:00:00Z")
    assert names(mine("entities.find", identifier="Who am I?")) == ["Edda Moll"]
    mark(mine, "Lone Wolf")
    assert names(mine("entities.find", identifier="Who am I?")) == ["Lone Wolf"]
    mine("observations.create", entity_id=id_of(mine, "Lone Wolf"), fields={"self": False})
    assert names(mine("entities.find", identifier="Who am I?")) == ["Edda Moll"]
    mark(mine, "Lone Wolf")
    survivor = id_of(mine, "Ruth Amsel")
    mine("entities.merge", from_entity_id=id_of(mine, "Lone Wolf"), to_entity_id=survivor)
    (found,) = mine("entities.find", identifier="Who am I?")["entities"]
    assert (found["entity_id"], found["matched"], found["matched_field"]) == (survivor, "self", "self")
    assert mine("server.check_snapshots")["healthy"]


CREW = {
    "Nils Torp": {"self": True, "phone": "+47 22 555 001", "address": "Bryggen 4"},
    "Oda Torp": {"gender": "female", "phone": "+47 22 555 002"},
    "Pål Torp": {"gender": "Male", "phone": "+47 22 555 003"},
    "Runa Torp": {"phone": "+47 22 555 004"},
    "Stig Aas": {"profession": "dentist"},
    "Tove Lie": {"phone": "+47 22 555 006"},
}
CREW_LINKS = (
    ("Nils Torp", "SIBLING_OF", "Oda Torp"),
    ("Nils Torp", "SIBLING_OF", "Pål Torp"),
    ("Nils Torp", "CHILD_OF", "Runa Torp"),
    ("Stig Aas", "TREATS", "Nils Torp"),
    ("Runa Torp", "REPORTS_TO", "Tove Lie"),
    ("Nils Torp", "sails boats with", "Tove Lie"),
    ("Nils Torp", "LIVES_IN", "Bergen"),
    ("Oda Torp", "LIVES_IN", "Bergen"),
    ("Pål Torp", "WORKS_AT", "Fjord AS"),
    ("Nils Torp", "WORKS_AT", "Fjord AS"),
    ("Runa Torp", "WORKS_AT", "Kaia AS"),
)


@pytest.fixture
def crew(run: Call) -> Call:
    names = [*CREW, "Bergen", "Fjord AS", "Kaia AS"]
    entities: list[dict[str, Any]] = [{"entity_type": "person", "name": n, **CREW[n]} for n in CREW]
    entities += [{"entity_type": "city", "name": "Bergen"}]
    entities += [{"entity_type": "company", "name": name} for name in ("Fjord AS", "Kaia AS")]
    links = [
        {"relationship_type": kind, "source_index": names.index(source), "target_index": names.index(target)}
        for source, kind, target in CREW_LINKS
    ]
    run("store", entities=entities, relationships=links, find_duplicates=False)
    return run


@walk_over(
    "question, first, is_sure",
    [
        ("my sister's phone", "Oda Torp", True),
        ("Who is Nils Torp's brother?", "Pål Torp", True),
        ("my dentist", "Stig Aas", True),
        # A parent, of whom nothing says that she is the mother.
        ("my mother's phone", "Runa Torp", False),
        ("my father's boss", "Tove Lie", False),
        ("my parent's boss", "Tove Lie", True),
    ],
)
def test_what_nothing_says_to_be_a_mother_is_marked(
    crew: Call, question: str, first: str, is_sure: bool
) -> None:
    (hit, *_) = crew("entities.query", search=question)["entities"]
    assert (hit["canonical_name"], "match" in hit) == (first, not is_sure)
    context = crew("context.retrieve", question=question, format="fields")
    assert ("match" in context, "nothing that is stored says" in context.get("hint", "")) == (
        not is_sure,
        not is_sure,
    )
    looked_up = crew("entities.find", identifier=question)
    assert (names(looked_up)[0], "match" in looked_up) == (first, not is_sure)


def test_what_nothing_says_of_who_asks_is_found_where_something_else_says_it(mine: Call) -> None:
    mine("store", entities=[{"entity_type": "note", "title": "The dentist told me to come back in May"}])
    for question in ("When should I see the dentist?", "When do I go back to the dentist?"):
        answer = mine("entities.query", search=question)
        assert (names(answer)[0][:11], answer.get("hint")) == ("The dentist", None), question
        context = mine("context.retrieve", question=question)
        assert ("The dentist" in context["lines"][0], context.get("hint")) == (True, None)


@walk_over(
    "question, first",
    [
        ("the woman I sail boats with", "Tove Lie"),
        ("phone of the person I sail boats with", "Tove Lie"),
        ("the woman who lives in Bergen", "Oda Torp"),
        ("the man that works at Fjord AS", "Pål Torp"),
        ("the woman that works at Kaia AS", "Runa Torp"),
        ("Who do I sail boats with?", "Tove Lie"),
        # Nothing that is stored says these.
        ("the woman I sail kites with", None),
        ("Who do I sail kites with?", None),
        ("the woman I work with", None),
        ("the dentist who mended my tooth", None),
        ("the woman that works at Fjord AS", None),
        ("my sister who plays chess", None),
    ],
)
def test_whom_a_clause_describes_relationships_say(crew: Call, question: str, first: str | None) -> None:
    hits = crew("entities.query", search=question)["entities"]
    context = crew("context.retrieve", question=question, format="fields")
    if first is None:
        assert all("match" in each for each in hits[:1])
        assert "match" in context or not context["lines"]
        return
    assert hits[0]["canonical_name"] == first
    assert "match" not in hits[0]
    # A question tells the relationship of who asks first, a clause what is at its end.
    assert first in str(context["lines"][0])
    assert "match" not in context


@walk_over("question", ["my accountant's phone", "phone of my accountant", "Telefon meiner Maklerin"])
def test_something_of_somebody_unknown_is_not_asked_of_who_asks(crew: Call, question: str) -> None:
    assert all("match" in each for each in crew("entities.query", search=question)["entities"])


@walk_over(
    "question", ["Where do I live?", "Where did Nils live before Bergen?", "Where does Nils Torp live?"]
)
def test_whoever_has_an_address_comes_before_the_city_of_a_relationship(crew: Call, question: str) -> None:
    assert names(crew("entities.query", search=question))[0] == "Nils Torp"
    assert "Bryggen 4" in crew("context.retrieve", question=question)["lines"][0]


def test_a_city_answers_where_somebody_lives_without_an_address(crew: Call) -> None:
    assert names(crew("entities.query", search="Where does Oda Torp live?"))[0] == "Bergen"


@walk_over(
    "question, first",
    [
        # A relationship, or a fact of who asks, that nothing says.
        ("Pål Torp's wife", "Pål Torp"),
        ("Who is married to Oda Torp?", "Oda Torp"),
        ("Who lives at Kaia AS?", "Kaia AS"),
        ("What is my shoe size?", "Nils Torp"),
        ("Where was I born?", "Nils Torp"),
    ],
)
def test_what_is_named_is_marked_where_nothing_says_what_is_asked(
    crew: Call, question: str, first: str
) -> None:
    (hit, *_) = crew("entities.query", search=question)["entities"]
    assert (hit["canonical_name"], hit["match"]) == (first, "resemblance")
    context = crew("context.retrieve", question=question)
    assert (context["match"], "nothing that is stored says" in context["hint"]) == ("resemblance", True)
    # What something says is not marked.
    for known in ("What is my phone?", "Where do I live?", "Where does Pål Torp live?", "Who is Oda Torp?"):
        assert "match" not in crew("entities.query", search=known)["entities"][0]


def test_verbs_of_other_languages_follow_relationships(run: Call) -> None:
    people = [{"entity_type": "person", "name": "Tor Moen"}, {"entity_type": "company", "name": "Beta"}]
    links = [{"relationship_type": "WORKS_AT", "source_index": 0, "target_index": 1}]
    run("store", entities=people, relationships=links)

    def first(question: str) -> str:
        return run("entities.query", search=question)["entities"][0]["canonical_name"]

    for question in (
        "Wo arbeitet Tor Moen?",
        "Où travaille Tor ?",
        "¿Dónde trabaja Tor?",
        "Dove lavora Tor?",
    ):
        assert first(question) == "Beta", question
    for question in ("Wer arbeitet bei Beta?", "Qui travaille chez Beta ?", "Chi lavora per Beta?"):
        assert first(question) == "Tor Moen", question


def test_i_is_no_name(run: Call) -> None:
    run("store", entities=[
        {"entity_type": "person", "name": "Ilka Brandt", "self": True},
        {"entity_type": "subscription", "name": "Zeitung", "price": "29 EUR"},
    ])  # fmt: skip
    understood = run("entities.query", search="How much do I pay for subscriptions?")["understood"]
    assert understood["sentence"] == "every subscription: 1; how much: the sum of 1 is 29 EUR"


def test_a_field_of_what_is_mine_is_not_that_of_another(run: Call) -> None:
    items = [
        {"entity_type": "person", "name": "Ilka Brandt", "self": True},
        {"entity_type": "vehicle", "name": "Skoda Octavia", "plate": "KS-IB 482"},
        {"entity_type": "vehicle", "name": "VW Caddy", "plate": "KS-JB 77"},
        {"entity_type": "pet", "name": "Bruno"},
        {"entity_type": "event", "title": "Vaccination Bruno"},
    ]
    links = [{"relationship_type": "OWNS", "source_index": 0, "target_index": 1}]
    run("store", entities=items, relationships=links, find_duplicates=False)
    for question, first in (
        ("my car's plate", "Skoda Octavia"),
        ("What is the plate of my car?", "Skoda Octavia"),
        ("la plaque de ma voiture", "Skoda Octavia"),
        ("When is Bruno's vaccination?", "Vaccination Bruno"),
        ("When was Bruno born?", "Bruno"),
    ):
        assert run("entities.query", search=question)["entities"][0]["canonical_name"] == first, question


def test_a_role_beside_a_relationship_says_what_a_sibling_is(run: Call) -> None:
    people = [{"entity_type": "person", "name": name} for name in ("Ilka Brandt", "Petra Sommer")]
    links = [
        {
            "relationship_type": "SIBLING_OF",
            "source_index": 1,
            "target_index": 0,
            "metadata": {"role": "sister"},
        }
    ]
    run("store", entities=people, relationships=links)
    answer = run("entities.query", search="Ilka's sister")
    assert answer["entities"][0]["canonical_name"] == "Petra Sommer"
    assert "hint" not in answer
