"""What a search answers: the hits of each strategy, one order of them all, and what was compared.

Three strategies each have a list of hits: ``exact`` (identifiers, names and aliases), ``text`` (words) and
``meaning`` (similar vectors). The answer is one order of all hits.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, NamedTuple, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from graphmem.arguments import Text
from graphmem.model import times
from graphmem.reading.as_of import NOW, Clocks
from graphmem.reading.shared_rows import EntityRow
from graphmem.search.kinds.kind_plans import KindPlan
from graphmem.search.kinds.kind_words import State
from graphmem.search.passage_search import NO_PASSAGES, FoundPassage, FoundPassages
from graphmem.search.questions.naming import Named
from graphmem.search.questions.phrases import AskedPast
from graphmem.search.questions.times_in_words import Period


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
    plan: KindPlan, used: Collection[State], related: Sequence[str], rest: str, count: int, *,
    is_truncated: bool,
) -> Understood:  # fmt: skip
    phrase, types = plan.phrase, sorted(plan.types)
    understood: Understood = {"words": phrase.text, "entity_types": types, "count": count, "sentence": ""}
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
    if phrase.period is not None:
        fields = dict.fromkeys(name for each in plan.types.values() for name in each.times)
        understood["time"] = understood_time(phrase.period, list(fields))
    if related:
        understood["related_to"] = list(related)
    if rest:
        understood["rest"] = rest
    if is_truncated:
        understood["truncated"] = True
    drops_ended = plan.leaves_ended_out and any(each.states for each in plan.types.values())
    understood["sentence"] = understood_sentence(understood, "that has not ended" if drops_ended else "")
    return understood


def understood_time(period: Period, fields: list[str]) -> UnderstoodTime:
    start, end = (None if each is None else times.render(each) for each in (period.start, period.end))
    return {"words": period.words, "from": start, "to": end, "fields": fields}


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


def understood_sentence(understood: Understood, besides: str = "") -> str:
    """Return in one sentence how a question was understood."""
    parts = [f"every {' or '.join(understood['entity_types'][:5]) or 'entity'}"]
    for state in understood.get("states", ()):
        has = "with" if state["meaning"].startswith("the value") else "that is"
        parts.append(f"{has} {state['meaning']} ({' or '.join(state['fields'])})")
    if (time := understood.get("time")) is not None:
        # A time is said to the minute, and a midnight as its date.
        bounds = [
            f"{word} " + (bound[:10] if bound[10:].startswith("T00:00:00.000000") else f"{bound[:16]}Z")
            for word, bound in (("from", time["from"]), ("before", time["to"]))
            if bound is not None
        ]
        parts.append(f"with {' or '.join(time['fields'])} {' and '.join(bounds)}")
    parts += [besides] if besides else []
    parts += [f"related to {name}" for name in understood.get("related_to", ())]
    return f"{' '.join(parts)}: {understood['count']}" + (
        ", and more were not compared" if "truncated" in understood else ""
    )


SearchText = Annotated[Text, Field(description="Words, a name, an identifier, a question or a description.")]
NEWEST_FIRST: Final = "Newest first among hits about one matter."
Strategy = Literal["exact", "text", "meaning"]
Semantic = Literal["ready", "pending", "unavailable"]
STRATEGIES: Final[tuple[Strategy, ...]] = ("exact", "text", "meaning")
TIMELESS: Final = -1
"""What stands for the time of a hit where all hits have an identifier, and do not move in their order."""


class SearchNotes(TypedDict):
    """What an answer of a search says of how it went, and the ``passages`` of files that say it.

    ``understood`` says how a question for a kind was read, ``semantic`` whether all entities could be
    compared by meaning. ``exact`` is false where not all entities were compared that may have an identifier.
    """

    understood: NotRequired[Understood]
    semantic: NotRequired[Semantic]
    exact: NotRequired[bool]
    hint: NotRequired[str]
    passages: NotRequired[list[FoundPassage]]


class Ranked(NamedTuple):
    """An entity in the order of all hits: its points, and the strategies that found it, with its score.

    ``at`` is the time of its newest observation in microseconds, or ``TIMELESS``. ``parts`` add up to the
    points.
    """

    id: str
    points: float
    scores: Mapping[Strategy, float]
    at: int = TIMELESS
    parts: Mapping[str, float] = MappingProxyType({})


class StrategyHit(NamedTuple):
    id: str
    score: float


class Ordering(NamedTuple):
    """How the hits of the strategies became one order, in words, and the weight of each strategy."""

    text: str
    weights: dict[Strategy, float]


@dataclass(frozen=True, slots=True)
class Results:
    """The answer of a search: ``rows`` are one page of ``ranked``.

    Attributes:
        spellings: the words that count as words of the question.
        phrases: what was searched as words; ``*`` marks the beginning of a word.
        ranked: the order of the hits, up to the end of the page at least.
        hits: the first hits of each strategy, best first. The score is the place of the strongest kind of
            identifier, a score of words, or a cosine similarity.
        counts: how many hits each strategy has; like ``total`` a lower bound where a list was cut.
        compared: how many entities the owner has, of the types that were asked for.
        is_cut: not all entities were compared that may have an identifier, so that hits may be missing.
        named: the entities that the query names. If it names some, what has little of it is left out.
        way: the ids of the entities at the end of a chain of relationships, then of those before it.
        past: what the question asks of the past, a time of a kind left out.
        earlier: by id, the earlier values of the fields of an entity.
        unknown: an identifier in the question that is the identifier of no entity.
        fields: of hits that have an identifier in a value, the field of the value, by id.
    """

    spellings: frozenset[str]
    phrases: list[str]
    ran: list[Strategy]
    ranked: list[Ranked]
    hits: dict[Strategy, list[StrategyHit]]
    counts: dict[Strategy, int]
    total: int
    has_more: bool
    ordering: Ordering
    compared: int
    semantic: Semantic
    rows: list[EntityRow] = field(default_factory=list)
    is_cut: bool = False
    named: list[Named] = field(default_factory=list)
    way: list[str] = field(default_factory=list)
    understood: Understood | None = None
    unknown: str | None = None
    past: AskedPast | None = None
    earlier: Mapping[str, Any] = field(default_factory=dict)
    fields: Mapping[str, str] = field(default_factory=dict)
    passages: FoundPassages = NO_PASSAGES
    notes: list[str] = field(default_factory=list)
    milliseconds: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Search:
    """What is searched.

    Attributes:
        types: only entities of these types; all types if empty.
        looks_up: an entity is looked up, whose identifiers and names were compared before: what resembles the
            query little is left out.
        listed: also answer the first hits of each strategy by itself.
        after: only hits behind this one. As long as it is the same, its place counts, not its points.
        newest_first: of the hits about the matter of the best one, the newest come first.
        strict: what resembles the query little is left out where it names nothing, too.
        bare: leave the rows of the entities out.
        among: only these entities may be hits, by id; all if ``None``.
        passages: so many passages of files are answered besides, as of ``clocks``.
    """

    query: str
    types: list[str]
    limit: int
    offset: int = 0
    looks_up: bool = False
    listed: bool = False
    after: Ranked | None = None
    newest_first: bool = False
    strict: bool = False
    bare: bool = False
    among: frozenset[str] | None = None
    passages: int = 0
    clocks: Clocks = NOW
