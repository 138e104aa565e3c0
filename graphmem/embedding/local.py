"""Embedding in this process, with the small model of the package ``wordllama``, without network access.

The vector of a text is the direction of the sum of its word pieces' vectors; case does not count. Equal texts
have equal vectors on every machine and in every batch. Only two files of the package are read: importing the
package would set up logging and load a download client.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from graphmem.embedding.meaning import COMPONENT_LIMIT, PASSAGING, Vector, Weighted
from graphmem.errors import ConfigurationInvalid

if TYPE_CHECKING:
    import numpy as np
    from tokenizers import Tokenizer

MODEL: Final = f"wordllama l2_supercat 256, lower case, {PASSAGING}"
FLOOR: Final = 0.28
"""Least similarity of a hit. It was chosen by test: of 60 phrases for 30 things more than half find theirs,
and 40 unrelated phrases find nothing."""
INLINE_CHARACTERS_LIMIT: Final = 8_000
"""Texts with at most this many characters are embedded in the event loop (5 ms); more go to a thread."""
BATCH_SIZE: Final = 256
"""Texts per call of the tokenizer."""


class LocalEmbedder:
    """The local model. It is loaded by :meth:`warm` or at the first text."""

    model = MODEL
    at_once = True
    floor = FLOOR

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loaded: tuple[Any, np.ndarray] | None = None

    def warm(self) -> None:
        """Load the model: 0.2 s, 60 MB.

        Raises:
            ConfigurationInvalid: the model's files are missing or cannot be read.
        """
        self._model()

    def _model(self) -> tuple[Tokenizer, np.ndarray]:
        """Return the tokenizer and the table of vectors, loaded at the first call."""
        if self._loaded is not None:
            return self._loaded
        import numpy as np
        from safetensors import safe_open

        with self._lock:
            if self._loaded is None:
                words = tokenizer()
                weights = _files() / "weights" / "l2_supercat_256.safetensors"
                try:
                    with safe_open(weights, framework="np") as file:
                        table = file.get_tensor("embedding.weight").astype(np.float32)
                except Exception as exc:
                    raise _unreadable(exc) from exc
                self._loaded = words, np.ascontiguousarray(table)
            return self._loaded

    async def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        if self._loaded is not None and sum(map(len, texts)) <= INLINE_CHARACTERS_LIMIT:
            return self.vectors(texts)
        return await asyncio.to_thread(self.vectors, texts)

    def weighted(self, parts: Sequence[Weighted]) -> Vector | None:
        """Return the direction of the weighted sum of the vectors of a question's parts."""
        import numpy as np

        tokenizer, table = self._model()
        total = np.zeros(table.shape[1])
        for text, weight in parts:
            pieces = tokenizer.encode(text.lower(), add_special_tokens=False).ids
            total += weight * table[pieces].sum(axis=0, dtype=np.float64)
        return _directions([total])[0]

    def vectors(self, texts: Sequence[str]) -> list[Vector | None]:
        tokenizer, table = self._model()
        vectors: list[Vector | None] = []
        for start in range(0, len(texts), BATCH_SIZE):
            batch = [text.lower() for text in texts[start : start + BATCH_SIZE]]
            encoded = tokenizer.encode_batch_fast(batch, add_special_tokens=False)
            vectors += _directions([table[each.ids].sum(axis=0) for each in encoded])
        return vectors


@cache
def tokenizer() -> Tokenizer:
    """Return the tokenizer of the model, which also counts tokens: 0.1 s and 20 MB at the first call.

    Raises:
        ConfigurationInvalid: the model's files are missing or cannot be read.
    """
    # The tokenizer's threads spin for milliseconds after each text; one text takes a twentieth of that.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from tokenizers import Tokenizer

    try:
        loaded = Tokenizer.from_file(str(_files() / "tokenizers" / "l2_supercat_tokenizer_config.json"))
    except ConfigurationInvalid:
        raise
    except Exception as exc:
        raise _unreadable(exc) from exc
    loaded.no_padding()
    loaded.no_truncation()
    return loaded


def _files() -> Path:
    """Return the directory of the package that holds the model."""
    spec = find_spec("wordllama")
    if spec is None or not spec.submodule_search_locations:
        raise ConfigurationInvalid("the package wordllama, which holds the model, is missing: install it")
    return Path(spec.submodule_search_locations[0])


def _unreadable(error: Exception) -> ConfigurationInvalid:
    return ConfigurationInvalid(f"the model of the package wordllama cannot be read: {error}")


def _directions(totals: Sequence[np.ndarray]) -> list[Vector | None]:
    """Return the directions of vectors in integers; None for one that has none.

    Rounding to small integers changes them by less than half a degree and halves the time to send them.
    """
    import numpy as np

    if not totals:
        return []
    rows = np.stack(totals)
    largest = np.abs(rows).max(axis=1, keepdims=True)
    directions = np.rint(rows * (COMPONENT_LIMIT / np.where(largest > 0, largest, 1))).astype(int).tolist()
    return [
        direction if each > 0 else None for direction, each in zip(directions, largest[:, 0], strict=True)
    ]
