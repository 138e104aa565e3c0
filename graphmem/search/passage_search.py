"""Finding passages of files: by words and meaning, by identifiers, and by the names of entities.

A passage names an entity by an exact name or identifier that the entity has now. That is looked up when it
is asked for, so a file and an entity may come in either order.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple, NotRequired

import numpy as np
import numpy.typing as npt
from typing_extensions import TypedDict

from graphmem.context import Context
from graphmem.embedding import meaning
from graphmem.embedding.meaning import Embedder, Vector, Weighted
from graphmem.errors import ServiceBusy
from graphmem.ingest.passages import TEXT_CHARACTERS, Passage
from graphmem.model import times
from graphmem.reading.as_of import NOW, Clocks
from graphmem.search import search_ranking, terms
from graphmem.search.copy_arrays import COUNTED, IN_NAME
from graphmem.search.entity_copy import SearchCopy
from graphmem.search.owner_copy import OwnerState
from graphmem.search.passage_copies import PassageCopies, PassageCopy, SourceRow
from graphmem.search.questions import lexicon
from graphmem.text import identifiers, words

QUOTE_CHARACTERS: Final = 300  # characters of a quotation at most
LEAST_SHARE: Final = 0.4  # the least share of a question in a passage that is found by its words alone
FLOOR: Final = 0.4
"""The same by its meaning alone, beside entities: a search for passages takes all that resemble its query."""
NAMED_POINTS: Final = 0.5  # the points of a passage that names what a question names, in any of its names
NAMES_LIMIT: Final = 20  # names of entities that are looked for in passages
SOURCES_LIMIT: Final = 1_000  # sources that are found by words of their texts for one list
CANDIDATES: Final = 4
"""Passages that are read for each one that is answered: some may turn out not to have a name as a whole."""
FILE_WORDS: Final = lexicon.words("files")
"""Words by which a question asks for what files say: of these none has to be in a passage."""
FILES: Final = lexicon.words("files_asked")  # those of them that mean files
STILL_READ: Final = "the text of files is still being read into memory: try again in a moment"


class FoundPassage(TypedDict):
    """A passage of a file: ``quote`` is what it says around the words that were searched.

    ``start`` and ``end`` are the place of the passage in the text of the file, in characters. ``page`` and
    ``line`` count from 1. ``score`` is comparable within one answer.
    """

    source_id: str
    original_filename: str | None
    title: NotRequired[str]
    page: NotRequired[int]
    line: int
    start: int
    end: int
    quote: str
    score: float
    created_at: str


class FoundPassages(NamedTuple):
    """The best passages, their whole texts, how many there are at most, and what was left out."""

    passages: Sequence[FoundPassage] = ()
    texts: Sequence[str] = ()
    total: int = 0
    notes: Sequence[str] = ()


NO_PASSAGES: Final = FoundPassages()


class PassageRequest(NamedTuple):
    """Which passages are looked for: at most ``limit``.

    Attributes:
        query: words, a question or an identifier; none if empty.
        identifies: the query is an identifier: only passages that have all of it.
        about: the ids of entities that the query names.
        only_about: only passages that name one of them.
        floor: the least similarity of a passage that is found by its meaning alone.
    """

    query: str
    identifies: bool = False
    about: Sequence[str] = ()
    only_about: bool = False
    floor: float = FLOOR
    limit: int = 5
    clocks: Clocks = NOW


class _Ranked(NamedTuple):
    """A passage: its source, its number there, and its points."""

    source: SourceRow
    number: int
    points: float


class _Name(NamedTuple):
    kind: str
    value: str


class _Text(NamedTuple):
    number: int
    text: str | None
    place: Passage | None


async def find(context: Context, request: PassageRequest, state: OwnerState | None = None) -> FoundPassages:
    """Return the best passages of an owner's sources; ``state`` is read if the caller has not."""
    services = context.services
    if (copy := await _copy(context, state)) is None:
        return NO_PASSAGES
    phrases = await _phrases(context, request.about) if request.about else []
    if request.only_about and not phrases:
        return NO_PASSAGES
    embedder, vector, reason = services.embedder, None, ""
    if not (embedder.at_once or request.identifies):
        vector, reason = await meaning.of_query(embedder, request.query)
    notes = [f"the meaning of files was not searched: {reason}"] if reason else []
    rank = partial(_ranked, copy=copy, request=request, phrases=phrases, vector=vector, embedder=embedder)
    ranked, total, spellings = await copy.compare(rank, services.database.heavy, context.actor.owner)
    notes += [STILL_READ] if copy.is_behind else []
    if copy.left_out:
        notes.append(
            f"the text of {len(copy.left_out)} files is not searched: GRAPHMEM_SEARCH_MEMORY is too small"
        )
    if is_cut := sum(each.is_cut for each in copy.sources.values()):
        notes.append(f"of {is_cut} files only the first {TEXT_CHARACTERS:,} characters are searched")
    if not ranked:
        return FoundPassages(notes=notes)
    numbers: dict[str, list[int]] = {}
    for each in ranked:
        numbers.setdefault(each.source.source_id, []).append(each.number)
    rows = await context.graph.all("passages.texts", tuple[str, list[_Text]], sources=list(numbers.items()))
    texts = {(source_id, each.number): each for source_id, listed in rows for each in listed}
    identifier = [tuple(words.tokens(request.query))] if request.identifies else []
    quoted_words = {*spellings, *(word for phrase in phrases for word in phrase)}
    passages: list[FoundPassage] = []
    whole: list[str] = []
    for each in ranked:
        _, text, place = texts.get((each.source.source_id, each.number), (0, None, None))
        # The words of a name or an identifier need not stand in a row.
        is_named = text is None or not request.only_about or _has_any(text, phrases)
        is_identified = not identifier or _has_any(f"{text} | {each.source.names}", identifier)
        if text is None or place is None or not (is_named and is_identified):
            total -= 1
        elif len(passages) < request.limit:
            passages.append(_answered(each, text, place, quoted_words))
            whole.append(text)
    return FoundPassages(passages, whole, total, notes)


async def _phrases(context: Context, entity_ids: Sequence[str]) -> list[tuple[str, ...]]:
    """Return what a text may call some entities, word by word: phone numbers as people write them."""
    named = await context.graph.only(
        "passages.names_of", list[_Name], entity_ids=list(entity_ids), kinds=list(identifiers.KINDS),
        limit=NAMES_LIMIT,
    )  # fmt: skip
    region = context.services.settings.phone_region
    spelled = [value for _, value in named]
    for kind, value in named:
        spelled += identifiers.written_phones(value, region) if kind == "phone" else []
    return [phrase for phrase in dict.fromkeys(tuple(words.tokens(each)) for each in spelled) if phrase]


async def sources_saying(context: Context, query: str) -> list[str]:
    """Return the sources of which a passage has all words of a query now, at most ``SOURCES_LIMIT``.

    Raises:
        ServiceBusy: the text of files is still being read into memory.
    """
    phrase = words.tokens(query)
    copy = await _copy(context, None) if phrase else None
    if copy is None:
        return []
    if copy.is_behind:
        raise ServiceBusy(STILL_READ)

    def saying(documents: SearchCopy) -> list[str]:
        numbers = np.flatnonzero(_having_all(documents, [phrase]) & documents.alive)
        ids = dict.fromkeys(documents.ids[number].partition(" ")[0] for number in numbers.tolist())
        return [each for each in ids if copy.sources[each].counts(**NOW.bounds)]

    source_ids = await copy.compare(saying, context.services.database.heavy, context.actor.owner)
    return source_ids[:SOURCES_LIMIT]


async def _copy(context: Context, state: OwnerState | None) -> PassageCopy | None:
    """Return the copy of the owner's passages, ``None`` if the owner has none."""
    services = context.services
    if state is None:
        state = await context.graph.one("passages.state", OwnerState)
    if state is None:
        return None
    return await services.of(PassageCopies).follow(
        context.actor.owner, state.node_key, state.passages_changed, services.limits
    )


def _ranked(
    documents: SearchCopy, *, copy: PassageCopy, request: PassageRequest, phrases: Sequence[Sequence[str]],
    vector: Vector | None, embedder: Embedder,
) -> tuple[list[_Ranked], int, frozenset[str]]:  # fmt: skip
    """Return the best passages of a copy, how many there are, and the words that count as words of the query.
    Only the texts tell whether they have a name or an identifier as a whole."""
    question = terms.of_question(request.query, documents.languages)
    if any(concept.terms[0] not in FILE_WORDS for concept in question.concepts):
        concepts = tuple(each for each in question.concepts if each.terms[0] not in FILE_WORDS)
        question = replace(question, concepts=concepts)
    match = search_ranking.match_words(documents, question)
    if embedder.at_once and not request.identifies and words.has_letter(request.query):
        vector = embedder.weighted(
            [Weighted(*each) for each in zip(question.pieces, match.weights, strict=True)]
        )
    bounds = request.clocks.bounds
    counting = {source_id for source_id, each in copy.sources.items() if each.counts(**bounds)}
    among = documents.alive
    if len(counting) < len(copy.sources):
        among = among & np.array([each.partition(" ")[0] in counting for each in documents.ids], np.bool_)
    naming = _having_all(documents, phrases, in_text=request.only_about)
    if request.only_about:
        among = among & naming
    points = NAMED_POINTS if request.query else 1.0
    named = {documents.ids[number]: points for number in np.flatnonzero(naming & among).tolist()}
    ranking = search_ranking.rank(
        documents, match, None if request.identifies else vector,
        floor=max(request.floor, embedder.floor), among=among, named=named, fixed={},
        least_share=1.0 if request.identifies else LEAST_SHARE,
    )  # fmt: skip
    ranked: list[_Ranked] = []
    for number in ranking.first(request.limit * CANDIDATES):
        source_id, _, place = documents.ids[number].partition(" ")
        ranked.append(_Ranked(copy.sources[source_id], int(place), float(ranking.points[number])))
    return ranked, len(ranking.hits), match.spellings


def _having_all(
    documents: SearchCopy, phrases: Sequence[Sequence[str]], *, in_text: bool = False
) -> npt.NDArray[np.bool_]:
    """Return which documents have all words of any phrase; ``in_text``: not in the names of their files."""
    having = np.zeros(len(documents.ids), np.bool_)
    for phrase in phrases:
        whole = np.ones(len(documents.ids), np.bool_)
        for posting in documents.postings([[word] for word in phrase]):
            # A word of the name counts once.
            of_names = (posting.counts & IN_NAME > 0) & in_text
            whole &= documents.of_numbers(posting.documents[posting.counts & COUNTED > of_names])
        having |= whole
    return having


def _has_any(text: str, phrases: Iterable[Sequence[str]]) -> bool:
    plain = f" {' '.join(words.tokens(text))} "
    return any(f" {' '.join(phrase)} " in plain for phrase in phrases)


def _answered(ranked: _Ranked, text: str, place: Passage, quoted_words: Collection[str]) -> FoundPassage:
    source = ranked.source
    passage: FoundPassage = {
        "source_id": source.source_id, "original_filename": source.name, "line": place.line,
        "start": place.start, "end": place.end, "quote": quotation(text, quoted_words),
        "score": ranked.points, "created_at": times.render(source.recorded_at),
    }  # fmt: skip
    if source.title and source.title != source.name:
        passage["title"] = source.title
    if place.page:
        passage["page"] = place.page
    return passage


def quotation(text: str, quoted_words: Collection[str], limit: int = QUOTE_CHARACTERS) -> str:
    """Return the part of a text that has most of some words, and most of them in a row, in one line.

    ``…`` stands where it is cut.
    """
    runs = [(each.start(), each.end(), each[0]) for each in re.finditer(r"\S+", text)]
    if not runs or runs[-1][1] - runs[0][0] <= limit:
        return " ".join(each for _, _, each in runs)
    telling = [frozenset(words.tokens(each)) & frozenset(quoted_words) for _, _, each in runs]
    best, most = 0, 0
    for first in (place for place, run_words in enumerate(telling) if run_words):
        inside, row, longest = set[str](), set[str](), 0
        for (_, end, _), run_words in zip(runs[first:], telling[first:], strict=True):
            if end > runs[first][0] + limit:
                break
            inside |= run_words
            row = row | run_words if run_words else set()
            longest = max(longest, len(row))
        if len(inside) + longest > most:
            best, most = first, len(inside) + longest
    # A little of what stands before the first word is told as well.
    start = best
    while start and runs[best][0] - runs[start - 1][0] <= limit // 4:
        start -= 1
    end = start
    while end < len(runs) and runs[end][1] - runs[start][0] <= limit:
        end += 1
    quoted = " ".join(each for _, _, each in runs[start : max(end, start + 1)])[:limit]
    return ("… " if start else "") + quoted + (" …" if end < len(runs) else "")
