"""An office, and what is asked of its things, on one day (:data:`TODAY`).

The questions ask for kinds in a state or at a time, in four languages, for what a name or a relationship
says, and for identifiers. Their answers follow from what is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from tests.bench.retrieval.office_things import FIRMS, TODAY, Link, World, made
from tests.bench.retrieval.sets import Collection, Question, Text

ASKED: Final = 24
"""Questions of a template that is filled with a name or an identifier."""


@dataclass(frozen=True, slots=True)
class Office:
    """What one owner stores: entities, and relationships between them; and what is asked."""

    collection: Collection
    links: list[Link]


def make(size: int = 1) -> list[Office]:
    """Return some offices: one for each time the default size."""
    return [_office(number) for number in range(size)]


def _office(number: int) -> Office:
    world = made(number)
    # Nothing is tuned by them: all are for reporting.
    asked = [
        Question(text, name, answers, "reporting")
        for name, questions in ASKED_OF.items()
        for text, answers in questions(world)
    ]
    texts = [
        Text(
            item["id"],
            {"entity_type": kind, **{k: v for k, v in item.items() if k != "id"}, "intent": "create_new"},
            " ".join(str(v) for k, v in item.items() if k != "id"),
        )
        for kind, items in world.items.items()
        for item in items
    ]
    return Office(Collection(f"office {number}", texts, asked), world.links)


def _status(*listed: str) -> Callable[[dict[str, Any]], bool]:
    return lambda item: item.get("status", "").lower() in listed


def _between(field_name: str, first: int, last: int) -> Callable[[dict[str, Any]], bool]:
    """Return whether a day is from one up to another one, counted from today."""
    days = {(TODAY + timedelta(days=shift)).isoformat() for shift in range(first, last)}
    return lambda item: item[field_name] in days


UNPAID = _status("sent", "partially paid")
OPEN = _status("open", "in_progress", "blocked")


def _meeting(first: int, last: int) -> Callable[[dict[str, Any]], bool]:
    within = _between("date_start", first, last)
    return lambda item: item["event_type"] == "meeting" and within(item)


def _late(item: dict[str, Any]) -> bool:
    return item["due_date"] < TODAY.isoformat()


def _states(world: World) -> Iterator[tuple[str, list[str]]]:
    unpaid, open_tasks = world.ids("invoice", UNPAID), world.ids("task", OPEN)
    yield from (
        (text, unpaid)
        for text in (
            "unpaid invoices",
            "Which invoices have not been paid?",
            "show me all unpaid bills",
            "invoices that are unpaid",
        )
    )
    yield from (
        (text, open_tasks)
        for text in (
            "open tasks",
            "which tasks are still open?",
            "list my open todos",
            "tasks that are not done",
        )
    )
    yield "paid invoices", world.ids("invoice", _status("paid"))
    yield "How many invoices are paid?", world.ids("invoice", _status("paid"))
    yield "blocked tasks", world.ids("task", _status("blocked"))
    yield "Which tasks are blocked?", world.ids("task", _status("blocked"))
    yield "done tasks", world.ids("task", _status("done"))
    yield "tasks in progress", world.ids("task", _status("in_progress"))
    yield "draft invoices", world.ids("invoice", _status("draft"))
    yield "delivered orders", world.ids("order", _status("delivered"))
    yield "orders that are new", world.ids("order", _status("new"))
    yield "parked orders", world.ids("order", _status("parked"))
    yield "Which orders are parked?", world.ids("order", _status("parked"))
    yield "cancelled invoices", world.ids("invoice", _status("cancelled"))
    yield "overdue invoices", world.ids("invoice", lambda item: UNPAID(item) and _late(item))
    yield "which tasks are overdue?", world.ids("task", lambda item: OPEN(item) and _late(item))


def _times(world: World) -> Iterator[tuple[str, list[str]]]:
    def due(kind: str, first: int, last: int, fits: Callable[[dict[str, Any]], bool]) -> list[str]:
        within = _between("due_date", first, last)
        return world.ids(kind, lambda item: within(item) and fits(item))

    yield "meetings next week", world.ids("event", _meeting(5, 12))
    yield "What meetings are there this week?", world.ids("event", _meeting(-2, 5))
    yield "past meetings", world.ids("event", _meeting(-200, 0))
    yield "upcoming events", world.ids("event", _between("date_start", 0, 90))
    yield "meetings in April", world.ids("event", _meeting(28, 58))
    yield "meetings in February 2026", world.ids("event", _meeting(-31, -3))
    yield "events in Q1 2026", world.ids("event", _between("date_start", -62, 28))
    yield "tasks due this week", due("task", -2, 5, OPEN)
    yield "open tasks due by Friday", due("task", -40, 3, OPEN)
    yield "tasks due in the next 7 days", due("task", 0, 8, OPEN)
    yield "invoices from January", world.ids("invoice", _between("invoice_date", -62, -31))
    yield "invoices of last month", world.ids("invoice", _between("invoice_date", -31, -3))
    yield "meetings in November", world.ids("event", _meeting(-123, -93))
    yield "events in December", world.ids("event", _between("date_start", -93, -62))
    yield "meetings last week", world.ids("event", _meeting(-9, -2))
    yield "events since 1 March", world.ids("event", _between("date_start", -3, 90))
    yield (
        "What is due this week?",
        due("task", -2, 5, OPEN)
        + due("invoice", -2, 5, lambda i: UNPAID(i) or "status" not in i or i["status"] == "draft"),
    )
    yield (
        "anything overdue?",
        world.ids("task", lambda i: OPEN(i) and _late(i))
        + world.ids("invoice", lambda i: (UNPAID(i) or i.get("status") == "draft") and _late(i)),
    )


def _related(world: World) -> Iterator[tuple[str, list[str]]]:
    rng = world.rng
    for place, person in enumerate(rng.sample(_unique(world), ASKED)):
        given, name = person["name"].split()[0], person["name"]
        of_person = world.ids("task", lambda item, name=name: item["assignee"] == name)
        still_open = world.ids("task", lambda item, name=name: item["assignee"] == name and OPEN(item))
        met = world.ids(
            "event", lambda item, name=name: item["event_type"] == "meeting" and name in item["attendees"]
        )
        text, answers = (
            (f"{given}'s tasks", of_person),
            (f"open tasks of {name}", still_open),
            (f"What open tasks does {given} have?", still_open),
            (f"{given}'s meetings", met),
        )[place % 4]
        if answers:
            yield text, answers
    for firm in FIRMS:
        unpaid = world.ids("invoice", lambda item, firm=firm: item["vendor"] == firm and UNPAID(item))
        if unpaid:
            yield f"unpaid invoices from {firm.split()[0]}", unpaid


def _in_language(
    *asked: tuple[str, str, Callable[[dict[str, Any]], bool]],
) -> Callable[[World], Iterator[tuple[str, list[str]]]]:
    return lambda world: ((text, world.ids(kind, fits)) for text, kind, fits in asked)


_GERMAN = _in_language(
    ("unbezahlte Rechnungen", "invoice", UNPAID),
    ("offene Aufgaben", "task", OPEN),
    ("Welche Rechnungen sind bezahlt?", "invoice", _status("paid")),
    ("Termine nächste Woche", "event", _between("date_start", 5, 12)),
    ("überfällige Aufgaben", "task", lambda item: OPEN(item) and _late(item)),
    ("zeige alle erledigten Aufgaben", "task", _status("done")),
    ("Besprechungen im April", "event", _meeting(28, 58)),
    ("Aufgaben die nicht erledigt sind", "task", OPEN),
)
_FRENCH = _in_language(
    ("factures impayées", "invoice", UNPAID),
    ("tâches ouvertes", "task", OPEN),
    ("factures payées", "invoice", _status("paid")),
    ("tâches terminées", "task", _status("done")),
    ("factures en retard", "invoice", lambda item: UNPAID(item) and _late(item)),
    ("réunions en avril", "event", _meeting(28, 58)),
)
_SPANISH = _in_language(
    ("tareas abiertas", "task", OPEN),
    ("facturas pagadas", "invoice", _status("paid")),
    ("tareas terminadas", "task", _status("done")),
    ("facturas vencidas", "invoice", lambda item: UNPAID(item) and _late(item)),
    ("reuniones en abril", "event", _meeting(28, 58)),
    ("muestra todas las tareas abiertas", "task", OPEN),
)


def _unique(world: World) -> list[dict[str, Any]]:
    """Return the people whose first name nobody else has."""
    given = [each["name"].split()[0] for each in world.items["person"]]
    return [each for each, name in zip(world.items["person"], given, strict=True) if given.count(name) == 1]


def _names(world: World) -> Iterator[tuple[str, list[str]]]:
    asked = (
        "What is {given}'s phone number?",
        "Where does {given} live?",
        "{name}",
        "what is the phone of {lower}",
        "Please call {given} tomorrow",
        "{surname}",
        "Is {name} here?",
        "Which city is {given} from?",
        "Call {given} about it",
        "Email Mrs. {surname} Monday",
        "{alias}",
        "What does {alias} say?",
    )
    for place, person in enumerate(world.rng.sample(_unique(world), ASKED)):
        given, surname = person["name"].split()
        text = asked[place % len(asked)].format(
            alias=person["nickname"],
            given=given,
            surname=surname,
            name=person["name"],
            lower=person["name"].lower(),
        )
        yield text, [person["id"]]
    for company in world.items["company"]:
        yield f"What does {company['name'].split()[0]} make?", [company["id"]]


def _roles(world: World) -> Iterator[tuple[str, list[str]]]:
    boss = {link.source: link.target for link in world.links if link.kind == "REPORTS_TO"}
    for place, person in enumerate(world.rng.sample(_unique(world), ASKED)):
        given, employers = (
            person["name"].split()[0],
            [
                link.target
                for link in world.links
                if (link.kind, link.source, link.ended) == ("WORKS_AT", person["id"], False)
            ],
        )
        if place % 3 == 0:
            yield f"Where does {given} work?", employers
        elif person["id"] in boss:
            yield (
                (f"Who is {given}'s boss?" if place % 3 == 1 else f"Who manages {given}?"),
                [boss[person["id"]]],
            )
    for company in world.items["company"]:
        staff = [
            k.source for k in world.links if (k.kind, k.target, k.ended) == ("WORKS_AT", company["id"], False)
        ]
        yield f"Who works at {company['name']}?", staff


def _identifiers(world: World) -> Iterator[tuple[str, list[str]]]:
    rng = world.rng
    for place in range(ASKED):
        invoice, order = rng.choice(world.items["invoice"]), rng.choice(world.items["order"])
        person, company = rng.choice(world.items["person"]), rng.choice(world.items["company"])
        yield (
            (f"Did we pay {invoice['number']}?", [invoice["id"]]),
            (f"Where is order {order['reference']} now?", [order["id"]]),
            (f"Who called from {person['phone'].replace(' ', '')}?", [person["id"]]),
            (f"Whose account is {company['iban'].replace(' ', '')}?", [company["id"]]),
            (f"What is in tracking {order['tracking']}?", [order["id"]]),
            (f"the amount of invoice {invoice['number'].replace('-', ' ')}", [invoice["id"]]),
        )[place % 6]


def _unknown(world: World) -> Iterator[tuple[str, list[str]]]:
    for place in range(ASKED):
        yield (
            (
                f"Did we pay INV-2027-{place + 500}?",
                f"Where is order PO-{9001 + 37 * place}?",
                f"Who called from +44 20 7946 {9001 + place}?",
                f"What is in tracking {99_112_345 + 991 * place}?",
            )[place % 4],
            [],
        )


def _titles(world: World) -> Iterator[tuple[str, list[str]]]:
    """Yield words of titles, in which notes say the same words again and again."""
    for task in world.rng.sample(world.items["task"], ASKED):
        answers = world.ids("task", lambda item, title=task["title"]: item["title"] == title)
        yield task["title"].lower().replace(" the ", " "), answers


ASKED_OF: Final[dict[str, Callable[[World], Iterator[tuple[str, list[str]]]]]] = {
    "states": _states,
    "times": _times,
    "related": _related,
    "German": _GERMAN,
    "French": _FRENCH,
    "Spanish": _SPANISH,
    "names": _names,
    "roles": _roles,
    "identifiers": _identifiers,
    "unknown identifiers": _unknown,
    "titles": _titles,
}
"""The sorts of questions."""
