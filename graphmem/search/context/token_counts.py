"""How many tokens a text has.

Each language model has its own tokens, and which model reads an answer is not known. So a text is counted
with the tokenizer of the package ``wordllama``, that of Llama 2. Its vocabulary is small: newer tokenizers
make fewer tokens of English, ids, dates and JSON. Some make more of words in other scripts. So a word with
a character outside of ASCII counts as its length suggests, where that is more.
``tests/unit/test_token_counts.py`` has what other tokenizers count.
"""

import re
from typing import Final, Literal

from graphmem.embedding import local

Unit = Literal["tokens", "characters"]
_MARGIN: Final = 32  # one token in so many is added: German and Polish need it for some tokenizers
_PIECE: Final = re.compile(r"[A-Za-z0-9]+|[^\sA-Za-z0-9]")


def cost(text: str, unit: Unit) -> int:
    return len(text) if unit == "characters" else tokens(text)


def tokens(text: str) -> int:
    """Return the number of tokens, which common tokenizers exceed by a tenth at most."""
    counted = _counted(text)
    if not text.isascii():
        other = " ".join(word for word in text.split() if not word.isascii())
        counted += max(0, _by_length(other) - _counted(other))
    return counted + counted // _MARGIN


def _counted(text: str) -> int:
    return len(local.tokenizer().encode(text, add_special_tokens=False).ids)


def _by_length(text: str) -> int:
    """Return an estimate of tokens for a text in another script than that of English."""
    total = 0
    for piece in _PIECE.findall(text):
        if piece.isascii():
            total += (len(piece) + 2) // 3 if piece.isalpha() else len(piece)
        else:
            total += 1 if piece < "\u0800" else 2 if piece < "\U00010000" else 4
    return total
