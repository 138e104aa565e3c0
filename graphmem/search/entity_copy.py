"""A copy of what an owner's entities say, in memory, compact enough to compare every entity with a question.

An entity is a *document*: its terms (:mod:`graphmem.search.terms`) and its vectors. Documents are numbered; a
document that changes becomes a new one, and the old number is dead until the next compaction. Terms are
numbered as well. Of compacted documents, sorted arrays hold the ids, the terms and the documents that have
each term; what is new stands in dictionaries, and unsorted, behind them. The arrays may be the pages of a
file (:mod:`graphmem.search.copy_files`).

A copy takes some 0.5 KB per entity with 25 words, and 20 KB per entity with 2,500 (:attr:`SearchCopy.bytes`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import Final

import numpy as np
import numpy.typing as npt

from graphmem.search.compaction import Before, MemoryOutput, SortedTerms, TermVocabulary, encoded
from graphmem.search.copy_arrays import (
    DIMENSIONS,
    CopyArrays,
    DocumentIds,
    EntityText,
    Numbers,
    Posting,
    counted,
    messages_beside,
)
from graphmem.text import languages

UNSORTED_LIMIT: Final = 200_000
"""Terms of new documents that stand unsorted at least before they are sorted in."""
DEAD_SHARE: Final = 4  # a copy is compacted once one of so many documents is dead
BYTES_PER_ID: Final = 180  # bytes of an id in a list and in a dictionary, about
CHARACTERS_AT_ONCE: Final = 200_000
"""Characters of the documents that are added at once. No other thread runs while numpy takes over a list."""


class SearchCopy:
    """The documents of one owner. Nothing in it waits: the caller sees to it that one thread changes it."""

    def __init__(self, arrays: CopyArrays | None = None, types: Iterable[str] = ()) -> None:
        self._arrays = arrays = arrays or CopyArrays()
        self.ids = DocumentIds(arrays.ids)
        compacted = SortedTerms(arrays.term_bytes.values, arrays.term_ends.values)
        self.terms = TermVocabulary(compacted, arrays.stems)
        self._numbers: dict[str, int] = {}
        self._type_numbers = {name: number for number, name in enumerate(types)}
        self._dead = 0
        self.bytes_in_file = arrays.bytes_in_file
        counts = np.bincount(arrays.types.values, minlength=len(self._type_numbers))
        self._type_counts: list[int] = counts.tolist()
        self.pending_count = int(np.count_nonzero(arrays.pending.values))
        """How many documents wait for a vector. It is counted, so that it may be read at any time."""
        self._languages: list[str] | None = None
        self._beside: tuple[Numbers, Numbers] | None = None
        self._changes: list[list[EntityText] | str] | None = None

    def __len__(self) -> int:
        return self._arrays.alive.size - self._dead

    def number_of(self, entity_id: str) -> int | None:
        """Return the number of an entity's document, if there is one."""
        number = int(self.numbers_of([entity_id])[0])
        return None if number < 0 else number

    def numbers_of(self, entity_ids: Iterable[str]) -> Numbers:
        """Return the numbers of the documents of some entities, -1 for those that have none."""
        listed = list(entity_ids)
        numbers = np.array([self._numbers.get(entity_id, -1) for entity_id in listed], np.int32)
        others = np.flatnonzero(numbers < 0)
        if len(others) and self._arrays.id_order.size:
            numbers[others] = self._compacted([listed[place] for place in others.tolist()])
        return numbers

    def _compacted(self, entity_ids: Sequence[str]) -> Numbers:
        """Return the same of the documents that were compacted and are alive."""
        arrays = self._arrays
        order = arrays.id_order.values
        ids = arrays.ids.values[: len(order)]
        listed = [encoded(entity_id) for entity_id in entity_ids]
        sought = np.array([each if len(each) <= ids.itemsize else b"" for each in listed], ids.dtype)
        places = np.searchsorted(ids, sought, sorter=order)
        numbers = order[np.minimum(places, len(order) - 1)]
        return np.where((ids[numbers] == sought) & arrays.alive.values[numbers], numbers, -1)

    def times_of(self, entity_ids: Sequence[str]) -> dict[str, int]:
        """Return the time of the newest observation of those of some entities that have a document, by id."""
        numbers = self.numbers_of(entity_ids)
        known = numbers[numbers >= 0]
        return dict(zip((self.ids[each] for each in known.tolist()), self.times[known].tolist(), strict=True))

    def has_any(self, entity_id: str, words: Collection[str], bits: int) -> bool:
        """Return whether an entity has a form of any of some words; ``bits``: of a count that tells where."""
        number = self.number_of(entity_id)
        forms = [
            form for each in self.languages for word in words for form in self.terms.inflections(each, word)
        ]
        return any(number in posting.having(bits) for posting in self.postings([[*words, *forms]]))

    def version_of(self, entity_id: str) -> tuple[int, int] | None:
        """Return the version of an entity's document, if there is one."""
        number = self.number_of(entity_id)
        return None if number is None else tuple(self._arrays.versions.values[number].tolist())

    def put(self, documents: Iterable[EntityText]) -> None:
        """Add documents, each in place of the one that had its id."""
        listed = {document.id: document for document in documents}
        if self._changes is not None:
            self._changes.append(list(listed.values()))
        for entity_id, number in zip(listed, self.numbers_of(listed).tolist(), strict=True):
            self._remove(entity_id, number)
        batch: list[EntityText] = []
        characters = 0
        for document in listed.values():
            batch.append(document)
            characters += len(document.text)
            if characters >= CHARACTERS_AT_ONCE:
                self._add(batch)
                batch, characters = [], 0
        if batch:
            self._add(batch)

    def remove(self, entity_id: str) -> None:
        """Remove the document of an entity, if there is one."""
        if self._changes is not None:
            self._changes.append(entity_id)
        self._remove(entity_id, int(self.numbers_of([entity_id])[0]))

    def _remove(self, entity_id: str, number: int) -> None:
        if number < 0:
            return
        arrays = self._arrays
        self._numbers.pop(entity_id, None)
        arrays.alive.values[number] = False
        self._type_counts[arrays.types.values[number]] -= 1
        self.pending_count -= int(arrays.pending.values[number])
        self._dead += 1
        self._languages = self._beside = None

    def _add(self, documents: Collection[EntityText]) -> None:
        """Add documents whose ids are new."""
        arrays = self._arrays
        new_terms, new_counts, sizes, lengths, spoken = [], [], [], [], []
        for document in documents:
            counts, language, length = counted(document)
            spoken.append(_LANGUAGE_NUMBERS[language])
            new_terms += self.terms.add(counts)
            new_counts += counts.values()
            sizes.append(len(counts))
            lengths.append(length)
        numbers = range(len(self.ids), len(self.ids) + len(documents))
        arrays.new_terms.extend(new_terms)
        arrays.new_counts.extend(new_counts)
        arrays.new_documents.extend(np.repeat(np.arange(numbers.start, numbers.stop), sizes))
        arrays.lengths.extend(lengths)
        arrays.languages.extend(spoken)
        self._add_vectors([document.vectors or bytes(DIMENSIONS) for document in documents])
        types = self._type_numbers
        arrays.types.extend([types.setdefault(document.type, len(types)) for document in documents])
        self._type_counts += [0] * (len(types) - len(self._type_counts))
        for document in documents:
            self._type_counts[types[document.type]] += 1
        arrays.times.extend([document.at for document in documents])
        arrays.threads.extend([_thread_number(document.thread) for document in documents])
        arrays.versions.extend(
            np.array([document.version for document in documents], np.int64).reshape(-1, 2)
        )
        arrays.alive.extend(np.ones(len(documents), np.bool_))
        arrays.pending.extend([document.is_pending for document in documents])
        self.pending_count += sum(document.is_pending for document in documents)
        arrays.ids.extend([encoded(document.id) for document in documents])
        self._numbers.update(zip((document.id for document in documents), numbers, strict=True))
        self._languages = self._beside = None

    def _add_vectors(self, packed: Sequence[bytes]) -> None:
        arrays = self._arrays
        rows = np.frombuffer(b"".join(packed), np.int8).reshape(-1, DIMENSIONS)
        row_counts = np.array([len(each) // DIMENSIONS for each in packed], np.int32)
        if row_counts.sum() != len(rows):
            raise ValueError("a vector of another length")
        arrays.first_rows.extend(arrays.vectors.size + np.cumsum(row_counts) - row_counts)
        arrays.vectors.extend(rows)
        floats = rows.astype(np.float64)
        arrays.lengths_of_vectors.extend(np.sqrt(np.vecdot(floats, floats)))

    @property
    def types(self) -> list[str]:
        """The types of its documents, in the order in which they came."""
        return [name for name, number in self._type_numbers.items() if self._type_counts[number]]

    @property
    def is_loose(self) -> bool:
        """Whether a compaction would make questions faster, or give memory back."""
        unsorted = self._arrays.new_terms.size
        return (
            unsorted > max(UNSORTED_LIMIT, self._arrays.documents.size // 2)
            or self._dead * DEAD_SHARE > len(self.ids) + 1_000
        )

    def compact(self) -> None:
        """Sort the terms of new documents in, and drop dead ones: 0.1 s for a million terms."""
        changes, self._changes = self._changes, None
        output = MemoryOutput()
        before = self.moment()
        before.compact_into(output)
        self.become(SearchCopy(CopyArrays(output), before.types))
        self._changes = changes

    def begin_compaction(self) -> Before:
        """Return what the copy is now; what changes from now on is kept until :meth:`become`."""
        self._changes = []
        return self.moment({*self.languages, *self.terms.stems})

    def moment(self, stemmed: Collection[str] | None = None) -> Before:
        """Return what the copy is now; ``stemmed`` are the languages whose stems a compaction makes."""
        arrays, terms = self._arrays, self.terms
        return Before(
            arrays.values(), self.alive.copy(), terms.compacted, terms.new[:],
            {language: each.values for language, each in terms.stems.items()},
            terms.stems.keys() if stemmed is None else stemmed, list(self._type_numbers),
        )  # fmt: skip

    def become(self, compacted: SearchCopy | None) -> None:
        """Go on as what a compaction made of the copy, if it did, with what changed since it began."""
        changes, self._changes = self._changes or [], None
        if compacted is None:
            return
        for change in changes:
            if isinstance(change, str):
                compacted.remove(change)
            else:
                compacted.put(change)
        vars(self).update(vars(compacted))

    @property
    def bytes(self) -> int:
        """The memory of the copy, about; without what is in a file."""
        return self._arrays.bytes + BYTES_PER_ID * len(self._numbers) + self.terms.bytes

    @property
    def changed(self) -> int:
        """How many documents came or went since the last compaction."""
        return len(self.ids) - self._arrays.id_order.size + self._dead

    @property
    def alive(self) -> npt.NDArray[np.bool_]:
        return self._arrays.alive.values.astype(np.bool_, copy=False)

    @property
    def times(self) -> npt.NDArray[np.int64]:
        """The time of each document's newest observation, in microseconds."""
        return self._arrays.times.values.astype(np.int64, copy=False)

    @property
    def lengths(self) -> Numbers:
        return self._arrays.lengths.values.astype(np.int32, copy=False)

    def of_neighbours(self, scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return for each document the scores of the messages just before and after it in its thread."""
        if not self._arrays.threads.values.any():
            return np.zeros_like(scores)
        if self._beside is None:
            arrays = self._arrays
            self._beside = messages_beside(arrays.threads.values, self.times, self.alive)
        padded = np.append(scores, 0.0)
        return padded[self._beside[0]] + padded[self._beside[1]]

    @property
    def languages(self) -> list[str]:
        """The languages of at least a tenth of the documents whose language can be told."""
        if self._languages is None:
            numbers = self._arrays.languages.values[self.alive]
            counts = np.bincount(numbers, minlength=len(_LANGUAGE_NUMBERS))[1:]
            total = counts.sum()
            self._languages = [
                name for name, count in zip(languages.LANGUAGES, counts, strict=True) if count * 10 > total
            ]
        return self._languages

    def of_types(self, types: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Return for each document whether it counts and has one of some types; all types if empty."""
        if not types:
            return self.alive
        numbers = [self._type_numbers[name] for name in types if name in self._type_numbers]
        return self.alive & np.isin(self._arrays.types.values, numbers)

    def of_ids(self, entity_ids: Iterable[str]) -> npt.NDArray[np.bool_]:
        """Return which documents are those of some entities."""
        numbers = self.numbers_of(entity_ids)
        return self.of_numbers(numbers[numbers >= 0])

    def of_numbers(self, numbers: Numbers) -> npt.NDArray[np.bool_]:
        """Return which documents have some numbers."""
        chosen = np.zeros(len(self.ids), dtype=np.bool_)
        chosen[numbers] = True
        return chosen

    def revisions_of_types(self, types: Sequence[str]) -> dict[str, int]:
        """Return the revision that wrote each document of some types last, by id, the newest one first."""
        numbers = np.flatnonzero(self.of_types(types))
        numbers = numbers[np.argsort(-self.times[numbers], kind="stable")]
        revisions = self._arrays.versions.values[numbers, 0].tolist()
        return dict(zip((self.ids[number] for number in numbers.tolist()), revisions, strict=True))

    def having_types(self, entity_ids: Sequence[str], types: Sequence[str]) -> set[str]:
        """Return those of some entities that have one of some types; all types if empty."""
        among = self.of_types(types)
        numbers = self.numbers_of(entity_ids).tolist()
        known = zip(entity_ids, numbers, strict=True)
        return {entity_id for entity_id, number in known if number >= 0 and among[number]}

    def postings(self, groups: Sequence[Sequence[str]]) -> Iterator[Posting]:
        """Yield the documents that have any term of each group; dead documents are among them."""
        arrays = self._arrays
        numbers = [[n for term in group if (n := self.terms.number_of(term)) is not None] for group in groups]
        new_terms = arrays.new_terms.values
        is_asked = np.zeros(len(self.terms), np.bool_)
        is_asked[[number for group in numbers for number in group]] = True
        positions = np.flatnonzero(is_asked[new_terms])
        asked_terms = new_terms[positions]
        starts = arrays.starts.values
        for group in numbers:
            parts = [slice(starts[n], starts[n + 1]) for n in group if n + 1 < len(starts)]
            # A term may say several concepts: "bake" and "baked" of one question.
            of_group = positions[np.isin(asked_terms, group)]
            documents = [
                *(arrays.documents.values[part] for part in parts),
                arrays.new_documents.values[of_group],
            ]
            counts = [*(arrays.counts.values[part] for part in parts), arrays.new_counts.values[of_group]]
            yield Posting(
                np.concatenate(documents).astype(np.int32, copy=False),
                np.concatenate(counts).astype(np.uint16, copy=False),
            )

    def beginnings(self, documents: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Return the vector of the beginning of each of some documents: whole numbers, 0 without a vector."""
        return self._arrays.vectors.values[self._arrays.first_rows.values[documents]].astype(np.float64)

    def similarities(self, vector: Sequence[float]) -> npt.NDArray[np.float64]:
        """Return the cosine of a vector and each document's most similar passage; 0 without a vector.

        Args:
            vector: integers of at most 127, so that every sum is exact and the same on every machine.
        """
        rows, query = self._arrays.vectors.values, np.asarray(vector, np.float32)
        products = np.empty(len(rows), np.float32)
        for start in range(0, len(rows), ROWS_AT_ONCE):
            block = rows[start : start + ROWS_AT_ONCE].astype(np.float32)
            # Not `block @ query`: the threads of the library for it wait for each other on a busy machine.
            np.vecdot(block, query, out=products[start : start + ROWS_AT_ONCE])
        lengths = self._arrays.lengths_of_vectors.values * np.sqrt(float(query.astype(np.float64) @ query))
        cosines = np.divide(products, lengths, out=np.zeros(len(rows)), where=lengths > 0)
        if len(rows) == len(self.ids):
            return cosines
        return np.maximum.reduceat(cosines, self._arrays.first_rows.values.astype(np.int64))


def _thread_number(thread: str | None) -> int:
    """Return a number that no other thread has, 0 for none."""
    if thread is None:
        return 0
    return int.from_bytes(blake2b(encoded(thread), digest_size=8).digest()) // 4 + 1


ROWS_AT_ONCE: Final = 2_048  # vectors that are made floats at once: a block fits into the processor's cache
_LANGUAGE_NUMBERS: Final[dict[str | None, int]] = {
    None: 0, **{language: number for number, language in enumerate(languages.LANGUAGES, 1)}
}  # fmt: skip
