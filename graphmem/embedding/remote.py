"""Embedding by a remote service with the ``POST …/embeddings`` interface.

Only the operator chooses the address (``GRAPHMEM_EMBEDDING_URL``); no request can. Stored texts wait for
their vectors until the worker gets them. A search calls the service directly and reports if it fails.
"""

import math
from collections.abc import Sequence
from typing import Any

from graphmem.embedding.meaning import DIMENSIONS, Vector, Weighted, stored_name
from graphmem.embedding.model_service import ModelService, Refused, Unanswered
from graphmem.errors import EmbeddingRefused, EmbeddingUnavailable
from graphmem.model import canonical
from graphmem.observability.tracing import NO_TRACES, Tracer
from graphmem.settings import Settings


class RemoteEmbedder:
    at_once = False

    def __init__(self, settings: Settings, tracer: Tracer = NO_TRACES) -> None:
        assert settings.embedding_url is not None
        self.model = stored_name(settings.embedding_model)
        self.floor = settings.embedding_floor
        self._name = settings.embedding_model
        self._service = ModelService(
            settings.embedding_url, "/embeddings", settings.embedding_key, settings.embedding_timeout, tracer,
            repeats_broken=True,
        )  # fmt: skip

    async def close(self) -> None:
        await self._service.close()

    async def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        """Return the vector of each text.

        Raises:
            EmbeddingRefused: the service refuses one of the texts.
            EmbeddingUnavailable: the service does not answer in time, or its answer is not usable.
        """
        body = {
            "model": self._name, "input": list(texts), "dimensions": DIMENSIONS, "encoding_format": "float",
        }  # fmt: skip
        try:
            return self._read(await self._service.ask("embeddings", body), len(texts))
        except Refused as exc:
            raise EmbeddingRefused(f"the embedding service {exc}") from exc
        except Unanswered as exc:
            raise EmbeddingUnavailable(f"the embedding service {exc}") from exc

    def weighted(self, parts: Sequence[Weighted]) -> Vector | None:
        """Not possible: the service reads sentences, and it does not answer at once."""
        raise NotImplementedError

    @staticmethod
    def _read(raw: bytes, count: int) -> list[Vector | None]:
        try:
            rows = sorted(canonical.decode(raw)["data"], key=lambda row: row["index"])
            vectors = [_vector(row["embedding"]) for row in rows]
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as exc:
            raise EmbeddingUnavailable("the embedding service answers something else than vectors") from exc
        if len(vectors) != count:
            raise EmbeddingUnavailable(
                f"the embedding service answers {len(vectors)} vectors for {count} texts"
            )
        return vectors


def _vector(components: Any) -> Vector | None:
    numbers = list(map(float, components))
    if len(numbers) != DIMENSIONS:
        raise EmbeddingUnavailable(
            f"the embedding service answers {len(numbers)} dimensions, not {DIMENSIONS}: choose a model that "
            "takes `dimensions`"
        )
    length = math.hypot(*numbers)
    if not math.isfinite(length):
        raise ValueError("not finite")
    return [x / length for x in numbers] if length > 0 else None
