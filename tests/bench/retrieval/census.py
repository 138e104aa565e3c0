"""People as a register has them: each record was typed from the same form by somebody else, years apart.

A record is stored as a ``person`` with ``name``, ``date_of_birth``, ``address``, ``city``, ``postcode``,
``phone`` and ``email``, as far as it has them. It has the noise of public sets of person records: slips of
typing in both parts of a name, parts in the wrong order, nicknames and initials, fields that are missing,
people who moved or changed their number or address, and dates with a wrong digit or in another notation.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any

from tests.bench.retrieval import sets, words
from tests.bench.retrieval.people import Record, frequent, surname_of

PERSONS = 600
"""With the default size."""
RECORDS = (1, 1, 1, 2, 2, 3, 5)
"""How many records a person has."""
FAMILY_SHARE = 0.08
"""How many of the persons live with the person before them, and have the surname of that person."""
SLIP_SHARES = {"given": 0.1, "surname": 0.1, "address": 0.12, "city": 0.05, "phone": 0.05, "email": 0.05}
"""How often a value has a slip of typing; one in five of those has two."""
DAY_SLIP_SHARE = 0.1
CHANGED_SHARES = {"address": 0.12, "phone": 0.12, "email": 0.12, "surname": 0.03}
"""How often a record has another value, because the person moved, married or changed it."""
MISSING_SHARES = {
    "given": 0.02, "surname": 0.01, "date_of_birth": 0.12, "address": 0.15, "city": 0.1, "postcode": 0.12,
    "phone": 0.35, "email": 0.45,
}  # fmt: skip
SWAPPED_SHARE, NICKNAME_SHARE, INITIAL_SHARE, MIDDLE_SHARE = 0.05, 0.1, 0.04, 0.08
STREETS = (
    "High Street", "Station Road", "Church Lane", "Mill Road", "Park Avenue", "Victoria Road", "The Green",
    "Queens Road", "London Road", "Manor Close", "Kingsway", "Grove Street", "School Lane", "North Parade",
    "Albert Terrace", "Windsor Drive", "Oak Avenue", "Chestnut Close", "Priory Walk", "Harbour View",
)  # fmt: skip
NEXT_KEYS = {"a": "sqz", "e": "wrd", "i": "uok", "o": "ipl", "u": "yij", "n": "bm", "m": "n", "s": "adz",
             "t": "ry", "r": "te", "l": "k", "c": "xv", "d": "sf", "k": "jl"}  # fmt: skip
"""Letters that stand beside a letter on a keyboard; another letter is replaced by any."""


@dataclass(frozen=True, slots=True)
class Person:
    """A person, with all that is true of them at one time."""

    id: str
    given: str
    surname: str
    date_of_birth: date
    house: str
    city: str
    postcode: str
    phone: str
    email: str


def make(size: int = 1, seed: str = "census") -> list[Record]:
    """Return the records of all persons in random order; another seed makes another set."""
    rng = sets.generator(seed)
    records: list[Record] = []
    person: Person | None = None
    for number in range(PERSONS * size):
        person = _person(number, rng, person if rng.random() < FAMILY_SHARE else None)
        for _ in range(rng.choice(RECORDS)):
            records.append(Record(f"r{len(records) + 1}", person.id, _item(person, rng)))
    rng.shuffle(records)
    return records


def _person(number: int, rng: random.Random, housemate: Person | None) -> Person:
    given = frequent(words.GIVEN_NAMES, rng)
    surname = surname_of(rng)
    person = Person(
        id=f"p{number + 1}",
        given=given,
        surname=surname,
        date_of_birth=date(1930, 1, 1) + timedelta(days=rng.randrange(27_000)),
        house=f"{rng.randrange(1, 180)} {rng.choice(STREETS)}",
        city=rng.choice(words.CITIES),
        postcode=_postcode(rng),
        phone=f"+44 7{rng.randrange(10**8, 10**9)}",
        email=_email(given, surname, rng),
    )
    if housemate is None:
        return person
    home = {"surname": housemate.surname, "house": housemate.house, "city": housemate.city}
    email = _email(given, housemate.surname, rng)
    # Of those who live together, one in four has the number of the household.
    phone = housemate.phone if rng.random() < 0.25 else person.phone
    return replace(person, **home, postcode=housemate.postcode, email=email, phone=phone)


def _postcode(rng: random.Random) -> str:
    letters = f"{rng.choice('ABDEHJLNP')}{rng.choice('ABDEFGHJLNPQRSTUWXYZ')}"
    return f"{rng.choice('BCEGLNSW')}{rng.randrange(1, 30)} {rng.randrange(1, 10)}{letters}"


def _email(given: str, surname: str, rng: random.Random) -> str:
    form = rng.choice(("{g}.{s}", "{i}{s}{n}", "{g}{n}", "{s}.{g}{n}", "{g}_{s}{n}"))
    account = form.format(g=given, s=surname, i=given[0], n=rng.randrange(100)).lower()
    return f"{account}@{rng.choice(('example.org', 'example.com', 'mail.example', 'post.example'))}"


def _item(person: Person, rng: random.Random) -> dict[str, Any]:
    person = _later(person, rng)
    values = {
        "name": _name(person, rng),
        "date_of_birth": _written(_slipped_day(person.date_of_birth, rng), rng),
        "address": person.house,
        "city": person.city,
        "postcode": person.postcode if rng.random() < 0.9 else person.postcode.replace(" ", ""),
        "phone": person.phone if rng.random() < 0.6 else "0" + person.phone.removeprefix("+44 "),
        "email": person.email,
    }
    item: dict[str, Any] = {"entity_type": "person"}
    for field, value in values.items():
        if rng.random() >= MISSING_SHARES.get(field, 0.0):
            item[field] = _slipped(value, SLIP_SHARES.get(field, 0.0), rng)
    return item


def _later(person: Person, rng: random.Random) -> Person:
    """Return a person at another time: some moved, married, or changed their number or e-mail address."""
    changes: dict[str, str] = {}
    other = _person(0, rng, None)
    if rng.random() < CHANGED_SHARES["address"]:
        changes |= {"house": other.house, "city": other.city, "postcode": other.postcode}
    for field in ("phone", "email", "surname"):
        if rng.random() < CHANGED_SHARES[field]:
            changes[field] = getattr(other, field)
    return replace(person, **changes)


def _name(person: Person, rng: random.Random) -> str:
    given, surname = person.given, person.surname
    if given in words.NICKNAMES and rng.random() < NICKNAME_SHARE:
        given = words.NICKNAMES[given]
    given, surname = (
        _slipped(given, SLIP_SHARES["given"], rng),
        _slipped(surname, SLIP_SHARES["surname"], rng),
    )
    if rng.random() < INITIAL_SHARE:
        given = f"{given[0]}."
    elif rng.random() < MISSING_SHARES["given"]:
        given = ""
    elif rng.random() < MISSING_SHARES["surname"]:
        surname = ""
    if rng.random() < MIDDLE_SHARE and given:
        given = f"{given} {rng.choice('ABCDEFGHJKLMNPRSTW')}"
    parts = [surname, given] if rng.random() < SWAPPED_SHARE else [given, surname]
    name = " ".join(filter(None, parts))
    return name.upper() if rng.random() < 0.05 else name


def _slipped_day(day: date, rng: random.Random) -> date:
    """Return a day, now and then with a slip: day and month exchanged, a wrong digit, or another day."""
    if rng.random() >= DAY_SLIP_SHARE:
        return day
    kind = rng.random()
    if kind < 0.25 and day.day <= 12:
        return date(day.year, day.day, day.month)
    if kind < 0.9:
        digits = list(f"{day:%Y%m%d}")
        for _ in range(20):
            place = rng.choice((2, 3, 3, 5, 6, 7, 7))
            wrong = "".join([*digits[:place], rng.choice("0123456789"), *digits[place + 1 :]])
            try:
                slipped = date(int(wrong[:4]), int(wrong[4:6]), int(wrong[6:]))
            except ValueError:
                continue
            if slipped != day:
                return slipped
    return date(1930, 1, 1) + timedelta(days=rng.randrange(27_000))


def _written(day: date, rng: random.Random) -> str:
    return f"{day:%Y%m%d}" if rng.random() < 0.1 else day.isoformat()


def _slipped(text: str, share: float, rng: random.Random) -> str:
    """Return a text with a slip of typing now and then: left out, doubled, replaced or exchanged."""
    if rng.random() >= share:
        return text
    for _ in range(1 if rng.random() < 0.8 else 2):
        places = [place for place, c in enumerate(text) if c.isalnum()]
        if len(places) < 3:
            return text
        place = rng.choice(places)
        c, following = text[place], text[place + 1 : place + 2]
        neighbours = "0123456789" if c.isdigit() else NEXT_KEYS.get(c.lower(), "abcdefghijklmnopqrstuvwxyz")
        slip = rng.choice((following, c + c + following, rng.choice(neighbours) + following, following + c))
        text = text[:place] + slip + text[place + 2 :]
    return text


def by_simple_keys(records: list[Record]) -> list[tuple[str, str]]:
    """Return the pairs that a plain comparison joins: equal e-mail, number, or two of name, day and home."""
    first: dict[tuple[str, ...], str] = {}
    pairs = []
    for record in sorted(records, key=lambda record: record.id):
        item = record.item
        name = " ".join(sorted(item["name"].lower().replace(",", "").split()))
        day = item.get("date_of_birth", "").replace("-", "")
        postcode = item.get("postcode", "").replace(" ", "")
        address = item.get("address", "").lower()
        keys: list[tuple[str, ...]] = [("email", item.get("email", ""))]
        keys += [("name and day", name, day), ("name and home", name, postcode), ("home", address, day)]
        pairs += [(first.setdefault(key, record.id), record.id) for key in keys if all(key)]
    return pairs
