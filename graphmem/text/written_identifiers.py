"""Identifiers as texts write them: which looked-up text is one, and whether a stored text has it.

A text has an identifier where a run of it, between blanks and punctuation, is the same identifier: the same
e-mail address, the same address on the web, the same telephone number, or the same code. No identifier is
the beginning or the end of another one: ``ada@example.org`` is not in ``ada@example.org.uk``, and ``INV-1``
not in ``INV-1-B``. A code is the same with and without blanks or hyphens.

A date is no identifier, but it is looked for in the same way: any spelling of it is that date.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple

from graphmem.model import dates
from graphmem.model.dates import WrittenDate
from graphmem.text import phones, urls, words

TEXT_LIMIT: Final = 2 * words.TEXT_LIMIT
"""Characters of a text in which an identifier is looked for: the index holds no more words."""
GROUPED_LENGTH_LEAST: Final = 8
"""Characters of a number or code that is written in groups, such as an IBAN; fewer are words."""
GROUPED_DIGITS_LEAST: Final = 4
GROUP_LENGTH_LIMIT: Final = 6
"""Characters of one of its groups."""
DIALLED_DIGITS_LEAST: Final = 9
"""A number of so many digits is the same number however it is grouped."""
FOURS_LENGTHS: Final = range(12, 35)
"""The lengths of codes that people write in groups of four: card numbers, IBANs."""
PARTS_LENGTHS: Final = range(2, 5)
"""How many parts a code has that people may write with hyphens between letters and digits."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LINES = re.compile("[\n\r\t\v\f\x1c-\x1e\x85\u2028\u2029]+")
_INVISIBLE: Final = dict.fromkeys(
    [0xAD, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2065), 0xFEFF]
)
_SIGNS: Final = {
    **_INVISIBLE,
    **dict.fromkeys(map(ord, "‐‑‒–−"), "-"),
    **dict.fromkeys(map(ord, "’ʼ`´"), "'"),
}
_AROUND: Final = "\"'.,;:!?()[]{}<>«»„“”‘’…¿¡#*_"
_ATOM = re.compile(r"[^\W_](?:[\w.@/+:#&=%~\\?'-]*[^\W_])?")
"""Characters in a row that may be one identifier: signs within it belong to it, signs around it do not."""
_URL = re.compile(r"(?:[a-z][a-z0-9+.-]*://|www\.)[^\s<>\"{}|\\^`\[\]]+")
_URL_ENDS: Final = ".,;:!?'*_"
_URL_GOES_ON: Final = frozenset(",;!$*(")
_LABELLED = re.compile(
    r"[^\W\d_]+(?:-[^\W\d_]+)*[:#=](?=[^\W_]|\+)|(?:no|nr|nro|num|ref|id|tel|fax|art|best)\.(?=[0-9])"
)
"""What stands before an identifier without a blank: ``tel:``, ``isbn:``, ``No.``."""
_FILE_ENDING = re.compile(
    r"\.(?:csv|docx?|eml|html?|jpe?g|json|md|msg|odt|ods|pdf|png|pptx?|tiff?|txt|xlsx?|xml|zip)$"
)
_GROUP = re.compile(r"(?=.*[0-9])[a-z0-9]{1,34}")
_LETTERS_OR_DIGITS = re.compile("[a-z]+|[0-9]+")
_LETTERS_YEAR_OR_DIGITS = re.compile("[a-z]+|(?:19|20)[0-9]{2}(?=[0-9]{2})|[0-9]+")
_UUID = re.compile("[0-9a-f]{32}")
_PREFIX = re.compile(r"[a-z]{2,8}")
_NO_PREFIX: Final = _words(
    """ab all am an and any are as at by das de der die du en et for from has im in is it la le les my no of
    on or so than the then to um un und up us via von was we with"""
)
"""Words before a number that are no part of it: ``in 2024`` is not ``IN2024``."""
_NUMBER = re.compile(r"[+(]{0,2}[0-9](?:[0-9 ().\-/]*[0-9])?(?: ?(?:ext\.?|x) ?[0-9]{1,7}(?![\w]))?")
_PAIRS = re.compile("0[0-9]{9}")
_EXTENSION = re.compile(r" ?(?:ext\.?|x) ?([0-9]+)$")
_ASCII_WORD = re.compile("[a-z0-9]+")
_SEPARATORS = re.compile("[ -]+")
_JOINERS: Final = frozenset("-./@#&=%~\\_+")
_MONEY: Final = frozenset("$€£¥%")
_YEAR = re.compile(r"(?:19|20)\d\d")
_MONTH = re.compile(r"(?:19|20)\d\d-(?:0[1-9]|1[0-2])")
_DOTTED = re.compile(r"(0?[1-9]|[12]\d|3[01])\.(0?[1-9]|1[0-2])\.((?:19|20)\d\d)")
_TIME = re.compile(r"\d{1,2}:\d{2}(?::\d{2})?(?:am|pm|h)?|\d{1,2}(?:am|pm|h)")
_QUANTITY = re.compile(r"\d+(?:[.,]\d+)?[a-z]{0,3}")
_LONG_NUMBER: Final = 4
"""A number of so many digits is no plain one."""
_WRITTEN_DATE = re.compile(
    r"(?<![\w.-])(?:"
    r"\d{4}-\d\d-\d\d(?:[t ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,12})?)?(?: ?(?:z|[+-]\d\d(?::?\d\d)?))?)?"
    r"|\d{4}/\d\d/\d\d|\d{8}t\d{4}(?:\d\d)?z?"
    r"|\d{1,2}\.\d{1,2}\.\d{4}"
    r"|\d{1,2}(?:st|nd|rd|th)? [a-z]{3,9}\.?,? \d{4}|[a-z]{3,9}\.? \d{1,2}(?:st|nd|rd|th)?,? \d{4}"
    r")(?![\w-])"
)
_MONTH_NAMES: Final = (
    ("jan", "january"), ("feb", "february"), ("mar", "march"), ("apr", "april"), ("may",), ("jun", "june"),
    ("jul", "july"), ("aug", "august"), ("sep", "sept", "september"), ("oct", "october"),
    ("nov", "november"), ("dec", "december"),
)  # fmt: skip


class Extent(Enum):
    """How much of a text an identifier is: all of it, or a part."""

    WHOLE = 2
    PART = 1


class _Span(NamedTuple):
    start: int
    end: int


Groups = tuple[str, ...]
"""A code without its blanks and hyphens, parted where they stood."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """Words in a row that a text has where it may have what is sought.

    ``goes_on``: characters that may follow the last word; the time of a day follows ``08`` as ``08t14``.
    """

    words: tuple[str, ...]
    goes_on: str = ""

    @property
    def patterns(self) -> list[str]:
        """The substrings of a text of words with a blank before and behind it; the text has one of them."""
        phrase = f" {' '.join(self.words)}"
        return [f"{phrase} ", *([phrase + self.goes_on] if self.goes_on else [])]

    @property
    def clause(self) -> str:
        """The spelling in the language of the full-text index; it has words alone."""
        if not self.goes_on:
            return f'"{" ".join(self.words)}"'
        *before, last = self.words
        clause = f"({last} OR {last}{self.goes_on}*)"
        return f'(+"{" ".join(before)}" +{clause})' if before else clause


@dataclass(frozen=True, slots=True)
class Sought:
    """An identifier or a date that is looked for in texts, in its normal forms: any of them is the same.

    Attributes:
        text: as it was looked up, folded and without punctuation around it.
        codes: as a code or number.
        phones: as a telephone number, in the forms of :mod:`graphmem.text.phones`.
        extension: of the telephone number.
        address: as an address on the web.
        email: as an e-mail address.
        date: as a date; then it is nothing else.
        months: as a month: ``2024-05``, then as words.
        spellings: of which a text has one that may have it.
    """

    text: str
    codes: tuple[Groups, ...] = ()
    phones: frozenset[str] = frozenset()
    extension: str | None = None
    address: urls.Address | None = None
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
        lines = [line for line in _lines(text) if line]
        best: Extent | None = None
        for line in lines:
            for span in self._spans(line):
                rest = line[: span.start] + line[span.end :]
                if len(lines) == 1 and not any(character.isalnum() for character in rest):
                    return Extent.WHOLE
                best = Extent.PART
        return best

    def _spans(self, line: str) -> Iterator[_Span]:
        """Yield where a line has it."""
        if self.date is not None:
            yield from self._dates(line)
            return
        for month in self.months:
            yield from _plain(line, month)
        if self.months:
            yield from self._days(line)
        if not (self.codes or self.phones or self.address or self.email):
            yield from _plain(line, self.text)
            return
        if self.phones:
            yield from self._numbers(line)
        parted = line
        for span in _urls(line):
            address = urls.parse(line[span.start : span.end])
            if self.address is not None and address == self.address:
                yield span
            parted = parted[: span.start] + "|" * (span.end - span.start) + parted[span.end :]
        atoms = list(_atoms(parted))
        for atom in atoms:
            yield from self._in_atom(parted, atom)
        if self.codes:
            yield from self._in_groups(parted, atoms)

    def _dates(self, line: str) -> Iterator[_Span]:
        assert self.date is not None
        for match in _WRITTEN_DATE.finditer(line):
            written = parse_date(match[0])
            if written is not None and _is_same_date(self.date, written):
                yield _Span(*match.span())

    def _days(self, line: str) -> Iterator[_Span]:
        for match in _WRITTEN_DATE.finditer(line):
            written = parse_date(match[0])
            if written is not None and written.iso[:7] == self.months[0]:
                yield _Span(*match.span())

    def _numbers(self, line: str) -> Iterator[_Span]:
        """Yield where a line has the telephone number, in any grouping."""
        for match in _NUMBER.finditer(line):
            start = match.start()
            parts = match[0].split(" / ")
            is_list = len(parts) > 1 and all(_digit_count(part) >= DIALLED_DIGITS_LEAST - 2 for part in parts)
            for part in parts if is_list else [match[0]]:
                span = _Span(start, start + len(part))
                start = span.end + len(" / ")
                is_apart = is_list or _is_apart(line, span)
                if is_apart and self._is_number(part) and parse_date(part) is None:
                    yield span

    def _is_number(self, written: str) -> bool:
        if not (phones.is_phone(written) and is_dialled(written)):
            return False
        extension = _EXTENSION.search(written)
        if extension and self.extension and extension[1] != self.extension:
            return False
        return phones.normalise(written) in self.phones

    def _in_atom(self, line: str, atom: _Span) -> Iterator[_Span]:
        text = line[atom.start : atom.end]
        for offset, part in _parts(text):
            span = _Span(atom.start + offset, atom.start + offset + len(part))
            if self.email is not None and part == self.email:
                yield span
            if self.address is not None and (found := self._address_in(line, span, part)):
                yield found

    def _address_in(self, line: str, span: _Span, text: str) -> _Span | None:
        """Return where an atom has the address; a domain is also the host of an e-mail address."""
        after = line[span.end : span.end + 2]
        if len(after) == 2 and after[0] in _URL_GOES_ON and after[1].isalnum():
            return None
        user, _, host = text.rpartition("@")
        if user:
            is_host = self.address == urls.Address(host, "")
            return _Span(span.end - len(host), span.end) if is_host else None
        return span if urls.parse(text) == self.address else None

    def _in_groups(self, line: str, atoms: Sequence[_Span]) -> Iterator[_Span]:
        """Yield where a line has a code: as one atom, or as groups with blanks between them."""
        texts = [line[atom.start : atom.end] for atom in atoms]
        place = 0
        while place < len(atoms):
            end = place + 1
            if _GROUP.fullmatch(texts[place]):
                while end < len(atoms) and _is_next(line, atoms, end) and _GROUP.fullmatch(texts[end]):
                    end += 1
                for first, last in _numbers_in(line, atoms, texts, place, end):
                    yield from self._in_run(line, atoms, texts, first, last)
            else:
                for offset, part in _parts(texts[place]):
                    span = _Span(atoms[place].start + offset, atoms[place].start + offset + len(part))
                    if self._is_code(line, span, tuple(_SEPARATORS.split(part))):
                        yield span
            place = end

    def _in_run(
        self, line: str, atoms: Sequence[_Span], texts: Sequence[str], first: int, last: int
    ) -> Iterator[_Span]:
        """Yield where a run of groups has a code. What is one number has no other one within it."""
        is_one = _is_one_number(line, atoms[first], texts[first:last])
        starts = [first] if is_one else list(range(first, last))
        if first > 0 and _is_next(line, atoms, first) and _is_prefix(texts[first - 1]):
            starts.insert(0, first - 1)
        longest = max(len("".join(code)) for code in self.codes)
        for start in starts:
            end, length = start, 0
            while end < last and (length := length + len(texts[end])) <= longest:
                end += 1
                if end <= first or (is_one and end < last):
                    continue
                span = _Span(atoms[start].start, atoms[end - 1].end)
                if self._is_code(line, span, tuple(texts[start:end])):
                    yield span

    def _is_code(self, line: str, span: _Span, groups: Groups) -> bool:
        if not any(is_same_code(groups, code) for code in self.codes):
            return False
        text = line[span.start : span.end]
        if text.isdecimal() and not _is_apart_number(line, span):
            return False
        return parse_date(text) is None


def sought(looked_up: str, region: str | None = None) -> Sought | None:
    """Return what a looked-up text is looked for as, ``None`` if it is words.

    Args:
        region: the country of telephone numbers without a country code, such as ``DE``.
    """
    folded = " ".join(_lines(looked_up)).strip()
    text = bare(folded)
    if not text or _YEAR.fullmatch(text):
        return None
    date = parse_date(text)
    if date is not None:
        return Sought(text, date=date, spellings=_spellings_of_date(date))
    if phones.is_phone(folded) and not all(map(_YEAR.fullmatch, folded.split())):
        return _sought_number(folded, region)
    if " " in text:
        return _sought_code(text) if is_grouped(text) else None
    address = urls.parse(text)
    if "@" in text:
        email = text.removeprefix("mailto:")
        return Sought(text, email=email if _is_atom(email) else None, spellings=_spellings([email]))
    if address is None and not any(character.isdigit() for character in text):
        return None
    if address is None:
        return _sought_code(text)
    code = _sought_code(text) if any(character.isdigit() for character in text) else None
    return Sought(
        text,
        codes=code.codes if code is not None else (),
        address=address,
        spellings=_spellings([address.host + address.rest]),
    )


def code(looked_up: str) -> Sought:
    """Return what a text is looked for as that is an identifier for sure, such as the id of an entity."""
    return _sought_code(bare(" ".join(_lines(looked_up)).strip()))


def bare(folded: str) -> str:
    """Return a text without the punctuation around it."""
    text = folded.strip(_AROUND).strip()
    if "(" in text and folded.count("(") == folded.count(")") != text.count(")"):
        text += ")"
    return text


def code_spellings(folded: str) -> list[str]:
    """Return how a code may be stored: with and without blanks and hyphens, and in groups of four.

    A code without them may be stored with one between letters and digits, and behind a year.
    """
    is_code = _is_atom(folded.replace(" ", "")) and all(map(_has_digit, folded.split()))
    if not is_code or parse_date(folded) is not None:
        return [folded]
    groups = _groups(folded)
    joined = "".join(groups)
    spellings = [folded, joined, " ".join(groups), "-".join(groups)]
    if joined.isalnum() and joined.isascii() and len(joined) in FOURS_LENGTHS:
        fours = [joined[place : place + 4] for place in range(0, len(joined), 4)]
        spellings += [" ".join(fours), "-".join(fours)]
    if len(groups) == 1:
        parted = [shape.findall(joined) for shape in (_LETTERS_OR_DIGITS, _LETTERS_YEAR_OR_DIGITS)]
        for parts in (each for each in parted if "".join(each) == joined and len(each) in PARTS_LENGTHS):
            spellings += [" ".join(parts), "-".join(parts)]
        if _UUID.fullmatch(joined):
            spellings.append(str(uuid.UUID(joined)))
    return list(dict.fromkeys(spellings))


def is_grouped(folded: str) -> bool:
    """Return whether a text of several words, all with digits, is one code in groups, such as an IBAN."""
    parts = folded.split(" ")
    joined = "".join(_groups(folded))
    return (
        len(parts) > 1
        and joined.isalnum()
        and len(joined) >= GROUPED_LENGTH_LEAST
        and _digit_count(joined) >= GROUPED_DIGITS_LEAST
        and all(map(_has_digit, parts))
        and _is_even(parts)
        and not all(map(is_plain, parts))
    )


def is_plain(folded: str) -> bool:
    """Return whether a word with digits is a date, a time, a year, a quantity or a small number."""
    if _YEAR.fullmatch(folded) or _TIME.fullmatch(folded) or parse_date(folded) is not None:
        return True
    if folded.isdecimal():
        return len(folded) < _LONG_NUMBER and not folded.startswith("0")
    return _QUANTITY.fullmatch(folded) is not None


def parse_date(folded: str) -> WrittenDate | None:
    """Return the date that a text is: in the forms of :mod:`graphmem.model.dates`, or as ``31.01.2026``."""
    dotted = _DOTTED.fullmatch(folded)
    if dotted:
        return dates.parse(f"{dotted[3]}-{int(dotted[2]):02}-{int(dotted[1]):02}")
    # The names of the days in e-mail have a capital letter.
    return dates.parse(folded) or dates.parse(folded[:1].upper() + folded[1:])


def is_same_code(groups: Groups, other: Groups) -> bool:
    """Return whether two codes are the same: parted in the same places, or one of them in none."""
    return groups == other or (1 in (len(groups), len(other)) and "".join(groups) == "".join(other))


def is_dialled(folded: str) -> bool:
    """Return whether a number is one that is dialled, in which blanks and hyphens say nothing."""
    return folded.startswith(("+", "0", "(")) or _digit_count(folded) >= DIALLED_DIGITS_LEAST


def _sought_number(text: str, region: str | None) -> Sought:
    extension = _EXTENSION.search(text)
    forms = {phones.normalise(text) or text, *phones.regional_forms(text, region)}
    written = [text, *forms, *(form for each in forms for form in phones.written_forms(each, region))]
    # Some countries write a number in pairs; one without its country tells none.
    written += [" ".join(re.findall("..", each)) for each in forms if _PAIRS.fullmatch(each)]
    code = _sought_code(text)
    return Sought(
        text,
        codes=code.codes,
        months=code.months,
        phones=frozenset(forms) if is_dialled(text) else frozenset(),
        extension=extension[1] if extension else None,
        spellings=tuple(dict.fromkeys([*_spellings(written), *code.spellings])),
    )


def _sought_code(text: str) -> Sought:
    groups = _groups(text)
    is_code = _is_atom(text.replace(" ", ""))
    written = code_spellings(text) if is_code else [text]
    months = _months(text)
    return Sought(
        text,
        codes=(groups,) if is_code else (),
        months=months,
        spellings=_spellings([*written, *months]),
    )


def _months(text: str) -> tuple[str, ...]:
    """Return the spellings of a month if a text is one such as ``2024-05``."""
    if _MONTH.fullmatch(text) is None:
        return ()
    year, month = text.split("-")
    return text, *(f"{name} {year}" for name in _MONTH_NAMES[int(month) - 1])


def _spellings(written: Sequence[str]) -> tuple[Spelling, ...]:
    every = [tuple(words.tokens(text)[: words.WORDS_LIMIT]) for text in written]
    # A possessive ending is in the last word of a text.
    every += [(*each[:-1], each[-1] + "s") for each in every[:1] if each]
    return tuple(dict.fromkeys(Spelling(each) for each in every if each))


def _spellings_of_date(date: WrittenDate) -> tuple[Spelling, ...]:
    year, month, day = date.iso[:10].split("-")
    days = list(
        dict.fromkeys((day, str(int(day)), *(f"{int(day)}{end}" for end in ("st", "nd", "rd", "th"))))
    )
    named = [
        form
        for name in _MONTH_NAMES[int(month) - 1]
        for each in days
        for form in ((each, name, year), (name, each, year))
    ]
    dotted = [(d, m, year) for d in {day, str(int(day))} for m in {month, str(int(month))}]
    return (
        Spelling((year, month, day), "t"),
        Spelling((f"{year}{month}{day}",), "t"),
        *(Spelling(each) for each in [*named, *sorted(dotted)]),
    )


def _is_same_date(date: WrittenDate, written: WrittenDate) -> bool:
    """Return whether a written date is the one that is sought: the day alone, or the same moment."""
    if date.precision == "day":
        return date.iso[:10] == written.iso[:10]
    step = {"minute": 60_000_000, "second": 1_000_000}.get(date.precision, 1)
    return written.precision != "day" and date.at // step == written.at // step


def _lines(text: str) -> list[str]:
    """Return the lines of a text: folded, one blank between words, one sign for each kind of hyphen."""
    parts = _LINES.split(text)
    return [" ".join(words.folded(part.translate(_SIGNS)).split()) for part in parts]


def _atoms(line: str) -> Iterator[_Span]:
    plain = line if line.isascii() else "".join("|" if words.is_dense(c) else c for c in line)
    for match in _ATOM.finditer(plain):
        text = match[0]
        yield _Span(match.start(), match.end() - (2 if text.endswith("'s") else 0))


def _parts(atom: str) -> Iterator[tuple[int, str]]:
    """Yield an atom, and what is left of it without a label before it or a file ending: with their places."""
    offset, text = 0, atom
    while True:
        yield offset, text
        ending = _FILE_ENDING.search(text)
        if ending and "@" not in text and "/" not in text:
            yield offset, text[: ending.start()]
        label = _LABELLED.match(text)
        if label is None:
            return
        offset, text = offset + label.end(), text[label.end() :]


def _urls(line: str) -> Iterator[_Span]:
    for match in _URL.finditer(line):
        text = match[0].rstrip(_URL_ENDS)
        while text.endswith(")") and text.count("(") < text.count(")"):
            text = text[:-1].rstrip(_URL_ENDS)
        yield _Span(match.start(), match.start() + len(text))


def _plain(line: str, text: str) -> Iterator[_Span]:
    """Yield where a line has a text that nothing joins to what is beside it."""
    start = line.find(text)
    while start >= 0:
        span = _Span(start, start + len(text))
        if _is_apart(line, span):
            yield span
        start = line.find(text, start + 1)


def _is_apart(line: str, span: _Span) -> bool:
    """Return whether nothing joins a part of a line to what is before and behind it."""
    before, after = line[max(0, span.start - 2) : span.start], line[span.end : span.end + 2]
    if before and (_is_letter(before[-1]) or (before[-1] == ":" and before[:1].isdigit())):
        return False
    if len(before) == 2 and before[1] in _JOINERS and before[0].isalnum():
        return False
    if after and _is_letter(after[0]):
        return False
    return not (len(after) == 2 and after[0] in _JOINERS | {":"} and after[1].isalnum())


def _is_letter(character: str) -> bool:
    return (character.isalnum() or character == "_") and not words.is_dense(character)


def _is_apart_number(line: str, span: _Span) -> bool:
    """Return whether digits are neither a part of an amount nor of a number with a country code."""
    before, after = line[max(0, span.start - 2) : span.start], line[span.end : span.end + 2]
    if before[-1:] in ("+", *_MONEY) or after[:1] in _MONEY:
        return False
    is_decimal = len(before) == 2 and before[1] in ",." and before[0].isdigit()
    return not is_decimal and not (len(after) == 2 and after[0] in ",." and after[1].isdigit())


def _is_prefix(text: str) -> bool:
    return _PREFIX.fullmatch(text) is not None and text not in _NO_PREFIX


def _is_next(line: str, atoms: Sequence[_Span], place: int) -> bool:
    """Return whether only a blank stands between an atom and the one before it."""
    return line[atoms[place - 1].end : atoms[place].start] == " "


def _is_one_number(line: str, first: _Span, groups: Sequence[str]) -> bool:
    """Return whether groups of characters in a row are one number, such as an IBAN or a telephone number."""
    if len(groups) < 2:
        return False
    if line[max(0, first.start - 1) : first.start] in ("+", "(") or groups[0].startswith("0"):
        return True
    return len(groups) > 2 and (_is_even(groups) or all(map(str.isdecimal, groups)))


def _numbers_in(
    line: str, atoms: Sequence[_Span], texts: Sequence[str], first: int, last: int
) -> Iterator[tuple[int, int]]:
    """Yield the parts of a run of groups that may be one number each: a shorter group ends one."""
    if _is_one_number(line, atoms[first], texts[first:last]):
        yield first, last
        return
    while first < last:
        length, end = len(texts[first]), first + 1
        while end < last and length <= GROUP_LENGTH_LIMIT and len(texts[end]) <= length:
            end += 1
            if len(texts[end - 1]) < length:
                break
        yield first, end
        first = end


def _is_even(groups: Sequence[str]) -> bool:
    """Return whether groups are short, and of one length but for a shorter last one."""
    first, last = len(groups[0]), len(groups[-1])
    return last <= first <= GROUP_LENGTH_LIMIT and all(len(group) == first for group in groups[:-1])


def _groups(text: str) -> Groups:
    return tuple(group for group in _SEPARATORS.split(text) if group)


def _is_atom(text: str) -> bool:
    """Return whether a text is one atom, so that it is found as one."""
    return [(span.start, span.end) for span in _atoms(text)] == [(0, len(text))]


def _has_digit(text: str) -> bool:
    return any(character.isdigit() for character in text)


def _digit_count(text: str) -> int:
    return sum(character.isdigit() for character in text)
