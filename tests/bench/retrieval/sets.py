"""What the generated sets are made of: texts as they are stored, questions, seeded choices."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import date, datetime, timedelta
from typing import Any, Literal, TypeVar

from tests.bench.retrieval.topics_language import Term

T = TypeVar("T")
Half = Literal["tuning", "reporting"]
HALVES: tuple[Half, Half] = ("tuning", "reporting")
"""Weights are chosen on the first half and reported on the second one."""
SEED = 18


@dataclass(frozen=True, slots=True)
class Text:
    """One text of a set.

    Attributes:
        id: a name within the set; the owner's id of the entity follows from the store.
        item: the item of a store.
        words: what plain BM25 reads: the same text.
    """

    id: str
    item: dict[str, Any]
    words: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question, the ids of the texts that answer it, and the half to which it belongs.

    ``decoys`` are the ids of texts that answered it once and no longer do.
    """

    text: str
    kind: str
    answers: list[str]
    half: Half
    decoys: list[str] = field(default_factory=list)
    sessions: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Collection:
    """What one owner stores, and what is asked of it."""

    name: str
    texts: list[Text]
    questions: list[Question]


def generator(name: str) -> random.Random:
    """Return the source of choices of a set: the same for a name in every run."""
    return random.Random(f"{SEED} {name}")


def digest(collections: Sequence[Any]) -> str:
    """Return a short digest of generated data classes."""
    text = json.dumps([asdict(collection) for collection in collections], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def stated(value: Any) -> str:
    """Return a value of a slot as a text says it."""
    return value.stated if isinstance(value, Term) else value


def paraphrased(value: Any) -> str:
    """Return a value of a slot as a question may say it."""
    return value.paraphrased if isinstance(value, Term) else value


def other_than(rng: random.Random, values: Sequence[T], value: T) -> T:
    """Return another value of a list."""
    return rng.choice([candidate for candidate in values if candidate != value])


def moment(day: date, rng: random.Random) -> datetime:
    """Return a time of a day, to the minute."""
    return datetime(day.year, day.month, day.day, rng.randrange(8, 22), rng.randrange(60))


def iso(time: datetime) -> str:
    """Return a time as it is stored."""
    return f"{time.isoformat()}Z"


MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
    "November", "December",
)  # fmt: skip


def spellings(day: date) -> tuple[str, ...]:
    """Return a day as people write it."""
    month = MONTHS[day.month - 1]
    return (
        f"{day.day} {month} {day.year}",
        f"{month} {day.day}, {day.year}",
        day.isoformat(),
        f"{day.day} {month[:3]} {day.year}",
    )


def time_phrase(day: date, rng: random.Random) -> str:
    """Return a time near a day, as somebody says it in a conversation of that day."""
    near = day - timedelta(days=rng.randrange(2, 20))
    month = MONTHS[near.month - 1]
    return rng.choice(
        (
            "yesterday", "last Saturday", "last week", "two weeks ago", "this morning", "on Monday",
            "the other day", f"on {near.day} {month}", f"on {month} {near.day}", f"on {near.isoformat()}",
            f"in {month}",
        )
    )  # fmt: skip


def sentence(text: str) -> str:
    """Return a text whose sentences begin with capitals."""
    for end in (". ", "! ", "? "):
        parts = text.split(end)
        text = end.join(part[:1].upper() + part[1:] for part in parts)
    return text
