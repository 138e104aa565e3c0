"""Embedding by a remote service with the ``POST …/embeddings`` interface.

Only the operator chooses the address (``GRAPHMEM_EMBEDDING_URL``); no request can. Stored texts wait for
their vectors until the worker gets them. A search calls the service directly and reports if it fails.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from typing import Any, Final

import httpx
import stamina

from graphmem.embedding.meaning import DIMENSIONS, Vector, Weighted, stored_name
from graphmem.errors import EmbeddingRefused, EmbeddingUnavailable
from graphmem.model import canonical
from graphmem.observability.tracing import NO_TRACES, Tracer
from graphmem.settings import Settings

ATTEMPTS: Final = 3
ANSWER_BYTES_LIMIT: Final = 20_000_000
"""Largest answer that is read, in bytes."""
_RETRIED_STATUSES: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
_REFUSED_STATUSES: Final = frozenset({400, 413, 422})


class _TryAgain(Exception):
    """The service answers with a temporary error; the request is repeated."""


class RemoteEmbedder:
    """A model at a remote address."""

    at_once = False

    def __init__(self, settings: Settings, tracer: Tracer = NO_TRACES) -> None:
        """Create the client; nothing is sent yet."""
        assert settings.embedding_url is not None
        self.model = stored_name(settings.embedding_model)
        self.floor = settings.embedding_floor
        self._name = settings.embedding_model
        self._tracer = tracer
        url = settings.embedding_url.rstrip("/")
        self._url = url if url.endswith("/embeddings") else f"{url}/embeddings"
        self._seconds = settings.embedding_timeout
        key = settings.embedding_key
        headers = {"Authorization": f"Bearer {key.get_secret_value()}"} if key else {}
        self._client = httpx.AsyncClient(headers=headers, timeout=self._seconds, follow_redirects=False)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        """Return the vector of each text.

        Raises:
            EmbeddingRefused: the service refuses one of the texts.
            EmbeddingUnavailable: the service does not answer in time, or its answer is not usable.
        """
        last: Exception | None = None
        try:
            async with asyncio.timeout(self._seconds):
                async for attempt in stamina.retry_context(
                    on=(_TryAgain, httpx.TransportError), attempts=ATTEMPTS, wait_initial=0.1, wait_max=1.0
                ):
                    with attempt:
                        try:
                            return self._read(await self._ask(texts), len(texts))
                        except (_TryAgain, httpx.TransportError) as exc:
                            last = exc
                            raise
        except (_TryAgain, httpx.HTTPError, TimeoutError) as exc:
            # The time may end between two attempts: the last failure says more than that.
            raise EmbeddingUnavailable(f"the embedding service {_failure(last or exc)}") from exc
        raise AssertionError("unreachable: a retry context ends by returning or raising")

    def weighted(self, parts: Sequence[Weighted]) -> Vector | None:
        """Not possible: the service reads sentences, and it does not answer at once."""
        raise NotImplementedError

    async def _ask(self, texts: Sequence[str]) -> bytes:
        body = {
            "model": self._name, "input": list(texts), "dimensions": DIMENSIONS, "encoding_format": "float",
        }  # fmt: skip
        with self._tracer.call("embeddings") as headers:
            return await self._send(body, headers)

    async def _send(self, body: dict[str, Any], headers: dict[str, str]) -> bytes:
        async with self._client.stream("POST", self._url, json=body, headers=headers) as answer:
            status = answer.status_code
            if status in _RETRIED_STATUSES:
                raise _TryAgain(f"answers {status}")
            if status in _REFUSED_STATUSES:
                raise EmbeddingRefused(f"the embedding service answers {status}")
            if status != 200:
                raise EmbeddingUnavailable(
                    f"the embedding service answers {status}: check its URL, the model and the key"
                )
            content = bytearray()
            async for part in answer.aiter_bytes():
                content += part
                if len(content) > ANSWER_BYTES_LIMIT:
                    raise EmbeddingUnavailable(
                        f"the embedding service answers more than {ANSWER_BYTES_LIMIT:,} bytes"
                    )
        return bytes(content)

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


def _failure(exc: Exception) -> str:
    if isinstance(exc, _TryAgain):
        return str(exc)
    return f"does not answer: {exc}" if str(exc) else "does not answer in time"


def _vector(components: Any) -> Vector | None:
    numbers = [float(x) for x in components]
    if len(numbers) != DIMENSIONS:
        raise EmbeddingUnavailable(
            f"the embedding service answers {len(numbers)} dimensions, not {DIMENSIONS}: choose a model that "
            "takes `dimensions`"
        )
    length = math.hypot(*numbers)
    if not math.isfinite(length):
        raise ValueError("not finite")
    return [x / length for x in numbers] if length > 0 else None
