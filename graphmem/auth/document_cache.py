"""Fetched documents in the memory of the process: kept while they are fresh, and never fetched in a rush."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

from cachetools import TLRUCache, TTLCache

from graphmem.auth.fetching import Fetcher, FetchRefused, read_url

T = TypeVar("T")

DOCUMENTS_LIMIT: Final = 256
FAILURES_LIMIT: Final = 1024
FAILURE_SECONDS: Final = 60.0
"""How long a URL is not fetched again after a failure."""
CONCURRENT_FETCHES_LIMIT: Final = 32


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
        self._documents: TLRUCache[str, tuple[T, float]] = TLRUCache(
            DOCUMENTS_LIMIT, lambda url, kept, now: now + kept[1], clock
        )
        self._failures: TTLCache[str, FetchRefused] = TTLCache(FAILURES_LIMIT, FAILURE_SECONDS, clock)
        self._fetches: dict[str, asyncio.Task[T]] = {}

    async def get(self, url: str) -> T:
        """Return the document at a URL, fetched if it is not kept.

        Callers that want the same URL at the same time share one fetch.

        Raises:
            FetchRefused: the document cannot be had. For a minute the same URL answers the same refusal.
        """
        read_url(url)
        kept = self._documents.get(url)
        if kept is not None:
            return kept[0]
        failure = self._failures.get(url)
        if failure is not None:
            raise FetchRefused(failure.reason, str(failure))
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
            self._failures[url] = refused
            raise
        self._failures.pop(url, None)
        if document.kept_seconds > 0:
            self._documents[url] = value, document.kept_seconds
        return value
