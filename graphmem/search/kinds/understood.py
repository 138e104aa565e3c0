"""How a question was read that asks for a kind, as answers say it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final, NotRequired

from typing_extensions import TypedDict

from graphmem.model import times
from graphmem.search.kinds.kind_plans import KindPlan
from graphmem.search.kinds.kind_states import State


class UnderstoodState(TypedDict):
    """A state: the words that say it, what they mean, and the fields that were compared."""

    words: str
    meaning: str
    fields: list[str]


UnderstoodTime = TypedDict(
    "UnderstoodTime", {"words": str, "from": str | None, "to": str | None, "fields": list[str]}
)
"""A time: the words that say it, the interval in UTC without its end, and the fields that were compared."""


class Understood(TypedDict):
    """How a question was read that asks for a kind.

    ``words`` say the kind; ``related_to`` are the names that its entities are related to; ``rest`` are the
    other words, which decide the order. ``count`` is how many entities fit; with ``truncated``, more were
    to be compared than one call compares. ``sentence`` says it all at once.
    """

    words: str
    entity_types: list[str]
    states: NotRequired[list[UnderstoodState]]
    time: NotRequired[UnderstoodTime]
    related_to: NotRequired[list[str]]
    rest: NotRequired[str]
    count: int
    truncated: NotRequired[bool]
    sentence: str


def understood_of(
    plan: KindPlan,
    used: Collection[State],
    related: Sequence[str],
    rest: str,
    count: int,
    *,
    is_truncated: bool,
) -> Understood:
    """Return how a question was read.

    Args:
        used: the states that are values in use.
        related: the names that what fits is related to.
        rest: the words that say something else.
        count: how many entities fit.
    """
    phrase, types = plan.phrase, sorted(plan.types)
    understood: Understood = {
        "words": phrase.text,
        "entity_types": types,
        "count": count,
        "sentence": "",
    }
    states = sorted({name for each in plan.types.values() for name in each.state_fields})
    due = sorted({name for each in plan.types.values() for name in each.due})
    if phrase.states:
        understood["states"] = [
            {
                "words": state.words,
                "meaning": f"the value {state.words}" if state in used else _MEANINGS[state.meaning],
                "fields": sorted({*states, *(due if state.meaning == "overdue" else ())}),
            }
            for state in phrase.states
        ]
    if (period := phrase.period) is not None:
        understood["time"] = {
            "words": period.words,
            "from": None if period.start is None else times.render(period.start),
            "to": None if period.end is None else times.render(period.end),
            "fields": list(dict.fromkeys(name for each in plan.types.values() for name in each.times)),
        }
    if related:
        understood["related_to"] = list(related)
    if rest:
        understood["rest"] = rest
    if is_truncated:
        understood["truncated"] = True
    drops_ended = plan.leaves_ended_out and any(each.states for each in plan.types.values())
    understood["sentence"] = _sentence(understood, "that has not ended" if drops_ended else "")
    return understood


_MEANINGS: Final = {
    "open": "not finished, closed, paid or cancelled",
    "ended": "finished, closed, paid or cancelled",
    "done": "finished, closed or paid, and not cancelled",
    "paid": "paid",
    "unpaid": "not paid, closed, cancelled or a draft",
    "overdue": "marked as late, or not finished and due before now",
    "active": "not finished, closed, paid or cancelled",
    "inactive": "finished, closed, paid or cancelled",
    "pending": "waiting, open or new",
    "value": "a declared value that nothing has",
}


def _plain(time: str) -> str:
    """Return a time to the minute, and a midnight as its date."""
    return time[:10] if time[10:].startswith("T00:00:00.000000") else f"{time[:16]}Z"


def _sentence(understood: Understood, besides: str) -> str:
    """Return in one sentence how a question was understood.

    Args:
        besides: what else holds of the entities.
    """
    kinds_of = " or ".join(understood["entity_types"][:5]) or "entity"
    parts = [f"every {kinds_of}"]
    parts += [
        f"that is {state['meaning']} ({' or '.join(state['fields'])})"
        if not state["meaning"].startswith("the value")
        else f"with {state['meaning']} ({' or '.join(state['fields'])})"
        for state in understood.get("states", ())
    ]
    if (time := understood.get("time")) is not None:
        bounds = [
            f"{word} {_plain(bound)}"
            for word, bound in (("from", time["from"]), ("before", time["to"]))
            if bound is not None
        ]
        parts.append(f"with {' or '.join(time['fields'])} {' and '.join(bounds)}")
    parts += [besides] if besides else []
    parts += [f"related to {name}" for name in understood.get("related_to", ())]
    return f"{' '.join(parts)}: {understood['count']}" + (
        ", and more were not compared" if "truncated" in understood else ""
    )
