"""States in the words of a question, such as "unpaid": which fields say them, and whether an entity is in
one.

The fields that may say a state have usual names (``status``, ``payment_status``, ``is_paid``,
``completed_at``). If one of them says that something has ended, it has. An entity without any is in no
known state: it is neither paid nor unpaid.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, Literal, NamedTuple, cast

from graphmem.search.questions import grammar
from graphmem.text import words

Meaning = Literal[
    "open", "ended", "done", "paid", "unpaid", "overdue", "active", "inactive", "pending", "value"
]
"""What a word for a state means. ``value``: no more than a value of its own, such as draft or blocked."""


VALUES_LIMIT: Final = 4_096
"""Values of fields whose meaning is kept: a status has few."""


class State(NamedTuple):
    """A state that a question asks for: its words, and what they mean."""

    words: str
    meaning: Meaning

    @property
    def value(self) -> str:
        """The value of a field that says the state."""
        return plain(self.words)


STATES: Final[Mapping[tuple[str, ...], Meaning]] = {
    tuple(each.split()): cast("Meaning", meaning) for each, meaning in grammar.meanings("states").items()
}
"""The words for states, and what each means."""
STATE_WORDS: Final = max(map(len, STATES))
"""Most words of one state."""
AFTER_ITS_NOUN: Final = grammar.words("after_noun")
"""States that stand behind their noun: "tasks in progress", "factures impayées"."""
VERBS: Final = grammar.words("states_and_verbs")
"""Words for states that are forms of verbs as well: "who paid invoices"."""
OPPOSITE: Final[Mapping[Meaning, Meaning]] = {
    "open": "ended", "ended": "open", "done": "open", "paid": "unpaid", "unpaid": "paid",
    "active": "inactive", "inactive": "active",
}  # fmt: skip
"""What "not" makes of a state."""

_PAID: Final = grammar.words("values_paid")
_RECEIVED: Final = frozenset({"payment", "received"})
"""Words that together say that something was paid."""
_VOID: Final = grammar.words("values_void")
_WRITTEN_OFF: Final = frozenset({"written", "off"})
_DONE: Final = grammar.words("values_done")
_DELIVERED: Final = grammar.words("values_delivered")
_DRAFT: Final = grammar.words("values_draft")
_NOT: Final = grammar.words("values_negated")
_PENDING: Final = grammar.words("values_pending")
_LATE: Final = grammar.words("values_late")

_FIELDS: Final[Mapping[str, str]] = {
    name: kind for kind, names in grammar.fields("states").items() for name in names
}
"""Fields that say a state, and how."""
_ORDER: Final = list(dict.fromkeys(_FIELDS.values()))
_PLACES: Final = frozenset(grammar.fields("other")["of_places"])
"""Fields beside which ``state`` is a part of a country."""
_ENDED: Final = frozenset({"ended", "done", "paid", "inactive"})
"""The states of what has ended."""


@functools.lru_cache(maxsize=VALUES_LIMIT)
def plain(text: str) -> str:
    """Return a value as states compare: without case, accents and what separates words."""
    joined = "".join(words.tokens(text))
    return {"canceled": "cancelled", "drafts": "draft", "todos": "todo"}.get(joined, joined)


def state_fields(entity_type: str, fields: Collection[str]) -> dict[str, str]:
    """Return the fields of a type that may say a state, and how each says it."""
    named: dict[str, str] = {}
    nouns = {entity_type, entity_type.split("_")[-1]}
    statuses = {f"{noun}_{name}" for noun in nouns for name in ("status", "state", "stage")}
    for name in fields:
        folded = "_".join(words.tokens(name))
        kind = _FIELDS.get(folded)
        if folded in statuses:
            kind = "status"
        if folded == "state" and not _PLACES.isdisjoint(fields):
            kind = None
        if kind is not None:
            named[name] = kind
    return dict(sorted(named.items(), key=lambda pair: (_ORDER.index(pair[1]), pair[0])))


def is_in(
    state: State, kinds: Mapping[str, str], values: Mapping[str, Any], *, only_value: bool
) -> bool | None:
    """Return whether an entity is in a state, ``None`` if none of its fields says it.

    Whether something is overdue depends on time as well: then only a field that says so is compared.

    Args:
        only_value: the state is a value in use, and means no more than this value.
    """
    if state.meaning == "overdue":
        late = [plain(value) in _LATE for value in _texts(kinds, values)]
        return any(late) if late else None
    if only_value or state.meaning == "value":
        flags = _flags(state, kinds, values)
        equal = [plain(value) == state.value for value in _texts(kinds, values)]
        return any([*flags, *equal]) if flags or equal else None
    verdicts = [_verdict(state.meaning, kind, values[name]) for name, kind in kinds.items() if name in values]
    known = [verdict for verdict in verdicts if verdict is not None]
    if not known:
        return None
    return any(known) if state.meaning in _ENDED else all(known)


def is_value_in_use(state: State, kinds: Mapping[str, str], values: Mapping[str, Any]) -> bool:
    """Return whether a field of an entity has a state as its value."""
    texts = _texts(kinds, values)
    return bool(_flags(state, kinds, values)) or any(plain(value) == state.value for value in texts)


def _flags(state: State, kinds: Mapping[str, str], values: Mapping[str, Any]) -> list[bool]:
    """Return what the flags that are named as a state say of it: ``read`` also says what is unread."""
    verdicts: list[bool] = []
    for name, kind in kinds.items():
        value = values.get(name)
        if kind.endswith("flag") and isinstance(value, bool):
            flag = plain(name.lower().removeprefix("is_"))
            if state.value in (flag, f"un{flag}"):
                verdicts.append(value == (state.value == flag))
    return verdicts


def _texts(kinds: Mapping[str, str], values: Mapping[str, Any]) -> Iterable[str]:
    for name in kinds:
        value = values.get(name)
        yield from (
            each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str) and each
        )


def _verdict(meaning: Meaning, kind: str, value: Any) -> bool | None:
    """Return whether one field says that an entity is in a state, or that it is not."""
    is_about_payment = meaning in ("paid", "unpaid")
    if kind.endswith("time"):
        if isinstance(value, bool) or (kind == "done_time" and is_about_payment):
            return None
        return (value not in (None, "")) == (meaning in _ENDED)
    if kind.endswith("flag"):
        return _of_flag(meaning, kind, value)
    if not isinstance(value, str) or not value.strip():
        return None
    return _of_status(meaning, value, is_payment=kind == "payment_status")


def _of_flag(meaning: Meaning, kind: str, value: Any) -> bool | None:
    if not isinstance(value, bool):
        return None
    if kind == "active_flag":
        return value == (meaning == "active") if meaning in ("active", "inactive") else None
    if kind == "ended_flag":
        if not value:
            return None
        return meaning in ("ended", "inactive")
    if kind == "other_flag" or (kind == "done_flag" and meaning in ("paid", "unpaid")):
        return None
    return (value != (kind == "open_flag")) == (meaning in _ENDED)


@functools.lru_cache(maxsize=VALUES_LIMIT)
def _of_status(meaning: Meaning, value: str, *, is_payment: bool) -> bool | None:
    status = frozenset(words.tokens(value))
    is_negated = not _NOT.isdisjoint(status)
    says_paid = (
        not status.isdisjoint(_PAID)
        or status >= _RECEIVED
        or (is_payment and not status.isdisjoint(_DONE | {"received"}))
    )
    is_paid = says_paid and not is_negated
    is_void = not status.isdisjoint(_VOID) or status >= _WRITTEN_OFF
    is_done = not is_negated and not status.isdisjoint(_DONE | _DELIVERED)
    if meaning == "paid":
        return is_paid
    if meaning == "unpaid":
        closed = not is_negated and not status.isdisjoint(_DONE)
        return not (is_paid or is_void or closed) and status.isdisjoint(_DRAFT)
    if is_payment and meaning not in ("open", "ended"):
        return None
    has_ended = is_paid or is_void or is_done
    if meaning == "done":
        return (is_done or is_paid) and not is_void
    if meaning == "pending":
        return not has_ended and not status.isdisjoint(_PENDING)
    return has_ended == (meaning in ("ended", "inactive"))
