"""Newest first: which hits are about the matter of the best one, and their order by time.

Statements about one person resemble each other by the person alone. So the vectors of the best hits are
compared without what is common to all of them, their sum: two of ``n`` hits then have the cosine
``-1 / (n - 1)`` on average. A hit that is nearer to the best one than that is about its matter.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from graphmem.search.entity_copy import SearchCopy

NEARLY_SHARE: Final = 0.65
"""Only hits with this share of the best points may contradict it."""
MARGIN: Final = 0.02
"""How much less than the average that cosine may be. In the generated sets of changing facts a larger margin
puts another matter first, and a smaller one puts older statements before newer ones."""
ALIKE: Final = 0.7
"""The cosine of two whole vectors from which they are about one matter in any case."""
FEW: Final = 4
"""Among so few hits all are about one matter: there is no average to compare with."""
ROWS_AT_ONCE: Final = 2_048
DIGITS: Final = 6

Numbers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def newest_first(copy: SearchCopy, points: Floats, hits: Numbers) -> Floats:
    """Return points by which the newest of the hits about the matter of the best one come first.

    The points of these hits are between those of the best one and one more, in the order of their times, and
    at equal times in that of points, then of ids.

    Args:
        points: of each document, rounded.
        hits: the numbers of the documents that are hits.
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


def _of_matter(copy: SearchCopy, near: Numbers, first: int) -> npt.NDArray[np.bool_]:
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


def _products(rows: Floats, common: Floats, of_first: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the products of each row with itself and with two vectors."""
    return np.vecdot(rows, rows), np.vecdot(rows, common), np.vecdot(rows, of_first)


def _cosines(products: Floats, squares: Floats, square: float) -> Floats:
    """Return the cosines of vectors and one vector, 0 where one of them is nothing."""
    lengths = np.sqrt(np.maximum(squares, 0.0) * max(square, 0.0))
    cosines = np.zeros(len(products), np.float64)
    np.divide(products, lengths, out=cosines, where=lengths > 1e-6)
    return cosines.round(DIGITS)
