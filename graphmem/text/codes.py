"""Codes and numbers as texts write them: in one piece, or in groups with blanks or hyphens between them."""

import re
import uuid
from collections.abc import Iterator, Sequence
from typing import Final

from graphmem.model import dates
from graphmem.model.dates import WrittenDate
from graphmem.text import words
from graphmem.text.line_spans import LineSpan, is_atom

_MONTH = re.compile(r"(?:19|20)\d\d-(?:0[1-9]|1[0-2])")
_DOTTED = re.compile(r"(0?[1-9]|[12]\d|3[01])\.(0?[1-9]|1[0-2])\.((?:19|20)\d\d)")
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


def date_of(folded: str) -> WrittenDate | None:
    """Return the date that a text is: in the forms of :mod:`graphmem.model.dates`, or as ``31.01.2026``."""
    dotted = _DOTTED.fullmatch(folded)
    if dotted:
        return dates.parse(f"{dotted[3]}-{int(dotted[2]):02}-{int(dotted[1]):02}")
    # The names of the days in e-mail have a capital letter.
    return dates.parse(folded) or dates.parse(folded[:1].upper() + folded[1:])


def dates_of(line: str) -> Iterator[tuple[LineSpan, WrittenDate]]:
    """Yield the dates of a line, and where they stand."""
    for match in _WRITTEN_DATE.finditer(line):
        date = date_of(match[0])
        if date is not None:
            yield LineSpan(*match.span()), date


def is_same(date: WrittenDate, written: WrittenDate) -> bool:
    """Return whether a written date is the one that is sought: the day alone, or the same moment."""
    if date.precision == "day":
        return date.iso[:10] == written.iso[:10]
    step = {"minute": 60_000_000, "second": 1_000_000}.get(date.precision, 1)
    return written.precision != "day" and date.at // step == written.at // step


def month_spellings(text: str) -> tuple[str, ...]:
    if _MONTH.fullmatch(text) is None:
        return ()
    year, month = text.split("-")
    return text, *(f"{name} {year}" for name in _MONTH_NAMES[int(month) - 1])


def day_spellings(date: WrittenDate) -> list[tuple[str, ...]]:
    """Return the words in a row as which the day of a date is written, without ``2026-01-31``."""
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
    return [*named, *sorted(dotted)]


GROUPED_LENGTH_LEAST: Final = 8
"""Characters of a number or code that is written in groups, such as an IBAN; fewer are words."""
GROUPED_DIGITS_LEAST: Final = 4
GROUP_LENGTH_LIMIT: Final = 6  # characters of one of its groups
FOURS_LENGTHS: Final = range(12, 35)
"""The lengths of codes that people write in groups of four: card numbers, IBANs."""
PARTS_LENGTHS: Final = range(2, 5)
"""How many parts a code has that people may write with hyphens between letters and digits."""
Groups = tuple[str, ...]  # a code without its blanks and hyphens, parted where they stood
GROUP: Final = re.compile(r"(?=.*[0-9])[a-z0-9]{1,34}")
"""One group of a code: letters and digits with a digit among them."""
_LETTERS_OR_DIGITS = re.compile("[a-z]+|[0-9]+")
_LETTERS_YEAR_OR_DIGITS = re.compile("[a-z]+|(?:19|20)[0-9]{2}(?=[0-9]{2})|[0-9]+")
_UUID = re.compile("[0-9a-f]{32}")
_PREFIX = re.compile(r"[a-z]{2,8}")
_NO_PREFIX: Final = words.word_set(
    """ab all am an and any are as at by das de der die du en et for from has im in is it la le les my no of
    on or so than the then to um un und up us via von was we with"""
)
"""Words before a number that are no part of it: ``in 2024`` is not ``IN2024``."""
SEPARATORS: Final = re.compile("[ -]+")
_BEFORE_PART = re.compile(r"(?:[$€£¥%+]|\d[,.])$")
_BEHIND_PART = re.compile(r"[$€£¥%]|[,.]\d")
YEAR: Final = re.compile(r"(?:19|20)\d\d")
_TIME = re.compile(r"\d{1,2}:\d{2}(?::\d{2})?(?:am|pm|h)?|\d{1,2}(?:am|pm|h)")
_QUANTITY = re.compile(r"\d+(?:[.,]\d+)?[a-z]{0,3}")
_LONG_NUMBER: Final = 4  # a number of so many digits is no plain one


def code_spellings(folded: str) -> list[str]:
    """Return how a code may be stored: with and without blanks and hyphens, and in groups of four. A code
    without them may be stored with one between letters and digits, and behind a year."""
    is_code = is_atom(folded.replace(" ", "")) and all(map(has_digit, folded.split()))
    if not is_code or date_of(folded) is not None:
        return [folded]
    groups = groups_of(folded)
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
    joined = "".join(groups_of(folded))
    return (
        len(parts) > 1
        and joined.isalnum()
        and len(joined) >= GROUPED_LENGTH_LEAST
        and digit_count(joined) >= GROUPED_DIGITS_LEAST
        and all(map(has_digit, parts))
        and _is_even(parts)
        and not all(map(is_plain, parts))
    )


def is_plain(folded: str) -> bool:
    """Return whether a word with digits is a date, a time, a year, a quantity or a small number."""
    if YEAR.fullmatch(folded) or _TIME.fullmatch(folded) or date_of(folded) is not None:
        return True
    if folded.isdecimal():
        return len(folded) < _LONG_NUMBER and not folded.startswith("0")
    return _QUANTITY.fullmatch(folded) is not None


def is_same_code(groups: Groups, other: Groups) -> bool:
    """Return whether two codes are the same: parted in the same places, or one of them in none."""
    return groups == other or (1 in (len(groups), len(other)) and "".join(groups) == "".join(other))


def groups_of(text: str) -> Groups:
    return tuple(group for group in SEPARATORS.split(text) if group)


def is_one_number(line: str, first: LineSpan, groups: Sequence[str]) -> bool:
    """Return whether groups of characters in a row are one number, such as an IBAN or a telephone number."""
    if line[max(0, first.start - 1) : first.start] in ("+", "(") or groups[0].startswith("0"):
        return len(groups) > 1
    return len(groups) > 2 and (_is_even(groups) or all(map(str.isdecimal, groups)))


def number_spans(
    line: str, atoms: Sequence[LineSpan], groups: Sequence[str], start: int, stop: int
) -> Iterator[tuple[int, int]]:
    """Yield the parts of a run of groups that may be one number each: a shorter group ends one."""
    if is_one_number(line, atoms[start], groups[start:stop]):
        yield start, stop
        return
    while start < stop:
        length, end = len(groups[start]), start + 1
        while end < stop and length <= GROUP_LENGTH_LIMIT and len(groups[end]) <= length:
            end += 1
            if len(groups[end - 1]) < length:
                break
        yield start, end
        start = end


def is_prefix(text: str) -> bool:
    """Return whether a word before a number may be a part of the code: ``inv 42`` may be ``INV-42``."""
    return _PREFIX.fullmatch(text) is not None and text not in _NO_PREFIX


def is_apart_number(line: str, span: LineSpan) -> bool:
    """Return whether digits are neither a part of an amount nor of a number with a country code."""
    before, after = line[max(0, span.start - 2) : span.start], line[span.end : span.end + 2]
    return not (_BEFORE_PART.search(before) or _BEHIND_PART.match(after))


def is_next(line: str, atoms: Sequence[LineSpan], place: int) -> bool:
    """Return whether only a blank stands between an atom and the one before it."""
    return line[atoms[place - 1].end : atoms[place].start] == " "


def has_digit(text: str) -> bool:
    return any(character.isdigit() for character in text)


def digit_count(text: str) -> int:
    return sum(character.isdigit() for character in text)


def _is_even(groups: Sequence[str]) -> bool:
    """Return whether groups are short, and of one length but for a shorter last one."""
    first, last = len(groups[0]), len(groups[-1])
    return last <= first <= GROUP_LENGTH_LIMIT and all(len(group) == first for group in groups[:-1])
