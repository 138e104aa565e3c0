"""The arrays of a copy, in memory and in a file, and which messages of a thread stand beside each other.

A file begins with a magic number, and the place, the length and the checksum of its header, which stands at
its end: JSON with what the caller says of the file, and of each array its place, type, size and checksum.
Arrays that grow later have room behind them, which is a hole in the file: it takes no space on the disk.

A file is mapped privately: its pages are the system's to keep or to drop, until they are written. So a copy
goes on in memory behind what the file has, without a seam that each comparison would have to look at.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from graphmem.search import terms
from graphmem.text import languages

DIMENSIONS: Final = 256  # components of a vector, one byte each
PAUSE: Final = 12 * 3600 * 1_000_000
"""The longest time between two messages of a thread that belong together, in microseconds."""

Numbers = npt.NDArray[np.int32]


class GrowingArray:
    """An array that grows at its end; with a width, its elements are rows. Texts (``S``) widen as well.

    ``mapped`` are the private pages of a file: what is written to them costs memory, and never reaches the
    file, which has the first ``in_file`` elements.
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
STEMS: Final = "stems_"  # behind it stands the language, in the name of the array of the terms' stems in it


class CopyArrays:
    """What a copy holds of each document, of each row of vectors, and of each pair of document and term.

    Each array is an attribute. ``compacted`` are the arrays that a compaction wrote, by name; ``stems`` those
    of the first terms, by language; ``bytes_in_file`` of the compacted arrays are in a file.
    """

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> GrowingArray: ...

    def __init__(self, compacted: Mapping[str, GrowingArray] | None = None) -> None:
        empty = {
            **{name: GrowingArray(*shape) for name, shape in {**OF_DOCUMENTS, **OF_ROWS}.items()},
            **{name: GrowingArray(dtype) for name, dtype in OF_BASE.items()},
            **{name: GrowingArray(np.int32) for name in ("first_rows", "new_terms", "new_documents")},
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
    """Return the number of the message before and after each document, -1 where there is none. Messages of
    one time have no known order, and those with a pause between them do not belong together."""
    before, after = np.full((2, len(threads)), -1, np.int32)
    messages = np.flatnonzero((threads > 0) & alive)
    messages = messages[np.lexsort((times[messages], threads[messages]))]
    first, second = messages[:-1], messages[1:]
    apart = times[second] - times[first]
    joined = (threads[first] == threads[second]) & (apart > 0) & (apart <= PAUSE)
    before[second[joined]], after[first[joined]] = first[joined], second[joined]
    return before, after


_PREFIX: Final = struct.Struct("<8sQQI")
_MAGIC: Final = b"graphmem"
ROOM: Final = 262_144
"""Elements for which there is room behind an array that grows; then it is copied into memory."""
KEPT_BYTES: Final = 31_000_000
"""Blocks of up to so many bytes are used again, and not given back to the system."""
CHECKED_AT_ONCE: Final = 16_000_000  # bytes whose checksum is made at once


class FileDamaged(Exception):
    """Why the file is not what its header says."""


class _FileArray:
    """An array that is being written into a file, from a place on."""

    def __init__(self, handle: int, dtype: np.dtype[Any], width: int, offset: int, capacity: int) -> None:
        self._handle, self._dtype, self._width = handle, dtype, width
        self._offset, self._capacity, self._bytes, self._checksum = offset, capacity, 0, 0

    @property
    def described(self) -> dict[str, Any]:
        return {
            "dtype": self._dtype.str, "width": self._width, "offset": self._offset,
            "capacity": self._capacity, "bytes": self._bytes, "checksum": self._checksum,
        }  # fmt: skip

    def extend(self, values: npt.ArrayLike) -> None:
        added = np.ascontiguousarray(values, self._dtype)
        if added.size:
            left = added.view(np.uint8).reshape(-1).data
            self._checksum = zlib.crc32(left, self._checksum)
            while left:
                written = os.pwrite(self._handle, left, self._offset + self._bytes)
                self._bytes += written
                left = left[written:]


class FileOutput:
    """Arrays that are written into an open, empty file, which is damaged until :meth:`complete`."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._arrays: dict[str, _FileArray] = {}
        self._end = mmap.PAGESIZE

    def array(self, name: str, dtype: npt.DTypeLike, width: int = 0, *, most: int, grows: bool) -> _FileArray:
        made = np.dtype(dtype)
        capacity = most + ROOM * grows
        self._arrays[name] = _FileArray(self._handle, made, width, self._end, capacity)
        self._end += -(-capacity * made.itemsize * max(width, 1) // mmap.PAGESIZE) * mmap.PAGESIZE
        return self._arrays[name]

    def complete(self, about: Mapping[str, Any]) -> None:
        """Write the header. The file is not forced onto the disk: its checksums tell what a crash left."""
        arrays = {name: each.described for name, each in self._arrays.items()}
        header = json.dumps({**about, "arrays": arrays}).encode()
        for data, place in (
            (header, self._end),
            (_PREFIX.pack(_MAGIC, self._end, len(header), zlib.crc32(header)), 0),
        ):
            if os.pwrite(self._handle, data, place) != len(data):
                raise OSError("the file was not written whole")


def header_of(handle: int) -> dict[str, Any]:
    """Return what the header of an open file says; one without a header is damaged."""
    prefix, size = os.pread(handle, _PREFIX.size, 0), os.fstat(handle).st_size
    if len(prefix) == _PREFIX.size:
        magic, offset, length, checksum = _PREFIX.unpack(prefix)
        if magic == _MAGIC and offset + length <= size:
            header = os.pread(handle, length, offset)
            if len(header) == length and zlib.crc32(header) == checksum:
                return json.loads(header)
    raise FileDamaged("it has no header")


def mapped(handle: int, header: Mapping[str, Any], *, is_checked: bool) -> dict[str, GrowingArray]:
    """Map the arrays of an open file, by name; ``is_checked`` reads the whole file for its checksums.

    Raises:
        FileDamaged: an array is not what the header says.
    """
    # Without a reservation, as most of it is never written.
    flags = mmap.MAP_PRIVATE | getattr(mmap, "MAP_NORESERVE", 0)
    memory = mmap.mmap(handle, 0, flags=flags, prot=mmap.PROT_READ | mmap.PROT_WRITE)
    # Freed once, it has the allocator keep what each search takes for a moment: else the system clears pages
    # for it every time, which was a third of a search.
    np.empty(KEPT_BYTES, np.uint8)
    arrays = dict[str, GrowingArray]()
    for name, each in header["arrays"].items():
        dtype, width, offset = np.dtype(each["dtype"]), each["width"], each["offset"]
        row = dtype.itemsize * max(width, 1)
        size, rest = divmod(each["bytes"], row)
        if rest or size > each["capacity"] or offset + each["capacity"] * row > len(memory):
            raise FileDamaged(f"the size of {name} is wrong")
        if is_checked and _checksum(memory, offset, each["bytes"]) != each["checksum"]:
            raise FileDamaged(f"the checksum of {name} is wrong")
        array = np.frombuffer(memory, dtype, each["capacity"] * max(width, 1), offset)
        arrays[name] = GrowingArray.mapped(array.reshape(-1, width) if width else array, size)
    return arrays


def _checksum(memory: mmap.mmap, offset: int, length: int) -> int:
    checksum, whole = 0, memoryview(memory)
    for start in range(offset, offset + length, CHECKED_AT_ONCE):
        part = whole[start : min(start + CHECKED_AT_ONCE, offset + length)]
        checksum = zlib.crc32(part, checksum)
    return checksum


IN_NAME: Final = 0x8000  # the bit of a count that says that the term is in the entity's name
IN_ALIAS: Final = 0x4000  # the bit of a count that says that the term is in another name of the entity
IN_LABEL: Final = 0x2000
"""The bit of a count that says that the term is in the entity's type or in the name of one of its fields."""
IN_NAMES: Final = IN_NAME | IN_ALIAS
COUNTED: Final = IN_LABEL - 1  # the bits of a count that say how often the document has the term


class EntityText(NamedTuple):
    """An entity as search compares it: ``at`` is the time of its newest observation, in microseconds.

    ``text`` has its words (:func:`graphmem.text.words.text_of`), ``vectors`` those of its passages,
    ``DIMENSIONS`` signed bytes each, ``fields`` the names of its fields. A newer state has a greater
    ``version``. A message belongs to a ``thread``.
    """

    id: str
    type: str
    at: int
    text: str
    vectors: bytes | None
    is_pending: bool = False
    version: tuple[int, int] = (0, 0)
    fields: Sequence[str] = ()
    thread: str | None = None


class Posting(NamedTuple):
    """Documents that have a term, and how often each has it. ``IN_NAME``, ``IN_ALIAS`` and ``IN_LABEL`` are
    bits of a count; a term that only labels have counts 0."""

    documents: Numbers
    counts: npt.NDArray[np.uint16]

    def having(self, bits: int) -> Numbers:
        """Return the documents whose counts have one of some bits."""
        return self.documents[(self.counts & bits) > 0]


def counted(document: EntityText) -> tuple[dict[str, int], str | None, int]:
    """Return how often a document has each term, with the bits that say where; its language; its length."""
    text = terms.of_text(document.text)
    counts: dict[str, int] = Counter(text.values)
    if len(text.values) > COUNTED:
        counts = {term: min(count, COUNTED // 2) for term, count in counts.items()}
    for term in text.aliases:
        counts[term] = counts.get(term, 0) + 1 | IN_ALIAS
    for term in text.name:
        counts[term] = counts.get(term, 0) + 1 | IN_NAME
    language = languages.language_of(counts)
    for label in (document.type, *document.fields):
        for term in terms.of_label(label):
            counts[term] = counts.get(term, 0) | IN_LABEL
    return counts, language, sum(map(len, text))
