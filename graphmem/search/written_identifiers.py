"""Identifiers as texts write them: which looked-up text is one, and whether a stored text has it.

A text has an identifier where a run of it, between blanks and punctuation, is the same identifier: the same
e-mail address, the same address on the web, the same telephone number, or the same code. No identifier is
the beginning or the end of another one: ``ada@example.org`` is not in ``ada@example.org.uk``, and ``INV-1``
not in ``INV-1-B``. A code is the same with and without blanks or hyphens.

A date is no identifier, but it is looked for in the same way: any spelling of it is that date.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from graphmem.model.dates import WrittenDate
from graphmem.text import codes, identifiers, line_spans, words
from graphmem.text.codes import Groups
from graphmem.text.line_spans import LineSpan

TEXT_LIMIT: Final = 2 * words.TEXT_LIMIT
"""Characters of a text in which an identifier is looked for: the text of words holds no more."""
DIALLED_DIGITS_LEAST: Final = 9  # a number of so many digits is the same number however it is grouped
_URL_GOES_ON: Final = frozenset(",;!$*(")
_NUMBER = re.compile(r"[+(]{0,2}[0-9](?:[0-9 ().\-/]*[0-9])?(?: ?(?:ext\.?|x) ?[0-9]{1,7}(?![\w]))?")
_PAIRS = re.compile("0[0-9]{9}")
_EXTENSION = re.compile(r" ?(?:ext\.?|x) ?([0-9]+)$")
_ASCII_WORD = re.compile("[a-z0-9]+")


class Extent(Enum):
    """How much of a text an identifier is: all of it, or a part."""

    WHOLE = 2
    PART = 1


@dataclass(frozen=True, slots=True)
class Spelling:
    """Words in a row that a text has where it may have what is sought. ``goes_on``: characters that may
    follow the last word; the time of a day follows ``08`` as ``08t14``."""

    words: tuple[str, ...]
    goes_on: str = ""

    @property
    def patterns(self) -> list[str]:
        """The substrings of a text of words with a blank before and behind it; the text has one of them."""
        phrase = f" {' '.join(self.words)}"
        return [f"{phrase} ", *([phrase + self.goes_on] if self.goes_on else [])]


@dataclass(frozen=True, slots=True)
class Sought:
    """An identifier or a date that is looked for in texts, in its normal forms: any of them is the same.

    Attributes:
        text: as it was looked up, folded and without punctuation around it.
        phones: in the forms of :func:`graphmem.text.identifiers.normalise_phone`.
        extension: of the telephone number.
        date: then it is nothing else.
        months: as a month: ``2024-05``, then as words.
        spellings: of which a text has one that may have it.
    """

    text: str
    codes: tuple[Groups, ...] = ()
    phones: frozenset[str] = frozenset()
    extension: str | None = None
    address: identifiers.Address | None = None
    email: str | None = None
    date: WrittenDate | None = None
    months: tuple[str, ...] = ()
    spellings: tuple[Spelling, ...] = ()

    @property
    def needles(self) -> list[str]:
        """Texts without a sign of which one is in every ASCII text, in lower case, that has it."""
        if "'" in self.text:
            # Words are compared without apostrophes.
            return [max(_ASCII_WORD.findall(self.text), key=len, default="")]
        every = [max(spelling.words, key=len) for spelling in self.spellings]
        return sorted({word for word in every if word.isascii()})

    @property
    def patterns(self) -> list[str]:
        """The substrings of which a text of words has one; see :attr:`Spelling.patterns`."""
        return [pattern for spelling in self.spellings for pattern in spelling.patterns]

    @property
    def is_date(self) -> bool:
        """Whether it is a date, and so no identifier."""
        return self.date is not None or bool(self.months)

    def extent_in(self, text: str) -> Extent | None:
        """Return whether it is all of a text or a part of it; ``None`` if the text does not have it."""
        if len(text) > TEXT_LIMIT:
            text = text[:TEXT_LIMIT].rpartition(" ")[0]
        lines = [line for line in line_spans.lines_of(text) if line]
        rests = [line[: span.start] + line[span.end :] for line in lines for span in self._spans(line)]
        if len(lines) == 1 and not all(any(map(str.isalnum, rest)) for rest in rests):
            return Extent.WHOLE
        return Extent.PART if rests else None

    def _spans(self, line: str) -> Iterator[LineSpan]:
        for span, written in codes.dates_of(line) if self.is_date else ():
            is_month = self.date is None and written.iso[:7] == self.months[0]
            if is_month or (self.date is not None and codes.is_same(self.date, written)):
                yield span
        if self.date is not None:
            return
        for month in self.months:
            yield from line_spans.places_of(line, month)
        if not (self.codes or self.phones or self.address or self.email):
            yield from line_spans.places_of(line, self.text)
            return
        if self.phones:
            yield from self._numbers(line)
        parted = line
        for span in line_spans.urls_of(line):
            address = identifiers.parse_url(line[span.start : span.end])
            if self.address is not None and address == self.address:
                yield span
            parted = parted[: span.start] + "|" * (span.end - span.start) + parted[span.end :]
        atoms = list(line_spans.atoms_of(parted))
        for atom in atoms:
            yield from self._in_atom(parted, atom)
        if self.codes:
            yield from self._in_groups(parted, atoms)

    def _numbers(self, line: str) -> Iterator[LineSpan]:
        """Yield where a line has the telephone number, in any grouping."""
        for match in _NUMBER.finditer(line):
            start, parts = match.start(), match[0].split(" / ")
            is_list = all(codes.digit_count(part) >= DIALLED_DIGITS_LEAST - 2 for part in parts)
            is_list = is_list and len(parts) > 1
            for part in parts if is_list else [match[0]]:
                span = LineSpan(start, start + len(part))
                start = span.end + len(" / ")
                is_apart = is_list or line_spans.is_apart(line, span)
                if is_apart and self._is_number(part) and codes.date_of(part) is None:
                    yield span

    def _is_number(self, written: str) -> bool:
        extension = _EXTENSION.search(written)
        is_other = extension and self.extension and extension[1] != self.extension
        is_number = identifiers.is_phone(written) and is_dialled(written) and not is_other
        return is_number and identifiers.normalise_phone(written) in self.phones

    def _in_atom(self, line: str, atom: LineSpan) -> Iterator[LineSpan]:
        """Yield where an atom is an e-mail address, an address on the web, or a code but for a group."""
        text = line[atom.start : atom.end]
        is_whole_code = self.codes and codes.GROUP.fullmatch(text) is None
        for offset, part in line_spans.parts_of(text):
            span = LineSpan(atom.start + offset, atom.start + offset + len(part))
            if is_whole_code and self._is_code(line, span, tuple(codes.SEPARATORS.split(part))):
                yield span
            if self.email is not None and part == self.email:
                yield span
            if self.address is not None and (address_span := self._address_in(line, span, part)):
                yield address_span

    def _address_in(self, line: str, span: LineSpan, text: str) -> LineSpan | None:
        """Return where an atom has the address; a domain is also the host of an e-mail address."""
        after = line[span.end : span.end + 2]
        if len(after) == 2 and after[0] in _URL_GOES_ON and after[1].isalnum():
            return None
        user, _, host = text.rpartition("@")
        if user:
            is_host = self.address == identifiers.Address(host, "")
            return LineSpan(span.end - len(host), span.end) if is_host else None
        return span if identifiers.parse_url(text) == self.address else None

    def _in_groups(self, line: str, atoms: Sequence[LineSpan]) -> Iterator[LineSpan]:
        """Yield where a line has a code as groups with blanks between them."""
        texts = [line[atom.start : atom.end] for atom in atoms]
        place = 0
        while place < len(atoms):
            end = place + 1
            is_group = codes.GROUP.fullmatch(texts[place])
            while is_group and end < len(atoms) and codes.is_next(line, atoms, end) and (
                codes.GROUP.fullmatch(texts[end])
            ):  # fmt: skip
                end += 1
            for first, last in codes.number_spans(line, atoms, texts, place, end) if is_group else ():
                yield from self._in_run(line, atoms, texts, first, last)
            place = end

    def _in_run(
        self, line: str, atoms: Sequence[LineSpan], texts: Sequence[str], first: int, last: int
    ) -> Iterator[LineSpan]:
        """Yield where a run of groups has a code. What is one number has no other one within it."""
        is_one = codes.is_one_number(line, atoms[first], texts[first:last])
        starts = [first] if is_one else list(range(first, last))
        if first > 0 and codes.is_next(line, atoms, first) and codes.is_prefix(texts[first - 1]):
            starts.insert(0, first - 1)
        longest = max(len("".join(code)) for code in self.codes)
        for start in starts:
            end, length = start, 0
            while end < last and (length := length + len(texts[end])) <= longest:
                end += 1
                if end <= first or (is_one and end < last):
                    continue
                span = LineSpan(atoms[start].start, atoms[end - 1].end)
                if self._is_code(line, span, tuple(texts[start:end])):
                    yield span

    def _is_code(self, line: str, span: LineSpan, groups: Groups) -> bool:
        text = line[span.start : span.end]
        is_it = any(codes.is_same_code(groups, code) for code in self.codes)
        is_apart = not text.isdecimal() or codes.is_apart_number(line, span)
        return is_it and is_apart and codes.date_of(text) is None


def sought(looked_up: str, region: str | None = None) -> Sought | None:
    """Return what a looked-up text is looked for as, ``None`` if it is words."""
    folded = " ".join(line_spans.lines_of(looked_up)).strip()
    text = line_spans.bare(folded)
    if not text or codes.YEAR.fullmatch(text):
        return None
    date = codes.date_of(text)
    if date is not None:
        year, month, day = date.iso[:10].split("-")
        spellings = (Spelling((year, month, day), "t"), Spelling((f"{year}{month}{day}",), "t"))
        spellings += tuple(map(Spelling, codes.day_spellings(date)))
        return Sought(text, date=date, spellings=spellings)
    if identifiers.is_phone(folded) and not all(map(codes.YEAR.fullmatch, folded.split())):
        return _sought_number(folded, region)
    if " " in text:
        return _sought_code(text) if codes.is_grouped(text) else None
    if "@" in text:
        email = text.removeprefix("mailto:")
        return Sought(text, email=email if line_spans.is_atom(email) else None, spellings=_spellings([email]))
    code = _sought_code(text) if codes.has_digit(text) else None
    if (address := identifiers.parse_url(text)) is None:
        return code
    spellings = _spellings([address.host + address.rest])
    return Sought(text, codes=code.codes if code else (), address=address, spellings=spellings)


def code(looked_up: str) -> Sought:
    """Return what a text is looked for as that is an identifier for sure, such as the id of an entity."""
    return _sought_code(line_spans.bare(" ".join(line_spans.lines_of(looked_up)).strip()))


def is_dialled(folded: str) -> bool:
    """Return whether a number is one that is dialled, in which blanks and hyphens say nothing."""
    return folded.startswith(("+", "0", "(")) or codes.digit_count(folded) >= DIALLED_DIGITS_LEAST


def _sought_number(text: str, region: str | None) -> Sought:
    extension = _EXTENSION.search(text)
    forms = {identifiers.normalise_phone(text) or text, *identifiers.regional_phones(text, region)}
    written = [text, *forms, *(form for each in forms for form in identifiers.written_phones(each, region))]
    # Some countries write a number in pairs; one without its country tells none.
    written += [" ".join(re.findall("..", each)) for each in forms if _PAIRS.fullmatch(each)]
    code = _sought_code(text)
    return replace(
        code,
        phones=frozenset(forms) if is_dialled(text) else frozenset(),
        extension=extension[1] if extension else None,
        spellings=tuple(dict.fromkeys([*_spellings(written), *code.spellings])),
    )


def _sought_code(text: str) -> Sought:
    groups = codes.groups_of(text)
    is_code = line_spans.is_atom(text.replace(" ", ""))
    written = codes.code_spellings(text) if is_code else [text]
    months = codes.month_spellings(text)
    return Sought(
        text, codes=(groups,) if is_code else (), months=months, spellings=_spellings([*written, *months])
    )


def _spellings(written: Sequence[str]) -> tuple[Spelling, ...]:
    every = [tuple(words.tokens(text)[: words.WORDS_LIMIT]) for text in written]
    # A possessive ending is in the last word of a text.
    every += [(*each[:-1], each[-1] + "s") for each in every[:1] if each]
    return tuple(dict.fromkeys(Spelling(each) for each in every if each))
