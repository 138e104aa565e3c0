"""Embedding in this process, with the small model of the package ``wordllama``, without network access.

The vector of a text is the direction of the sum of its word pieces' vectors; case does not count. Equal texts
have equal vectors on every machine and in every batch. Only two files of the package are read: importing the
package would set up logging and load a download client.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from graphmem.embedding.meaning import PASSAGING, Embedder, Vector, Weighted, in_bytes
from graphmem.errors import ConfigurationInvalid

if TYPE_CHECKING:
    from tokenizers import Tokenizer

MODEL: Final = f"wordllama l2_supercat 256, lower case, {PASSAGING}"
FLOOR: Final = 0.28
"""Least similarity of a hit. It was chosen by test: of 60 phrases for 30 things more than half find theirs,
and 40 unrelated phrases find nothing."""
INLINE_CHARACTERS_LIMIT: Final = 8_000
"""Texts with at most this many characters are embedded in the event loop (5 ms); more go to a thread."""
BATCH_SIZE: Final = 256  # texts per call of the tokenizer


class LocalEmbedder(Embedder):
    """The local model. It is loaded by :meth:`warm` or at the first text."""

    model = MODEL
    at_once = True
    floor = FLOOR

    def warm(self) -> None:
        """Load the model: 0.2 s, 60 MB.

        Raises:
            ConfigurationInvalid: the model's files are missing or cannot be read.
        """
        tokenizer()
        _table()

    async def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        if _table.cache_info().currsize and sum(map(len, texts)) <= INLINE_CHARACTERS_LIMIT:
            return self.vectors(texts)
        return await asyncio.to_thread(self.vectors, texts)

    def weighted(self, parts: Sequence[Weighted]) -> Vector | None:
        """Return the direction of the weighted sum of the vectors of a question's parts."""
        table = _table()
        total = np.zeros(table.shape[1])
        for text, weight in parts:
            pieces = tokenizer().encode(text.lower(), add_special_tokens=False).ids
            total += weight * table[pieces].sum(axis=0, dtype=np.float64)
        return _directions([total])[0]

    def vectors(self, texts: Sequence[str]) -> list[Vector | None]:
        table = _table()
        vectors: list[Vector | None] = []
        for start in range(0, len(texts), BATCH_SIZE):
            batch = [text.lower() for text in texts[start : start + BATCH_SIZE]]
            encoded = tokenizer().encode_batch_fast(batch, add_special_tokens=False)
            vectors += _directions([table[each.ids].sum(axis=0) for each in encoded])
        return vectors


@cache
def _table() -> npt.NDArray[np.float32]:
    """Return the vectors of the word pieces, by the numbers that the tokenizer gives these."""
    from safetensors import safe_open

    with _reading() as files, safe_open(files / "weights" / "l2_supercat_256.safetensors", "np") as file:
        table = file.get_tensor("embedding.weight").astype(np.float32)
    return np.ascontiguousarray(table)


@cache
def tokenizer() -> Tokenizer:
    """Return the tokenizer of the model, which also counts tokens: 0.1 s and 20 MB at the first call.

    Raises:
        ConfigurationInvalid: the model's files are missing or cannot be read.
    """
    # The tokenizer's threads spin for milliseconds after each text; one text takes a twentieth of that.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from tokenizers import Tokenizer

    with _reading() as files:
        loaded = Tokenizer.from_file(str(files / "tokenizers" / "l2_supercat_tokenizer_config.json"))
    loaded.no_padding()
    loaded.no_truncation()
    return loaded


@contextlib.contextmanager
def _reading() -> Iterator[Path]:
    """Yield the directory of the package that holds the model, for a block that reads its files."""
    spec = find_spec("wordllama")
    if spec is None or not spec.submodule_search_locations:
        raise ConfigurationInvalid("the package wordllama, which holds the model, is missing: install it")
    try:
        yield Path(spec.submodule_search_locations[0])
    except Exception as exc:
        raise ConfigurationInvalid(f"the model of the package wordllama cannot be read: {exc}") from exc


def _directions(totals: Sequence[npt.NDArray[Any]]) -> list[Vector | None]:
    """Return the directions of vectors in integers, which halves the time to send them; None without one."""
    return [row.tolist() if row.any() else None for row in in_bytes(np.stack(totals))]
