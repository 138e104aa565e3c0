"""Near-twins: texts that differ by a number or a name, of an owner with 5 % of the database's texts.

A text is stored as a ``document`` with ``title`` and ``text``. The other owners have twins of these clusters.
"""

from __future__ import annotations

import random

from tests.bench.retrieval import sets, words
from tests.bench.retrieval.sets import Collection, Question, Text

OWNER_TEXTS = 120
"""Texts of the owner who is asked, with the default size."""
OTHERS_FACTOR = 19
"""The other owners have so many times as many texts."""
OTHER_OWNERS = 6
QUESTIONS = 40

CLUSTERS = (
    ("Invoice {number} for {name}", "Invoice {number} of March, to be paid by {name} within thirty days."),
    ("Room {number}, key of {name}", "The key of room {number} is with {name} until Friday."),
    ("Parcel {number} to {name}", "Parcel {number} was handed to {name} at the back door."),
    ("Sample {number}, taken by {name}", "Water sample {number}, taken by {name} below the weir, is clear."),
    ("Ticket {number} of {name}", "The printer of {name} does not answer. Ticket {number} is open."),
    ("Lesson {number} with {name}", "In lesson {number} {name} practised scales and the second sonata."),
    ("Locker {number} rented by {name}", "Locker {number} is rented by {name}, the padlock is their own."),
    ("Blood test {number}, {name}", "Blood test {number}: the values of {name} are within the limits."),
    ("Seat {number}, {name}", "{name} has seat {number} in the third row, next to the aisle."),
)
QUESTION_FORMS = ("{title}", "{title}?", "What do we know about {title}?", "{text}")


def _twin(owner: str, number: int, rng: random.Random) -> Text:
    title, text = rng.choice(CLUSTERS)
    slots = {"number": 1000 + number, "name": f"{rng.choice(words.GIVEN_NAMES)} {rng.choice(words.SURNAMES)}"}
    title, text = title.format(**slots), text.format(**slots)
    item = {"entity_type": "document", "title": title, "text": text}
    return Text(f"{owner}:{number}", item, f"{title}. {text}")


def make(size: int = 1) -> list[Collection]:
    """Return the collection of the owner who is asked, then those of the others, which have no questions."""
    rng = sets.generator("twins")
    count = OWNER_TEXTS * size
    texts = [_twin("own", number, rng) for number in range(count)]
    questions = []
    for place, text in enumerate(rng.sample(texts, QUESTIONS)):
        text_of_question = rng.choice(QUESTION_FORMS).format(title=text.item["title"], text=text.item["text"])
        questions.append(Question(text_of_question, "twin", [text.id], sets.HALVES[place % 2]))
    others = [
        Collection(
            f"twins of another {other + 1}",
            [_twin(f"o{other + 1}", n, rng) for n in range(count * OTHERS_FACTOR // OTHER_OWNERS)],
            [],
        )
        for other in range(OTHER_OWNERS)
    ]
    return [Collection("twins", texts, questions), *others]
