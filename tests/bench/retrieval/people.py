"""People with noisy records: slips of spelling, missing fields, nicknames, names as frequent as in a census.

A record is stored as a ``person`` with ``name`` and, where it has them, ``email``, ``phone``, ``birth_date``
and ``city``.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from tests.bench.retrieval import sets, words

PERSONS = 600
"""With the default size."""
RECORDS = (1, 1, 2, 2, 3, 4)
"""How many records a person has."""
SLIP_SHARE = 0.06
"""How often a name, an e-mail address, a number or a birthday has a slip."""
NICKNAME_SHARE = 0.12
KEPT_SHARES = {"email": 0.7, "phone": 0.6, "birth_date": 0.6, "city": 0.7}
"""How often a record has each field."""
BARE_SHARE = 0.15
"""How many of the records have a name alone."""
FREQUENT_SHARE = 0.4
"""How many of the persons have one of the listed surnames: the first is the name of 0.8 % of all."""


@dataclass(frozen=True, slots=True)
class Record:
    """One record, and the person that it is about."""

    id: str
    person: str
    item: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Person:
    """A person, with all that is true of them."""

    id: str
    given: str
    surname: str
    email: str
    phone: str
    birth_date: date
    city: str


def make(size: int = 1, stranger_share: float = 0.0) -> list[Record]:
    """Return the records of all persons in random order.

    Args:
        stranger_share: the share of bare names that mean somebody who has no other record.
    """
    rng = sets.generator("people")
    persons = [person_of(number, rng) for number in range(PERSONS * size)]
    records: list[Record] = []
    for person in persons:
        for _ in range(rng.choice(RECORDS)):
            records.append(record_of(f"r{len(records) + 1}", person, rng))
    bare = [place for place, record in enumerate(records) if set(record.item) == {"entity_type", "name"}]
    rng.shuffle(bare)
    for place in bare[: round(stranger_share * len(bare))]:
        record = records[place]
        records[place] = Record(record.id, f"stranger of {record.id}", record.item)
    rng.shuffle(records)
    return records


def frequent(names: list[str], rng: random.Random) -> str:
    """Return a name; its frequency falls with its place as in a census: from 2 % to 0.2 %."""
    weights = [1 / (place + 20) for place in range(len(names))]
    return rng.choices(names, weights)[0]


def surname_of(rng: random.Random) -> str:
    if rng.random() < FREQUENT_SHARE:
        return frequent(words.SURNAMES, rng)
    return rng.choice(words.SURNAME_BEGINNINGS) + rng.choice(words.SURNAME_ENDINGS)


def person_of(number: int, rng: random.Random) -> Person:
    """Return the next person, whose id is ``p`` and the number plus one."""
    given, surname = frequent(words.GIVEN_NAMES, rng), surname_of(rng)
    birth_date = date(1940, 1, 1) + timedelta(days=rng.randrange(24_000))
    form = rng.choice(
        ("{given}.{surname}", "{initial}{surname}{year}", "{given}{year}", "{surname}.{given}{number}")
    )
    account = form.format(
        given=given, surname=surname, initial=given[0], year=birth_date.year % 100, number=rng.randrange(100)
    ).lower()
    return Person(
        id=f"p{number + 1}",
        given=given,
        surname=surname,
        email=f"{account}@{rng.choice(('example.org', 'example.com', 'mail.example', 'post.example'))}",
        phone=f"+44 7{rng.randrange(10**8, 10**9)}",
        birth_date=birth_date,
        city=rng.choice(words.CITIES),
    )


def record_of(record_id: str, person: Person, rng: random.Random) -> Record:
    """Return a record of a person, with its slips and gaps."""
    given_name = person.given
    if given_name in words.NICKNAMES and rng.random() < NICKNAME_SHARE:
        given_name = words.NICKNAMES[given_name]
    forms = (f"{given_name} {person.surname}",) * 8 + (
        f"{person.surname}, {given_name}", f"{given_name[0]}. {person.surname}",
        f"{given_name} {person.surname}".upper(),
    )  # fmt: skip
    values: dict[str, str] = {
        "email": person.email,
        "phone": person.phone if rng.random() < 0.6 else "0" + person.phone.removeprefix("+44 "),
        "birth_date": _slipped_day(person.birth_date, rng).isoformat(),
        "city": person.city,
    }
    item: dict[str, Any] = {"entity_type": "person", "name": _slipped(rng.choice(forms), rng)}
    is_bare = rng.random() < BARE_SHARE
    for field, share in KEPT_SHARES.items():
        if rng.random() < share and not is_bare:
            item[field] = _slipped(values[field], rng) if field in ("email", "phone") else values[field]
    return Record(record_id, person.id, item)


def _slipped_day(day: date, rng: random.Random) -> date:
    if rng.random() >= SLIP_SHARE:
        return day
    if day.day <= 12 and rng.random() < 0.5:
        return date(day.year, day.day, day.month)
    return day + timedelta(days=rng.choice((-10, -1, 1, 10)))


def _slipped(text: str, rng: random.Random) -> str:
    """Return a text with a slip now and then: a letter or digit left out, doubled, replaced or exchanged."""
    if rng.random() >= SLIP_SHARE:
        return text
    places = [
        place for place, c in enumerate(text[:-1]) if c.isalnum() and text[place + 1].isalnum() and place
    ]
    place = rng.choice(places)
    c, following = text[place], text[place + 1]
    instead = rng.choice("0123456789" if c.isdigit() else "abcdefghijklmnopqrstuvwxyz")
    slip = rng.choice((following, c + c + following, instead + following, following + c))
    return text[:place] + slip + text[place + 2 :]


def by_simple_keys(records: list[Record]) -> list[tuple[str, str]]:
    """Return the pairs that a plain comparison joins: equal e-mail, number, or name with birthday or city."""
    first: dict[tuple[str, ...], str] = {}
    pairs = []
    for record in sorted(records, key=lambda record: record.id):
        item = record.item
        name = " ".join(sorted(item["name"].lower().replace(",", "").split()))
        keys = [("email", item.get("email", "")), ("phone", item.get("phone", "")[-9:])]
        keys += [(field, name, item.get(field, "")) for field in ("birth_date", "city")]
        pairs += [(first.setdefault(key, record.id), record.id) for key in keys if key[-1]]
    return pairs
