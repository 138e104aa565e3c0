"""The arrays of a copy, and which messages of a thread stand beside each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

DIMENSIONS: Final = 256
"""Components of a vector, one byte each."""
PAUSE: Final = 12 * 3600 * 1_000_000
"""The longest time between two messages of a thread that belong together, in microseconds."""

Numbers = npt.NDArray[np.int32]


class GrowingArray:
    """An array that grows at its end; with a width, its elements are rows. Texts (``S``) widen as well.

    ``mapped`` are the pages of a file with room behind them for what grows. They are private: what is written
    to them costs memory, and never reaches the file.

    Attributes:
        in_file: how many of its elements are those of a file.
    """

    def __init__(self, dtype: npt.DTypeLike, width: int = 0, room: int = 64) -> None:
        self._array: npt.NDArray[Any] = np.empty((room, width) if width else room, dtype)
        self.size = self.in_file = 0

    @classmethod
    def mapped(cls, array: npt.NDArray[Any], size: int) -> GrowingArray:
        made = cls(array.dtype, room=0)
        made._array, made.size, made.in_file = array, size, size
        return made

    def extend(self, values: npt.ArrayLike) -> None:
        added = np.asarray(values)
        if not len(added):
            return
        widened = self._array.dtype
        if widened.kind == "S" and added.itemsize > widened.itemsize:
            widened = added.dtype
        needed = self.size + len(added)
        if needed > len(self._array) or widened != self._array.dtype:
            larger = np.empty((max(needed, len(self._array) * 3 // 2), *self._array.shape[1:]), widened)
            larger[: self.size] = self.values
            self._array, self.in_file = larger, 0
        self._array[self.size : needed] = added
        self.size = needed

    @property
    def values(self) -> npt.NDArray[Any]:
        return self._array[: self.size]

    @property
    def bytes(self) -> int:
        """The memory of its values: the room behind them was never written, so that it takes none."""
        return (self.size - self.in_file) * self._array.strides[0]


OF_DOCUMENTS: Final[Mapping[str, tuple[npt.DTypeLike, int]]] = {
    "ids": ("S32", 0), "types": (np.int32, 0), "times": (np.int64, 0), "versions": (np.int64, 2),
    "lengths": (np.int32, 0), "languages": (np.uint8, 0), "threads": (np.int64, 0), "alive": (np.bool_, 0),
    "pending": (np.bool_, 0),
}  # fmt: skip
"""What a copy holds of each document, by name: the type, and how many of it."""
OF_ROWS: Final[Mapping[str, tuple[npt.DTypeLike, int]]] = {
    "vectors": (np.int8, DIMENSIONS), "lengths_of_vectors": (np.float64, 0)
}  # fmt: skip
"""What it holds of each row of vectors."""
OF_BASE: Final[Mapping[str, npt.DTypeLike]] = {
    "id_order": np.int64, "term_bytes": np.uint8, "term_ends": np.int64, "starts": np.int64,
    "documents": np.int32, "counts": np.uint16,
}  # fmt: skip
"""What it holds of its compacted documents: their numbers in the order of their ids, their terms in order,
and the documents that have each term."""
STEMS: Final = "stems_"
"""Behind it stands the language, in the name of the array of the terms' stems in it."""


class CopyArrays:
    """What a copy holds of each document, of each row of vectors, and of each pair of document and term.

    Args:
        compacted: the arrays that a compaction wrote, by name.

    Attributes:
        stems: the stems of the first terms, by language.
        bytes_in_file: how much of the compacted arrays is in a file.
    """

    ids: GrowingArray
    types: GrowingArray
    times: GrowingArray
    versions: GrowingArray
    lengths: GrowingArray
    languages: GrowingArray
    threads: GrowingArray
    alive: GrowingArray
    pending: GrowingArray
    first_rows: GrowingArray
    vectors: GrowingArray
    lengths_of_vectors: GrowingArray
    id_order: GrowingArray
    term_bytes: GrowingArray
    term_ends: GrowingArray
    starts: GrowingArray
    documents: GrowingArray
    counts: GrowingArray
    new_terms: GrowingArray
    new_documents: GrowingArray
    new_counts: GrowingArray

    def __init__(self, compacted: Mapping[str, GrowingArray] | None = None) -> None:
        empty = {
            **{name: GrowingArray(*shape) for name, shape in {**OF_DOCUMENTS, **OF_ROWS}.items()},
            **{name: GrowingArray(dtype) for name, dtype in OF_BASE.items()},
            "first_rows": GrowingArray(np.int32),
            "new_terms": GrowingArray(np.int32),
            "new_documents": GrowingArray(np.int32),
            "new_counts": GrowingArray(np.uint16),
        }
        if compacted is None:
            empty["starts"].extend([0])
        stored = compacted or {}
        self._all = {name: stored.get(name, array) for name, array in empty.items()}
        vars(self).update(self._all)
        self.bytes_in_file = sum(each.in_file * each.values.strides[0] for each in stored.values())
        self.stems = {name[len(STEMS) :]: each for name, each in stored.items() if name.startswith(STEMS)}
        self._counted = (-1, 0)

    def values(self) -> dict[str, npt.NDArray[Any]]:
        return {name: each.values for name, each in self._all.items()}

    @property
    def bytes(self) -> int:
        """The memory of all but the stems, counted once for each number of documents: ids are added last."""
        if self._counted[0] != self.ids.size:
            self._counted = self.ids.size, sum(each.bytes for each in self._all.values())
        return self._counted[1]


class DocumentIds(Sequence[str]):
    """The ids of documents, by number."""

    def __init__(self, ids: GrowingArray) -> None:
        self._ids = ids

    def __len__(self) -> int:
        return self._ids.size

    def __getitem__(self, number: Any) -> Any:
        return self._ids.values.item(number).decode("utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        return (each.decode("utf-8", "surrogatepass") for each in self._ids.values.tolist())


def messages_beside(
    threads: npt.NDArray[np.int64], times: npt.NDArray[np.int64], alive: npt.NDArray[np.bool_]
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
