"""One POST to the service of a model that the operator has chosen: repeated while it helps, and bounded.

Embeddings and language models are asked in the same way. An address comes from a setting alone; no request
and no other variable of the environment chooses one.
"""

import asyncio
import math
import random
from collections.abc import Sequence
from typing import Any, Final

import httpx
from pydantic import SecretStr

from graphmem.embedding.meaning import DIMENSIONS, Embedder, Vector, stored_name
from graphmem.errors import EmbeddingRefused, EmbeddingUnavailable
from graphmem.model import canonical
from graphmem.observability.tracing import NO_TRACES, Tracer
from graphmem.settings import Settings

ATTEMPTS: Final = 3
PAUSE_SECONDS: Final = (0.1, 1.0)
"""The least and the longest pause before another attempt, where the service names none."""
ANSWER_BYTES_LIMIT: Final = 20_000_000  # largest answer that is read, in bytes
WAIT_LIMIT_SECONDS: Final = 60.0
"""A service that asks for a longer pause is asked again as if it had named none."""
_RETRIED_STATUSES: Final = frozenset({408, 409, 425, 429})
_REFUSED_STATUSES: Final = frozenset({400, 413, 422})


class Unanswered(Exception):
    """Why there is no answer, such as "answers 503"; ``wait``: seconds until another attempt may help."""

    def __init__(self, reason: str, wait: float | bool = False) -> None:
        super().__init__(reason)
        self.wait = wait


class Refused(Exception):
    """The service refuses what it was asked: its status, and what it writes."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"answers {status}")
        self.status, self.text = status, text


class TooLong(Unanswered):
    def __init__(self) -> None:
        super().__init__(f"answers more than {ANSWER_BYTES_LIMIT:,} bytes")


class ModelService:
    """The client of one service.

    Args:
        path: follows the URL unless the URL ends with it.
        seconds: the time of one call, with all of its attempts.
        repeats_broken: an answer that breaks off is asked for again.
    """

    def __init__(
        self, url: str, path: str, key: SecretStr | None, seconds: float, tracer: Tracer, *,
        repeats_broken: bool,
    ) -> None:  # fmt: skip
        url = url.rstrip("/")
        self._url = url if url.endswith(path) else url + path
        self._seconds, self._tracer, self._repeats_broken = seconds, tracer, repeats_broken
        headers = {"Authorization": f"Bearer {key.get_secret_value()}"} if key else {}
        self._client = httpx.AsyncClient(headers=headers, timeout=seconds, follow_redirects=False)

    async def close(self) -> None:
        await self._client.aclose()

    async def ask(self, span: str, body: dict[str, Any]) -> bytes:
        """Return what the service answers.

        Raises:
            Refused: another attempt would be refused as well.
            Unanswered: there is no answer in time, or it is too long.
        """
        last: Unanswered | None = None
        try:
            async with asyncio.timeout(self._seconds) as limit:
                attempts = 0
                while True:
                    attempts += 1
                    try:
                        with self._tracer.call(span) as headers:
                            return await self._send(body, headers)
                    except Unanswered as exc:
                        last = exc
                        pause = random.uniform(*PAUSE_SECONDS) if exc.wait is True else exc.wait
                        rest = (limit.when() or 0.0) - asyncio.get_running_loop().time()
                        # The time of the call may end before the service wants to be asked again.
                        if not pause or pause > rest or attempts == ATTEMPTS:
                            raise
                    await asyncio.sleep(pause)
        except TimeoutError as exc:
            # The time may end between two attempts: the last failure says more than that.
            raise last or Unanswered("does not answer in time") from exc

    async def _send(self, body: dict[str, Any], headers: dict[str, str]) -> bytes:
        is_answered = False
        try:
            async with self._client.stream("POST", self._url, json=body, headers=headers) as answer:
                is_answered = True
                status = answer.status_code
                if status in _RETRIED_STATUSES or status >= 500:
                    raise Unanswered(f"answers {status}", _asked_pause(answer.headers) or True)
                if status != 200 and status not in _REFUSED_STATUSES:
                    raise Unanswered(f"answers {status}: check its URL, the model and the key")
                content = bytearray()
                async for part in answer.aiter_bytes():
                    content += part
                    if len(content) > ANSWER_BYTES_LIMIT:
                        raise TooLong()
        except httpx.TimeoutException as exc:
            raise Unanswered("does not answer in time", wait=True) from exc
        except httpx.HTTPError as exc:
            what = "breaks off its answer" if is_answered else "does not answer"
            is_temporary = isinstance(exc, httpx.TransportError)
            raise Unanswered(
                f"{what}: {exc}", is_temporary and (self._repeats_broken or not is_answered)
            ) from exc
        if answer.status_code in _REFUSED_STATUSES:
            raise Refused(answer.status_code, content.decode(errors="replace"))
        return bytes(content)


def _asked_pause(headers: httpx.Headers) -> float | None:
    """Return how many seconds a service asks to wait, ``None`` if it names no time, or a long one."""
    for name, factor in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) * factor
        except (KeyError, ValueError):
            continue
        if 0 < seconds <= WAIT_LIMIT_SECONDS:
            return seconds
    return None


class RemoteEmbedder(Embedder):
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
