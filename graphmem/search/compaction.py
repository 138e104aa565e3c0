"""Compacting a copy: new terms are sorted in, and dead documents go, with the terms that they alone have.

What a copy was at a moment (:class:`Before`) is written into new arrays, of memory or of a file, block by
block, so that a compaction never takes the bytes of all vectors or postings besides. The copy may be searched
and changed meanwhile: what a moment has is never changed.
"""

import sys
import zlib
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from graphmem.search.copy_arrays import OF_BASE, OF_DOCUMENTS, OF_ROWS, STEMS, FileOutput, GrowingArray
from graphmem.text import languages

BYTES_PER_TERM: Final = 110
"""Bytes of a new term beside its characters: its places in a dictionary and two lists, and its number."""
STEMMED_AT_ONCE: Final = 2_000
"""Terms that are stemmed at once. No other thread runs meanwhile."""
SORTED_AT_ONCE: Final = 4_096
"""Terms that are sorted at once. No other thread runs meanwhile."""
REMEMBERED_TERMS: Final = 100_000
"""Compacted terms whose numbers are remembered, as questions and new documents have them again."""
_END: Final = b"\n"
"""Behind each term. No term has it, as terms are words."""


class SortedTerms(Sequence[bytes]):
    """Terms in the order of their UTF-8: ``text`` has all of them, ``ends`` the place behind each one."""

    def __init__(self, text: npt.NDArray[np.uint8], ends: npt.NDArray[np.int64]) -> None:
        self._text, self._ends = text.data, ends.data

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, number: int) -> bytes:  # type: ignore[override]
        if not 0 <= number < len(self._ends):
            raise IndexError(number)
        return bytes(self._text[self._start(number) : self._ends[number] - 1])

    def _start(self, number: int) -> int:
        return self._ends[number - 1] if number else 0

    def part(self, start: int, end: int) -> list[bytes]:
        """Return the terms from one number to another."""
        return bytes(self._text[self._start(start) : self._start(end)]).split(_END)[:-1]

    @property
    def bytes(self) -> int:
        return len(self._text)

    def find(self, term: str) -> int | None:
        sought = encoded(term)
        number = bisect_left(self, sought)
        return number if number < len(self) and self[number] == sought else None

    def beginning_with(self, text: str) -> list[str]:
        sought = encoded(text)
        # No byte of UTF-8 is 255, so that this is behind all that begin with the text.
        start, end = bisect_left(self, sought), bisect_left(self, sought + b"\xff")
        return [decoded(each) for each in self.part(start, end)]


def encoded(term: str) -> bytes:
    return term.encode("utf-8", "surrogatepass")


def decoded(term: bytes) -> str:
    return term.decode("utf-8", "surrogatepass")


def part_of(compacted: SortedTerms, new: Sequence[str], part: slice) -> list[str]:
    """Return some of the terms that were compacted, and of those behind them."""
    start, end, count = part.start, part.stop, len(compacted)
    old = [decoded(each) for each in compacted.part(min(start, count), min(end, count))]
    return [*old, *new[max(start - count, 0) : max(end - count, 0)]]


def joined(terms: Sequence[bytes]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Return the text of some terms and the length of each, as :class:`SortedTerms` takes them."""
    text = np.frombuffer(_END.join([*terms, b""]), np.uint8)
    return text, np.fromiter(map(len, terms), np.int64, len(terms)) + 1


def stems_of(language: str, terms: Sequence[str]) -> list[int]:
    """Return a number for the stem of each term, 0 for what is no word; few stems share one."""
    stems = languages.stems(language, [term if term.isalpha() else "" for term in terms])
    return [(zlib.crc32(encoded(stem)) or 1) if stem else 0 for stem in stems]


class TermVocabulary:
    """The terms of a copy of documents, numbered from 0: those that were compacted first, in their order.
    ``stems`` has numbers of the stems of the first terms, by language."""

    def __init__(
        self, compacted: SortedTerms | None = None, stems: Mapping[str, GrowingArray] | None = None
    ) -> None:
        self.compacted = compacted or SortedTerms(np.empty(0, np.uint8), np.empty(0, np.int64))
        self.new: list[str] = []
        self.stems: dict[str, GrowingArray] = dict(stems or {})
        self._numbers: dict[str, int] = {}
        self._remembered: dict[str, int] = {}
        self._sorted: list[list[str]] = []
        self._sorted_count = self._characters = 0

    def __len__(self) -> int:
        return len(self.compacted) + len(self.new)

    def __contains__(self, term: object) -> bool:
        return isinstance(term, str) and self.number_of(term) is not None

    def number_of(self, term: str) -> int | None:
        number = self._numbers.get(term)
        if number is not None or not self.compacted:
            return number
        return self._known([term]).get(term)

    def part(self, start: int, end: int) -> list[str]:
        """Return the terms from one number to another."""
        return part_of(self.compacted, self.new, slice(start, end))

    def add(self, terms: Iterable[str]) -> list[int]:
        """Return the numbers of some terms; those that are new are added."""
        numbers, first = self._numbers, len(self.compacted)
        if first:
            terms = list(terms)
            known = self._known(terms)
            term_numbers = [
                known[term] if term in known else numbers.setdefault(term, first + len(numbers))
                for term in terms
            ]
        else:
            term_numbers = [numbers.setdefault(term, len(numbers)) for term in terms]
        added = list(islice(reversed(numbers), len(numbers) - len(self.new)))
        self.new += reversed(added)
        self._characters += sum(map(sys.getsizeof, added))
        return term_numbers

    def _known(self, terms: Iterable[str]) -> Mapping[str, int]:
        """Return the numbers of terms that were compacted, those of some terms among them."""
        if len(self._remembered) > REMEMBERED_TERMS:
            self._remembered = {}
        for term in terms:
            if term not in self._remembered and term not in self._numbers:
                number = self.compacted.find(term)
                if number is not None:
                    self._remembered[term] = number
        return self._remembered

    def inflections(self, language: str, word: str) -> list[str]:
        numbers = self.stems.setdefault(language, GrowingArray(np.uint32))
        while numbers.size < len(self):
            numbers.extend(stems_of(language, self.part(numbers.size, numbers.size + STEMMED_AT_ONCE)))
        (number,) = stems_of(language, [word])
        if not number:
            return []
        places = np.flatnonzero(numbers.values == np.uint32(number))
        terms = [self.part(place, place + 1)[0] for place in places.tolist()]
        stem, *stems = languages.stems(language, [word, *terms])
        return [term for term, other in zip(terms, stems, strict=True) if other == stem]

    def beginning_with(self, text: str) -> list[str]:
        """Return the terms that begin with a text, in no order. New terms are sorted in parts, each once; the
        last ones, which no part has yet, are compared singly."""
        while self._sorted_count + SORTED_AT_ONCE <= len(self.new):
            end = self._sorted_count + SORTED_AT_ONCE
            self._sorted.append(sorted(self.new[self._sorted_count : end]))
            self._sorted_count = end
        unsorted = self.new[self._sorted_count :]
        matches = self.compacted.beginning_with(text)
        matches += [term for term in unsorted if term.startswith(text)]
        for part in self._sorted:
            start = end = bisect_left(part, text)
            while end < len(part) and part[end].startswith(text):
                end += 1
            matches += part[start:end]
        return matches

    def forget_stems(self) -> None:
        """Give the memory of stems back; the next question that needs them makes them again."""
        self.stems = {language: each for language, each in self.stems.items() if each.in_file}

    @property
    def bytes(self) -> int:
        """The memory of the terms, about."""
        stems = sum(each.bytes for each in list(self.stems.values()))
        return self._characters + BYTES_PER_TERM * (len(self.new) + len(self._remembered)) + stems


DOCUMENTS_AT_ONCE: Final = 16_384  # documents whose arrays are copied at once
POSTINGS_AT_ONCE: Final = 500_000
"""Pairs of documents and terms that are sorted at once, unless one term has more."""
TERMS_AT_ONCE: Final = 16_384  # terms whose texts are copied at once: no other thread runs meanwhile

Array = npt.NDArray[Any]


class MemoryOutput(dict[str, GrowingArray]):
    """New arrays in memory, by name."""

    def array(
        self, name: str, dtype: npt.DTypeLike, width: int = 0, *, most: int, grows: bool
    ) -> GrowingArray:
        return self.setdefault(name, GrowingArray(dtype, width, most + most // 4 * grows))


Output = MemoryOutput | FileOutput


@dataclass(frozen=True, slots=True)
class Before:
    """What a copy was at a moment: the values of its arrays by name, and which documents are alive.

    ``new_terms`` came after the compacted ``terms``, and are numbered behind them. ``stems`` has numbers of
    the stems of the first terms, by language; a compaction makes those of all ``languages``.
    """

    arrays: Mapping[str, Array]
    alive: npt.NDArray[np.bool_]
    terms: SortedTerms
    new_terms: list[str]
    stems: Mapping[str, Array]
    languages: Collection[str]
    types: list[str]

    def compact_into(self, output: Output) -> None:
        _copy_documents(self, output)
        _Postings(self).write(output)


def _blocks(end: int, size: int) -> Iterator[slice]:
    return (slice(start, min(start + size, end)) for start in range(0, end, size))


def _copy_documents(before: Before, output: Output) -> None:
    arrays, alive = before.arrays, before.alive
    count = int(np.count_nonzero(alive))
    for name, (_, width) in OF_DOCUMENTS.items():
        values = arrays[name]
        copied = output.array(name, values.dtype, width, most=count, grows=True)
        for block in _blocks(len(alive), DOCUMENTS_AT_ONCE):
            copied.extend(alive[block][alive[block]] if name == "alive" else values[block][alive[block]])
    row_counts = np.diff(arrays["first_rows"], append=np.int32(len(arrays["vectors"])))
    ends = np.cumsum(row_counts)
    kept = row_counts[alive]
    first_rows = output.array("first_rows", np.int32, most=count, grows=True)
    first_rows.extend((np.cumsum(kept) - kept).astype(np.int32))
    for name, (dtype, width) in OF_ROWS.items():
        copied = output.array(name, dtype, width, most=int(kept.sum()), grows=True)
        for block in _blocks(len(alive), DOCUMENTS_AT_ONCE):
            rows = slice(ends[block.start] - row_counts[block.start], ends[block.stop - 1])
            chosen = arrays[name][rows]
            if not alive[block].all():
                chosen = chosen[np.repeat(alive[block], row_counts[block])]
            copied.extend(chosen)
    ids, order = arrays["ids"], arrays["id_order"]
    new = np.arange(len(order), len(alive))[alive[len(order) :]]
    new = new[np.argsort(ids[new])]
    merged = np.insert(order, np.searchsorted(ids[: len(order)], ids[new], sorter=order), new)
    id_order = output.array("id_order", OF_BASE["id_order"], most=count, grows=False)
    id_order.extend(_renumbered(alive)[merged[alive[merged]]])


def _renumbered(alive: npt.NDArray[np.bool_]) -> Array:
    return np.cumsum(alive, dtype=np.int32) - 1


class _Postings:
    """The terms of a copy in their new order, and the documents that have each. A *rank* is the place of a
    term among all terms in their order, those that are dropped included."""

    def __init__(self, before: Before) -> None:
        self._before, arrays = before, before.arrays
        self._renumbered = _renumbered(before.alive)
        self._starts, self._count = arrays["starts"], len(before.terms)
        kept = before.alive[arrays["new_documents"]]
        self._new_terms = arrays["new_terms"][kept]
        self._new_documents = self._renumbered[arrays["new_documents"][kept]]
        self._new_counts = arrays["new_counts"][kept]
        self._ranks = ranks = self._merged_ranks()
        is_used = np.zeros(len(ranks), np.bool_)
        is_used[ranks] = self._used()
        self._before_rank = np.concatenate([[0], np.cumsum(is_used, dtype=np.int32)])
        self._new_numbers = self._before_rank[ranks]
        """The new number of each term that is used."""
        old = np.empty(len(ranks), np.int32)
        old[ranks] = np.arange(len(ranks), dtype=np.int32)
        self._kept = old[is_used]
        """The old numbers of the terms that are used, in their order."""

    def _merged_ranks(self) -> Array:
        """Return the rank of each term."""
        new = [encoded(term) for term in self._before.new_terms]
        order = sorted(range(len(new)), key=new.__getitem__)
        # How many compacted terms are before each of the new ones.
        before, place = list[int](), 0
        for number in order:
            place = bisect_left(self._before.terms, new[number], place)
            before.append(place)
        places = np.array(before, np.int32)
        ranks = np.empty(self._count + len(new), np.int32)
        old = np.arange(self._count, dtype=np.int32)
        ranks[: self._count] = old + np.searchsorted(places, old, side="right")
        ranks[self._count + np.array(order, np.int32)] = places + np.arange(len(new), dtype=np.int32)
        return ranks

    def _used(self) -> npt.NDArray[np.bool_]:
        """Return for each term whether a document that is alive has it."""
        is_used = np.ones(self._count + len(self._before.new_terms), np.bool_)
        is_used[self._count :] = False
        if not self._before.alive.all():
            for block in self._base_blocks():
                first = self._starts[block.start]
                documents = self._before.arrays["documents"][first : self._starts[block.stop]]
                is_alive = self._before.alive[documents]
                is_used[block] = np.logical_or.reduceat(is_alive, self._starts[block] - first)
        is_used[self._new_terms] = True
        return is_used

    def _base_blocks(self) -> Iterator[slice]:
        """Yield parts of the compacted terms that have few documents together."""
        start = 0
        while start < self._count:
            limit = self._starts[start] + POSTINGS_AT_ONCE
            end = int(np.searchsorted(self._starts, limit, side="right")) - 1
            end = min(max(end, start + 1), self._count)
            yield slice(start, end)
            start = end

    def write(self, output: Output) -> None:
        self._write_terms(output)
        for language in self._before.languages:
            numbers = output.array(STEMS + language, np.uint32, most=len(self._kept), grows=True)
            before, total = self._before, self._count + len(self._before.new_terms)
            stems = GrowingArray(np.uint32, room=total)
            stems.extend(before.stems.get(language, np.empty(0, np.uint32))[:total])
            while stems.size < total:
                part = slice(stems.size, stems.size + STEMMED_AT_ONCE)
                stems.extend(stems_of(language, part_of(before.terms, before.new_terms, part)))
            numbers.extend(stems.values[self._kept])
        self._write_postings(output)

    def _write_terms(self, output: Output) -> None:
        terms, new = self._before.terms, self._before.new_terms
        most = terms.bytes + sum(len(encoded(term)) + 1 for term in new)
        texts = output.array("term_bytes", np.uint8, most=most, grows=False)
        ends = output.array("term_ends", np.int64, most=len(self._kept), grows=False)
        end = 0
        for block in _blocks(len(self._kept), TERMS_AT_ONCE):
            numbers = self._kept[block]
            old = numbers[numbers < self._count]
            first = int(old[0]) if len(old) else 0
            part = terms.part(first, int(old[-1]) + 1) if len(old) else []
            count = self._count
            text, lengths = joined([
                part[number - first] if number < count else encoded(new[number - count])
                for number in numbers.tolist()
            ])  # fmt: skip
            texts.extend(text)
            ends.extend(end + np.cumsum(lengths))
            end += len(text)

    def _write_postings(self, output: Output) -> None:
        arrays, alive, new_numbers = self._before.arrays, self._before.alive, self._new_numbers
        most = len(arrays["documents"]) + len(self._new_terms)
        starts = output.array("starts", np.int64, most=len(self._kept) + 1, grows=False)
        documents = output.array("documents", np.int32, most=most, grows=False)
        counts = output.array("counts", np.uint16, most=most, grows=False)
        starts.extend([0])
        of_new = new_numbers[self._new_terms]
        order = np.argsort(of_new, kind="stable")
        of_new, new_documents, new_counts = of_new[order], self._new_documents[order], self._new_counts[order]
        first = written = 0
        for block, last in self._ranges():
            base = slice(self._starts[block.start], self._starts[block.stop])
            of_terms = np.repeat(new_numbers[block], np.diff(self._starts[block.start : block.stop + 1]))
            is_kept = alive[arrays["documents"][base]]
            new = slice(*np.searchsorted(of_new, [first, last]))
            of_terms = np.concatenate([of_terms[is_kept], of_new[new]])
            order = np.argsort(of_terms, kind="stable")
            old_documents = self._renumbered[arrays["documents"][base][is_kept]]
            documents.extend(np.concatenate([old_documents, new_documents[new]])[order])
            counts.extend(np.concatenate([arrays["counts"][base][is_kept], new_counts[new]])[order])
            starts.extend(written + np.cumsum(np.bincount(of_terms - first, minlength=last - first)))
            first, written = last, written + len(of_terms)

    def _ranges(self) -> Iterator[tuple[slice, int]]:
        """Yield parts of the compacted terms, and the new number behind all terms up to the end of each."""
        blocks = list(self._base_blocks()) or [slice(0, 0)]
        for block in blocks[:-1]:
            yield block, int(self._before_rank[self._ranks[block.stop]])
        yield blocks[-1], len(self._kept)
