"""Which fields answer a question for a kind, by the schemas of its types, and which entities fit it."""

import functools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, NamedTuple

from graphmem.search.kinds import kind_words, measures
from graphmem.search.kinds.kind_words import State
from graphmem.search.kinds.measures import Measure, Measured, Quantity
from graphmem.search.questions import lexicon, times_in_words
from graphmem.search.questions.phrases import Debts, Phrase
from graphmem.search.questions.times_in_words import Moment, Period
from graphmem.text import words

_MAY_BE_VALUES: Final = frozenset({"active", "inactive", "pending", "value"})
"""The meanings of words that mean one value where it is in use."""
_ABSENT: Final = object()  # stands for the value of a field that an entity does not have
REFERENCE_FIELDS_LIMIT: Final = 12  # fields of a type in which names are compared
_FREE_TEXT: Final = lexicon.fields("other")["free_text"]
"""Fields whose words refer to nobody: a task may be to call Tom, and be somebody else's."""
_SORT_FIELDS: Final = lexicon.fields("other")["sorts"]
_TIMES: Final = lexicon.fields("times")
"""Fields of dates, the best first: those that say when something is due, begins, ends …"""
_OCCASIONS: Final = frozenset(lexicon.fields("other")["occasions"])
"""Words of types of what takes place at a time."""
_NO_TIME_OF_ITS_OWN: Final = lexicon.fields("other")["no_time_of_its_own"]
_DEBTS: Final = lexicon.fields("debts")  # fields that say who owes something, and to whom


class TypeShape(NamedTuple):
    """The fields of an entity type, as they are declared or in use. Of those ``dated`` the values are dates,
    of those ``texts`` they may be texts. ``enums`` has the values that the schema declares for a field."""

    entity_type: str
    fields: frozenset[str]
    dated: frozenset[str]
    texts: frozenset[str]
    enums: Mapping[str, tuple[Any, ...]]


@dataclass(frozen=True)
class TypePlan:
    """The fields of one type that answer a question.

    ``sorts`` say of which sort an entity is, ``references`` may refer to what it is related to, ``payers``
    and ``payees`` say who owes it to whom, one of ``limited`` has the quantity that is asked for.
    """

    states: Mapping[str, str]
    valued: tuple[str, ...] = ()
    times: Sequence[str] = ()
    due: Sequence[str] = ()
    sorts: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    payers: Sequence[str] = ()
    payees: Sequence[str] = ()
    measured: Measured | None = None
    limited: Sequence[str] = ()

    @cached_property
    def state_fields(self) -> dict[str, str]:
        """The fields that may say a state, and how: those with declared values count as status."""
        return {**self.states, **{name: "status" for name in self.valued if name not in self.states}}

    @property
    def fields(self) -> set[str]:
        fields = {*self.states, *self.valued, *self.times, *self.due, *self.sorts, *self.references}
        measured = [*self.limited, *([] if self.measured is None else [self.measured.field])]
        units = measures.UNIT_FIELDS if measured else ()
        return fields.union(self.payers, self.payees, measured, units)


class Member(NamedTuple):
    """An entity of a kind: its type, and the decoded values of the fields that were read."""

    id: str
    entity_type: str
    values: Mapping[str, Any]


class Fit(NamedTuple):
    """An entity that fits, and the time by which it is ordered (microseconds), if there is one."""

    id: str
    at: int | None


@dataclass(frozen=True)
class KindPlan:
    """How a question for a kind is answered."""

    phrase: Phrase
    types: Mapping[str, TypePlan]
    now: int
    declared: frozenset[str] = field(default_factory=frozenset)

    @cached_property
    def fields(self) -> list[str]:
        """The fields whose values decide."""
        return sorted({name for each in self.types.values() for name in each.fields})

    @property
    def is_past(self) -> bool:
        """Whether the latest comes first."""
        phrase = self.phrase
        if phrase.period is not None:
            return phrase.period.direction == "past"
        return any(state.meaning == "overdue" for state in phrase.states)

    @cached_property
    def leaves_ended_out(self) -> bool:
        """Whether what has ended does not count, though no word says so: it is not due any more."""
        kind, period = self.phrase.kind, self.phrase.period
        if kind.singular == kind_words.AGENDA:
            return not (self.phrase.states or self.is_past)
        is_due = period is not None and period.is_due and period.direction == "future"
        return not self.phrase.states and (not kind.types or is_due)

    def values_in_use(self, members: Sequence[Member]) -> frozenset[State] | None:
        """Return the states of the question that are values in use, and mean no more than these. Returns
        ``None`` if a word of the question that can only be a value of a field is none."""
        used = frozenset(
            state
            for state in self.phrase.states
            if state.meaning in _MAY_BE_VALUES
            and any(
                kind_words.is_value_in_use(state, self.types[each.entity_type].state_fields, each.values)
                for each in members
            )
        )
        values = {
            state.value for state in self.phrase.states if state.meaning == "value" and state not in used
        }
        return used if values <= self.declared else None

    def fits(self, members: Sequence[Member], used: Collection[State]) -> list[Fit]:
        fits: list[Fit] = []
        period = self.phrase.period
        for member in self._in_states(self._of_sort(members), used):
            limited = self.types[member.entity_type].limited
            quantities = [measures.quantity(field, member.values) for field in limited]
            if not all(any(map(limit.holds, quantities)) for limit in self.phrase.limits):
                continue
            moment = self._moment(self.types[member.entity_type], member)
            if period is None or (moment is not None and moment.is_within(period)):
                fits.append(Fit(member.id, None if moment is None else moment.start))
        return fits

    def quantities(self, members: Iterable[Member]) -> dict[str, Quantity]:
        """Return the quantity that is measured of each of some entities that have one, by id."""
        fields = {name: each.measured.field for name, each in self.types.items() if each.measured}
        return {
            member.id: quantity
            for member in members
            if (quantity := measures.quantity(fields.get(member.entity_type, ""), member.values)) is not None
        }

    def _in_states(self, members: Sequence[Member], used: Collection[State]) -> Sequence[Member]:
        states = [(state, state in used) for state in self.phrase.states]
        if not states:
            period = self.phrase.period
            is_next = period is not None and period.direction == "future" and period.end is None
            # What was cancelled is neither the largest one, nor in a sum, nor the next one.
            return [
                each for each in members
                if not (self.phrase.measure or is_next)
                or not kind_words.is_void(self.types[each.entity_type].states, each.values)
            ]  # fmt: skip
        depends_on_time = any(state.meaning == "overdue" for state, _ in states)
        # Many entities have the same values, and so the same answer. Without a key, each is compared.
        known: dict[tuple[Any, ...] | None, bool] = {}
        chosen: list[Member] = []
        for member in members:
            plan = self.types[member.entity_type]
            texts = [member.values.get(name, _ABSENT) for name in plan.state_fields]
            is_plain = all(isinstance(text, str) or text is _ABSENT for text in texts)
            key = (member.entity_type, *texts) if is_plain and not depends_on_time else None
            if key is None or key not in known:
                known[key] = all(self._is_in(plan, member, state, is_used) for state, is_used in states)
            if known[key]:
                chosen.append(member)
        return chosen

    def _of_sort(self, members: Sequence[Member]) -> Sequence[Member]:
        """Return the members whose sort a question names: of events that say what they are, the meetings."""
        singular = kind_words.plain(self.phrase.kind.singular)
        chosen = [
            member
            for member in members
            if any(
                isinstance(value := member.values.get(name), str) and kind_words.plain(value) == singular
                for name in self.types[member.entity_type].sorts
            )
        ]
        return chosen or members

    def _is_in(self, plan: TypePlan, member: Member, state: State, is_used: bool) -> bool:
        kinds = plan.state_fields
        if state.meaning == "overdue":
            if kind_words.is_in(state, kinds, member.values):
                return True
            due = _first_moment(plan.due, member.values)
            is_open = kind_words.is_in(_OPEN, plan.states, member.values)
            is_known = is_open is True or (is_open is None and not plan.states)
            return due is not None and due.end <= self.now and is_known
        compared = kinds if is_used or state.meaning == "value" else plan.states
        verdict = kind_words.is_in(state, compared, member.values, only_value=is_used)
        is_debt = self.phrase.kind.singular == kind_words.OWED and member.entity_type in kind_words.DEBTS
        return verdict is True or (verdict is None and is_debt)

    def _moment(self, plan: TypePlan, member: Member) -> Moment | None:
        """Return the date of an entity that the time of a question is about, or by which it is ordered."""
        if self.leaves_ended_out and kind_words.is_in(_OPEN, plan.states, member.values) is False:
            return None
        return _first_moment(plan.times or plan.due, member.values)


_OPEN: Final = State("open", "open")


def _first_moment(fields: Sequence[str], values: Mapping[str, Any]) -> Moment | None:
    for name in fields:
        if (moment := times_in_words.moment(values.get(name))) is not None:
            return moment
    return None


def plan(phrase: Phrase, shapes: Iterable[TypeShape], now: int, *, refers: bool) -> KindPlan | None:
    """Return how a question for a kind is answered, ``None`` if no type has the fields for it."""
    types: dict[str, TypePlan] = {}
    declared: set[str] = set()
    for shape in shapes:
        if (made := _type_plan(phrase, shape, refers=refers)) is not None:
            types[shape.entity_type] = made
            declared.update(*map(_plain_values, shape.enums.values()))
    return KindPlan(phrase, types, now, frozenset(declared)) if types else None


def _plain_values(values: Iterable[Any]) -> set[str]:
    return {kind_words.plain(value) for value in values if isinstance(value, str)}


def _type_plan(phrase: Phrase, shape: TypeShape, *, refers: bool) -> TypePlan | None:
    """Return the fields of a type that answer a question, ``None`` if it lacks one that is needed."""
    states = kind_words.state_fields(shape.entity_type, shape.fields)
    asked_values = {state.value for state in phrase.states if state.meaning == "value"}
    valued = sorted(
        name for name, values in shape.enums.items() if not asked_values.isdisjoint(_plain_values(values))
    )
    meanings = {state.meaning for state in phrase.states}
    due = measures.listed(_TIMES["due"], shape.fields) if "overdue" in meanings else []
    times: list[str] = []
    if (period := phrase.period) is not None:
        times = (
            agenda_fields(shape.entity_type, shape.fields)
            if phrase.kind.singular == kind_words.AGENDA
            else _time_fields(shape, period, next(iter(meanings), None))
        )
        if not times:
            return None
    if not phrase.kind.types:
        needs = bool(times) or ("overdue" in meanings and bool(states and due))
    else:
        needs = not (meanings - {"overdue"}) or bool(states or valued)
        needs = needs or (phrase.kind.singular == kind_words.OWED and shape.entity_type in kind_words.DEBTS)
        needs = needs and ("overdue" not in meanings or bool(states or due))
    measured = None
    if phrase.measure is not None:
        timed = _time_fields(shape, Period("", "future", None, None), None)
        measured = measures.measured(phrase.measure, shape.fields, timed, phrase.rest)
        needs = needs and measured is not None
    limited = _limited(phrase, shape)
    # Which sort of its type an entity is counts where a question may name a sort.
    is_whole = phrase.kind.singular == shape.entity_type or not phrase.kind.types
    sort_fields = {*_SORT_FIELDS, f"{shape.entity_type}_type", f"{shape.entity_type}_kind"}
    sorts = () if is_whole else tuple(sorted(sort_fields & shape.fields))
    if not needs or (phrase.limits and not limited):
        return None
    reads_states = bool(meanings) or not phrase.kind.types or measured is not None
    reads_states = reads_states or (period is not None and (period.is_due or period.end is None))
    texts = sorted(shape.texts - shape.dated - states.keys())
    references = [name for name in texts if name.lower() not in _FREE_TEXT]
    payers, payees = (
        measures.listed(_DEBTS[name], shape.fields) if phrase.debts else () for name in ("payers", "payees")
    )
    return TypePlan(
        states if reads_states else {}, tuple(valued), times, due, sorts,
        tuple(references[:REFERENCE_FIELDS_LIMIT]) if refers else (), payers, payees, measured, limited,
    )  # fmt: skip


def _limited(phrase: Phrase, shape: TypeShape) -> list[str]:
    """Return the fields of which one has a quantity: the amount of money, else any that may have the unit."""
    if not phrase.limits:
        return []
    named = measures.measured(Measure("max", "amount", ""), shape.fields, (), phrase.rest)
    if named is not None and (named.words or measures.is_money(phrase.limits[0].quantity)):
        return [named.field]
    return sorted(shape.fields - shape.dated)[:REFERENCE_FIELDS_LIMIT]


Spellings = frozenset[frozenset[str]]  # the words of each spelling of a name


def refers(member: Member, fields: Iterable[str], names: Spellings) -> bool:
    """Return whether a field of an entity refers to a name: it has all of its words, or only words of it."""
    values = [member.values.get(name) for name in fields]
    texts = [text for value in values for text in (value if isinstance(value, list) else (value,))]
    return any(isinstance(text, str) and _refers(text, names) for text in texts)


@functools.lru_cache(maxsize=8_192)
def _refers(text: str, names: Spellings) -> bool:
    value_words = frozenset(words.tokens(text))
    return bool(value_words) and any(name <= value_words or value_words <= name for name in names if name)


def is_owed(member: Member, plan: TypePlan, debts: Debts, own: Spellings) -> bool:
    """Return whether who asks owes something, or is owed it, by the roles of its fields.

    What names nobody who is paid is owed by who asks, and what names somebody else who pays it is owed to
    them. Where nobody is known as who asks, what names both counts either way.

    Args:
        own: the names of who asks, and of what is theirs.
    """
    payers, payees = (
        [each for each in fields if member.values.get(each)] for fields in (plan.payers, plan.payees)
    )
    if not own and payers and payees:
        return True
    is_payer, is_payee = refers(member, payers, own), refers(member, payees, own)
    if debts == "ours":
        return is_payer or not (payers or is_payee)
    return is_payee or bool(payers and not (is_payer or payees))


def _time_fields(shape: TypeShape, period: Period, state: str | None) -> list[str]:
    """Return the fields of a type whose dates a time is about, the best first: the first with a value counts.

    Args:
        state: the meaning of the state that is asked for, if one is.
    """
    own = [f"{shape.entity_type}_{name}" for name in ("date", "at", "time")]
    groups = {**_TIMES, "own": (*own, *_TIMES["own"])}
    if period.is_due:
        order = ["due"]
    elif period.direction == "past":
        order = ["own", "due", "start", "end"]
    else:
        order = ["due", "start", "own", "end"]
    if period.direction == "past" and state in ("done", "ended", "paid") and not period.is_due:
        order = [*(["paid"] if state == "paid" else ["done", "paid"]), *order]
    for group in order:
        if named := measures.listed(groups[group], shape.fields):
            return named
    if period.is_due:
        return []
    return sorted(name for name in shape.dated if "_".join(words.tokens(name)) not in _NO_TIME_OF_ITS_OWN)[:1]


def agenda_fields(entity_type: str, fields: Collection[str]) -> list[str]:
    """Return the fields of a type that say when something is on or due; that of an occasion may be any."""
    is_occasion = not _OCCASIONS.isdisjoint(entity_type.split("_"))
    groups = ("due", "start", *(["own"] if is_occasion else []), "end")
    return measures.listed((name for group in groups for name in _TIMES[group]), fields)
