"""Vectors made in this process: a small model that comes with the package ``wordllama``, without any network.

Each word piece has a vector, and a text has their mean; case does not count. The same text has the same
vector wherever and beside whatever it is made. Only the two files of that package are read: the package
itself would set up logging and load a client for downloads.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from graphmem.embedding.meaning import Vector
from graphmem.errors import ConfigurationInvalid

if TYPE_CHECKING:
    import numpy as np

MODEL: Final = "wordllama l2_supercat 256, lower case"
FLOOR: Final = 0.28
"""Of 60 phrases that mean one of 30 things this finds more than half, and nothing for 40 that mean none."""
BLOCKING: Final = 8_000
"""Characters up to which texts are embedded on the spot, some 5 ms; more are embedded in a thread."""
STEPS: Final = 127
"""The greatest number in a vector, which all others are whole parts of."""
CHUNK: Final = 256
"""Texts that are embedded in one go."""


class LocalEmbedder:
    """The model that needs nothing but this machine; loaded when it is first asked, or warmed."""

    model = MODEL
    at_once = True
    floor = FLOOR

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loaded: tuple[Any, np.ndarray] | None = None

    def warm(self) -> None:
        """Load the model: 0.2 s, 60 MB.

        Raises:
            ConfigurationInvalid: its files are not where they belong.
        """
        with self._lock:
            self._loaded = self._loaded or _load()

    async def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        """Return the vector of each text."""
        if self._loaded is not None and sum(map(len, texts)) <= BLOCKING:
            return self.vectors(texts)
        return await asyncio.to_thread(self.vectors, texts)

    def vectors(self, texts: Sequence[str]) -> list[Vector | None]:
        """Return the vector of each text, in this thread."""
        if self._loaded is None:
            self.warm()
        assert self._loaded is not None
        return [
            vector
            for start in range(0, len(texts), CHUNK)
            for vector in _embed(*self._loaded, texts[start : start + CHUNK])
        ]


def _load() -> tuple[Any, np.ndarray]:
    # Its threads go on turning for milliseconds after each text: one text takes a twentieth of that.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    import numpy as np
    from safetensors import safe_open
    from tokenizers import Tokenizer

    spec = find_spec("wordllama")
    if spec is None or not spec.submodule_search_locations:
        raise ConfigurationInvalid("the package wordllama, which holds the model, is missing: install it")
    where = Path(spec.submodule_search_locations[0])
    try:
        tokenizer = Tokenizer.from_file(str(where / "tokenizers" / "l2_supercat_tokenizer_config.json"))
        with safe_open(where / "weights" / "l2_supercat_256.safetensors", framework="np") as file:
            table = np.ascontiguousarray(file.get_tensor("embedding.weight").astype(np.float32))
    except Exception as exc:
        raise ConfigurationInvalid(f"the model of the package wordllama cannot be read: {exc}") from exc
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer, table


def _embed(tokenizer: Any, table: np.ndarray, texts: Sequence[str]) -> list[Vector | None]:
    import numpy as np

    pieces = [
        found.ids
        for found in tokenizer.encode_batch_fast([text.lower() for text in texts], add_special_tokens=False)
    ]
    found: list[Vector | None] = []
    for ids in pieces:
        total = table[ids].sum(axis=0)
        most = np.abs(total).max()
        # Only the direction counts. Small whole numbers turn it by less than half a degree, and are sent and
        # read in half of the time.
        found.append(np.rint(total * (STEPS / most)).astype(int).tolist() if ids and most > 0 else None)
    return found
