"""Titles and initials before names: neither calls anybody by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from graphmem.search.questions import grammar
from graphmem.text import languages, words

if TYPE_CHECKING:
    from graphmem.search.questions.mentions import Piece

_ABBREVIATED_TITLES: Final = grammar.words("abbreviated_titles")
"""Titles that are no names: "Dr." alone calls nobody."""
_TITLES: Final = _ABBREVIATED_TITLES | grammar.words("titles")
"""Words before the name of a person that are no part of it."""


def with_title(pieces: Sequence[Piece], place: int, spelling: str, language: str | None) -> Piece:
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
    if is_title or (is_before and piece.token in grammar.words("letter_titles", language)):
        return piece._replace(is_title=True, ends=ends)
    is_letter = all(len(token) == 1 and token.isalpha() for token in piece.tokens)
    # "y" and "e" join two names in some languages.
    says_nothing = piece.is_stop_word or (not piece.is_capital and languages.is_stop_word(piece.token))
    if is_letter and len(pieces) > 1 and (is_dotted or not says_nothing):
        return piece._replace(is_initial=True, ends=ends)
    return piece
