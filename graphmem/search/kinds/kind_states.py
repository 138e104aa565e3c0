"""States in the words of a question, such as "unpaid": which fields say them, and whether an entity is in
one.

The fields that may say a state have usual names (``status``, ``payment_status``, ``is_paid``,
``completed_at``). If one of them says that something has ended, it has. An entity without any is in no
known state: it is neither paid nor unpaid.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, Literal, NamedTuple

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


_TABLE: Final[Mapping[Meaning, str]] = {
    "open": """open, unfinished, incomplete, uncompleted, undone, unresolved, unsolved, outstanding,
        remaining, unclosed, offen, offene, offenen, unerledigt, unerledigte, unerledigten, ouvert,
        ouverte, ouverts,
        ouvertes, abierta, abierto, abiertas, abiertos""",
    "ended": "closed, ended, geschlossen, geschlossene, geschlossenen, fermee, fermees, cerrada, cerradas",
    "done": """done, finished, completed, complete, resolved, erledigt, erledigte, erledigten, abgeschlossen,
        abgeschlossene, abgeschlossenen, terminee, terminees, terminada, terminadas""",
    "unpaid": """unpaid, unsettled, unbezahlt, unbezahlte, unbezahlten, impayee, impayees, impagada,
        impagadas""",
    "paid": "paid, settled, bezahlt, bezahlte, bezahlten, payee, payees, pagada, pagadas",
    "overdue": "overdue, late, past due, uberfallig, uberfallige, uberfalligen, en retard, vencida, vencidas",
    "active": "active, ongoing, current, aktiv, aktive, aktiven",
    "inactive": "inactive, inaktiv, inaktive, inaktiven",
    "pending": "pending, ausstehend, ausstehende, ausstehenden, pendiente, pendientes",
    "value": """draft, drafts, cancelled, canceled, archived, blocked, sent, approved, rejected, new, in
        progress, on hold, to do, todo, in review, won, lost, planned, scheduled, confirmed, accepted,
        declined, refunded,
        partially paid, shipped, delivered, unread, read, unapproved, unsent, undelivered, unconfirmed,
        waiting, paused, started""",
}
STATES: Final[Mapping[tuple[str, ...], Meaning]] = {
    tuple(each.split()): meaning for meaning, listed in _TABLE.items() for each in listed.split(",")
}
"""The words for states, and what each means."""
STATE_WORDS: Final = max(map(len, STATES))
"""Most words of one state."""
AFTER_ITS_NOUN: Final = words.word_set(
    """ouvert ouverte ouverts ouvertes abierta abierto abiertas abiertos fermee fermees cerrada cerradas
    terminee terminees terminada terminadas impayee impayees impagada impagadas payee payees pagada pagadas
    vencida
    vencidas pendiente pendientes"""
) | {"in progress", "on hold", "in review", "en retard"}
"""States that stand behind their noun: "tasks in progress", "factures impayées"."""
VERBS: Final = words.word_set(
    """paid settled closed done finished completed resolved sent draft open cancelled canceled archived
    blocked approved rejected won lost planned scheduled confirmed accepted declined refunded shipped
    delivered read
    started ended paused complete"""
)
"""Words for states that are forms of verbs as well: "who paid invoices"."""
OPPOSITE: Final[Mapping[Meaning, Meaning]] = {
    "open": "ended", "ended": "open", "done": "open", "paid": "unpaid", "unpaid": "paid",
    "active": "inactive", "inactive": "active",
}  # fmt: skip
"""What "not" makes of a state."""

_PAID: Final = words.word_set("paid overpaid settled cleared bezahlt beglichen payee paye pagada pagado")
_RECEIVED: Final = frozenset({"payment", "received"})
"""Words that together say that something was paid."""
_VOID: Final = words.word_set(
    """cancelled canceled void voided refunded credited rejected declined withdrawn abandoned dropped deleted
    obsolete uncollectible lost expired duplicate invalid storniert abgebrochen annule annulee cancelada
    cancelado"""
)
_WRITTEN_OFF: Final = frozenset({"written", "off"})
_DONE: Final = words.word_set(
    """done finished completed complete closed resolved solved fixed fulfilled ended archived won terminated
    merged erledigt abgeschlossen fertig geschlossen termine terminee ferme fermee terminada terminado cerrada
    cerrado inactive"""
)
_DELIVERED: Final = words.word_set("delivered shipped")
_DRAFT: Final = words.word_set("draft entwurf brouillon borrador planned")
_NOT: Final = words.word_set(
    """not no never un partially partly partial half almost nearly awaiting pending to will ready nicht
    teilweise"""
)
_PENDING: Final = words.word_set("pending open waiting new todo queued unstarted awaiting pendiente offen")
_LATE: Final = frozenset({"overdue", "late", "pastdue", "uberfallig"})

_FIELDS: Final[Mapping[str, str]] = {
    name: kind
    for kind, listed in {
        "paid_time": "paid_at paid_on paid_date date_paid settled_at",
        "paid_flag": "paid is_paid settled is_settled",
        "payment_status": "payment_status payment_state paid_status",
        "done_time": """completed_at completed_on completed_date date_completed completion_date finished_at
            finished_on finished_date closed_at closed_on closed_date date_closed resolved_at done_at
            done_on""",
        "done_flag": """done is_done completed is_completed complete is_complete finished is_finished closed
            is_closed resolved is_resolved""",
        "open_flag": "open is_open",
        "other_flag": """read is_read approved is_approved sent is_sent shipped is_shipped delivered
            is_delivered confirmed is_confirmed blocked is_blocked draft is_draft""",
        "active_flag": "active is_active enabled is_enabled",
        "ended_flag": "cancelled is_cancelled canceled is_canceled archived is_archived",
        "status": "status state stage lifecycle_stage completion_status workflow_state",
    }.items()
    for name in listed.split()
}
"""Fields that say a state, and how."""
_ORDER: Final = list(dict.fromkeys(_FIELDS.values()))
_PLACES: Final = words.word_set("city address country postal_code zip zip_code street latitude capital")
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
        kinds: the fields that may say a state (:func:`state_fields`).
        values: the decoded values of the entity's fields.
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
    return bool(_flags(state, kinds, values)) or any(
        plain(value) == state.value for value in _texts(kinds, values)
    )


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
        return _ended(meaning, is_ended=value not in (None, ""), means=True)
    if kind.endswith("flag"):
        return _of_flag(meaning, kind, value)
    if not isinstance(value, str) or not value.strip():
        return None
    return _of_status(meaning, value, is_payment=kind == "payment_status")


def _ended(meaning: Meaning, *, is_ended: bool, means: bool) -> bool | None:
    """Return what it says of a state that something has ended or not; ``None`` where it says nothing.

    Args:
        means: something that has not ended says so as well.
    """
    if not (is_ended or means):
        return None
    return is_ended == (meaning in _ENDED)


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
    return _ended(meaning, is_ended=value != (kind == "open_flag"), means=True)


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
