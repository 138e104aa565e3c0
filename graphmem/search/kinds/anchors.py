"""The names that a kind is related to: "unpaid invoices from Acme", and who asks."""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple

from graphmem.reading.scan import rows_of
from graphmem.reading.shared_rows import snapshot_of
from graphmem.search.entity_copy import SearchCopy
from graphmem.search.kinds.kind_plans import Spellings
from graphmem.search.questions import asked_relationships, naming, question_words
from graphmem.search.questions.asked_relationships import FOLLOWED_LIMIT
from graphmem.search.questions.naming import Asking, Named
from graphmem.search.questions.phrases import Phrase
from graphmem.search.questions.pieces import Piece
from graphmem.text import words

RELATED_LIMIT: Final = 5_000
"""Relationships of a named entity in each direction that are compared, the newest first."""
_NAME_FIELDS: Final = ("email", "aliases", "nickname", "also_known_as")


@dataclass(frozen=True, slots=True)
class Anchor:
    """A name that a kind is related to: its words, and the ids of what is related to what bears it.

    ``is_strict``: what is not related to it is not meant. Otherwise the words may be no name, or mean who
    asks (``is_self``).
    """

    words: str
    spellings: Spellings
    related: frozenset[str]
    is_strict: bool
    is_self: bool = False


class Anchors(NamedTuple):
    """The names that a kind is related to, and the names of who asks and what is theirs. ``is_cut``: one has
    so many relationships that older ones may be left out."""

    names: list[Anchor]
    own: Spellings
    is_cut: bool


@dataclass(frozen=True, slots=True)
class KindLookup:
    """A phrase, and what a question names beside it. ``beside`` has the places of names that no word joins to
    the phrase: "Has Globex any unpaid invoices?"."""

    asking: Asking
    phrase: Phrase
    named: Sequence[Named]
    followed: Sequence[Named]
    beside: Collection[tuple[int, int]] = ()

    def named_at(self, span: tuple[int, int]) -> list[Named]:
        start, end = span
        return [each for each in self.named if each.end and start <= each.start < end]

    def followed_at(self, span: tuple[int, int]) -> list[Named]:
        """Return what relationships lead to from what a span names."""
        ids = {each.id for each in self.named_at(span)}
        return [each for each in self.followed if each.related_to in ids]


async def anchors_of(lookup: KindLookup, types: Sequence[str]) -> Anchors:
    """Return the names that a kind is related to, with what relationships join to them; and who asks. Where a
    question is for debts, the names of what who asks owns count as theirs."""
    asking, spans = lookup.asking, [*lookup.phrase.anchors, *lookup.beside]
    owner = [asking.me] if lookup.phrase.debts and asking.me else []
    role = question_words.role_of(lookup.phrase.role) if lookup.phrase.role else None
    ids_by_span: dict[tuple[int, int], list[str]] = {}
    for span in spans:
        # By a relationship, or else by a name.
        ids = [each.id for each in lookup.followed_at(span)]
        if ids:
            of_kind = await asking.copy.look(partial(SearchCopy.having_types, entity_ids=ids, types=types))
            ids = [each for each in ids if each not in of_kind]
        ids_by_span[span] = ids or [each.id for each in lookup.named_at(span)]
        if role and asking.me in ids_by_span[span]:
            ids_by_span[span] += await asked_relationships.companies(asking, asking.me)
    every = [*owner, *dict.fromkeys(each for ids in ids_by_span.values() for each in ids)][:FOLLOWED_LIMIT]
    own_names: list[Collection[str]] = []
    related: dict[str, set[str]] = {}
    spellings: dict[str, list[Collection[str]]] = {}
    is_cut = False
    if every:
        joined, (rows, _) = await asyncio.gather(
            asked_relationships.related(
                asking, every, *(role.types if role else (None, None)), types=[] if owner else list(types),
                scanned=RELATED_LIMIT, limit=RELATED_LIMIT,
            ),
            rows_of(asking.context, every),
        )  # fmt: skip
        is_cut = joined.cut
        for each in joined.related:
            related.setdefault(each.entity_id, set()).add(each.other_id)
            if each.entity_id in owner and each.is_source and each.relationship_type == "OWNS":
                own_names.append(words.tokens(each.other_name))
        for row in rows:
            values = snapshot_of(row)
            texts = [row.name, row.id]
            for name in _NAME_FIELDS:
                texts += words.strings_of(values.get(name, "null"))
            spellings[row.id] = [words.tokens(text) for text in texts]
    own_names += spellings.get(owner[0], []) if owner else []
    names = [
        _anchor(lookup, span, [spelling for each in ids for spelling in spellings.get(each, [])],
                frozenset().union(*(related.get(each, ()) for each in ids)), is_named=bool(ids))
        for span, ids in ids_by_span.items()
    ]  # fmt: skip
    return Anchors(names, frozenset(map(frozenset, own_names)), bool(names) and is_cut)


def _anchor(
    lookup: KindLookup, span: tuple[int, int], spellings: list[Collection[str]], related: frozenset[str], *,
    is_named: bool,
) -> Anchor:  # fmt: skip
    pieces = lookup.asking.question.pieces[slice(*span)]
    named = lookup.named_at(span)
    tokens = words.tokens(named[0].words if named else _written(pieces))
    has_relationship = bool(spellings and lookup.followed_at(span))
    text = _written(pieces) if has_relationship or not named else named[0].words
    is_written_as_name = any(
        piece.is_possessive or (lookup.asking.question.has_case and piece.is_capital) for piece in pieces
    )
    is_self = any(each.kind == naming.SELF for each in named)
    # Of "Tom's boss", the tasks of the boss are meant, and not those of Tom.
    is_strict = not is_self if span in lookup.beside else is_named or is_written_as_name
    known = spellings if has_relationship or is_self else [tokens, *spellings]
    is_self = is_self and not lookup.phrase.role
    return Anchor(text, frozenset(map(frozenset, known)), related, is_strict, is_self)


def _written(pieces: Sequence[Piece]) -> str:
    """Return words as a question writes them."""
    last = len(pieces) - 1
    return " ".join(
        f"{piece.text}'s" if piece.is_possessive and place < last else piece.text
        for place, piece in enumerate(pieces)
    )
