"""What answers a question stands first in its context, before what merely surrounds it."""

from __future__ import annotations

from typing import Any

import pytest

from graphmem.errors import InvalidInput, NotFound
from graphmem.model.relationship import BUILTIN
from tests.support.faces import Call

NAMES = (
    "Acme", "Beta Labs", "Gamma Corp", "Delta Works", "Jane Doe", "Otto Lind", "Pia Holm", "Sara Quist",
    "Apollo", "Red Van", "Kato Yumi", "Old Boss", "Bob Roe", "Mia Falk", "Tom Ek",
)  # fmt: skip
FIELDS: dict[str, dict[str, Any]] = {
    "Acme": {"entity_type": "company", "industry": "robots", "website": "https://acme.example"},
    "Beta Labs": {"entity_type": "company", "ceo": "Nina Berg", "industry": "software", "city": "Malmö"},
    "Gamma Corp": {"entity_type": "company", "industry": "tools", "description": "Makes tools for gardens."},
    "Delta Works": {"entity_type": "company", "founder": "Rolf Dahl", "industry": "ships"},
    "Jane Doe": {
        "entity_type": "person", "email": "jane@acme.example", "phone": "+44 7700 900461", "city": "Oslo",
        "born": "1980-02-03", "bio": "Rows every morning and reads about whales.",
    },
    "Otto Lind": {"entity_type": "person", "role": "CEO", "email": "otto@gamma.example"},
    "Apollo": {"entity_type": "project", "due_date": "2027-03-01", "status": "open", "started": "2026-01-05"},
    "Red Van": {"entity_type": "vehicle", "plate": "AB 123"},
    "Kato Yumi": {
        "entity_type": "person", "adresse": "Lindenweg 4", "teléfono": "600 100 200", "住所": "東京都",
        "notiz": "Die Liste der Gäste ist bei der Verwaltung.",
    },
}  # fmt: skip
LINKS = (
    ("Jane Doe", "WORKS_AT", "Acme", {"role": "CEO", "since": "2022"}),
    ("Old Boss", "WORKS_AT", "Acme", {"role": "CEO", "since": "2010", "until": "2021-12-31"}),
    ("Bob Roe", "WORKS_AT", "Acme", {"role": "engineer"}),
    ("Otto Lind", "WORKS_AT", "Gamma Corp", None),
    ("Bob Roe", "KNOWS", "Otto Lind", None),
    ("Mia Falk", "WORKS_AT", "Gamma Corp", None),
    ("Pia Holm", "CEO_OF", "Delta Works", None),
    ("Bob Roe", "ADVISES", "Delta Works", None),
    ("Sara Quist", "MANAGES", "Apollo", None),
    ("Bob Roe", "MEMBER_OF", "Apollo", None),
    ("Tom Ek", "OWNS", "Red Van", None),
    ("Bob Roe", "DRIVES", "Red Van", None),
    ("Mia Falk", "MARRIED_TO", "Otto Lind", {"since": "2015"}),
    ("Sara Quist", "WORKS_AT", "Beta Labs", {"since": "2024-05-01"}),
    ("Sara Quist", "REPORTS_TO", "Jane Doe", None),
)
CURRENT = "2026-10-01T00:00:00Z"


@pytest.fixture
def world(run: Call) -> Call:
    items = [{"entity_type": "person", "name": name, **FIELDS.get(name, {})} for name in NAMES]
    links = [
        {
            "relationship_type": kind,
            "source_index": NAMES.index(source),
            "target_index": NAMES.index(target),
            **({"metadata": metadata} if metadata else {}),
        }
        for source, kind, target, metadata in LINKS
    ]  # fmt: skip
    for kind in sorted({kind for _, kind, _, _ in LINKS} - BUILTIN.keys()):
        run("relationship_types.register", relationship_type=kind)
    run("store", entities=items, relationships=links, observed_at=CURRENT, find_duplicates=False)
    return run


def first_fact(page: dict[str, Any]) -> str:
    """Return the beginning of the first line, as far as its first field or relationship goes."""
    return page["lines"][0].split("; ")[0]


QUESTIONS = {
    "Who is the CEO of Acme?": "WORKS_AT ← Jane Doe (role: CEO, since: 2022)",
    "Who's Acme's CEO?": "Jane Doe",
    "Who is the CEO of Beta Labs?": "ceo: Nina Berg",
    "Who is the CEO of Gamma Corp?": "Otto Lind",
    "Who is the CEO of Delta Works?": "CEO_OF ← Pia Holm",
    "Who founded Delta Works?": "founder: Rolf Dahl",
    "Where does Jane Doe live?": "city: Oslo",
    "When was Jane Doe born?": "born: 1980-02-03",
    "What is the phone number of Jane Doe?": "phone: +44 7700 900461",
    "Where does Otto Lind work?": "WORKS_AT → Gamma Corp",
    "Which company does Sara Quist work for?": "WORKS_AT → Beta Labs (since",
    "Who manages the Apollo project?": "MANAGES ← Sara Quist",
    "Who is the manager of Apollo?": "MANAGES ← Sara Quist",
    "When is Apollo due?": "due_date: 2027-03-01",
    "Who owns the Red Van?": "OWNS ← Tom Ek",
    "To whom is Otto Lind married?": "MARRIED_TO ← Mia Falk (since: 2015)",
    "Who is Sara Quist's boss?": "REPORTS_TO → Jane Doe",
    "Who reports to Jane Doe?": "REPORTS_TO ← Sara Quist",
    "Who is Bob Roe's employer?": "WORKS_AT → Acme",
    "Who is Otto Lind's wife?": "MARRIED_TO ← Mia Falk",
    "When did Sara Quist join Beta Labs?": "WORKS_AT → Beta Labs (since: 2024-05-01)",
    "Wer ist die CEO von Acme?": "WORKS_AT ← Jane Doe (role: CEO, since: 2022)",
    "Welche Adresse hat Kato Yumi?": "adresse: Lindenweg 4",
    "¿Cuál es el teléfono de Kato Yumi?": "teléfono: 600 100 200",
    "Kato Yumi の 住所": "住所: 東京都",
    "Is there an engineer at Acme?": "WORKS_AT ← Bob Roe (role: engineer)",
}


def test_the_first_line_has_the_answer(world: Call) -> None:
    answers = {question: first_fact(world("context.retrieve", question=question)) for question in QUESTIONS}
    wrong = {question: text for question, text in answers.items() if QUESTIONS[question] not in text}
    assert not wrong


def test_who_held_a_post_before_comes_after_who_holds_it_and_is_worded_as_past(world: Call) -> None:
    facts = world("context.retrieve", question="Who is the CEO of Acme?")["lines"][0].split("; ")
    assert facts[1] == "formerly WORKS_AT ← Old Boss (role: CEO, since: 2010, until: 2021-12-31)"
    fields = world("context.retrieve", question="Who is the CEO of Acme?", format="fields")["lines"]
    assert [(line["value"], line.get("ended")) for line in fields[:2]] == [
        ("Jane Doe", None), ("Old Boss", "2021-12-31"),
    ]  # fmt: skip
    assert fields[1]["metadata"] == {"role": "CEO", "since": "2010", "until": "2021-12-31"}


@pytest.mark.parametrize("where", ["metadata", "text"])
def test_an_older_relationship_of_a_hub_is_found_by_the_words_of_the_question(run: Call, where: str) -> None:
    acme = {"entity_type": "company", "name": "Acme"}
    jane = {"entity_type": "person", "name": "Jane Doe", **({"role": "CEO"} if where == "text" else {})}
    metadata = {"role": "CEO"} if where == "metadata" else {"team": "board"}
    link = {"relationship_type": "WORKS_AT", "source_index": 0, "target_index": 1, "metadata": metadata}
    run("store", entities=[jane, acme], relationships=[link], observed_at="2020-01-01T00:00:00Z")
    for first in "ABC":
        clerks = [{"entity_type": "person", "name": f"Clerk {first}{second}"} for second in "ABCDEFGHIJKL"]
        links = [{"relationship_type": "WORKS_AT", "source_index": i, "target_index": 12} for i in range(12)]
        run("store", entities=[*clerks, acme], relationships=links, find_duplicates=False)
    answer = first_fact(run("context.retrieve", question="Who is the CEO of Acme?"))
    assert "Jane Doe" in answer
    assert "role: CEO" in answer


def test_an_entity_is_found_among_many_related_ones_by_its_text(run: Call) -> None:
    people = [
        {"entity_type": "person", "name": f"Worker {chr(65 + i)}{chr(65 + i)}", "role": "clerk"}
        for i in range(20)
    ]
    people[7]["role"] = "Treasurer"
    links = [{"relationship_type": "WORKS_AT", "source_index": i, "target_index": 20} for i in range(20)]
    run("store", entities=[*people, {"entity_type": "company", "name": "Acme"}], relationships=links,
        find_duplicates=False)  # fmt: skip
    page = run("context.retrieve", question="Who is the treasurer of Acme?")
    assert page["lines"][0].startswith("Worker HH")
    assert first_fact(page).endswith("role: Treasurer")


def test_who_is_named_comes_before_what_mentions_the_name(world: Call) -> None:
    tasks = [
        {"entity_type": "task", "title": title, "assignee": "Bob Roe", "notes": "Bob Roe does it: ask Bob."}
        for title in ("Paint the boat", "Sell the car")
    ]
    world("store", entities=tasks)
    for question in ("What do you know about Bob Roe?", "Bob Roe", "Tell me about Bob"):
        lines = world("context.retrieve", question=question)["lines"]
        assert lines[0].startswith("Bob Roe (person"), question
        assert any("Paint the boat" in line for line in lines[1:]), question


def test_a_long_value_is_cut_to_the_part_that_mentions_the_name(world: Call) -> None:
    text = "Rain. " * 300 + "Then Bob Roe came in. " + "Rain. " * 300
    world("store", entities=[{"entity_type": "note", "title": "Weather", "text": text}])
    lines = world("context.retrieve", question="What do you know about Bob Roe?")["lines"]
    assert any("Then Bob Roe came in" in line for line in lines)


def test_an_ended_relationship_comes_after_a_current_one_unless_it_is_asked_for(world: Call) -> None:
    gone = {"source_index": 0, "target_index": 1, "relationship_type": "WORKS_AT"}
    world("store", entities=[{"entity_type": "person", "name": "Ida Berg"},
                             {"entity_type": "company", "name": "Gamma Corp"}],
          relationships=[{**gone, "metadata": {"role": "treasurer", "until": "2021-12-31"}}])  # fmt: skip
    now = world("context.retrieve", question="Who is the treasurer of Gamma Corp?")["lines"][0]
    assert now.index("WORKS_AT ← Mia Falk") < now.index("formerly WORKS_AT ← Ida Berg")
    before = world("context.retrieve", question="Who was the treasurer of Gamma Corp before?")
    assert first_fact(before).endswith("formerly WORKS_AT ← Ida Berg (role: treasurer, until: 2021-12-31)")


def test_a_question_of_many_words_is_answered(world: Call) -> None:
    question = "Bob Roe " + " ".join(f"word{i}" for i in range(1_000))
    assert world("context.retrieve", question=question)["lines"][0].startswith("Bob Roe")


def test_the_newest_of_what_contradicts_is_told_first_where_it_is_asked_for(run: Call) -> None:
    says = (
        ("Tom lives in Oslo now", 4),
        ("Tom moved to a house at the harbour of Bergen and lives there with his dog", 6),
        ("Tom lives in Paris these days", 5),
    )
    items = [
        {"entity_type": "note", "text": text, "observed_at": f"202{year}-03-01T00:00:00Z"}
        for text, year in says
    ]
    run("store", entities=[*items, {"entity_type": "note", "text": "Ann paints"}])
    question = "Where does Tom live?"
    newest_first = run("context.retrieve", question=question, newest_first=True)["lines"]
    cities = [next(city for city in ("Oslo", "Bergen", "Paris") if city in line) for line in newest_first[:3]]
    assert cities == ["Bergen", "Paris", "Oslo"]
    assert run("context.retrieve", question=question)["lines"][:3] != newest_first[:3]


def test_a_context_of_what_only_resembles_the_question_says_so(world: Call) -> None:
    assert world("context.retrieve", question="whales in the morning")["match"] == "resemblance"
    for named in ({"question": "Jane Doe"}, {"question": "Who is Sara Quist's boss?"}):
        assert "match" not in world("context.retrieve", **named)


def test_a_hint_is_within_the_budget(run: Call) -> None:
    (entity,) = run("store", entities=[{"entity_type": "thing", "name": "Blue", **{
        f"東京都庁舎展望室{i}": "x" for i in range(60)}}])["entities"]  # fmt: skip
    page = run("context.retrieve", entity_id=entity["entity_id"], fields=["nothing"], budget=500)
    assert page["used"] <= 500


HISTORIES: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "Nadia Brandt": [
        ("2019-03-01", {"city": "Hamburg", "phone": "040 1111"}),
        ("2022-05-10", {"city": "Bremen"}),
        ("2024-08-20", {"city": "Kiel"}),
        ("2025-02-03", {"city": "Kiel", "email": "nadia@example.org"}),
    ],
    "Netflix": [
        ("2024-01-10", {"price": 12.99, "plan": "basic"}),
        ("2026-09-02", {"price": 15.99}),
        ("2026-10-02", {"price": 15.99}),
    ],
    "Oskar Lund": [
        ("2020-01-01", {"landline": "0421 77"}),
        ("2024-01-01", {"landline": None}),
        ("2025-06-01", {"address": "Am Wall 3"}),
    ],
}
MOVES = (
    ("Oskar Lund", "WORKS_AT", "Globex", {"since": "2015", "until": "2019-12-31"}),
    ("Oskar Lund", "WORKS_AT", "Initech", {"since": "2020-01-01", "until": "2023-03-31"}),
    ("Oskar Lund", "WORKS_AT", "Umbrella", {"since": "2023-04-01"}),
)  # fmt: skip


@pytest.fixture
def past(run: Call) -> Call:
    types = {"Netflix": "subscription", "Globex": "company", "Initech": "company", "Umbrella": "company"}
    names = [*HISTORIES, "Globex", "Initech", "Umbrella", "Piet Vos"]
    items = [{"entity_type": types.get(name, "person"), "name": name} for name in names]
    links = [
        {"relationship_type": kind, "source_index": names.index(source), "target_index": names.index(target),
         "metadata": metadata}
        for source, kind, target, metadata in MOVES
    ]  # fmt: skip
    run("store", entities=items, relationships=links, find_duplicates=False, observed_at="2019-01-01")
    for name, steps in HISTORIES.items():
        for at, values in steps:
            item = {"entity_type": types.get(name, "person"), "name": name, **values}
            run("store", entities=[item], observed_at=f"{at}T12:00:00Z", find_duplicates=False)
    return run


PAST_QUESTIONS = {
    "Where did Nadia live before Bremen?": "formerly city: Hamburg (2019-03 to 2022-05)",
    "Where did Nadia live before Kiel?": "formerly city: Bremen (2022-05 to 2024-08)",
    "Where did Nadia live before?": "formerly city: Bremen (2022-05 to 2024-08)",
    "Nadia's previous city": "formerly city: Bremen (2022-05 to 2024-08)",
    "Where did Nadia used to live?": "formerly city: Bremen (2022-05 to 2024-08)",
    "Where did Nadia live before Hamburg?": "city: Kiel (Bremen until 2024-08, Hamburg until 2022-05) "
    "(not known before Hamburg)",
    "Where did Nadia live in 2020?": "formerly city: Hamburg (in 2020)",
    "What was Nadia's city in March 2023?": "formerly city: Bremen (in March 2023)",
    "Where did Nadia live before 2022?": "formerly city: Hamburg (before 2022)",
    "Wo hat Nadia vor Bremen gewohnt?": "formerly city: Hamburg (2019-03 to 2022-05)",
    "Où habitait Nadia avant Bremen ?": "formerly city: Hamburg (2019-03 to 2022-05)",
    "¿Dónde vivía Nadia en 2020?": "formerly city: Hamburg (en 2020)",
    "Where did Nadia live in 2025?": "city: Kiel",
    "How much did Netflix cost before?": "formerly price: 12.99 (2024-01 to 2026-09)",
    "Was hat Netflix vorher gekostet?": "formerly price: 12.99 (2024-01 to 2026-09)",
    "How much does Netflix cost?": "price: 15.99 (12.99 until 2026-09)",
    "What did Netflix cost in 2021?": "price: 15.99 (not known in 2021)",
    "What was Oskar's address in 2023?": "address: Am Wall 3 (not known in 2023)",
    "What was Oskar's previous address?": "address: Am Wall 3 (no earlier value is known)",
    "What was Oskar's landline before?": "formerly landline: 0421 77 (2020-01 to 2024-01)",
    "Where did Oskar work before Initech?": "formerly WORKS_AT → Globex (since: 2015, until: 2019-12-31)",
    "Where did Oskar work in 2021?": "formerly WORKS_AT → Initech (since: 2020-01-01, until: 2023-03-31)",
    "Where did Oskar work before?": "formerly WORKS_AT → Initech (since: 2020-01-01, until: 2023-03-31)",
    "Where does Oskar work?": "WORKS_AT → Umbrella (since: 2023-04-01)",
}


def test_a_question_for_the_past_is_answered_by_what_was_true_then(past: Call) -> None:
    answers = {
        question: first_fact(past("context.retrieve", question=question)) for question in PAST_QUESTIONS
    }
    answers = {question: text.partition("): ")[2] for question, text in answers.items()}
    wrong = {question: text for question, text in answers.items() if text != PAST_QUESTIONS[question]}
    assert not wrong, "".join(f"\nE {question}: {text}" for question, text in wrong.items())


def test_a_line_tells_earlier_values_with_their_times(past: Call) -> None:
    lines = past("context.retrieve", question="Netflix", format="fields")["lines"]
    (price,) = [line for line in lines if line["field"] == "price"]
    assert price["value"] == 15.99
    assert [(each["value"], each["since"][:10], each["until"][:10]) for each in price["earlier"]] == [
        (12.99, "2024-01-10", "2026-09-02")
    ]
    assert price["earlier"][0]["observation_id"].startswith("obs_")
    (plan,) = [line for line in lines if line["field"] == "plan"]
    assert "earlier" not in plan
    lines = past("context.retrieve", question="How much did Netflix cost before?", format="fields")["lines"]
    assert [(line["value"], line.get("until", "")[:10]) for line in lines[:2]] == [
        (12.99, "2026-09-02"), (15.99, "")
    ]  # fmt: skip


def test_a_search_says_that_its_values_are_those_of_now(past: Call) -> None:
    for question in ("Where did Nadia live before Bremen?", "How much did Netflix cost in 2025?"):
        answer = past("entities.query", search=question)
        assert "values of now" in answer["hint"]
        assert "values of now" in past("entities.find", identifier=question)["hint"]
        # A context answers earlier values itself.
        assert "hint" not in past("context.retrieve", question=question)
    (netflix, *_) = answer["entities"]
    assert netflix["snapshot"]["price"] == 15.99
    assert [(each["value"], each["until"][:10]) for each in netflix["earlier"]["price"]] == [
        (12.99, "2026-09-02")
    ]
    assert netflix["earlier"].keys() == {"price"}
    assert "hint" not in past("entities.query", search="Where does Nadia live?")
    found = past("entities.query", search="Which company did Oskar work at in 2021?")["entities"]
    employers = [each["canonical_name"] for each in found if each.get("matched") == "relationship"]
    assert employers == ["Initech"]


def test_context_and_search_answer_as_of_a_time(past: Call) -> None:
    then = {"at": "2021-06-01T00:00:00Z"}
    page = past("context.retrieve", question="Where does Nadia live?", **then)
    assert page["at"] == "2021-06-01T00:00:00.000000Z"
    assert page["lines"][0].partition("): ")[2].split("; ")[0] == "city: Hamburg"
    page = past("context.retrieve", question="Where does Oskar work?", **then)
    # Its end lies ahead of that time; what had ended by then, and what began later, is not told.
    assert "WORKS_AT → Initech (since: 2020-01-01, until: 2023-03-31)" in page["lines"][0]
    assert "Globex" not in page["lines"][0]
    assert "Umbrella" not in page["lines"][0]
    assert past("context.retrieve", question="Netflix", at="2018-01-01")["lines"] == []
    assert past("context.retrieve", question="Netflix", at_ingested="2018-01-01")["lines"] == []
    fields = past("context.retrieve", question="Nadia", format="fields", at="2023-01-01")["lines"]
    assert {(line["field"], line["value"]) for line in fields} == {
        ("city", "Bremen"), ("phone", "040 1111"), ("name", "Nadia Brandt")
    }  # fmt: skip
    found = past("entities.query", search="Where does Nadia live?", **then)
    assert found["at"] == "2021-06-01T00:00:00.000000Z"
    assert found["entities"][0]["snapshot"]["city"] == "Hamburg"
    assert "hint" not in past("entities.query", search="Where did Nadia live before Bremen?", **then)
    with pytest.raises(InvalidInput, match="not together with search"):
        past("entities.query", search="Nadia", sort_by="canonical_name", **then)


def test_context_of_an_entity_that_did_not_live_then_is_refused(past: Call) -> None:
    (nadia, *_) = past("entities.find", identifier="Nadia Brandt")["entities"]
    page = past("context.retrieve", entity_id=nadia["entity_id"], at="2020-01-01")
    assert "city: Hamburg" in page["lines"][0]
    with pytest.raises(NotFound):
        past("context.retrieve", entity_id=nadia["entity_id"], at="2018-01-01")
