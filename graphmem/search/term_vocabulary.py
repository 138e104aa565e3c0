"""The terms of a copy: compacted ones in sorted arrays, which may be those of a file, and new ones behind."""

import sys
import zlib
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Final

import numpy as np
import numpy.typing as npt

from graphmem.search.copy_arrays import GrowingArray
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
