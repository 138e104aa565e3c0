"""What a question asks for by relationships to what it names."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from graphmem.model import ending, times
from graphmem.model.identity import squeezed
from graphmem.model.relationship import BUILTIN
from graphmem.model.shipped_relationships import MEANINGS, SOURCE_ROLE, TARGET_ROLE
from graphmem.reading.shared_rows import refuse_stale_keys
from graphmem.search.questions import lexicon, question_words
from graphmem.search.questions.mentions import ATTRIBUTES
from graphmem.search.questions.naming import RELATIONSHIP, SELF, Asking, Named, places_of
from graphmem.search.questions.question_words import FollowedRole
from graphmem.text import words

FOLLOWED_LIMIT: Final = 10  # named entities whose relationships are followed
SCANNED_LIMIT: Final = 1_000
"""Relationships of an entity in each direction that are compared, the newest first."""
RELATED_LIMIT: Final = 100  # entities that the relationships of one entity answer
METADATA_LIMIT: Final = 300  # characters of a value that says whether a relationship has ended
_ASKING: Final = lexicon.words("asking_first")
"""Words of which one begins a question that may ask for the other end of a relationship."""
_DESCRIBING: Final = list(lexicon.fields("other")["describing"])
"""Fields that may say what somebody is: a sister, a dentist."""
_GENDERS: Final = lexicon.meanings("genders")
_WORK: Final = {
    "REPORTS_TO": [False], "MANAGES": [True], "MENTORS": [True], "TEACHES": [True],
    "COLLEAGUE_OF": [True, False],
}  # fmt: skip
"""Relationships to who works with somebody, and whether they are from that one."""


class RelatedEntity(NamedTuple):
    """A row of ``search/related.cypher``. ``is_source``: whether it is a relationship from the entity.
    ``described``: the type of the other one, and what its fields say that it is."""

    entity_id: str
    relationship_key: str
    relationship_type: str
    other_id: str
    metadata: list[tuple[str, str]]
    refold: int | None
    other_name: str
    is_source: bool
    described: list[str]

    def is_called(self, title: Sequence[str]) -> bool:
        """Return whether the relationship or the other entity says that it is something: a master joiner."""
        texts = [text.strip('"') for name, text in self.metadata if squeezed(name) in ending.ROLES]
        titles = [word for text in (*texts, *self.described[1:]) for word in words.tokens(text)]
        return all(any(question_words.is_same(each, word) for word in titles) for each in title)


class _RelatedRows(NamedTuple):
    """The row of ``search/related.cypher``; ``cut`` tells that older relationships may be left out. Each of
    the entities whose relationships were read has its name, and fields of some names as canonical JSON."""

    related: list[RelatedEntity]
    cut: bool
    entities: list[tuple[str, str, list[tuple[str, str]]]]


async def by_relationships(
    asking: Asking, named: Sequence[Named], kind: Collection[int], described: str = ""
) -> list[Named]:
    """Return the entities that a question asks for by their relationships to what it names.

    One round trip if it asks for any; another one where the types of relationships are read again.

    Args:
        described: what a clause describes as: of "the man who teaches Tom", only men count.
    """
    followed = await _followed(asking, named, kind, described)
    if not followed.words:
        return []
    ids = list(dict.fromkeys(each.id for each in named))[:FOLLOWED_LIMIT]
    roles = [word for word in followed.words if question_words.says_role(word)]
    types = list(asking.types)
    rows = (await related(asking, ids, *followed.types, types=types, all_types=bool(roles))).related
    bases = {each.id: each for each in named}
    people = [each for each in rows if not described or each.described[0] in question_words.PERSONS]
    hits = in_role(among(people, followed), bases, followed.words, described)
    if hits or not roles:
        return hits
    # "The driver of the hotel": what somebody is may stand in the relationship.
    is_self = all(each.kind == SELF for each in named)
    return in_role(await called(asking, rows, [roles], in_others=not is_self), bases, [""])


async def called(
    asking: Asking, rows: Sequence[RelatedEntity], titles: Sequence[Sequence[str]], *, in_others: bool
) -> list[RelatedEntity]:
    """Return those of some relationships whose other ends are called something: a driver, an apprentice.

    Args:
        in_others: of who works with what is named, other relationships may say it: Tom's apprentice is called
            so where both work. That is one round trip.
    """
    listed = [each for each in rows if any(map(each.is_called, titles))]
    people = [each.other_id for each in rows if each.is_source in _WORK.get(each.relationship_type, ())]
    if listed or not (in_others and people):
        return listed
    others = await related(asking, people[:FOLLOWED_LIMIT], None, [], types=[])
    ids = {each.entity_id for each in others.related if any(map(each.is_called, titles))}
    return [each for each in rows if each.other_id in ids]


async def companies(asking: Asking, entity_id: str) -> list[str]:
    """Return the ids of the companies of which somebody says "our": one round trip."""
    types = ["FOUNDED", "MANAGES", "OWNS", "WORKS_AT"]
    rows = await related(asking, [entity_id], types, [], types=[], is_between=True)
    return [each.other_id for each in rows.related]


def among(rows: Iterable[RelatedEntity], role: FollowedRole) -> list[RelatedEntity]:
    """Return those of some relationships that are of the types of a role."""
    return [row for row in rows if row.relationship_type in role.types[not row.is_source]]


def in_role(
    rows: Sequence[RelatedEntity], named: Mapping[str, Named], roles: Collection[str], described: str = ""
) -> list[Named]:
    """Return what relationships lead to from what is named, each entity once, as far as it is what words say.

    What is said to be a brother is no sister. What may be one counts only where nothing else is said to be,
    and is marked so. ``described`` is a word such as man: the only one that a clause may describe is meant.
    """
    kinds = {
        MEANINGS[f"{kind.upper()}_OF"].name: kind for kind in map(question_words.said_kind, roles) if kind
    }
    judged: list[tuple[RelatedEntity, str, bool | None]] = []
    for row in rows:
        meaning = MEANINGS.get(row.relationship_type)
        kind = kinds.get(row.relationship_type if meaning is None else meaning.name, "")
        kind = described if described in _GENDERS else kind
        is_of = _is_of(row, kind) if kind else True
        is_only = described in _GENDERS and len(rows) == 1
        judged.append((row, kind, True if is_of is None and is_only else is_of))
    sure = {kind for _, kind, is_of in judged if is_of}
    answer: dict[str, Named] = {}
    for row, kind, is_of in judged:
        if is_of or (is_of is None and kind not in sure):
            base = named[row.entity_id]
            hit = Named(row.other_id, RELATIONSHIP, ", ".join([base.words, *roles]),
                        relationship_type=row.relationship_type, related_to=row.entity_id,
                        unsure=base.unsure if is_of else kind)  # fmt: skip
            answer.setdefault(row.other_id, hit)
    return list(answer.values())


def _is_of(row: RelatedEntity, kind: str) -> bool | None:
    """Return whether the other end of a relationship is a sister, say, ``None`` if nothing says it."""
    metadata = dict(row.metadata)
    text = metadata.get(TARGET_ROLE if row.is_source else SOURCE_ROLE)
    if text and (stated_kind := question_words.said_kind(text.strip('"'))):
        return stated_kind == kind
    # A role alone does not say of which end it is.
    if question_words.said_kind(metadata.get("role", "").strip('"')) == kind:
        return True
    described = [word for text in row.described for word in words.tokens(text)]
    genders = {_GENDERS[word] for word in described if word in _GENDERS}
    if kind in map(question_words.said_kind, described):
        return True
    return _GENDERS[kind] in genders if genders and kind in _GENDERS else None


async def related(
    asking: Asking, entity_ids: list[str], outgoing: Collection[str] | None, incoming: Collection[str] | None,
    *, is_between: bool = False, all_types: bool = False, **params: Any,
) -> _RelatedRows:  # fmt: skip
    """Return relationships of entities, current or former as asked.

    Args:
        outgoing, incoming: the types of those from the entities and to them; all if ``None``.
        all_types: the others are returned as well, in the same round trip.
        is_between: they are followed further: of "my wife's former employer", the wife is the one of now.
    """
    row = await asking.context.graph.only(
        "search.related", _RelatedRows, entity_ids=entity_ids, characters=METADATA_LIMIT,
        describing=_DESCRIBING, outgoing=None if all_types or outgoing is None else sorted(outgoing),
        incoming=None if all_types or incoming is None else sorted(incoming),
        **{"fields": [], "scanned": SCANNED_LIMIT, "limit": SCANNED_LIMIT if all_types else RELATED_LIMIT,
           **params},
    )  # fmt: skip
    refuse_stale_keys((each.relationship_key, each.refold) for each in row.related)
    now, past = times.now(), asking.past
    with_former = past is not None or any(
        token in question_words.FORMER for piece in asking.question.pieces for token in piece.tokens
    )
    current = [each for each in row.related if with_former or ending.ended(each.metadata, now) is None]
    if past is not None and past.end:
        current = [
            each
            for each in current
            for since, until in map(ending.validity, ending.periods(each.metadata))
            if (since or times.EARLIEST) < past.end and (until or times.LATEST) > past.start
        ]
    elif past is not None and not is_between:
        # Where some have ended, "my former employer" is none of now.
        ended = [
            each for each in current
            if any(ending.ended(period, now) is not None for period in ending.periods(each.metadata))
        ]  # fmt: skip
        current = ended or current
    return row._replace(related=current)


async def _followed(
    asking: Asking, named: Sequence[Named], kind: Collection[int], described: str
) -> FollowedRole:
    """Return the relationships that a question asks for; registered types are read if no others say it."""
    question = asking.question
    tokens = ["" if place in kind else piece.token for place, piece in enumerate(question.pieces)]
    spans = [(each.start, each.end) for each in named]
    if not spans:
        return FollowedRole()
    followed = question_words.followed(tokens, question.nouns, spans, BUILTIN)
    used_places = places_of(named)
    is_asked = described or not _ASKING.isdisjoint(tokens)
    is_open = any(
        piece.token and not piece.is_stop_word and piece.token not in ATTRIBUTES and place not in used_places
        for place, piece in enumerate(question.pieces)
        # "Plays tennis with" may be a type of the owner's own beside PLAYS.
        if place not in kind and piece.token not in followed.words and (is_asked or place in question.nouns)
    )
    if not is_open:
        return followed
    kinds = await asking.context.services.vocabulary.current_of(asking.context.actor.owner)
    return question_words.followed(tokens, question.nouns, spans, kinds)
