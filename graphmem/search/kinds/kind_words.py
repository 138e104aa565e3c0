"""Usual words for kinds of entities and for their states: which types and which fields are meant.

A word names a type by the type's name in the singular or the plural, by another name that its schema
declares, by the last word of a longer name ("orders" for sales_order), or by a usual word for such things
("people" for person). Only types that the owner has are named.

The fields that may say a state have usual names (``status``, ``payment_status``, ``is_paid``,
``completed_at``). If one of them says that something has ended, it has. An entity without any is in no
known state: it is neither paid nor unpaid.
"""

import functools
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, cast

from graphmem.search.questions import lexicon
from graphmem.text import languages, words

TYPE_WORDS: Final = 3  # most words of a question that name one type
DEADLINES: Final = lexicon.words("deadlines")
"""Words for what has a time at which it is due, of whatever type."""
AGENDA: Final = "agenda"  # stands for what is on or due at a time, of whatever type
OWED: Final = "owed"  # stands for what is still to be paid, or to be done
CHANGES: Final = "changes"  # stands for what was observed last, of whatever type
DEBTS: Final = lexicon.words("debts")  # types of what is owed as long as nothing says that it is paid
_IRREGULAR: Final = lexicon.meanings("irregular")
_USUAL: Final[Mapping[str, tuple[str, ...]]] = lexicon.lists("usual_types")
"""The types that a usual word may mean beside the one of its name, best first."""
_SINGULAR_FOREIGN: Final = lexicon.meanings("kinds_singular")
_FOREIGN: Final = lexicon.meanings("kinds") | _SINGULAR_FOREIGN
_PLURAL_LEAST: Final = 4  # letters of a plural that a stem decides
LOOKUPS_LIMIT: Final = 32  # sets of types whose lookups are kept: those of the owners who search most


class KindName(NamedTuple):
    """The types that some words name: none for deadlines, which may be of any type. ``singular`` is the last
    word in the singular; ``is_plural``: the words are a plural for sure."""

    types: tuple[str, ...]
    singular: str
    is_plural: bool


class _Lookup(NamedTuple):
    """The types of an owner in the order of their names, by what they are called. ``by_form`` has them by all
    of their names, in the singular and as they are written; ``by_ending`` by the last word of their names."""

    by_form: Mapping[str, tuple[str, ...]]
    by_ending: Mapping[str, tuple[str, ...]]

    def exact(self, tokens: Sequence[str]) -> tuple[str, ...]:
        """Return the types of which the words are a name, in the singular or the plural."""
        *first, last = tokens
        forms = {" ".join([*first, each]) for each in (last, _singular(last))}
        return tuple(sorted({name for form in forms for name in self.by_form.get(form, ())}))


def named_kind(tokens: Sequence[str], types: Collection[str], aliases: Mapping[str, str]) -> KindName | None:
    """Return the types that one to :data:`TYPE_WORDS` consecutive words name, ``None`` if they name none."""
    if not all(token.isalnum() for token in tokens):
        return None
    lookup = _lookup(tuple(types), tuple(aliases.items()))
    exact = lookup.exact(tokens)
    if len(tokens) == 1 and tokens[0] in DEADLINES and not exact:
        return KindName((), "deadline", True)
    if not exact and len(tokens) > 1:
        return None
    word, singular = tokens[-1], _singular(tokens[-1])
    is_plural = word in _IRREGULAR or singular != word
    if word in _FOREIGN:
        is_plural = word not in _SINGULAR_FOREIGN
    if exact:
        return KindName(exact, singular, is_plural)
    for meant in (singular, *_USUAL.get(singular, ())):
        if usual := lookup.exact([meant]) or lookup.exact(meant.split("_")):
            return KindName(usual, singular, is_plural)
    ending = lookup.by_ending.get(singular, ())
    return KindName(ending, singular, is_plural) if ending and is_plural else None


@functools.lru_cache(maxsize=LOOKUPS_LIMIT)
def _lookup(types: tuple[str, ...], aliases: tuple[tuple[str, str], ...]) -> _Lookup:
    """Return the types of an owner by what they are called, once for a set: 200 types take milliseconds."""
    known = frozenset(types)
    by_form: dict[str, set[str]] = {}
    by_ending: dict[str, set[str]] = {}
    for name, kind in [
        *((name, kind) for name, kind in aliases if kind in known),
        *zip(types, types, strict=True),
    ]:
        parts = words.tokens(name)
        by_form.setdefault(" ".join(parts), set()).add(kind)
        if name == kind:
            by_form.setdefault(" ".join([*parts[:-1], *map(_singular, parts[-1:])]), set()).add(kind)
            by_ending.setdefault(name.split("_")[-1], set()).add(kind)
    groups = [{key: tuple(sorted(each)) for key, each in group.items()} for group in (by_form, by_ending)]
    return _Lookup(*groups)


def _singular(word: str) -> str:
    """Return the singular of a plural, else the word: English, and some words of other languages."""
    if (known := _IRREGULAR.get(word) or _FOREIGN.get(word)) is not None:
        return known
    if len(word) < _PLURAL_LEAST or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    candidates = [word[:-1]]
    if word.endswith("ies"):
        candidates = [f"{word[:-3]}y"]
    elif word.endswith(("sses", "shes", "ches", "xes", "zes")):
        candidates = [word[:-2]]
    (stem, *stems) = languages.stems("en", [word, *candidates])
    # The stems of "news" and "new" differ from each other as little as those of a plural and its singular.
    return next((each for each, other in zip(candidates, stems, strict=True) if other == stem), word)


Meaning = Literal[
    "open", "ended", "done", "paid", "unpaid", "overdue", "active", "inactive", "pending", "value"
]
"""What a word for a state means. ``value``: no more than a value of its own, such as draft or blocked."""


VALUES_LIMIT: Final = 4_096  # values of fields whose meaning is kept: a status has few


class State(NamedTuple):
    """A state that a question asks for."""

    words: str
    meaning: Meaning

    @property
    def value(self) -> str:
        """The value of a field that says the state."""
        return plain(self.words)


STATES: Final[Mapping[tuple[str, ...], Meaning]] = {
    tuple(each.split()): cast("Meaning", meaning) for each, meaning in lexicon.meanings("states").items()
}
"""The words for states, and what each means."""
OPPOSITE: Final[Mapping[Meaning, Meaning]] = {
    "open": "ended", "ended": "open", "done": "open", "paid": "unpaid", "unpaid": "paid",
    "active": "inactive", "inactive": "active",
}  # fmt: skip
"""What "not" makes of a state."""

_PAID, _VOID, _DONE, _DELIVERED, _DRAFT, _NOT, _PENDING, _LATE = (
    lexicon.words(f"values_{name}")
    for name in ("paid", "void", "done", "delivered", "draft", "negated", "pending", "late")
)
_RECEIVED: Final = frozenset({"payment", "received"})  # words that together say that something was paid
_WRITTEN_OFF: Final = frozenset({"written", "off"})

_FIELDS: Final[Mapping[str, str]] = {
    name: kind for kind, names in lexicon.fields("states").items() for name in names
}
"""Fields that say a state, and how."""
_ORDER: Final = list(dict.fromkeys(_FIELDS.values()))
_PLACES: Final = frozenset(lexicon.fields("other")["of_places"])
"""Fields beside which ``state`` is a part of a country."""
_ENDED: Final = frozenset({"ended", "done", "paid", "inactive"})  # the states of what has ended


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
    state: State, kinds: Mapping[str, str], values: Mapping[str, Any], *, only_value: bool = False
) -> bool | None:
    """Return whether an entity is in a state, ``None`` if none of its fields says it.

    Of ``overdue``, only a field that says so is compared, no time. ``only_value``: the state is a value in
    use, and means no more than this value.
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
    texts = _texts(kinds, values)
    return bool(_flags(state, kinds, values)) or any(plain(value) == state.value for value in texts)


def is_void(kinds: Mapping[str, str], values: Mapping[str, Any]) -> bool:
    """Return whether a field says that something was cancelled, or is no more what it was to be."""
    return any(_is_void(frozenset(words.tokens(each))) for each in _texts(kinds, values))


def _is_void(status: frozenset[str]) -> bool:
    return not status.isdisjoint(_VOID) or status >= _WRITTEN_OFF


def _flags(state: State, kinds: Mapping[str, str], values: Mapping[str, Any]) -> list[bool]:
    """Return what the flags that are named as a state say of it: ``read`` also says what is unread."""
    verdicts: list[bool] = []
    for name, kind in kinds.items():
        value, flag = values.get(name), plain(name.lower().removeprefix("is_"))
        if kind.endswith("flag") and isinstance(value, bool) and state.value in (flag, f"un{flag}"):
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
    if kind in ("done_time", "done_flag") and meaning in ("paid", "unpaid"):
        return None
    if kind.endswith("time"):
        return None if isinstance(value, bool) else (value not in (None, "")) == (meaning in _ENDED)
    if kind.endswith("flag"):
        if not isinstance(value, bool) or kind == "other_flag" or (kind == "ended_flag" and not value):
            return None
        if kind == "ended_flag":
            return meaning in ("ended", "inactive")
        if kind == "active_flag":
            return value == (meaning == "active") if meaning in ("active", "inactive") else None
        return (value != (kind == "open_flag")) == (meaning in _ENDED)
    if not isinstance(value, str) or not value.strip():
        return None
    return _of_status(meaning, value, is_payment=kind == "payment_status")


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
    is_void = _is_void(status)
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
