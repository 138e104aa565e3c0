"""Newest first: facts that change, questions for the present state, and older statements as decoys.

A statement is stored as a ``note`` with ``id``, ``text`` and ``written_at``; ``observed_at`` is that time.
The statements arrive in random order, so that the order of arrival helps nobody.
"""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any, NamedTuple

from tests.bench.retrieval import sets, words
from tests.bench.retrieval.sets import Collection, Question, Text

PEOPLE = 60
"""With the default size."""
CHANGING_FACTS = 3
"""Facts of each person that change."""
STATEMENTS = (2, 2, 3, 3, 4)


class Change(NamedTuple):
    """A fact that changes: the values that it takes, how it is stated, how one asks for its present state."""

    values: list[Any]
    statements: tuple[str, ...]
    questions: tuple[str, ...]


_PHONES = [f"+44 7700 900{number:03}" for number in range(0, 1000, 7)]
_CLOCK_TIMES = [f"{hour}:{minute:02}" for hour in range(7, 20) for minute in (0, 15, 30, 45)]
CHANGES = (
    Change(
        words.CITIES,
        (
            "{who} moved to {value}.",
            "{who} lives in {value} now, in a flat near the station.",
            "The new address of {who} is in {value}.",
            "{who} has settled in {value} and likes it.",
        ),
        (
            "Where does {who} live now?",
            "In which city is the home of {who}?",
            "What is the address of {who} today?",
        ),
    ),
    Change(
        words.EMPLOYERS,
        (
            "{who} started at {value}.",
            "{who} works for {value} now.",
            "{who} has a new job, at {value}.",
            "The employer of {who} is {value}.",
        ),
        (
            "Where does {who} work now?",
            "What is the current employer of {who}?",
            "For which firm does {who} work?",
        ),
    ),
    Change(
        _PHONES,
        (
            "The phone number of {who} is {value}.",
            "{who} has a new number: {value}.",
            "Call {who} at {value} from today.",
            "{who} changed the mobile, it is {value} now.",
        ),
        (
            "What is the phone number of {who}?",
            "How can I call {who}?",
            "Under which number is {who} reached now?",
        ),
    ),
    Change(
        words.JOBS,
        (
            "{who} works as a {value}.",
            "{who} was promoted and is a {value} now.",
            "{who} has become a {value}.",
            "The profession of {who} is {value} at present.",
        ),
        (
            "What does {who} do for a living?",
            "What is the present job of {who}?",
            "As what does {who} work now?",
        ),
    ),
    Change(
        words.HOBBIES,
        (
            "The favourite pastime of {who} is {value}.",
            "{who} gave up the old hobby and does {value} now.",
            "{who} spends the weekends with {value}.",
            "{who} swears by {value} these days.",
        ),
        ("What is the hobby of {who} at the moment?", "How does {who} spend the weekend now?"),
    ),
    Change(
        _CLOCK_TIMES,
        (
            "The weekly meeting with {who} is at {value}.",
            "{who} moved our weekly meeting to {value}.",
            "We agreed with {who} to meet at {value} each week.",
            "Weekly meeting, {who}: {value} from now on.",
        ),
        ("When is the weekly meeting with {who}?", "At what time do we meet {who} each week?"),
    ),
)
OTHER_NOTES = (
    "{who} said that the project is on schedule.",
    "Lunch with {who} and a long talk about {other}.",
    "{who} asked for the photos of the party.",
    "{who} and {other} do not agree about the budget.",
    "Remember to thank {who} for the flowers.",
)


def make(size: int = 1) -> list[Collection]:
    """Return one collection: statements about some people, and the questions about their present state."""
    rng = sets.generator("changes")
    surnames = rng.sample(words.SURNAMES, min(PEOPLE * size, len(words.SURNAMES)))
    people = [f"{rng.choice(words.GIVEN_NAMES)} {surname}" for surname in surnames]
    texts: list[Text] = []
    questions: list[Question] = []

    def note(text: str, day: date) -> str:
        text_id = f"c{len(texts) + 1}"
        time = sets.iso(sets.moment(day, rng))
        item = {"entity_type": "note", "id": text_id, "text": text, "written_at": time, "observed_at": time}
        texts.append(Text(text_id, item, text))
        return text_id

    for number, who in enumerate(people):
        for change in rng.sample(CHANGES, CHANGING_FACTS):
            count = rng.choice(STATEMENTS)
            day = date(2021, 1, 1) + timedelta(days=rng.randrange(200))
            statements: list[str] = []
            for value, template in zip(
                rng.sample(change.values, count), rng.sample(change.statements, count), strict=True
            ):
                day += timedelta(days=rng.randrange(30, 300))
                statements.append(note(template.format(who=who, value=sets.stated(value)), day))
            question = rng.choice(change.questions).format(who=who)
            *older, newest = statements
            questions.append(Question(question, "newest", [newest], sets.HALVES[number % 2], decoys=older))
        for template in rng.sample(OTHER_NOTES, 2):
            day = date(2021, 1, 1) + timedelta(days=rng.randrange(1500))
            note(template.format(who=who, other=sets.other_than(rng, people, who)), day)
    rng.shuffle(texts)
    return [Collection("changes", texts, questions)]
