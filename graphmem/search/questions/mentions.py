"""Names within a question: the runs of words that may be names, and the words that may be parts of names.

A run is looked up as a whole name, alias or identifier. A word alone may be a part of a name: the first name
of a person. Where a question tells names by capital letters, only words with one may be parts of names.
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

from graphmem.model.identity import fold_text, index_key
from graphmem.search import terms
from graphmem.search.questions import lexicon, question_words
from graphmem.search.questions.pieces import (
    AROUND,
    DENSE_NAME_CHARACTERS,
    MY,
    POSSESSIVE,
    Piece,
    WordRun,
    dense_pairs,
    dense_part_spans,
    identifiers_in,
    pieces_of,
)
from graphmem.text import identifiers, words

NAME_WORDS: Final = 6  # most consecutive words of a question that are looked up as a name
QUESTION_WORDS: Final = 32  # words of a question in which names are looked up
EXTERNAL_ID_LENGTH_LEAST: Final = 3  # characters of an external id within a question
_ADDRESS_SIGNS: Final = frozenset("@./:")
_DAYS: Final = lexicon.words("days")  # names of days and months, some of which are names of people
_BEFORE_DAYS: Final = lexicon.words("before_days")  # words before a day or a month: nobody is meant by it
ATTRIBUTES: Final = _DAYS | lexicon.words("attributes")
"""Words that ask for something of an entity, or for a day: beside a name they are no part of it."""
_COMMANDS: Final = lexicon.words("commands")
"""Words that begin an order or a greeting; a capital letter there says nothing."""

_SELF: Final = lexicon.words("self")
_SELF_PLURAL: Final = lexicon.words("self_plural") | lexicon.words("self_verbs")
_OURS: Final = lexicon.words("our")
_SELF_OBJECT: Final = lexicon.words("self_object")
"""Words after which "me" is who is to be told something: "show me"."""
_APOSTROPHE = re.compile("['’]")


class NamePart(NamedTuple):
    """Words in a row that are all parts of one name, from ``start`` up to ``end``. ``initials`` are single
    letters among them: each begins another word of the same name."""

    start: int
    end: int
    words: tuple[str, ...]
    initials: tuple[str, ...] = ()


@dataclass(frozen=True)
class AskedNames:
    """The words of a question, in which names are looked up."""

    pieces: tuple[Piece, ...]
    spellings: tuple[str, ...]
    region: str | None = None
    is_prose: bool = False

    @cached_property
    def runs(self) -> list[WordRun]:
        """The runs of words that may be names or identifiers, the longest first; no run of stop words."""
        longer = [each for each in self.asked_identifiers if each.end - each.start > NAME_WORDS]
        runs = [each._replace(pairs=frozenset(_pairs(each.text, self.region))) for each in longer]
        has_dense = any(piece.is_dense for piece in self.pieces)
        most = DENSE_NAME_CHARACTERS if has_dense else NAME_WORDS
        for length in range(min(most, len(self.pieces)), 0, -1):
            for start in range(len(self.pieces) - length + 1):
                end = start + length
                if not self._may_be_run(start, end):
                    continue
                phrase, text = self.text(start, end), self.name(start, end)
                if self.pieces[start].is_dense and length > 1:
                    # There are many of these, and none is an address.
                    key = index_key(fold_text(text))
                    pairs = {(kind, key) for kind in identifiers.NAMES}
                else:
                    spellings = {phrase, phrase.strip(AROUND), text}
                    pairs = {pair for each in spellings for pair in _pairs(each, self.region)}
                runs.append(WordRun(start, end, text, frozenset(pairs)))
        return runs

    def text(self, start: int, end: int) -> str:
        """Return the words from one place up to another as they are written."""
        spelled = zip(self.spellings[start:end], self.pieces[start:end], strict=True)
        return "".join(text if piece.is_glued else f" {text}" for text, piece in spelled).lstrip(" ")

    def name(self, start: int, end: int) -> str:
        """Return the same without the punctuation around it and a possessive ending."""
        return POSSESSIVE.sub("", self.text(start, end).strip(AROUND))

    def _may_be_run(self, start: int, end: int) -> bool:
        """Return whether a run is looked up as a name; a single dense character is one only by itself."""
        pieces = self.pieces[start:end]
        if self.is_prose and not any(piece.may_begin_name for piece in pieces):
            return False
        if len(pieces) == 1 and pieces[0].is_dense:
            return not pieces[0].is_glued and not any(each.is_glued for each in self.pieces[end : end + 1])
        is_long = sum(not piece.is_glued for piece in pieces) > NAME_WORDS
        return not is_long and not all(piece.is_stop_word for piece in pieces)

    @property
    def pairs(self) -> set[tuple[str, str]]:
        """The (kind, index key) pairs of all runs."""
        return {pair for run in self.runs for pair in run.pairs}

    @cached_property
    def asked_identifiers(self) -> list[WordRun]:
        """The e-mail addresses, numbers and other identifiers in the question: each means itself alone."""
        return identifiers_in(self.pieces)

    def unknown_identifier(self, named: Iterable[tuple[int, int]] = ()) -> str | None:
        """Return the first identifier in the question that is none of what it names, if there is one."""
        spans = list(named)
        for each in self.asked_identifiers:
            if not any(start <= each.start and each.end <= end for start, end in spans):
                return each.text
        return None

    @cached_property
    def selves(self) -> list[int]:
        """The places of words that mean who asks: "my" and "I", but not "me" in "show me"."""
        words = enumerate(zip(["", *self._bare], self._bare, strict=False))
        return [
            place
            for place, (before, word) in words
            if word in MY or (word in _SELF and before not in _SELF_OBJECT)
        ]

    @property
    def may_be_about_own(self) -> bool:
        """Whether a word means who asks, alone or with others, or the question is for somebody of theirs."""
        is_own = bool(self.selves) or not _SELF_PLURAL.isdisjoint(self._bare)
        return is_own or "person" in self.answer_kinds

    @property
    def mine(self) -> list[int]:
        """The places of words such as "my"."""
        return [place for place in self.selves if self._bare[place] in MY]

    @property
    def ours(self) -> list[int]:
        """The places of words such as "our"."""
        return [place for place, word in enumerate(self._bare) if word in _OURS]

    @cached_property
    def _bare(self) -> list[str]:
        """Each word as search compares it, up to an apostrophe: of "I'm" the first one."""
        return ["".join(words.tokens(_APOSTROPHE.split(piece.text)[0])) for piece in self.pieces]

    @cached_property
    def has_case(self) -> bool:
        """Whether capital letters tell names: some words behind the first have one, others have none."""
        telling = [piece for piece in self.pieces[1:] if piece.is_word and not piece.is_stop_word]
        is_mixed = any(not piece.is_capital for piece in self.pieces if piece.token)
        return is_mixed and any(piece.is_capital for piece in telling)

    def is_written_as_name(self, place: int) -> bool:
        """Return whether a capital letter tells that a word is a name; in German, nouns have one as well."""
        piece = self.pieces[place]
        is_capital = piece.is_capital and piece.is_word and not piece.is_stop_word and self.has_case
        is_other = _asks(piece.token) or piece.token in _SELF
        return is_capital and place > 0 and self._language != "de" and not is_other

    @cached_property
    def _language(self) -> str | None:
        return terms.language_of_question(" ".join(piece.text for piece in self.pieces))

    def _is_marked(self, piece: Piece) -> bool:
        """Return whether a word is written as a name."""
        is_capital = self.has_case and piece.is_capital
        return is_capital or piece.is_possessive or words.is_emoji(piece.token)

    def may_be_name(self, place: int) -> bool:
        piece = self.pieces[place]
        is_short = len(piece.text) < 2 and not words.is_emoji(piece.text)
        is_other = piece.is_stop_word or piece.is_title or piece.is_initial or piece.is_dense
        if not piece.is_word or is_short or is_other or self._is_day(place):
            return False
        if self._is_marked(piece) or len(self.pieces) == 1:
            return True
        return not self.has_case and (not _asks(piece.token) or self._is_joined(place))

    def _is_joined(self, place: int) -> bool:
        """Return whether "&" joins a word to another one."""
        return "&" in (self.text(max(0, place - 1), place), self.text(place + 1, place + 2))

    def _is_day(self, place: int) -> bool:
        """Return whether a word is the name of a day or a month for sure: "8 May", "in May"."""
        if self.pieces[place].token not in _DAYS or self.pieces[place].is_possessive:
            return False
        before = [each.token for each in self.pieces[max(0, place - 1) : place]]
        after = [each.token for each in self.pieces[place + 1 : place + 2]]
        return any(each[:1].isdigit() for each in before + after) or not _BEFORE_DAYS.isdisjoint(before)

    def title_before(self, place: int) -> str:
        """Return the title before a place, empty if there is none."""
        before = self.pieces[place - 1] if place else None
        return before.token if before is not None and before.is_title else ""

    @cached_property
    def answer_kinds(self) -> frozenset[question_words.AnswerKind]:
        return question_words.answer_kinds(piece.token for piece in self.pieces)

    @property
    def nouns(self) -> set[int]:
        """The places of words that are nouns for sure: behind a possessive, or before "of"."""
        pieces = self.pieces
        return {
            place
            for place in range(len(pieces))
            if (place and pieces[place - 1].is_possessive)
            or [piece.token for piece in pieces[place + 1 : place + 2]] == ["of"]
        }

    @property
    def name_words(self) -> list[str]:
        """The words that may be parts of names, each once."""
        places = [place for place in range(len(self.pieces)) if self.may_be_name(place)]
        listed = [self.pieces[place].tokens for place in places] + [part.words for part in self._dense_parts]
        return list(dict.fromkeys(token for tokens in listed for token in tokens))

    @cached_property
    def _dense_parts(self) -> list[NamePart]:
        """The runs of dense characters that may be parts of names, the longest first."""
        spans = dense_part_spans(self.pieces)
        return [NamePart(*span, dense_pairs(self.pieces[slice(*span)])) for span in spans]

    @property
    def written_names(self) -> set[str]:
        """The words that a question may write as names: with a capital letter or a possessive, or alone."""
        spelled = [piece for piece in self.pieces if piece.tokens]
        if len(spelled) > 1 and not all(piece.is_capital for piece in spelled):
            # Where no word behind the first has a capital letter, that of the first may tell a name.
            first = [spelled[0]] if spelled[0].is_capital and not self.has_case else []
            spelled = first + [piece for piece in spelled if self._is_marked(piece)]
        whole = (0, len(self.pieces))
        return {word for part in self._dense_parts if part[:2] == whole for word in part.words} | {
            token for piece in spelled for token in piece.tokens
        }

    def parts(self, names: Collection[str], used_places: Collection[int] = ()) -> list[NamePart]:
        """Return the parts of names in the question.

        Another word beside them may make them the name of somebody else: "Tom Smith" is not Tom Ek.

        Args:
            names: the words that names in question have.
            used_places: the places of words that are no parts of names.
        """
        parts: list[NamePart] = []
        pieces = self.pieces
        start = 0
        while start < len(pieces):
            end = start
            while end < len(pieces) and end not in used_places and self._continues(end, names):
                end += 1
                if pieces[end - 1].ends or pieces[end - 1].is_possessive:
                    break
            spelled = [(piece.is_initial, token) for piece in pieces[start:end] for token in piece.tokens]
            group = dict.fromkeys(token for is_initial, token in spelled if not is_initial)
            if group and not self._is_of_somebody_else(start, end, names, used_places):
                initials = tuple(token for is_initial, token in spelled if is_initial)
                parts.append(NamePart(start, end, tuple(group), initials))
            start = max(end, start + 1)
        used = set(used_places)
        for part in self._dense_parts:
            places = range(part.start, part.end)
            if used.isdisjoint(places) and all(pair in names for pair in part.words):
                parts.append(part)
                used.update(places)
        return parts

    def _continues(self, place: int, names: Collection[str]) -> bool:
        """Return whether a word may be a part of the name of which the words before it are parts."""
        piece = self.pieces[place]
        return piece.is_initial or (self.may_be_name(place) and all(token in names for token in piece.tokens))

    def _is_of_somebody_else(
        self, start: int, end: int, names: Collection[str], used_places: Collection[int]
    ) -> bool:
        """Return whether a word beside a part of a name, or behind "&", may belong to the same name."""
        signs = [place for place in (start - 1, end) if self.text(place, place + 1) == "&"]
        first, last = start - (start - 1 in signs), end + (end in signs)
        for place, before in ((first - 1, first - 1), (last, end - 1)):
            if not 0 <= place < len(self.pieces) or place in used_places or self._continues(place, names):
                continue
            token = self.pieces[place].token
            is_order = token in _COMMANDS and (place == 0 or self.pieces[place - 1].ends)
            asks = _asks(token) and not self._is_joined(place)
            is_apart = self.pieces[before].ends or self.pieces[before].is_possessive
            if not (is_apart or asks or is_order) and self.may_be_name(place):
                return True
        return False


def names_in(text: str, region: str | None = None, *, is_prose: bool = False) -> AskedNames:
    """Return the words of a question.

    Args:
        is_prose: all words of another text are read; only what is written as a name may be one.
    """
    pieces, spellings = pieces_of(text, len(text) if is_prose else QUESTION_WORDS)
    return AskedNames(pieces, spellings, region, is_prose)


def _asks(token: str) -> bool:
    """Return whether a word asks for something of what is named."""
    return token in ATTRIBUTES or question_words.says_role(token)


def _pairs(spelling: str, region: str | None) -> set[tuple[str, str]]:
    """Return the (kind, index key) pairs of words in a question: addresses and numbers where they look so."""
    text = fold_text(spelling)
    is_long = len(text) >= EXTERNAL_ID_LENGTH_LEAST
    if any(character.isdigit() or character in _ADDRESS_SIGNS for character in text):
        pairs = identifiers.candidates(text, region)
        return {pair for pair in pairs if is_long or pair[0] in identifiers.NAMES}
    kinds = ("external_id", *identifiers.NAMES) if is_long and " " not in text else identifiers.NAMES
    spellings = (text, identifiers.one_spelling(text)) if text else ()
    return {(kind, index_key(each)) for kind in kinds for each in spellings}


def longest(spans: Iterable[tuple[int, int]]) -> set[tuple[int, int]]:
    """Return spans without those that a longer one of them covers. Many entities may share one span."""
    telling: set[tuple[int, int]] = set()
    furthest = -1
    for start, end in sorted(set(spans), key=lambda span: (span[0], -span[1])):
        # What begins earlier, or here and is longer, came before.
        if end > furthest:
            telling.add((start, end))
            furthest = end
    return telling
