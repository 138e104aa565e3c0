"""Queries that subscriptions keep: whether one entity is an answer, by what is shown of it and by the clock.

A search puts all entities in an order. A standing query has none, so its words are conditions: a kind
("overdue tasks", "events next week") is compared as a search compares it, and every other word has to occur
in the entity.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from graphmem.context import Context
from graphmem.errors import InvalidInput
from graphmem.model import canonical, comparison, times
from graphmem.model.comparison import Filter
from graphmem.reading import names_in_use
from graphmem.reading.shared_rows import EntityRow, snapshot_of
from graphmem.search.kinds import kind_lookup, kind_plans, kind_words
from graphmem.search.kinds.kind_lookup import SchemaShape
from graphmem.search.kinds.kind_plans import KindPlan, Member, TypeShape
from graphmem.search.kinds.kind_words import State
from graphmem.search.questions import mentions, times_in_words
from graphmem.search.questions.mentions import AskedNames
from graphmem.search.questions.phrases import Phrase
from graphmem.search.questions.reading import Reading
from graphmem.search.search_results import understood_of
from graphmem.text import words

_PLANS_LIMIT = 4_096  # times of which the plan of a query is kept


@dataclass(frozen=True)
class KeptQuery:
    """A standing query (:class:`graphmem.changes.standing_changes.StandingQuery`).

    Its answers are of ``types``, of any if empty; ``words`` are those of its search beside a kind, which an
    answer has in its name or its values.
    """

    subscription_id: str
    types: frozenset[str]
    filters: Mapping[str, Filter]
    kind: _AskedKind | None = None
    words: frozenset[str] = frozenset()

    @property
    def is_timed(self) -> bool:
        """Whether its answers depend on the time."""
        plan = self.kind and self.kind.plan(0)
        return plan is not None and (plan.phrase.period is not None or _says_overdue(plan))

    @property
    def sentence(self) -> str:
        """How its search was read."""
        plan = self.kind and self.kind.plan(times.now())
        kinds = "every entity"
        if plan is not None:
            used = _values(plan.phrase).values()
            kinds = understood_of(plan, used, (), "", 0, is_truncated=False)["sentence"].rpartition(":")[0]
        return f"{kinds} with the words {', '.join(sorted(self.words))}" if self.words else kinds

    def fits(self, row: EntityRow, clock: int) -> bool:
        """Return whether an entity that is shown is an answer at a time."""
        texts = snapshot_of(row)
        if (self.types and row.type not in self.types) or not comparison.matches_all(self.filters, texts):
            return False
        if self.words:
            strings = [row.name or "", *(text for value in row.values for text in words.strings_of(value))]
            if not self.words <= {token for text in strings for token in words.tokens(text)}:
                return False
        return self.kind is None or self.kind.fits(row, texts, clock)

    def moments(self, row: EntityRow, clock: int) -> Iterable[int]:
        """Return the times at which a date of an entity begins or ends."""
        plan = self.kind and self.kind.plan(clock)
        dated = plan.types.get(row.type) if plan else None
        for name in {*dated.times, *dated.due} if dated else ():
            if name in row.fields:
                value = canonical.decode(row.values[row.fields.index(name)])
                yield from times_in_words.moment(value) or ()

    def spans(self, start: int, end: int) -> list[tuple[int, int]]:
        """Return where dates lie of which the answer changes from one time to another, by the clock alone."""
        made = [self.kind.plan(start), self.kind.plan(end)] if self.kind is not None else []
        plans = [plan for plan in made if plan is not None]
        spans = [(start - times.DAY, end)] if any(map(_says_overdue, plans)) else []
        periods = [plan.phrase.period for plan in plans if plan.phrase.period is not None]
        for bounds in ([each.start for each in periods], [each.end for each in periods]):
            known = [bound for bound in bounds if bound is not None]
            if len(set(bounds)) > 1 and known:
                spans.append((min(known) - times.DAY, max(known)))
        return spans


@dataclass(frozen=True)
class _AskedKind:
    """A kind that a search asks for, as its words are read at each time."""

    question: AskedNames
    shapes: Sequence[TypeShape]
    aliases: Mapping[str, str]
    _plans: dict[int, KindPlan | None] = field(default_factory=dict[int, "KindPlan | None"])

    def plan(self, clock: int) -> KindPlan | None:
        """Return how the kind is compared at a time, ``None`` if the words ask for no kind."""
        if clock not in self._plans:
            if len(self._plans) >= _PLANS_LIMIT:
                self._plans.clear()
            types = [shape.entity_type for shape in self.shapes]
            phrases = kind_lookup.phrases(Reading(self.question, types, self.aliases, clock), ())
            made = (self._plan_of(reading, clock) for phrase in phrases for reading in phrase.readings)
            self._plans[clock] = next((each for each in made if each is not None), None)
        return self._plans[clock]

    def _plan_of(self, phrase: Phrase, clock: int) -> KindPlan | None:
        types = phrase.kind.types
        shapes = [each for each in self.shapes if not types or each.entity_type in types]
        plan = kind_plans.plan(phrase, shapes, clock, refers=False)
        if plan is None or phrase.kind.singular == kind_words.CHANGES or phrase.measure or phrase.debts:
            return None
        return plan if _values(phrase).keys() <= plan.declared else None

    def fits(self, row: EntityRow, texts: Mapping[str, str], clock: int) -> bool:
        plan = self.plan(clock)
        if plan is None or row.type not in plan.types:
            return False
        fields = plan.types[row.type].fields
        values = {name: canonical.decode(text) for name, text in texts.items() if name in fields}
        return bool(plan.fits([Member(row.id, row.type, values)], _values(plan.phrase).values()))


def _values(phrase: Phrase) -> dict[str, State]:
    return {state.value: state for state in phrase.states if state.meaning == "value"}


def _says_overdue(plan: KindPlan) -> bool:
    return any(state.meaning == "overdue" for state in plan.phrase.states)


async def kept_query(
    context: Context,
    subscription_id: str,
    types: Sequence[str],
    filters: Mapping[str, Filter],
    search: str | None,
) -> KeptQuery:
    """Return a standing query for types by their names of now.

    Raises:
        InvalidInput: the search names something, or depends on other entities.
    """
    kept = KeptQuery(subscription_id, frozenset(types), filters)
    if search is None:
        return kept
    question = mentions.names_in(search, context.services.settings.phone_region)
    in_use = types or await names_in_use.types_of(context)
    rows = {row.entity_type: row for row in await kind_lookup.shapes_of(context, in_use)}
    shapes = [kind_lookup.shape_of(rows.get(each) or SchemaShape(each, None, [], [])) for each in in_use]
    aliases = await context.services.type_aliases.of(context.actor.owner)
    kind = _AskedKind(question, shapes, aliases)
    plan = kind.plan(times.now())
    if plan is None:
        pieces = [piece for piece in question.pieces if not piece.is_stop_word] or question.pieces
        return replace(kept, words=frozenset(token for piece in pieces for token in piece.tokens))
    phrase = plan.phrase
    if phrase.anchors or question.selves:
        raise _refused("it names somebody, which filters.snapshot_filters say of a field: leave the name out")
    if any(each.sorts for each in plan.types.values()):
        kinds = " or ".join(sorted(plan.types))
        raise _refused(
            f"{phrase.kind.singular} is a sort of {kinds}: name the type, and say the sort by filters"
        )
    asked_types = kept.types if types else frozenset(phrase.kind.types)
    return replace(kept, types=asked_types, kind=kind, words=frozenset(phrase.rest))


def _refused(why: str) -> InvalidInput:
    return InvalidInput.at("$.search", f"not in a standing query: {why}")
