"""Names in scripts that are written without blanks: Chinese, Japanese, Korean with its particles, Thai.

No word ends there for sure. So every run of characters is looked up as a whole name, and a part of a name is
what has a particle, another script or nothing on both sides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from graphmem.search.questions import grammar

if TYPE_CHECKING:
    from graphmem.search.questions.mentions import Piece

NAME_CHARACTERS: Final = 14
"""Most consecutive characters that are looked up as a name."""
PART_CHARACTERS: Final = 8
"""Most characters of a part of a name; it has two at least."""
_PARTICLES: Final = grammar.words("particles")
"""What stands beside a name."""
_LENGTHS: Final = range(1, max(map(len, _PARTICLES)) + 1)


def part_spans(pieces: Sequence[Piece]) -> list[tuple[int, int]]:
    """Return the runs of characters that may be parts of names, the longest first."""
    if not any(piece.is_glued for piece in pieces):
        return []
    tokens = [piece.token for piece in pieces]
    # Whether a character belongs to the run of the one before it.
    goes_on = [
        piece.is_glued and piece.is_dense and before.is_dense and not before.ends
        for before, piece in pairwise(pieces)
    ]
    goes_on = [False, *goes_on, False]

    def is_behind(place: int) -> bool:
        return any("".join(tokens[max(0, place - length) : place]) in _PARTICLES for length in _LENGTHS)

    def is_before(place: int) -> bool:
        return any("".join(tokens[place : place + length]) in _PARTICLES for length in _LENGTHS)

    def spans() -> Iterator[tuple[int, int]]:
        for start in range(len(pieces)):
            if not goes_on[start] or is_behind(start):
                end = start + 1
                while end - start < PART_CHARACTERS and goes_on[end]:
                    end += 1
                    if not goes_on[end] or is_before(end):
                        yield start, end

    return sorted(spans(), key=lambda span: span[0] - span[1])


def pairs(pieces: Sequence[Piece]) -> tuple[str, ...]:
    """Return the pairs of characters of a run, as search compares them."""
    return tuple(first.token + second.token for first, second in pairwise(pieces))
