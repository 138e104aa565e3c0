"""A household: some 60 facts of one person's life, and 80 questions in the words that people use.

Each question names what is right by hand: the entities that come first, and what the line of the first one
says. A question that nothing stored answers has no entities: then the answer is empty, or marked as a
resemblance. Days are counted from today, as the questions say "tomorrow" and "next week".
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from graphmem.errors import GraphmemError
from tests.support.faces import Call

RESEMBLANCE: Final = "resemblance"
TODAY: Final = datetime.datetime.now(datetime.UTC).date()


def day(shift: int) -> str:
    """Return the day that is so many days after today, as ``YYYY-MM-DD``."""
    return (TODAY + datetime.timedelta(days=shift)).isoformat()


def next_week(weekday: int) -> str:
    """Return a day of the next week; Monday is 0."""
    return day(7 - TODAY.weekday() + weekday)


NEXT_WEEK: Final = ("Choir rehearsal + Renew passport + " if TODAY.weekday() == 6 else "") + "Parent evening"
"""What the next week holds. On a Sunday tomorrow is in it."""

LONG_AGO: Final = "2021-03-01T10:00:00Z"
EARLIER: Final = "2025-06-01T10:00:00Z"
LATER: Final = "2026-05-01T10:00:00Z"

STORES: Final[tuple[tuple[str, tuple[dict[str, Any], ...]], ...]] = (
    (
        LONG_AGO,
        (
            {
                "entity_type": "person",
                "name": "Greta Lindqvist",
                "self": True,
                "email": "greta@lindqvist.example",
                "address": "Holtenauer Straße 12, Kiel",
                "shoe_size": 39,
            },
            {
                "entity_type": "person",
                "name": "Tomas Lindqvist",
                "phone": "+49 451 555 0110",
                "birthday": "1979-02-11",
            },
            {
                "entity_type": "person",
                "name": "Signe Lindqvist",
                "school": "Domschule",
                "birthday": "2014-05-09",
            },
            {
                "entity_type": "person",
                "name": "Oskar Brandt",
                "phone": "+49 451 555 0119",
                "allergy": "peanuts",
            },
            {"entity_type": "person", "name": "Petra Hollmann", "email": "hollmann@hafenkontor.example"},
            {
                "entity_type": "person",
                "name": "Dr. Amira Saleh",
                "phone": "+49 451 555 0140",
                "profession": "dentist",
            },
            {"entity_type": "person", "name": "Ruth Kowalski", "phone": "+49 451 555 0151"},
            {"entity_type": "person", "name": "Jonas Weidner", "allergy": "cats"},
            {"entity_type": "person", "name": "陈美玲", "position": "会计师"},
            {"entity_type": "person", "name": "佐藤健", "hobby": "陶芸"},
            {"entity_type": "person", "name": "Marguerite Petit", "city": "Lyon"},
            {"entity_type": "person", "name": "Prof. Elena Rossi", "email": "rossi@uni.example"},
            {"entity_type": "company", "name": "Hafenkontor", "industry": "shipping"},
            {"entity_type": "company", "name": "Nordwind Studio", "industry": "design"},
            {"entity_type": "company", "name": "Werft Nord", "industry": "shipbuilding"},
            {"entity_type": "city", "name": "Lübeck"},
            {"entity_type": "medication", "name": "Levothyroxine", "dose": "50 µg"},
            {"entity_type": "subscription", "name": "Streamline", "monthly_price": "12.99 EUR"},
            {"entity_type": "savings_account", "name": "Harbour Savings", "interest_rate": "3.2 %"},
        ),
    ),
    (
        EARLIER,
        (
            {
                "entity_type": "car",
                "name": "Volvo V60",
                "license_plate": "HL-GL 482",
                "next_inspection": "2027-09-30",
            },
            {"entity_type": "pet", "name": "Mango", "species": "cat", "vaccinated_on": "2026-02-03"},
            {"entity_type": "pet", "name": "Biscuit", "species": "dog", "chip_number": "276094501122334"},
            {
                "entity_type": "appliance",
                "name": "Neptun 500",
                "kind": "dishwasher",
                "warranty_until": "2027-03-31",
                "serial_number": "NP5-88121",
            },
            {"entity_type": "bicycle", "name": "Falter City", "frame_number": "FC20981"},
            {
                "entity_type": "insurance_policy",
                "name": "Household Shield",
                "policy_number": "HS-771-203",
                "provider": "Hansa Mutual",
            },
            {"entity_type": "shop", "name": "🦉 Eulenhof", "opening_hours": "Thu to Sat, 9 to 17"},
            {
                "entity_type": "place",
                "name": "Summer cottage",
                "region": "Fehmarn",
                "key_location": "under the blue pot",
            },
            {"entity_type": "network", "name": "Home Wi-Fi", "password": "seagull-lantern-42"},
            {"entity_type": "recipe", "name": "Elderflower Cake", "oven_temperature": "175 °C"},
            {"entity_type": "book", "name": "The Quiet Tide", "author": "Inga Solberg"},
            {"entity_type": "project", "name": "Kubernetes Migration", "lead": "Oskar Brandt"},
            {
                "entity_type": "note",
                "title": "Paint of the hallway",
                "content": "The colour is called Misty Dune, shop number 4410.",
            },
        ),
    ),
    (
        LATER,
        (
            {"entity_type": "person", "name": "Greta Lindqvist", "address": "Kastanienweg 4, Lübeck"},
            {"entity_type": "medication", "name": "Levothyroxine", "dose": "75 µg"},
            {"entity_type": "subscription", "name": "Streamline", "monthly_price": "14.99 EUR"},
            {"entity_type": "savings_account", "name": "Harbour Savings", "interest_rate": "2.1 %"},
            {
                "entity_type": "invoice",
                "title": "Plumber invoice 114",
                "amount": "340 EUR",
                "status": "open",
                "due_date": day(9),
            },
            {
                "entity_type": "invoice",
                "title": "Piano tuner invoice 7",
                "amount": "95 EUR",
                "status": "paid",
                "due_date": day(-40),
            },
            {"entity_type": "task", "title": "Renew passport", "status": "open", "due_date": day(1)},
            {"entity_type": "task", "title": "File tax return", "status": "done", "due_date": day(-20)},
            {
                "entity_type": "event",
                "title": "Parent evening",
                "start_date": next_week(2),
                "location": "Domschule",
            },
            {
                "entity_type": "event",
                "title": "Choir rehearsal",
                "start_date": day(1),
                "location": "St. Aegidien",
            },
            {
                "entity_type": "event",
                "title": "Lisbon trip",
                "start_date": "2025-10-04",
                "end_date": "2025-10-11",
            },
        ),
    ),
)

RENAMED: Final = (("Nordwind Studio", "Polarlicht Studio"), ("Marguerite Petit", "Marguerite Duval"))
"""Names that were corrected later."""

LINKS: Final[tuple[tuple[str, str, str, dict[str, Any]], ...]] = (
    ("MARRIED_TO", "Greta Lindqvist", "Tomas Lindqvist", {}),
    ("PARENT_OF", "Greta Lindqvist", "Signe Lindqvist", {}),
    ("SIBLING_OF", "Oskar Brandt", "Greta Lindqvist", {}),
    ("FRIEND_OF", "Greta Lindqvist", "Jonas Weidner", {}),
    ("REPORTS_TO", "Oskar Brandt", "Petra Hollmann", {}),
    ("DENTIST_OF", "Dr. Amira Saleh", "Greta Lindqvist", {}),
    ("LANDLORD_OF", "Ruth Kowalski", "Greta Lindqvist", {}),
    ("OWNS", "Greta Lindqvist", "Volvo V60", {}),
    ("WORKS_AT", "Oskar Brandt", "Hafenkontor", {"since": "2022-02-01"}),
    ("WORKS_AT", "Tomas Lindqvist", "Werft Nord", {"since": "2015-01-01", "until": "2020-12-31"}),
    ("WORKS_AT", "Tomas Lindqvist", "Polarlicht Studio", {"since": "2021-01-01"}),
    ("LIVES_IN", "Greta Lindqvist", "Lübeck", {"since": "2026-04-01"}),
    ("LENT_TO", "The Quiet Tide", "Jonas Weidner", {}),
    ("TEACHES", "Prof. Elena Rossi", "Tomas Lindqvist", {}),
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question.

    Attributes:
        kind: what it tries, as in the table of figures.
        answers: names of the entities that come first; of none if nothing that is stored answers.
        says: what the line of the first entity says.
        all_of_them: whether all of these come first, in any order; else one of them does.
    """

    kind: str
    question: str
    answers: tuple[str, ...]
    says: str = ""
    all_of_them: bool = False

    def is_met(self, names: list[str], line: str, *, resembles: bool) -> bool:
        """Return whether an answer is right.

        Args:
            names: the names of the entities of the answer, best first.
            line: what the answer says of the first one.
            resembles: whether the answer says that nothing of the question is named in it.
        """
        if not self.answers:
            return resembles or not names
        first = names[: len(self.answers) if self.all_of_them else 1]
        right = set(first) == set(self.answers) if self.all_of_them else set(first) & set(self.answers)
        return bool(right) and self.says in line

    def is_wrong(self, names: list[str], *, resembles: bool) -> bool:
        """Return whether an answer begins with an entity that is not right, and has no mark of doubt."""
        return bool(names) and not resembles and names[0] not in self.answers


def asked(kind: str, *rows: tuple[str, str, str]) -> tuple[Asked, ...]:
    """Return the questions of a kind, each (question, names, what the answer says).

    Names are joined by `` + `` where all come first, and by `` / `` where one of them does.
    """
    return tuple(
        Asked(kind, question, tuple(filter(None, re.split(r" [+/] ", names))), says, " + " in names)
        for question, names, says in rows
    )


QUESTIONS: Final = (
    *asked(
        "a field by its words",
        ("license plate", "Volvo V60", "HL-GL 482"),
        ("What is the number plate of the Volvo?", "Volvo V60", "HL-GL 482"),
        ("my car", "Volvo V60", "HL-GL 482"),
        ("When does the warranty end?", "Neptun 500", "2027-03-31"),
        ("serial number of the dishwasher", "Neptun 500", "NP5-88121"),
        ("Which pets do we have?", "Mango + Biscuit", ""),
        ("policy number", "Household Shield", "HS-771-203"),
        ("What's the wifi password?", "Home Wi-Fi", "seagull-lantern-42"),
        ("oven temperature for the elderflower cake", "Elderflower Cake", "175"),
        ("Where is the key of the cottage?", "Summer cottage", "blue pot"),
        ("the bike's frame number", "Falter City", "FC20981"),
        ("chip number of the dog", "Biscuit", "276094501122334"),
        ("What colour is the hallway?", "Paint of the hallway", "Misty Dune"),
        ("our insurance policy", "Household Shield", "Hansa Mutual"),
        ("opening hours of the farm shop Eulenhof", "🦉 Eulenhof", "Thu to Sat"),
        ("Who is allergic to peanuts?", "Oskar Brandt", "peanuts"),
        ("when was the cat vaccinated", "Mango", "2026-02-03"),
        ("Who wrote The Quiet Tide?", "The Quiet Tide", "Inga Solberg"),
    ),
    *asked(
        "a named person or thing",
        ("phone of Oskar Brandt", "Oskar Brandt", "0119"),
        ("Tomas birthday", "Tomas Lindqvist", "1979-02-11"),
        ("Which school does Signe go to?", "Signe Lindqvist", "Domschule"),
        ("Elena Rossi email", "Prof. Elena Rossi", "rossi@uni.example"),
        ("How do I reach Ruth Kowalski?", "Ruth Kowalski", "0151"),
        ("Harbour Savings interest", "Harbour Savings", "2.1 %"),
        ("Who is +49 451 555 0140?", "Dr. Amira Saleh", ""),
        ("hollmann@hafenkontor.example", "Petra Hollmann", ""),
        ("Levothyroxine dose", "Levothyroxine", "75 µg"),
        ("When is the next inspection of the Volvo V60?", "Volvo V60", "2027-09-30"),
    ),
    *asked(
        "by a relationship",
        ("Where does Oskar work?", "Oskar Brandt / Hafenkontor", "Hafenkontor"),
        ("Who works at Hafenkontor?", "Oskar Brandt / Hafenkontor", "Oskar Brandt"),
        ("Who is married to Tomas Lindqvist?", "Greta Lindqvist / Tomas Lindqvist", "Greta Lindqvist"),
        ("Who is Oskar's boss?", "Petra Hollmann / Oskar Brandt", "Petra Hollmann"),
        ("Signe's mother", "Greta Lindqvist / Signe Lindqvist", "Greta Lindqvist"),
        ("Who has The Quiet Tide?", "The Quiet Tide / Jonas Weidner", "Jonas Weidner"),
        ("Who teaches Tomas?", "Prof. Elena Rossi / Tomas Lindqvist", "Elena Rossi"),
        ("Who owns the Volvo V60?", "Greta Lindqvist / Volvo V60", "Greta Lindqvist"),
        ("friends of Greta Lindqvist", "Jonas Weidner / Greta Lindqvist", "Jonas Weidner"),
        ("Who leads the Kubernetes Migration?", "Kubernetes Migration", "Oskar Brandt"),
    ),
    *asked(
        "what was before",
        ("Where did Greta live before Lübeck?", "Greta Lindqvist", "Kiel"),
        ("How much did Streamline cost before?", "Streamline", "12.99"),
        ("What was the address of Greta Lindqvist in 2023?", "Greta Lindqvist", "Kiel"),
        ("previous dose of Levothyroxine", "Levothyroxine", "50 µg"),
        ("What interest did Harbour Savings use to pay?", "Harbour Savings", "3.2 %"),
        ("Where did Tomas work in 2018?", "Tomas Lindqvist / Werft Nord", "Werft Nord"),
        ("How much does Streamline cost?", "Streamline", "14.99"),
        ("What was the price of Streamline last year?", "Streamline", "12.99"),
        ("Wie hoch war die Dosis von Levothyroxine früher?", "Levothyroxine", "50 µg"),
    ),
    *asked(
        "me and chains",
        ("Who is my brother?", "Oskar Brandt", ""),
        ("my husband's phone", "Tomas Lindqvist", "0110"),
        ("Who is the boss of Greta's brother?", "Petra Hollmann", ""),
        ("my brother's boss", "Petra Hollmann", ""),
        ("Where do I live?", "Greta Lindqvist", "Kastanienweg"),
        ("my dentist", "Dr. Amira Saleh", "0140"),
        ("Who is my landlord?", "Ruth Kowalski", ""),
        ("my daughter's birthday", "Signe Lindqvist", "2014-05-09"),
        ("What is my shoe size?", "Greta Lindqvist", "39"),
        ("email of the boss of Oskar Brandt", "Petra Hollmann", "hollmann@"),
        ("Who is the boss of Greta's friend?", "", ""),
        ("my sister's phone", "", ""),
    ),
    *asked(
        "agenda",
        ("What do I have next week?", NEXT_WEEK, ""),
        ("anything tomorrow?", "Choir rehearsal + Renew passport", ""),
        ("What do I still owe?", "Plumber invoice 114", "340"),
        ("unpaid bills", "Plumber invoice 114", "340"),
        ("open tasks", "Renew passport", ""),
        ("When was the trip to Lisbon?", "Lisbon trip", "2025-10"),
        ("was steht morgen an?", "Choir rehearsal + Renew passport", ""),
    ),
    *asked(
        "names in other spellings and scripts",
        ("陈美玲的职位是什么？", "陈美玲", "会计师"),
        ("佐藤健さんの趣味は何ですか？", "佐藤健", "陶芸"),
        ("🦉", "🦉 Eulenhof", ""),
        ("Nordwind Studio", "Polarlicht Studio", ""),
        ("What does Nordwind Studio do?", "Polarlicht Studio", "design"),
        ("Where does Marguerite Petit live?", "Marguerite Duval", "Lyon"),
        ("Who leads the Kubernets migration?", "Kubernetes Migration", "Oskar"),
        ("phone of Oskar Brant", "Oskar Brandt", "0119"),
    ),
    *asked(
        "nothing that is stored",
        ("phone of Dr. Hofer", "", ""),
        ("phone of P. Brandt", "", ""),
        ("Where does Prof. Albers teach?", "", ""),
        ("passport number of Matthias Grünwald", "", ""),
        ("Which hamster do we have?", "", ""),
        ("email of Selma Okonkwo", "", ""),
    ),
)


def store(run: Call) -> list[str]:
    """Store all facts; return what was refused."""
    return store_facts(run, STORES, LINKS, RENAMED)


def store_facts(
    run: Call,
    stores: Iterable[tuple[str, tuple[dict[str, Any], ...]]],
    links: Iterable[tuple[str, str, str, dict[str, Any]]],
    renamed: Iterable[tuple[str, str]] = (),
) -> list[str]:
    """Store facts, the oldest first; return what was refused, which would make its questions wrong."""
    ids: dict[str, str] = {}
    refused: list[str] = []
    for observed_at, items in stores:
        receipt = run("store", entities=list(items), observed_at=observed_at, find_duplicates=False)
        for item, entity in zip(items, receipt["entities"], strict=True):
            ids[item.get("name") or item["title"]] = entity["entity_id"]
    for old, new in renamed:
        ids[new] = ids[old]
        run("entities.correct", entity_id=ids[new], field="name", value=new)
    for kind, source, target, metadata in links:
        ends = {"source_entity_id": ids[source], "target_entity_id": ids[target]}
        try:
            run("relationships.create", relationship_type=kind, **ends, metadata=metadata)
        except GraphmemError as error:
            refused.append(f"{source} {kind} {target}: {error}")
    return refused


def answered(run: Call, question: str) -> dict[str, tuple[list[str], str, bool]]:
    """Return the answer of each way to ask.

    Returns:
        the names of the entities, best first; what the answer says of the first one; whether it is marked as
        a resemblance.
    """
    context = run("context.retrieve", question=question)
    named = run("context.retrieve", question=question, format="fields")
    names = list(dict.fromkeys(line["entity_name"] for line in named["lines"]))
    found = run("entities.query", search=question, limit=10)["entities"]
    first = found[:1]
    return {
        "context": (
            names,
            context["lines"][0] if context["lines"] else "",
            context.get("match") == RESEMBLANCE,
        ),
        "search": (
            [entity["canonical_name"] for entity in found],
            str(first),
            bool(first) and first[0].get("match") == RESEMBLANCE,
        ),
    }
