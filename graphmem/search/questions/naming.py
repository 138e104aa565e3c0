"""What a question names: entities by names, whole or in part, and who asks."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from graphmem.context import Context
from graphmem.reading.scan import rows_of
from graphmem.search.copy_arrays import COUNTED, IN_LABEL, IN_NAMES
from graphmem.search.entity_copy import SearchCopy
from graphmem.search.owner_copy import ExactMatch, OwnerCopy
from graphmem.search.questions import mentions, question_words
from graphmem.search.questions.mentions import AskedNames, NamePart, WordRun
from graphmem.search.questions.phrases import AskedPast
from graphmem.search.questions.reading import Reading
from graphmem.text import identifiers

RESEMBLANCE: Final = "resemblance"
"""``match`` of what does not bear the name or identifier that was looked up."""
NEAR: Final = "near_name"
"""``match`` of what has a name with which the looked-up one agrees but for a slip of the pen."""
KINDS: Final = (*identifiers.KINDS, "name_part", "relationship", "kind", "field", "self", NEAR)
"""How a question may name an entity: by an identifier, by a part of its name, by a relationship, by its kind,
by an identifier that is all of a value of any field, as who asks, or nearly by its name."""
NAME_PART, RELATIONSHIP, KIND, FIELD, SELF, NEAR_NAME = range(len(identifiers.KINDS), len(KINDS))
PART_WEIGHT: Final = 2.0
"""The points of an entity that a part of its name names: more than words and meaning give, which is 1.7."""
NEAR_WEIGHT: Final = 1.8  # the points of an entity whose name the question has but for a slip of the pen
EXACT_WEIGHT: Final = 5.0  # the points of an entity that the strongest kind of identifier names
KIND_STEP: Final = 0.1
"""How much less each weaker kind gives. Whole names still get more than parts of names and all words."""
FORMER_STEP: Final = 1.0
"""How much less a name gives that the entity bore formerly: less than any current one, more than a part."""
RELATIONSHIP_WEIGHT: Final = 8.0
"""The points of what a question asks for by a relationship: more than what it names besides."""
KIND_WEIGHT: Final = 10.0
"""The points of what is of the kind that a question asks for: more than what it names besides."""
FIELD_WEIGHT: Final = 4.0
"""The points of an entity that has the identifier as the whole value of a field: less than a whole name."""
WHO_ASKS_NOTE: Final = (
    'nobody is marked as who asks, so "my" and "I" mean nobody: `graphmem me ENTITY` marks a person, or an '
    'observation with "self": true (POST /observations/create)'
)
ENTITIES_LIMIT: Final = 100  # entities that one question calls by parts of their names

_WEIGHTS: Final = {
    NAME_PART: PART_WEIGHT, RELATIONSHIP: RELATIONSHIP_WEIGHT, KIND: KIND_WEIGHT, FIELD: FIELD_WEIGHT,
    SELF: PART_WEIGHT, NEAR_NAME: NEAR_WEIGHT,
}  # fmt: skip
_FORMER_STRENGTH: Final = 100
"""What is added to the strength of what named an entity formerly (``search/_exact.cypher``)."""


def kind_of(strength: float) -> tuple[int, bool]:
    """Return the kind of identifier that the database's strength says, and whether it named it formerly."""
    kind = int(strength) % _FORMER_STRENGTH
    if kind < len(identifiers.KINDS):
        return kind, strength >= _FORMER_STRENGTH
    # Who asks, and had a name formerly.
    return len(identifiers.KINDS) - 1, True


class Named(NamedTuple):
    """An entity that a question names.

    Attributes:
        kind: an index into :data:`KINDS`.
        words: the words of the question that name it, from ``start`` up to ``end``.
        pairs: the (kind, index key) pairs of a whole name or identifier.
        relationship_type, related_to: of the relationship by which it is named, and the id at its other end.
        field: the field whose whole value is the identifier.
        is_former: it bore the name or identifier formerly.
        unsure: what the question says that it is, if nothing that is stored says so: a sister, of a sibling.
    """

    id: str
    kind: int
    words: str
    start: int = 0
    end: int = 0
    pairs: tuple[tuple[str, str], ...] = ()
    relationship_type: str | None = None
    related_to: str | None = None
    field: str | None = None
    is_former: bool = False
    unsure: str = ""

    @property
    def places(self) -> range:
        return range(self.start, self.end)

    @property
    def points(self) -> float:
        """What a search adds to the points of the entity."""
        exact = EXACT_WEIGHT - KIND_STEP * self.kind - FORMER_STEP * self.is_former
        return _WEIGHTS.get(self.kind, exact)

    @property
    def answered(self) -> dict[str, Any]:
        """What an answer says of how the entity is named."""
        answered = {
            "formerly": self.is_former,
            "match": RESEMBLANCE if self.unsure else NEAR if self.kind == NEAR_NAME else None,
            "relationship_type": self.related_to and self.relationship_type,
            "related_to": self.relationship_type and self.related_to,
            "matched_field": self.field,
        }
        named = {"matched": KINDS[self.kind], "matched_by": self.words}
        return named | {name: value for name, value in answered.items() if value}


@dataclass(frozen=True, slots=True)
class Asking:
    """A question as it is read, and where it is answered.

    Attributes:
        types: only entities of these types are answered; of all if empty.
        me: the id of who asks, if that is known.
    """

    context: Context
    copy: OwnerCopy
    reading: Reading
    types: Sequence[str]
    past: AskedPast | None
    me: str | None

    @property
    def question(self) -> AskedNames:
        return self.reading.question

    async def have_any(
        self, entity_ids: Iterable[str], words: Collection[str], bits: int = IN_LABEL | COUNTED
    ) -> bool:
        """Return whether one of some entities has any of some words; ``bits`` of a count tell where."""
        return await self.copy.look(
            lambda documents: any(documents.has_any(each, words, bits) for each in entity_ids)
        )

    async def of_types(self, named: Sequence[Named]) -> list[Named]:
        """Return what is of the types that are answered."""
        ids = [each.id for each in named]
        among = await self.copy.look(lambda documents: documents.having_types(ids, self.types))
        return [each for each in named if each.id in among]


def places_of(named: Iterable[Named]) -> set[int]:
    """Return the places of the words that name something."""
    return {place for each in named for place in each.places}


def with_genitives(copy: SearchCopy, question: AskedNames) -> AskedNames:
    """Return a question in which a genitive without an apostrophe is a possessive: "Brunos Chef". It is one
    where nothing has the word, and the name of a person has it without its last letter."""
    pieces = list(question.pieces)
    for place, piece in enumerate(pieces[:-1]):
        name = piece.token.removesuffix("s")
        is_free = piece.is_capital and name != piece.token and not (piece.ends or piece.is_possessive)
        if is_free and piece.token not in copy.terms:
            (posting,) = copy.postings([[name]])
            people = [each for each in copy.types if each in question_words.PERSONS] or [""]
            if copy.of_types(people)[posting.having(IN_NAMES)].any():
                text = piece.text[:-1]
                pieces[place] = piece._replace(text=text, tokens=(name,), token=name, is_possessive=True)
    return replace(question, pieces=tuple(pieces))


def by_names(question: AskedNames, text: str, exact: Iterable[ExactMatch]) -> list[Named]:
    """Return the entities that whole names or identifiers in a question name, strongest kind first.

    A name within a longer one that names something names nothing: of "New York Times", York is no name. A
    name may also be longer than the runs of words that are looked up: the whole ``text``.
    """
    named: list[Named] = []
    for match in exact:
        pairs = {(kind, value) for kind, value in match.pairs} - {identifiers.ME}
        if pairs:
            runs = (run for run in question.runs if run.pairs & pairs)
            run = next(runs, WordRun(0, len(question.pieces), text.strip()))
            kind, is_former = kind_of(match.strength)
            every = tuple((kind, value) for kind, value in match.pairs)
            named.append(Named(match.id, kind, run.text, run.start, run.end, every, is_former=is_former))
    telling = mentions.longest((each.start, each.end) for each in named)
    return [each for each in named if (each.start, each.end) in telling]


async def by_parts(asking: Asking, named: Sequence[Named], kind: Collection[int]) -> list[Named]:
    """Return the entities that parts of their names name, besides those that are named already."""
    used_places, ids, question = {*kind, *places_of(named)}, {each.id for each in named}, asking.question
    parts = await asking.copy.look(lambda documents: partly_named(documents, question, used_places))
    bearers = Counter(part.start for part in parts.values())
    return [
        # Which of several is "Dr. Berg"?
        Named(entity_id, NAME_PART, question.name(start, end), start, end,
              unsure=question.title_before(start) if bearers[start] > 1 else "")
        for entity_id, (start, end, *_) in sorted(parts.items())[:ENTITIES_LIMIT]
        if entity_id not in ids
    ]  # fmt: skip


_SIGNED: Final = re.compile(r"\w+(?:\+\+|#)")
"""Words that their signs alone tell apart: "C++" and "C#"."""


async def signed(asking: Asking) -> list[Named]:
    """Return the entities whose names have a word of the question with its signs. One round trip for each
    such word."""

    def having(documents: SearchCopy, token: str) -> list[str]:
        (posting,) = documents.postings([[token]])
        return [documents.ids[each] for each in posting.having(IN_NAMES).tolist() if documents.alive[each]]

    named: list[Named] = []
    for place, piece in enumerate(asking.question.pieces):
        if _SIGNED.fullmatch(piece.text) is None:
            continue
        ids = await asking.copy.look(partial(having, token=piece.token))
        rows, _ = await rows_of(asking.context, ids[:ENTITIES_LIMIT])
        named += [
            Named(row.id, NAME_PART, piece.text, place, place + 1)
            for row in rows
            if piece.text.lower() in row.name.lower().split()
        ]
    return named


async def who_asks(context: Context, exact: Iterable[ExactMatch]) -> str | None:
    """Return the id of who asks, if somebody is marked so; of several, the one that was marked last."""
    # The mark of a member counts where its survivor shows it: else it is a former one.
    marked = [
        each.id
        for each in exact
        if each.strength < _FORMER_STRENGTH and identifiers.ME in map(tuple, each.pairs)
    ]
    if len(marked) > 1:
        return await context.graph.only("search.me", str, entity_ids=marked)
    return next(iter(marked), None)


def doubts(named: Iterable[Named]) -> list[str]:
    """Return what nothing that is stored says of what a question names."""
    unsure = dict.fromkeys(each.unsure.replace("_", " ") for each in named if each.unsure)
    return [f'nothing that is stored says "{word}" of this: it is a resemblance' for word in unsure]


def selves(question: AskedNames, places: Iterable[int], me: str | None) -> list[Named]:
    """Return the words of a question at some places as who asks."""
    return [
        Named(me, SELF, question.pieces[place].text, place, place + 1) for place in places if me is not None
    ]


def partly_named(
    copy: SearchCopy,
    question: AskedNames,
    used_places: Collection[int],
    near: Mapping[str, list[str]] = MappingProxyType({}),
) -> dict[str, NamePart]:
    """Return the entities that a question calls by parts of their names, by id, with the first such part.

    Of two entities that have the same part, the one with more parts of the question is meant.

    Args:
        near: what words with a slip may mean.
    """
    people = [name for name in copy.types if name in question_words.PERSONS]
    organisations = [name for name in copy.types if name in question_words.ORGANISATIONS]
    name_words = question.name_words
    if not name_words or not (people or organisations):
        return {}
    written = question.written_names
    groups = [near.get(word, [word]) for word in name_words]
    documents: dict[str, set[int]] = {}
    for word, posting in zip(name_words, copy.postings(groups), strict=True):
        named = posting.having(IN_NAMES)
        types = people + organisations if word in written else people
        if types and len(named):
            documents[word] = set(named[copy.of_types(types)[named]].tolist())
    parts = question.parts({word for word, numbers in documents.items() if numbers}, used_places)
    of_part: dict[NamePart, set[int]] = {}
    for part in parts:
        # Each initial begins another word of the name.
        groups = [
            [term for term in copy.terms.beginning_with(initial) if term not in part.words]
            for initial in part.initials
        ]
        having = [set(posting.having(IN_NAMES).tolist()) for posting in copy.postings(groups)]
        of_part[part] = set.intersection(*(documents[word] for word in part.words), *having)
    is_person = copy.of_types(people or [""])
    for part, numbers in of_part.items():
        title = question.title_before(part.start)
        if part.initials or title:
            numbers.intersection_update([number for number in numbers if is_person[number]])
        if title:
            (titled,) = copy.postings([[title]])
            # Of two of that name, the one whose name has the title.
            named = titled.having(IN_NAMES).tolist()
            numbers.intersection_update(numbers.intersection(named) or numbers.copy())
    counts = Counter(number for numbers in of_part.values() for number in numbers)
    chosen: dict[str, NamePart] = {}
    for part, numbers in of_part.items():
        most = max((counts[number] for number in numbers), default=0)
        for number in numbers:
            if counts[number] == most:
                chosen.setdefault(copy.ids[number], part)
    return chosen
