"""Fetched documents in the memory of the process: kept while they are fresh, and never fetched in a rush."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from graphmem.auth.fetching import Fetcher, FetchRefused, read_url

T = TypeVar("T")

DOCUMENTS_LIMIT: Final = 256
FAILURES_LIMIT: Final = 1024
FAILURE_SECONDS: Final = 60.0
"""How long a URL is not fetched again after a failure."""
CONCURRENT_FETCHES_LIMIT: Final = 32


@dataclass(frozen=True, slots=True)
class _Kept(Generic[T]):
    value: T
    until: float


class DocumentCache(Generic[T]):
    """Documents of one kind, by URL, in the memory of the process.

    ``parse(url, members)`` makes what is kept of a document; all callers share it, so it must be immutable.
    It raises ``ValueError`` for a document that breaks its rules.
    """

    def __init__(
        self,
        parse: Callable[[str, dict[str, Any]], T],
        fetcher: Fetcher | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._parse = parse
        self._fetcher = fetcher or Fetcher()
        self._clock = clock
        self._documents: OrderedDict[str, _Kept[T]] = OrderedDict()
        self._failures: OrderedDict[str, _Kept[FetchRefused]] = OrderedDict()
        self._fetches: dict[str, asyncio.Task[T]] = {}

    async def get(self, url: str) -> T:
        """Return the document at a URL, fetched if it is not kept.

        Callers that want the same URL at the same time share one fetch.

        Raises:
            FetchRefused: the document cannot be had. For a minute the same URL answers the same refusal.
        """
        read_url(url)
        now = self._clock()
        document = self._documents.get(url)
        if document is not None and document.until > now:
            self._documents.move_to_end(url)
            return document.value
        failure = self._failures.get(url)
        if failure is not None and failure.until > now:
            raise FetchRefused(failure.value.reason, str(failure.value))
        fetch = self._fetches.get(url)
        if fetch is None:
            if len(self._fetches) >= CONCURRENT_FETCHES_LIMIT:
                raise FetchRefused("busy", "too many documents are fetched at the moment: try again")
            fetch = asyncio.create_task(self._load(url))
            self._fetches[url] = fetch
            fetch.add_done_callback(lambda task: self._ended(url, task))
        # Shielded: a caller that goes away does not end the fetch of the others.
        return await asyncio.shield(fetch)

    def _ended(self, url: str, task: asyncio.Task[T]) -> None:
        del self._fetches[url]
        if not task.cancelled():
            task.exception()  # Reading it keeps asyncio from logging it when every caller has gone.

    async def _load(self, url: str) -> T:
        try:
            document = await self._fetcher.fetch_json(url)
            try:
                value = self._parse(url, document.members)
            except ValueError as exc:
                raise FetchRefused("document", str(exc)) from exc
        except FetchRefused as refused:
            self._documents.pop(url, None)
            _keep(self._failures, url, _Kept(refused, self._clock() + FAILURE_SECONDS), FAILURES_LIMIT)
            raise
        self._failures.pop(url, None)
        if document.kept_seconds > 0:
            _keep(self._documents, url, _Kept(value, self._clock() + document.kept_seconds), DOCUMENTS_LIMIT)
        return value


def _keep(entries: OrderedDict[str, _Kept[T]], url: str, entry: _Kept[T], limit: int) -> None:
    """Keep an entry; the one that was used longest ago goes where there are too many."""
    entries[url] = entry
    entries.move_to_end(url)
    while len(entries) > limit:
        entries.popitem(last=False)
