"""Names beside a kind in a question: whose tasks, invoices from whom."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from graphmem.model import canonical
from graphmem.reading.scan import rows_of
from graphmem.registry import Context
from graphmem.search.kinds import kind_plans
from graphmem.search.kinds.kind_plans import Member, Spellings, TypePlan
from graphmem.search.kinds.kind_questions import Phrase
from graphmem.search.owner_copy import OwnerCopy
from graphmem.search.questions import naming
from graphmem.search.questions.mentions import Piece, Question
from graphmem.search.questions.naming import FOLLOWED_LIMIT, Named
from graphmem.text import words

RELATED_LIMIT: Final = 5_000
"""Relationships of a named entity in each direction that are compared, the newest first."""
_NAME_FIELDS: Final = ("email", "aliases", "nickname", "also_known_as")


@dataclass(frozen=True, slots=True)
class Anchor:
    """A name that a kind is related to: its words, and the ids of what is related to what bears it.

    ``is_strict``: what is not related to it is not meant. Otherwise the words may be no name.
    ``is_cut``: it has so many relationships that older ones may be left out.
    """

    words: str
    spellings: Spellings
    related: frozenset[str]
    is_strict: bool
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """A phrase, and what a question names beside it.

    ``beside`` has the places of names that no word joins to the phrase: "Has Globex any unpaid invoices?".
    """

    context: Context
    copy: OwnerCopy
    question: Question
    phrase: Phrase
    named: Sequence[Named]
    followed: Sequence[Named]
    beside: Collection[tuple[int, int]] = ()


def of_span(named: Iterable[Named], span: tuple[int, int]) -> list[Named]:
    """Return what the words of a span name."""
    start, end = span
    return [each for each in named if each.end and start <= each.start and each.end <= end]


async def anchors_of(asked: Asked, types: Sequence[str]) -> list[Anchor]:
    """Return the names that a kind is related to, with what relationships join to them."""
    spans = [*asked.phrase.anchors, *asked.beside]
    if not spans:
        return []
    ids_by_span = {span: await _ids(asked, span, types) for span in spans}
    every = list(dict.fromkeys(each for ids in ids_by_span.values() for each in ids))[:FOLLOWED_LIMIT]
    related: dict[str, set[str]] = {}
    spellings: dict[str, list[Collection[str]]] = {}
    is_cut = False
    if every:
        (joined, is_cut), (rows, _) = await asyncio.gather(
            naming.joined(asked.context, asked.question, every, types, RELATED_LIMIT),
            rows_of(asked.context, every),
        )
        for entity_id, other_id in joined:
            related.setdefault(entity_id, set()).add(other_id)
        for row in rows:
            values = dict(zip(row.fields, row.values, strict=True))
            texts = [row.name, row.id]
            for name in _NAME_FIELDS:
                texts += words.strings(canonical.decode(values[name])) if name in values else []
            spellings[row.id] = [words.tokens(text) for text in texts]
    return [
        _anchor(asked, span, [spelling for each in ids for spelling in spellings.get(each, [])],
                frozenset().union(*(related.get(each, ()) for each in ids)), is_named=bool(ids),
                is_cut=is_cut)
        for span, ids in ids_by_span.items()
    ]  # fmt: skip


def _anchor(
    asked: Asked,
    span: tuple[int, int],
    spellings: list[Collection[str]],
    related: frozenset[str],
    *,
    is_named: bool,
    is_cut: bool,
) -> Anchor:
    pieces = asked.question.pieces[slice(*span)]
    named = of_span(asked.named, span)
    tokens = words.tokens(named[0].words if named else _written(pieces))
    has_relationship = bool(spellings and _followed_of(asked, span))
    text = _written(pieces) if has_relationship or not named else named[0].words
    is_written_as_name = any(
        piece.is_possessive or (asked.question.has_case and piece.is_capital) for piece in pieces
    )
    # Of "Tom's boss", the tasks of the boss are meant, and not those of Tom.
    is_strict = span not in asked.beside and (is_named or is_written_as_name)
    known = spellings if has_relationship else [tokens, *spellings]
    return Anchor(text, frozenset(map(frozenset, known)), related, is_strict, is_cut)


def _written(pieces: Sequence[Piece]) -> str:
    """Return words as a question writes them."""
    last = len(pieces) - 1
    return " ".join(
        f"{piece.text}'s" if piece.is_possessive and place < last else piece.text
        for place, piece in enumerate(pieces)
    )


def _followed_of(asked: Asked, span: tuple[int, int]) -> list[Named]:
    ids = {each.id for each in of_span(asked.named, span)}
    return [each for each in asked.followed if each.related_to in ids]


async def _ids(asked: Asked, span: tuple[int, int], types: Sequence[str]) -> list[str]:
    """Return the ids of what a span names: by a relationship, or else by a name."""
    followed = [each.id for each in _followed_of(asked, span)]
    if followed:
        of_kind = await asked.copy.look(lambda documents: documents.having_types(followed, types))
        followed = [each for each in followed if each not in of_kind]
    return followed or [each.id for each in of_span(asked.named, span)]


def is_related(types: Mapping[str, TypePlan], member: Member, anchor: Anchor) -> bool:
    fields = types[member.entity_type].references
    return member.id in anchor.related or kind_plans.refers(member, fields, anchor.spellings)
