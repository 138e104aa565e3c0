"""The arrays of a copy in memory, and which messages of a thread stand beside each other."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from graphmem.search.terms import GrowingArray

DIMENSIONS: Final = 256
"""Components of a vector, one byte each."""
PAUSE: Final = 12 * 3600 * 1_000_000
"""The longest time between two messages of a thread that belong together, in microseconds."""

Numbers = npt.NDArray[np.int32]


class CopyArrays:
    """What a copy holds of each document, of each row of vectors, and of each pair of document and term."""

    def __init__(self) -> None:
        self.types = GrowingArray(np.int32)
        self.times = GrowingArray(np.int64)
        self.versions = GrowingArray(np.int64, 2)
        self.lengths = GrowingArray(np.int32)
        self.languages = GrowingArray(np.uint8)
        self.threads = GrowingArray(np.int32)
        self.alive = GrowingArray(np.bool_)
        self.pending = GrowingArray(np.bool_)
        self.first_rows = GrowingArray(np.int32)
        self.vectors = GrowingArray(np.int8, DIMENSIONS)
        self.lengths_of_vectors = GrowingArray(np.float64)
        self.new_terms = GrowingArray(np.int32)
        self.new_documents = GrowingArray(np.int32)
        self.new_counts = GrowingArray(np.uint16)


def messages_beside(
    threads: Numbers, times: npt.NDArray[np.int64], alive: npt.NDArray[np.bool_]
) -> tuple[Numbers, Numbers]:
    """Return the number of the message before and after each document, -1 where there is none.

    Messages of one time have no known order, and those with a pause between them do not belong together.

    Args:
        threads: the number of the thread of each document, 0 without one.
    """
    before, after = np.full((2, len(threads)), -1, np.int32)
    messages = np.flatnonzero((threads > 0) & alive)
    messages = messages[np.lexsort((times[messages], threads[messages]))]
    first, second = messages[:-1], messages[1:]
    apart = times[second] - times[first]
    joined = (threads[first] == threads[second]) & (apart > 0) & (apart <= PAUSE)
    before[second[joined]], after[first[joined]] = first[joined], second[joined]
    return before, after
