"""What a question names: entities by names, whole or in part, and those that relationships join to them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from graphmem.model import ending, times
from graphmem.model.relationship import BUILTIN
from graphmem.model.shipped_relationships import MEANINGS, SOURCE_ROLE, TARGET_ROLE
from graphmem.reading.shared_rows import refuse_stale_keys
from graphmem.registry import Context
from graphmem.search import asked_times
from graphmem.search.asked_times import AskedPast
from graphmem.search.entity_copy import IN_ALIAS, IN_NAME, SearchCopy
from graphmem.search.owner_copy import ExactMatch, OwnerCopy
from graphmem.search.questions import grammar, mentions, question_words
from graphmem.search.questions.mentions import ATTRIBUTES, AskedNames, NamePart, WordRun
from graphmem.search.questions.question_words import FollowedRole
from graphmem.text import identifiers, words

RESEMBLANCE: Final = "resemblance"
"""``match`` of what does not bear the name or identifier that was looked up."""
NEAR: Final = "near_name"
"""``match`` of what has a name with which the looked-up one agrees but for a slip of the pen."""
KINDS: Final = (*identifiers.KINDS, "name_part", "relationship", "kind", "field", "self", NEAR)
"""How a question may name an entity: by an identifier, by a part of its name, by a relationship, by its kind,
by an identifier that is all of a value of any field, as who asks, or nearly by its name."""
NAME_PART: Final = KINDS.index("name_part")
RELATIONSHIP: Final = KINDS.index("relationship")
KIND: Final = KINDS.index("kind")
FIELD: Final = KINDS.index("field")
SELF: Final = KINDS.index("self")
NEAR_NAME: Final = KINDS.index(NEAR)
PART_WEIGHT: Final = 2.0
"""The points of an entity that a part of its name names: more than words and meaning give, which is 1.7."""
NEAR_WEIGHT: Final = 1.8
"""The points of an entity whose name the question has but for a slip of the pen."""
EXACT_WEIGHT: Final = 5.0
"""The points of an entity that the strongest kind of identifier names."""
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
FOLLOWED_LIMIT: Final = 10
"""Named entities whose relationships are followed."""
SCANNED_LIMIT: Final = 1_000
"""Relationships of an entity in each direction that are compared, the newest first."""
RELATED_LIMIT: Final = 100
"""Entities that the relationships of one entity answer."""
METADATA_LIMIT: Final = 300
"""Characters of a value that says whether a relationship has ended."""
ENTITIES_LIMIT: Final = 100
"""Entities that one question calls by parts of their names."""

_ASKING: Final = grammar.words("asking_first")
"""Words of which one begins a question that may ask for the other end of a relationship."""
_ASKING_FOR: Final = grammar.words("asking")
_OWN_FACTS: Final = grammar.words("own_facts")
"""Words for what people say of themselves."""
_OF: Final = grammar.words("of")
_OF_MY: Final = grammar.words("self_genitive")
_DESCRIBING: Final = list(grammar.fields("other")["describing"])
"""Fields that may say what somebody is: a sister, a dentist."""
_GENDERS: Final = grammar.meanings("genders")
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
        words: the words of the question that name it.
        pairs: the (kind, index key) pairs of a whole name or identifier.
        relationship_type: of the relationship by which it is named.
        related_to: the id of the entity at the other end of that relationship.
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
    def points(self) -> float:
        """What a search adds to the points of the entity."""
        exact = EXACT_WEIGHT - KIND_STEP * self.kind - FORMER_STEP * self.is_former
        return _WEIGHTS.get(self.kind, exact)

    @property
    def answered(self) -> dict[str, Any]:
        """What an answer says of how the entity is named."""
        answered: dict[str, Any] = {"matched": KINDS[self.kind], "matched_by": self.words}
        if self.is_former:
            answered["formerly"] = True
        if self.kind == NEAR_NAME:
            answered["match"] = NEAR
        if self.unsure:
            answered["match"] = RESEMBLANCE
        if self.relationship_type is not None and self.related_to is not None:
            answered |= {"relationship_type": self.relationship_type, "related_to": self.related_to}
        return answered if self.field is None else {**answered, "matched_field": self.field}


class RelatedEntity(NamedTuple):
    """A row of ``search/related.cypher``.

    ``is_source``: whether it is a relationship from the entity. ``described``: the type of the other one, and
    what its fields say that it is.
    """

    entity_id: str
    relationship_key: str
    relationship_type: str
    other_id: str
    metadata: list[tuple[str, str]]
    refold: int | None
    other_name: str
    is_source: bool
    described: list[str]


class _Holder(NamedTuple):
    """An entity whose relationships were read, and its fields of some names, with their canonical JSON."""

    id: str
    name: str
    held: list[tuple[str, str]]


class _RelatedRows(NamedTuple):
    """The row of ``search/related.cypher``; ``cut`` tells that older relationships may be left out."""

    related: list[RelatedEntity]
    cut: bool
    entities: list[_Holder]


def by_names(question: AskedNames, text: str, exact: Iterable[ExactMatch]) -> list[Named]:
    """Return the entities that whole names or identifiers in a question name, strongest kind first.

    A name within a longer one that names something names nothing: of "New York Times", York is no name. A
    name may also be longer than the runs of words that are looked up: the whole ``text``.
    """
    longest_runs: list[tuple[ExactMatch, WordRun]] = []
    for match in exact:
        pairs = {(kind, value) for kind, value in match.pairs} - {identifiers.ME}
        if not pairs:
            continue
        runs = (run for run in question.runs if run.pairs & pairs)
        whole = WordRun(0, len(question.pieces), text.strip(), frozenset(pairs))
        longest_runs.append((match, next(runs, whole)))
    telling = mentions.longest((run.start, run.end) for _, run in longest_runs)
    named: list[Named] = []
    for match, run in longest_runs:
        if (run.start, run.end) in telling:
            kind, is_former = kind_of(match.strength)
            pairs = tuple((a, b) for a, b in match.pairs)
            named.append(Named(match.id, kind, run.text, run.start, run.end, pairs, is_former=is_former))
    return named


async def by_parts(
    copy: OwnerCopy, question: AskedNames, named: Sequence[Named], kind: Collection[int]
) -> list[Named]:
    """Return the entities that parts of their names name, besides those that are named already."""
    taken = {*kind, *(place for each in named for place in range(each.start, each.end))}
    ids = {each.id for each in named}
    parts = await copy.look(lambda documents: partly_named(documents, question, taken))
    return [
        Named(entity_id, NAME_PART, question.name(start, end), start, end)
        for entity_id, (start, end, *_) in sorted(parts.items())[:ENTITIES_LIMIT]
        if entity_id not in ids
    ]


async def who_asks(context: Context, exact: Iterable[ExactMatch]) -> str | None:
    """Return the id of who asks, if somebody is marked so; of several, the one that was marked last."""
    # The mark of a member counts where its survivor shows it: else it is a former one.
    marked = [
        each.id
        for each in exact
        if each.strength < _FORMER_STRENGTH and any(tuple(pair) == identifiers.ME for pair in each.pairs)
    ]
    if len(marked) > 1:
        return await context.graph.only("search.me", str, entity_ids=marked)
    return marked[0] if marked else None


def selves(question: AskedNames, me: str | None) -> list[Named]:
    """Return the words of a question that mean who asks."""
    return [
        Named(me, SELF, question.pieces[place].text, place, place + 1)
        for place in question.selves
        if me is not None
    ]


async def is_about_self(copy: OwnerCopy, question: AskedNames, me: str | None) -> bool:
    """Return whether a question that names nothing else asks for something of who asks: "Where do I live?".

    The words beside "I" and "my" ask for what people say of themselves, for a relationship, or are among the
    words of the entity that is marked so.
    """
    if not question.selves:
        return False
    pieces = question.pieces
    asked = {
        place: piece.token
        for place, piece in enumerate(pieces)
        if place not in question.selves and piece.token and not piece.is_stop_word
        and piece.token not in _ASKING_FOR
    }  # fmt: skip
    owned = {at + 1: pieces[at + 1] for at in question.mine if at + 1 < len(pieces)}
    # "My accountant's phone" and "the phone of my accountant" are none of who asks.
    asked = {
        place: piece.token
        for place, piece in owned.items()
        if piece.is_possessive or pieces[place - 1].token in _OF_MY
        or (place > 1 and pieces[place - 2].token in _OF)
    } or asked  # fmt: skip
    # Whom a relationship leads to is known where it is one: "Who fixed my roof?"
    no_verb = asked if me and question_words.wanted(piece.token for piece in pieces) == {"person"} else owned
    if not asked or any(
        word in _OWN_FACTS or question_words.says_role(word, with_types=place not in no_verb)
        for place, word in asked.items()
    ):
        return True
    return me is not None and await copy.look(lambda documents: documents.has_any(me, asked.values()))


async def by_relationships(
    context: Context,
    question: AskedNames,
    named: Sequence[Named],
    types: Collection[str],
    kind: Collection[int],
    described: str = "",
) -> list[Named]:
    """Return the entities that a question asks for by their relationships to what it names.

    One round trip if it asks for any; another one where the types of relationships are read again.

    Args:
        described: what a clause describes as: of "the man who teaches Tom", only men count.
    """
    followed = await _followed(context, question, named, kind, described)
    if not followed.words:
        return []
    rows = await related(
        context,
        question,
        list(dict.fromkeys(each.id for each in named))[:FOLLOWED_LIMIT],
        outgoing=sorted(followed.outgoing),
        incoming=sorted(followed.incoming),
        types=list(types),
        scanned=SCANNED_LIMIT,
        limit=RELATED_LIMIT,
    )
    people = [each for each in rows.related if not described or each.described[0] in question_words.PERSONS]
    return in_role(people, {each.id: each for each in named}, followed.words, described)


def in_role(
    rows: Sequence[RelatedEntity], named: Mapping[str, Named], said: Collection[str], described: str = ""
) -> list[Named]:
    """Return what relationships lead to from what is named, each entity once, as far as it is what words say.

    What is said to be a brother is no sister. What may be one counts only where nothing else is said to be,
    and is marked so. ``described`` is a word such as man: the only one that a clause may describe is meant.
    """
    kinds = {
        MEANINGS[f"{kind.upper()}_OF"].name: kind for kind in map(question_words.said_kind, said) if kind
    }
    judged: list[tuple[RelatedEntity, str, bool | None]] = []
    for row in rows:
        meaning = MEANINGS.get(row.relationship_type)
        kind = kinds.get(row.relationship_type if meaning is None else meaning.name, "")
        is_of = _is_of(row, kind) if kind else True
        if described in _GENDERS:
            kind, is_of = described, _is_of(row, described)
            is_of = True if is_of is None and len(rows) == 1 else is_of
        judged.append((row, kind, is_of))
    sure = {kind for _, kind, is_of in judged if is_of}
    answer: dict[str, Named] = {}
    for row, kind, is_of in judged:
        if is_of or (is_of is None and kind not in sure):
            base = named[row.entity_id]
            hit = Named(row.other_id, RELATIONSHIP, ", ".join([base.words, *said]),
                        relationship_type=row.relationship_type, related_to=row.entity_id,
                        unsure=base.unsure if is_of else kind)  # fmt: skip
            answer.setdefault(row.other_id, hit)
    return list(answer.values())


def _is_of(row: RelatedEntity, kind: str) -> bool | None:
    """Return whether the other end of a relationship is a sister, say, ``None`` if nothing says it."""
    text = dict(row.metadata).get(TARGET_ROLE if row.is_source else SOURCE_ROLE)
    if text and (said := question_words.said_kind(text.strip('"'))):
        return said == kind
    described = [word for text in row.described for word in words.tokens(text)]
    genders = {_GENDERS[word] for word in described if word in _GENDERS}
    if kind in map(question_words.said_kind, described):
        return True
    return _GENDERS[kind] in genders if genders and kind in _GENDERS else None


def doubts(named: Iterable[Named]) -> list[str]:
    """Return what nothing that is stored says of what a question names."""
    unsure = dict.fromkeys(each.unsure.replace("_", " ") for each in named if each.unsure)
    return [f"nothing says who the {word} is that is meant, so this is a resemblance" for word in unsure]


async def related(
    context: Context, question: AskedNames, entity_ids: list[str], **params: Any
) -> _RelatedRows:
    """Return relationships of entities, current or former as asked."""
    row = await context.graph.only(
        "search.related",
        _RelatedRows,
        entity_ids=entity_ids,
        characters=METADATA_LIMIT,
        describing=_DESCRIBING,
        **{"fields": [], **params},
    )
    refuse_stale_keys((each.relationship_key, each.refold) for each in row.related)
    now = times.now()
    with_former = any(piece.token in question_words.FORMER for piece in question.pieces)
    past = asked_times.read(question, now)
    with_former = with_former or past is not None
    current = [each for each in row.related if with_former or ending.ended(each.metadata, now) is None]
    if past is not None and past.end:
        current = [each for each in current if _held(each.metadata, past)]
    return row._replace(related=current)


def _held(metadata: Sequence[tuple[str, str]], past: AskedPast) -> bool:
    """Return whether a relationship held at a time in the past, as far as its metadata says it."""
    since, until = ending.held(metadata)
    return (since or times.EARLIEST) < past.end and (until or times.LATEST) > past.start


async def _followed(
    context: Context, question: AskedNames, named: Sequence[Named], kind: Collection[int], described: str
) -> FollowedRole:
    """Return the relationships that a question asks for; registered types are read if no others say it."""
    tokens = ["" if place in kind else piece.token for place, piece in enumerate(question.pieces)]
    spans = [(each.start, each.end) for each in named]
    if not spans:
        return FollowedRole()
    followed = question_words.followed(tokens, question.nouns, spans, BUILTIN)
    taken = {place for start, end in spans for place in range(start, end)}
    is_asked = described or not _ASKING.isdisjoint(tokens)
    is_open = any(
        piece.token and not piece.is_stop_word and piece.token not in ATTRIBUTES and place not in taken
        for place, piece in enumerate(question.pieces)
        # "Plays tennis with" may be a type of the owner's own beside PLAYS.
        if place not in kind and piece.token not in followed.words and (is_asked or place in question.nouns)
    )
    if not is_open:
        return followed
    kinds = await context.services.vocabulary.current_of(context.actor.owner)
    return question_words.followed(tokens, question.nouns, spans, kinds)


def partly_named(
    copy: SearchCopy,
    question: AskedNames,
    taken: Collection[int],
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
        named = posting.documents[(posting.counts & (IN_NAME | IN_ALIAS)) > 0]
        called = people + organisations if word in written else people
        if called and len(named):
            documents[word] = set(named[copy.of_types(called)[named]].tolist())
    parts = question.parts({word for word, numbers in documents.items() if numbers}, taken)
    of_part = {
        part: set.intersection(*(documents[word] for word in part.words), *_having(copy, part))
        for part in parts
    }
    is_person = copy.of_types(people or [""])
    counts: dict[int, int] = {}
    for part, numbers in of_part.items():
        if part.initials or (part.start and question.pieces[part.start - 1].is_title):
            numbers.intersection_update([number for number in numbers if is_person[number]])
        for number in numbers:
            counts[number] = counts.get(number, 0) + 1
    chosen: dict[str, NamePart] = {}
    for part, numbers in of_part.items():
        most = max((counts[number] for number in numbers), default=0)
        for number in numbers:
            if counts[number] == most:
                chosen.setdefault(copy.ids[number], part)
    return chosen


def _having(copy: SearchCopy, part: NamePart) -> list[set[int]]:
    """Return for each initial of a part of a name the documents whose name has such another word."""
    if not part.initials:
        return []
    groups = [
        [term for term in copy.terms.beginning_with(initial) if term not in part.words]
        for initial in part.initials
    ]
    in_names = IN_NAME | IN_ALIAS
    return [
        set(posting.documents[(posting.counts & in_names) > 0].tolist()) for posting in copy.postings(groups)
    ]
