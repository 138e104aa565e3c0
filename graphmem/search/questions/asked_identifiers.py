"""Identifiers within questions: words that mean one thing alone, such as an order number or an IBAN.

Numbers in a question are more often dates, amounts, sizes and names of products ("3 bedrooms", "iPhone 15",
"the 600 mm mirror"). What may be one of these is no identifier here.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from graphmem.model.identity import fold_text
from graphmem.model.ids import ENTITY_ID
from graphmem.search import written_identifiers
from graphmem.search.questions import lexicon
from graphmem.search.questions.pieces import Piece
from graphmem.text import codes, identifiers, words

CODE_DIGITS_LEAST: Final = 3
"""Digits of a code with letters, years left out: ``GPT-4`` and ``covid-19`` are words."""
LABELLED_DIGITS_LEAST: Final = 3  # digits of a number behind a word for a number: "order 471"
NUMBER_DIGITS_LEAST: Final = 6  # digits of a number alone; one of fewer may be an amount
PHONE_DIGITS_LEAST: Final = 7  # digits of a telephone number that begins with a 0 or with its country

_LABELS: Final = lexicon.words("labels")
"""Words before a number that is one of an order, an invoice, a customer."""
_COMPARING: Final = lexicon.words("comparing")
_UNITS: Final = lexicon.words("units")
_WORDS_WITH_NUMBERS: Final = lexicon.words("words_with_numbers")
"""Letters before a number that make a word of it: ``COVID-19``."""
_EMAIL = re.compile(r"[^\s@]+@[^\s@]+\.[^\s@]+")
_URL = re.compile(r"(?:https?://|www\.)\S+\.\S+")
_HASH = re.compile(r"#[0-9]{2,}")
_AMOUNT = re.compile(r"[^\w+]*[0-9]{1,3}(?:[ .,'][0-9]{3})+(?:[.,][0-9]+)?\W*")
_VERSION = re.compile(r"v?[0-9]+(?:\.[0-9]+)+")
_QUANTITY = re.compile(r"[0-9]+(?:[.,][0-9]+)?[a-z]{1,4}")
_SHORT_CODE = re.compile(r"([A-Z]{3,})[-_/]?[0-9]{2}")  # a code of capitals needs fewer digits: ``ORD-77``
_TOKEN = re.compile(r"[a-z]+|[0-9]+")
_YEARS = re.compile(r"(?:19|20)[0-9]{2}(?:[-/](?:(?:19|20)?[0-9]{2}))?")


class WordRun(NamedTuple):
    """Consecutive words of a question, and the (kind, index key) pairs that they may stand for."""

    start: int
    end: int
    text: str
    pairs: frozenset[tuple[str, str]] = frozenset()


def identifiers_in(pieces: Sequence[Piece]) -> list[WordRun]:
    runs: list[WordRun] = []
    texts = [fold_text(piece.text) for piece in pieces]
    place = 0
    while place < len(pieces):
        end = place + 1
        # Words in a row that have digits, and no punctuation between them.
        while (
            end < len(texts)
            and not pieces[end - 1].ends
            and all(map(codes.has_digit, texts[place : end + 1]))
        ):
            end += 1
        while end > place + 1 and not _is_number_in_groups(texts[place:end]):
            end -= 1
        if end > place + 1 or _is_identifier(pieces, texts, place):
            text = " ".join(piece.text for piece in pieces[place:end])
            runs.append(WordRun(place, end, text.removeprefix("mailto:")))
        place = end
    return runs


def _is_number_in_groups(texts: Sequence[str]) -> bool:
    """Return whether words are one telephone number, card number, IBAN or the like."""
    text = " ".join(texts)
    is_amount = _AMOUNT.fullmatch(text) and not text.startswith("0")
    if is_amount or any(codes.date_of(each) is not None for each in texts):
        return False
    if identifiers.is_phone(text) and not all(map(codes.YEAR.fullmatch, texts)):
        digits = sum(map(str.isdigit, text))
        is_dialled = text.startswith(("+", "0")) and digits >= PHONE_DIGITS_LEAST
        return is_dialled or digits >= written_identifiers.DIALLED_DIGITS_LEAST
    return codes.is_grouped(text)


def _is_identifier(pieces: Sequence[Piece], texts: Sequence[str], place: int) -> bool:
    text = texts[place].removeprefix("mailto:")
    if any(shape.fullmatch(text) for shape in (_EMAIL, ENTITY_ID, _URL, _HASH)):
        return True
    is_plain = any(shape.fullmatch(text) for shape in (_AMOUNT, _YEARS, _VERSION, _QUANTITY))
    if is_plain or not codes.has_digit(text) or codes.date_of(text) is not None:
        return False
    return _is_code(pieces[place].text) if words.has_letter(text) else _is_number(pieces, texts, place)


def _is_code(spelled: str) -> bool:
    short = _SHORT_CODE.fullmatch(spelled)
    if short:
        return short[1].lower() not in _WORDS_WITH_NUMBERS
    tokens = _TOKEN.findall(fold_text(spelled))
    digits = sum(len(each) for each in tokens if each.isdecimal() and not codes.YEAR.fullmatch(each))
    return digits >= CODE_DIGITS_LEAST and tokens[0] not in _WORDS_WITH_NUMBERS


def _is_number(pieces: Sequence[Piece], texts: Sequence[str], place: int) -> bool:
    """Return whether a word without letters is the number of something."""
    text = texts[place]
    digits = re.sub("[^0-9]", "", text)
    if identifiers.is_phone(text) and text.startswith(("+", "0")) and len(digits) >= PHONE_DIGITS_LEAST:
        return True
    if not all(part.isdecimal() for part in re.split("[-/]", text)):
        return False
    before = texts[place - 1] if place else ""
    if place and not pieces[place - 1].ends and before.rstrip(".:#") in _LABELS:
        return len(digits) >= LABELLED_DIGITS_LEAST
    after = texts[place + 1] if place + 1 < len(texts) and not pieces[place].ends else ""
    is_amount = digits.endswith("000") or before in _COMPARING or after in _UNITS
    return len(digits) >= NUMBER_DIGITS_LEAST and not is_amount
