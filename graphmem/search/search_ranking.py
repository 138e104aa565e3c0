"""Ranking by words and meaning: BM25 with an owner's own statistics, and cosine similarity, added up.

Words: a document that has any concept of a question gets ``idf * count * (K1 + 1) / (count + K1 * (1 - B + B
* length / mean length))`` for each concept, where ``idf`` is ``ln(1 + (n - df + 0.5) / (df + 0.5))`` over the
``n`` documents of the owner (Robertson and Zaragoza, 2009). Nobody learns of another owner's texts from it.
A concept that only the type or the name of a field has gives ``LABEL_WEIGHT`` of one such word: "license
plate" finds what has a ``license_plate``. A part of the words of a message counts for those beside it.

Meaning: the vector of the question is the sum of those of its words, weighted by the same statistics: a name
that is in every text says little. Of a document its most similar passage counts.

The points of a document are ``WORDS_WEIGHT * greatest share * words / most words + similarity + NAME_WEIGHT
* share of the question in its name``. The greatest share is that of the question in the document that says
most of it, 1 with ``newest_first``: where the best words say little of the question, meaning decides. Each
part is rounded before they are added up, so that the parts that an explanation shows come to the points.

Newest first: statements about one person resemble each other by the person alone. So the vectors of the best
hits are compared without what is common to all of them, their sum: two of ``n`` hits then have the cosine
``-1 / (n - 1)`` on average. A hit that is nearer to the best one than that is about its matter.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from graphmem.search.copy_arrays import COUNTED, IN_LABEL, IN_NAME
from graphmem.search.entity_copy import Numbers, SearchCopy
from graphmem.search.questions import naming, question_words
from graphmem.search.terms import Question
from graphmem.text import words

K1: Final = 1.2
B: Final = 0.75
WORDS_WEIGHT: Final = 0.5
"""What the document with the best words gets for them, if one says all of the question. More than 0.5 makes
questions in other words than the text's own find less; the sets of ``tests/bench/retrieval`` differ little
from 0.3 to 1."""
NEIGHBOUR_WEIGHT: Final = 0.3
"""The weight of the words of the messages before and after a message. From 0.2 to 0.5 the generated dialogues
differ little; similarities of neighbours help as little as they harm."""
NAME_WEIGHT: Final = 0.2  # what a document gets if its name says all of the question
LABEL_WEIGHT: Final = 0.8
"""What a word weighs that only an entity's type or the name of one of its fields has."""
STOP_WORD_WEIGHT: Final = 0.1
"""The weight of a stop word in the vector of a question, where a word that no document has weighs 1."""
FAINT_SHARE: Final = 0.5
"""Behind other hits follow documents whose similarity is at least this share of the best one, or of the
floor."""
DIGITS: Final = 6  # digits of scores behind the point; equal scores are in the order of ids

NEARLY_SHARE: Final = 0.65  # only hits with this share of the best points may contradict it
MARGIN: Final = 0.02
"""How much less than the average that cosine may be. In the generated sets of changing facts a larger margin
puts another matter first, and a smaller one puts older statements before newer ones."""
ALIKE: Final = 0.7  # the cosine of two whole vectors from which they are about one matter in any case
FEW: Final = 4  # among so few hits all are about one matter: there is no average to compare with
ROWS_AT_ONCE: Final = 2_048
NEWEST_ROOM: Final = 1.0
"""What the newest of the other hits gain at most: named ones are raised by it, so that they stay first."""
Scores = npt.NDArray[np.float64]
Documents = npt.NDArray[np.int64]
Part = Literal["exact", "text", "name", "meaning", "newest_first"]
"""A part of the points of a document: of an identifier, of the words, of the share of the question in its
name, of the similarity, and what ``newest_first`` raised it by."""


@dataclass(frozen=True, slots=True)
class WordMatch:
    """What the words of a question find.

    Attributes:
        scores: BM25 of each document.
        shares: which share of the question each document says, by the weights of its concepts, 0 to 1.
        name_shares: the same of each document's name.
        is_in_name: whether the name of each document has all concepts.
        weights: the weight of each piece of the question in its vector, 0 to 1.
        spellings: the terms that say the concepts.
    """

    scores: Scores
    shares: Scores
    name_shares: Scores
    is_in_name: npt.NDArray[np.bool_]
    weights: list[float]
    spellings: frozenset[str]


def match_words(copy: SearchCopy, question: Question) -> WordMatch:
    """Compare the concepts of a question with all documents of an owner."""
    size, alive = len(copy.ids), copy.alive
    count = len(copy)
    scores, shares, name_shares = np.zeros(size), np.zeros(size), np.zeros(size)
    is_in_name = alive & bool(question.concepts)
    most, total = _idf(count, 0), 0.0
    lengths = copy.lengths
    mean_length = max(float(lengths[alive].mean()) if count else 1.0, 1.0)
    longer = K1 * (1 - B + B * lengths / mean_length)
    of_pieces: list[list[float]] = [[] for _ in question.pieces]
    matched: list[npt.NDArray[np.bool_]] = []
    labelled = np.zeros(size, np.int32)
    groups = _groups(copy, question)
    labels = [sorted(question_words.labels(group)) for group in groups]
    postings = list(copy.postings([*groups, *labels]))
    between = _between_words(question, [len(posting.documents) for posting in postings])
    listed = zip(question.concepts, postings, postings[len(groups) :], strict=False)
    for place, (concept, posting, label) in enumerate(listed):
        if place in between:
            matched.append(np.zeros(0, np.bool_))
            continue
        counts = np.bincount(posting.documents, posting.counts & COUNTED, size) * alive
        says = counts > 0
        having = int(np.count_nonzero(says))
        idf = _idf(count, having)
        of_pieces[concept.piece].append(idf / most)
        scores += idf * counts * (K1 + 1) / (counts + longer)
        shares += idf * says
        # Those whose type or fields alone have the concept.
        in_labels = copy.of_numbers(np.concatenate([posting.having(IN_LABEL), label.having(IN_LABEL)]))
        called = np.flatnonzero(in_labels & alive & ~says)
        rarity = _idf(count, having + len(called))
        if len(called):
            scores[called] += LABEL_WEIGHT * rarity * (K1 + 1) / (1 + longer[called])
            for each in (shares, name_shares):
                each[called] += rarity
            labelled[called] += 1
        # A word that no value has is as rare as it is among the labels.
        total += idf if having or not len(called) else rarity
        is_in_name &= (in_name := copy.of_numbers(posting.having(IN_NAME)))
        name_shares += idf * in_name
        matched.append(says)
    for piece, idfs in enumerate(of_pieces):
        if len(idfs) > 1:
            # A piece such as an address: what has all of it comes before what has its parts.
            of_piece = [
                says
                for place, (concept, says) in enumerate(zip(question.concepts, matched, strict=True))
                if concept.piece == piece and place not in between
            ]
            whole = np.logical_and.reduce(of_piece)
            scores += _idf(count, int(np.count_nonzero(whole))) * whole
    # "License plate" is rather a field of that name than a word of it elsewhere.
    whole_label = labelled > 1
    scores += LABEL_WEIGHT * _idf(count, int(np.count_nonzero(whole_label))) * whole_label
    scores += NEIGHBOUR_WEIGHT * copy.of_neighbours(scores)
    weights = [sum(idfs) / len(idfs) if idfs else STOP_WORD_WEIGHT for idfs in of_pieces]
    share_of = 1 / total if total else 0.0
    return WordMatch(
        scores, np.round(shares * share_of, DIGITS), np.round(name_shares * share_of * alive, DIGITS),
        is_in_name, weights, frozenset(term for group in groups for term in group),
    )  # fmt: skip


def _between_words(question: Question, having: Sequence[int]) -> set[int]:
    """Return the pairs of characters that are the end of one word and the beginning of the next one.

    Few documents have these, and they would weigh most. A pair counts as such if less than half as many
    documents have it as have the rarer one of the pairs on both sides.
    """
    concepts = question.concepts
    is_pair = [len(each.terms[0]) > 1 and words.is_dense(each.terms[0]) for each in concepts]
    return {
        place
        for place in range(1, len(concepts) - 1)
        if all(is_pair[place - 1 : place + 2])
        and concepts[place - 1].piece == concepts[place].piece == concepts[place + 1].piece
        and having[place] * 2 < min(having[place - 1], having[place + 1])
    }


def _idf(count: int, having: int) -> float:
    return float(np.log(1 + (count - having + 0.5) / (having + 0.5)))


def _groups(copy: SearchCopy, question: Question) -> list[list[str]]:
    """Return the terms that say each concept: its spellings and their inflections in the likely languages."""
    likely = sorted({*copy.languages, *filter(None, [question.language])})
    groups: list[list[str]] = []
    for concept in question.concepts:
        group = [*concept.terms]
        for word in concept.terms:
            for language in likely if word.isalpha() else ():
                group += copy.terms.inflections(language, word)
            group += [] if concept.is_whole else copy.terms.beginning_with(word)
        groups.append(list(dict.fromkeys(group)))
    return groups


@dataclass(frozen=True, slots=True)
class Ranking:
    """The hits of a question among the documents of an owner, all scores rounded.

    Attributes:
        ids: of all documents.
        hits: the numbers of the documents that are hits, in no order.
        scores: BM25 and the similarity of each document.
        parts: of the points of each document, by the name of the part.
    """

    ids: Sequence[str]
    hits: npt.NDArray[np.int64]
    points: Scores
    scores: Mapping[Literal["text", "meaning"], Scores]
    parts: Mapping[Part, Scores]

    def parts_of(self, number: int) -> dict[Part, float]:
        """Return the parts of a document's points that are not 0; their sum is its points."""
        parts: dict[Part, float] = {name: float(scores[number]) for name, scores in self.parts.items()}
        parts["newest_first"] = round(float(self.points[number]) - sum(parts.values()), DIGITS)
        return {name: part for name, part in parts.items() if part}

    def first(self, limit: int, after: tuple[float, str] | None = None) -> list[int]:
        """Return the numbers of the best hits, best first; ties by id."""
        if after is None:
            return self.best(self.points, self.hits, limit)
        points, entity_id = after
        of_hits = self.points[self.hits]
        is_after = of_hits < points
        equal = np.flatnonzero(of_hits == points)
        is_after[equal] = [self.ids[int(number)] > entity_id for number in self.hits[equal]]
        return self.best(self.points, self.hits[is_after], limit)

    def best(self, scores: Scores, documents: npt.NDArray[np.int64], limit: int) -> list[int]:
        """Return those of some documents that have the best scores, best first; ties by id."""
        of_documents = scores[documents]
        if limit < len(documents):
            # Of equal scores at the end all take part, so that the ids decide.
            least = np.partition(of_documents, len(documents) - limit)[len(documents) - limit]
            documents = documents[of_documents >= least]
        names = np.array([self.ids[number] for number in documents.tolist()], dtype=np.bytes_)
        if not len(documents):
            return []
        return documents[np.lexsort((names, -scores[documents]))][:limit].tolist()


def rank(
    copy: SearchCopy, match: WordMatch, vector: Sequence[float] | None, *, floor: float,
    among: npt.NDArray[np.bool_], named: Mapping[str, float], fixed: Mapping[str, float],
    least_share: float = 0.0, newest_first: bool = False,
) -> Ranking:  # fmt: skip
    """Return the documents that are named, have words of the question, or mean the same.

    Args:
        floor: the least similarity of a document that has none of the words.
        named: further points of documents that an identifier names, by id.
        fixed: the points of documents that nothing else changes, by id.
        least_share: the least share of the question in a document that is a hit by its words alone. Without
            it, documents that are half as similar as the best one follow where there are hits at all.
    """
    similarities = np.zeros(len(copy.ids)) if vector is None else copy.similarities(vector)
    similarities = np.round(similarities, DIGITS)
    best = float(match.scores.max(initial=0.0))
    # The newest statements of one matter say it in many ways: their words count whole.
    most_said = 1.0 if newest_first else float(match.shares.max(initial=0.0))
    by_words = match.scores / best * most_said if best > 0 else match.scores
    is_hit = (match.scores > 0) & (match.shares >= least_share)
    nearest = float(similarities[among].max(initial=0.0))
    if not least_share and (nearest >= floor or bool((is_hit & among).any())):
        floor = min(floor, max(floor, nearest) * FAINT_SHARE)
    is_hit |= similarities >= floor
    bonuses = np.zeros(len(copy.ids))
    numbers, values = _of_documents(copy, named)
    bonuses[numbers] = np.round(values, DIGITS)
    most = float(bonuses.max(initial=0.0))
    if naming.PART_WEIGHT < most <= naming.EXACT_WEIGHT and not match.is_in_name[numbers].any():
        # "Bruno's vaccination" is rather what has both words in its name than Bruno.
        bonuses[match.is_in_name] = most
    is_hit |= bonuses > 0
    hits = np.flatnonzero(is_hit & among)
    parts: dict[Part, Scores] = {
        "exact": bonuses,
        "text": np.round(WORDS_WEIGHT * by_words, DIGITS),
        "name": np.round(NAME_WEIGHT * match.name_shares, DIGITS),
        "meaning": np.maximum(similarities, 0.0),
    }
    points = np.round(parts["exact"] + parts["text"] + parts["name"] + parts["meaning"], DIGITS)
    if newest_first:
        # The matter is that of the best hit, not of the person whom the question names besides.
        points = raise_newest(copy, points, hits[bonuses[hits] == 0])
        points = raise_newest(copy, points + NEWEST_ROOM * (bonuses > 0), hits[bonuses[hits] > 0])
    numbers, values = _of_documents(copy, fixed)
    for name, each in parts.items():
        each[numbers] = values if name == "exact" else 0.0
    points[numbers] = values
    text = np.round(match.scores, DIGITS)
    return Ranking(copy.ids, hits, points, {"text": text, "meaning": similarities}, parts)


def _of_documents(copy: SearchCopy, values: Mapping[str, float]) -> tuple[Numbers, Scores]:
    """Return the numbers of the documents that have a value by their id, and these values."""
    numbers = copy.numbers_of(values)
    are_known = numbers >= 0
    return numbers[are_known], np.array(list(values.values()), np.float64)[are_known]


def raise_newest(copy: SearchCopy, points: Scores, hits: Documents) -> Scores:
    """Return points by which the newest of the hits about the matter of the best one come first.

    The points of these hits are between those of the best one and one more, in the order of their times, and
    at equal times in that of points, then of ids.
    """
    if not len(hits):
        return points
    best = points[hits].max()
    near = hits[points[hits] >= NEARLY_SHARE * best]
    first = min(near[points[near] == best].tolist(), key=lambda number: copy.ids[number])
    near = near[_of_matter(copy, near, first)]
    near = np.array(sorted(near.tolist(), key=lambda number: copy.ids[number], reverse=True), np.int64)
    order = near[np.lexsort((points[near], copy.times[near]))]
    raised = points.copy()
    raised[order] = best + np.arange(1, len(order) + 1) / (len(order) + 1)
    return np.round(raised, DIGITS)


def _of_matter(copy: SearchCopy, near: Documents, first: int) -> npt.NDArray[np.bool_]:
    """Return which of some documents are about the matter of one of them."""
    if len(near) <= FEW:
        return np.ones(len(near), np.bool_)
    blocks = [near[start : start + ROWS_AT_ONCE] for start in range(0, len(near), ROWS_AT_ONCE)]
    # Whole numbers: every sum and product is exact, in any order.
    common = np.sum([copy.beginnings(block).sum(axis=0) for block in blocks], axis=0)
    of_first = copy.beginnings(np.array([first]))[0]
    products = [_products(copy.beginnings(block), common, of_first) for block in blocks]
    lengths, with_common, with_first = (np.concatenate(part) for part in zip(*products, strict=True))
    (length,), (length_in_common,), _ = _products(of_first[np.newaxis], common, of_first)
    whole = _cosines(with_first, lengths, length)
    share = np.divide(with_common, common @ common, out=np.zeros(len(near)), where=bool(common.any()))
    apart = _cosines(
        with_first - share * length_in_common,
        lengths - share * with_common,
        length - length_in_common * length_in_common / max(float(common @ common), 1.0),
    )
    average = -1 / (len(near) - 1)
    return (near == first) | (apart >= average - MARGIN) | (whole >= ALIKE)


def _products(rows: Scores, common: Scores, of_first: Scores) -> tuple[Scores, Scores, Scores]:
    """Return the products of each row with itself and with two vectors."""
    return np.vecdot(rows, rows), np.vecdot(rows, common), np.vecdot(rows, of_first)


def _cosines(products: Scores, squares: Scores, square: float) -> Scores:
    """Return the cosines of vectors and one vector, 0 where one of them is nothing."""
    lengths = np.sqrt(np.maximum(squares, 0.0) * max(square, 0.0))
    cosines = np.zeros(len(products), np.float64)
    np.divide(products, lengths, out=cosines, where=lengths > 1e-6)
    return cosines.round(DIGITS)
