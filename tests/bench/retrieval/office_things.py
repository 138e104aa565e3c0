"""What an office stores: people, companies, invoices, tasks, events, orders and notes.

The day is the same in every run (:data:`TODAY`). Most notes mention the words of questions, and answer none.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final, NamedTuple

from tests.bench.retrieval import sets, words

TODAY: Final = date(2026, 3, 4)
"""A Wednesday."""
NOW: Final = int(datetime(2026, 3, 4, 9, tzinfo=UTC).timestamp()) * 1_000_000
PEOPLE, COMPANIES, INVOICES, TASKS, EVENTS, ORDERS, NOTES = 40, 10, 100, 100, 60, 60, 120
FIRMS = [
    f"{name} {kind}"
    for name, kind in zip(words.SURNAMES[-COMPANIES:], ("Robots", "Foods", "Rail") * 4, strict=False)
]
_NICKNAMES = ("the {} baron", "captain {}", "old {}")
_OBJECTS = (
    "boat",
    "kitchen",
    "garden fence",
    "archive",
    "press kit",
    "van",
    "roof",
    "web shop",
    "lift",
    "stage",
)
_WORK = (
    "Paint",
    "Repair",
    "Clean",
    "Sell",
    "Measure",
    "Insure",
    "Photograph",
    "Move",
    "Check",
    "Order parts for",
)


class Link(NamedTuple):
    """A relationship between two entities, by the ids of their texts."""

    kind: str
    source: str
    target: str
    ended: bool = False


@dataclass(slots=True)
class World:
    """The items of an office by their type, as they are made."""

    rng: random.Random
    items: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    links: list[Link] = field(default_factory=list)

    def add(self, kind: str, **fields: Any) -> None:
        listed = self.items.setdefault(kind, [])
        listed.append({"id": f"{kind} {len(listed)}", **{k: v for k, v in fields.items() if v is not None}})

    def ids(self, kind: str, fits: Callable[[dict[str, Any]], bool]) -> list[str]:
        return [item["id"] for item in self.items[kind] if fits(item)]

    def day(self, first: int, last: int) -> str:
        return (TODAY + timedelta(days=self.rng.randrange(first, last))).isoformat()


def _people(world: World) -> None:
    rng = world.rng
    given, surnames = (
        rng.sample(words.GIVEN_NAMES, PEOPLE - 6),
        rng.sample(words.SURNAMES[:-COMPANIES], PEOPLE),
    )
    for place, surname in enumerate(surnames):
        # A few people share their first names.
        name = f"{given[place % len(given)]} {surname}"
        world.add(
            "person",
            name=name,
            city=rng.choice(words.CITIES),
            phone=f"+44 20 7946 {1000 + 7 * place}",
            nickname=rng.choice(_NICKNAMES).format(words.COLOURS[place % len(words.COLOURS)]),
        )
    for firm in FIRMS:
        world.add(
            "company",
            name=firm,
            iban=f"DE{rng.randrange(10, 99)} {' '.join(str(rng.randrange(1000, 9999)) for _ in range(4))}",
        )
    for place in range(PEOPLE):
        boss = world.items["person"][place // 5]["id"]
        if boss != f"person {place}":
            world.links.append(Link("REPORTS_TO", f"person {place}", boss))
        world.links.append(Link("WORKS_AT", f"person {place}", f"company {place % COMPANIES}"))
        if place % 4 == 0:
            world.links.append(
                Link("WORKS_AT", f"person {place}", f"company {(place + 3) % COMPANIES}", ended=True)
            )


def _things(world: World) -> None:
    rng, people = world.rng, [each["name"] for each in world.items["person"]]
    for place in range(INVOICES):
        status = rng.choice(("sent", "sent", "paid", "Paid", "draft", "cancelled", "partially paid", None))
        world.add(
            "invoice",
            number=f"INV-2026-{place + 100}",
            vendor=rng.choice(FIRMS),
            status=status,
            invoice_date=world.day(-120, -1),
            due_date=world.day(-30, 40),
            amount=rng.randrange(50, 9000),
        )
    for place in range(TASKS):
        title = f"{_WORK[place % 10]} the {_OBJECTS[(place // 10 + place) % 10]}"
        status = rng.choice(("open", "in_progress", "blocked", "done", "done", "cancelled"))
        world.add(
            "task", title=title, status=status, assignee=rng.choice(people), due_date=world.day(-20, 40)
        )
    for _ in range(EVENTS):
        world.add(
            "event",
            title=f"{rng.choice(_OBJECTS).title()} {rng.choice(('review', 'talk', 'round'))}",
            event_type=rng.choice(("meeting", "meeting", "exhibition")),
            date_start=world.day(-150, 60),
            attendees=sorted(rng.sample(people, 3)),
        )
    for place in range(ORDERS):
        world.add(
            "order",
            title=f"Parts for the {rng.choice(_OBJECTS)}",
            reference=f"PO-{4000 + 37 * place}",
            tracking=str(70_112_345 + 991 * place),
            status=rng.choice(("shipped", "delivered", "new", "parked")),
        )


def _notes(world: World) -> None:
    rng = world.rng
    people, firms = world.items["person"], world.items["company"]
    said = (
        "{a} told {b} that the {thing} has to wait until the invoices of {firm} are paid.",
        "{a} and {b} spoke about open tasks, and about people who report late.",
        "{firm} asked for the phone number of {a}; {b} works there no more.",
        "The meeting about the {thing} was long. {a} paid for lunch, next week it is {b}.",
        "{b} wants to paint, repair and clean the {thing}, says {a}: {thing} first, {thing} again.",
        "Status of the order: {order} and {number} were mixed up, says {a}.",
        "The {nick} is here, says {a}: the {nick}, as {b} calls somebody.",
        "Overdue again: rent, and the deadlines that {a} has set for {b}. Boss of {firm}, please call.",
    )
    for place in range(NOTES):
        a, b = rng.sample(people, 2)
        text = said[place % len(said)].format(
            nick=rng.choice(people)["nickname"].removeprefix("the "),
            a=a["name"].split()[0],
            b=b["name"].split()[0],
            thing=rng.choice(_OBJECTS),
            firm=rng.choice(firms)["name"],
            order=rng.choice(world.items["order"])["reference"],
            number=rng.choice(world.items["invoice"])["number"],
        )
        world.add("note", title=f"Note {place}", text=text)


def made(number: int) -> World:
    """Return what one office has."""
    world = World(sets.generator(f"office {number}"))
    _people(world)
    _things(world)
    _notes(world)
    return world
