"""The words of a question as they are written: possessives, capital letters, titles and initials.

A title or an initial before a name calls nobody by itself. In scripts that are written without blanks, such
as Chinese and Thai, no word ends for sure: every run of characters is looked up as a whole name, and a part
of a name is what has a particle, another script or nothing on both sides.

Identifiers mean one thing alone, such as an order number or an IBAN. Numbers in a question are more often
dates, amounts, sizes and names of products ("3 bedrooms", "iPhone 15", "the 600 mm mirror"): these are none.
"""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from graphmem.model.identity import fold_text
from graphmem.model.ids import ENTITY_ID
from graphmem.search import terms, written_identifiers
from graphmem.search.questions import lexicon, question_words
from graphmem.text import codes, identifiers, languages, words

_STOPS: Final = ".,;:!?…。、，；：！？؟،؛।॥"
AROUND: Final = f"\"'()[]{{}}<>«»„“”‘’¿¡-–—「」『』（）《》〈〉【】{_STOPS}"
_SENTENCE_ENDS: Final = frozenset(".!?…:。！？：؟।॥")
POSSESSIVE = re.compile("(['’]s|(?<=s)['’]|(?<=[\u0980-\u09ff])\u09c7\u09b0)$", re.IGNORECASE)
"""Of Bengali the genitive."""
MY: Final = lexicon.words("self_possessive")
_OWNED_ROLES: Final = lexicon.meanings("owned_roles")
"""Words for people that say a relationship behind "my": of "meine Frau", a wife."""
_CONTRACTED: Final = lexicon.words("contracted")
"""Stop words of which "'s" makes no possessive: "who's" is the word "who" and a verb."""
_ABBREVIATED_TITLES: Final = lexicon.words("abbreviated_titles")
"""Titles that are no names: "Dr." alone calls nobody."""
_TITLES: Final = _ABBREVIATED_TITLES | lexicon.words("titles")
"""Words before the name of a person that are no part of it."""
DENSE_NAME_CHARACTERS: Final = 14  # most consecutive characters that are looked up as a name
PART_CHARACTERS: Final = 8  # most characters of a part of a name; it has two at least
_PARTICLES: Final = lexicon.words("particles")  # what stands beside a name
_LENGTHS: Final = range(1, max(map(len, _PARTICLES)) + 1)


class Piece(NamedTuple):
    """A run of characters between blanks, or a character of a script that is written without them.

    ``text`` has neither the punctuation around it nor a possessive ending; ``tokens`` are the words that
    search compares, and ``token`` is the only one, empty if there are none or several: "Anne-Marie".
    ``ends`` tells that punctuation follows; the dot of a title or an initial is none. ``is_glued`` tells that
    no blank is before it.
    """

    text: str
    tokens: tuple[str, ...]
    token: str
    is_capital: bool
    is_possessive: bool
    ends: bool
    is_stop_word: bool
    is_title: bool = False
    is_initial: bool = False
    is_glued: bool = False

    @property
    def is_word(self) -> bool:
        """Whether the piece is one word of letters or an emoji, or several that hyphens join."""
        return bool(self.tokens) and all(map(words.is_spelled, self.tokens))

    @property
    def may_begin_name(self) -> bool:
        """Whether it is written as a name or a number, or in a script without capital letters."""
        return self.is_capital or not self.text.isalpha() or self.text.lower() == self.text.upper()

    @property
    def is_dense(self) -> bool:
        return bool(self.token) and words.is_dense(self.token)


_COUNTING: Final = {run.split()[0] for run in lexicon.words("counting")}
_INVERSION: Final = re.compile(r"-(?:t-)?(?=(?:ils?|elles?|on|nous|vous|tu)\b)")
"""What joins a French verb to its subject behind it: "doit-elle", "a-t-il"."""


def pieces_of(text: str, limit: int) -> tuple[tuple[Piece, ...], tuple[str, ...]]:
    """Return the words of a text up to a number of them, and how each is written."""
    parted = [words.dense_parts(each) for each in _INVERSION.sub(" ", text).split()[:limit]]
    spellings = tuple([part for parts in parted for part in parts][: 2 * limit])
    glued = [place > 0 for parts in parted for place in range(len(parts))]
    language = terms.language_of_question(text[: words.TEXT_LIMIT])
    stop_words = question_words.EMPTY | languages.stop_words().get(language or "", frozenset())
    pieces = [
        _piece(each, stop_words)._replace(is_glued=is_glued)
        for each, is_glued in zip(spellings, glued, strict=False)
    ]
    has_case = any(piece.token and not piece.is_capital for piece in pieces)
    for place, piece in enumerate(pieces):
        begins = place == 0 or spellings[place - 1][-1] in _SENTENCE_ENDS
        # A stop word may be written as a name: "Will's phone", "Where is Will?".
        is_name = piece.is_possessive or (piece.is_capital and has_case and not begins)
        if is_name or len(pieces) == 1:
            pieces[place] = piece._replace(is_stop_word=False)
        elif begins and piece.token in _COUNTING:
            pieces[place] = piece._replace(is_stop_word=True)
        is_owned = place and pieces[place - 1].token in MY
        if is_owned and (role := question_words.of_plural(piece.token, _OWNED_ROLES)):
            pieces[place] = pieces[place]._replace(token=role, tokens=(role,))
        pieces[place] = _with_title(pieces, place, spellings[place], language)
    return tuple(pieces), spellings


def _piece(spelling: str, stop_words: frozenset[str]) -> Piece:
    core = spelling.strip(AROUND)
    text = POSSESSIVE.sub("", core)
    tokens = tuple(words.tokens(text))
    token = tokens[0] if len(tokens) == 1 else ""
    is_possessive = text != core and token not in _CONTRACTED
    return Piece(
        text, tokens, token, text[:1].isupper(), is_possessive, spelling.rstrip(_STOPS) != spelling,
        not tokens or all(each in stop_words or question_words.answer_kinds([each]) for each in tokens),
    )  # fmt: skip


def _with_title(pieces: Sequence[Piece], place: int, spelling: str, language: str | None) -> Piece:
    """Return a word of a question with what it is before a name: a title, or an initial."""
    piece = pieces[place]
    if not piece.tokens or any(map(words.is_dense, piece.tokens)):
        return piece
    is_dotted = spelling.endswith(".") or piece.text.endswith(".")
    ends = piece.ends and not (is_dotted and spelling.rstrip(".").endswith(piece.text))
    is_before = not (ends or piece.is_possessive) and place + 1 < len(pieces) and pieces[place + 1].is_word
    is_title = all(token in _TITLES for token in piece.tokens) and (
        is_before or all(token in _ABBREVIATED_TITLES for token in piece.tokens)
    )
    if is_title or (is_before and piece.token in lexicon.words("letter_titles", language)):
        return piece._replace(is_title=True, ends=ends)
    is_letter = all(len(token) == 1 and token.isalpha() for token in piece.tokens)
    # "y" and "e" join two names in some languages.
    says_nothing = piece.is_stop_word or (not piece.is_capital and languages.is_stop_word(piece.token))
    if is_letter and len(pieces) > 1 and (is_dotted or not says_nothing):
        return piece._replace(is_initial=True, ends=ends)
    return piece


def dense_part_spans(pieces: Sequence[Piece]) -> list[tuple[int, int]]:
    """Return the runs of characters that may be parts of names, the longest first."""
    if not any(piece.is_glued for piece in pieces):
        return []
    tokens = [piece.token for piece in pieces]
    # Whether a character belongs to the run of the one before it.
    goes_on = [
        False,
        *(
            piece.is_glued and piece.is_dense and before.is_dense and not before.ends
            for before, piece in pairwise(pieces)
        ),
        False,
    ]
    spans: list[tuple[int, int]] = []
    for start in range(len(pieces)):
        before = ["".join(tokens[max(0, start - length) : start]) for length in _LENGTHS]
        end = start + 1
        while end - start < PART_CHARACTERS and goes_on[end]:
            end += 1
            after = ["".join(tokens[end : end + length]) for length in _LENGTHS]
            if (not goes_on[start] or not _PARTICLES.isdisjoint(before)) and (
                not goes_on[end] or not _PARTICLES.isdisjoint(after)
            ):
                spans.append((start, end))
    return sorted(spans, key=lambda span: span[0] - span[1])


def dense_pairs(pieces: Sequence[Piece]) -> tuple[str, ...]:
    """Return the pairs of characters of a run, as search compares them."""
    return tuple(first.token + second.token for first, second in pairwise(pieces))


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
