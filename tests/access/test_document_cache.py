"""Fetched documents: kept while fresh, one fetch for many callers, one fetch a minute after a failure."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

from graphmem.auth import guarded_fetch
from graphmem.auth.guarded_fetch import FAILURE_SECONDS, DocumentCache, FetchedDocument, Fetcher, FetchRefused

URL = "https://documents.example.org/client.json"


class Clock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class CountedFetcher(Fetcher):
    """Answers the same document, or refuses. ``gate``: what an answer waits for."""

    def __init__(self, kept_seconds: float = 60.0) -> None:
        super().__init__()
        self.kept_seconds = kept_seconds
        self.refusal: FetchRefused | None = None
        self.urls: list[str] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def fetch_json(self, url: str) -> FetchedDocument:
        self.urls.append(url)
        await self.gate.wait()
        if self.refusal is not None:
            raise self.refusal
        return FetchedDocument({"number": len(self.urls)}, self.kept_seconds)


def number(url: str, members: dict[str, Any]) -> int:
    """Return the number of a document; 13 is refused."""
    if members["number"] == 13:
        raise ValueError("the document has the number 13")
    return members["number"]


async def refused(documents: DocumentCache[int], url: str = URL) -> FetchRefused:
    """Return the refusal of a URL."""
    with pytest.raises(FetchRefused) as error:
        await documents.get(url)
    return error.value


def test_a_document_is_fetched_again_when_its_time_is_over() -> None:
    async def run() -> None:
        fetcher, clock = CountedFetcher(kept_seconds=60), Clock()
        documents = DocumentCache(number, fetcher, clock)
        assert [await documents.get(URL), await documents.get(URL)] == [1, 1]
        clock.now += 59.9
        assert await documents.get(URL) == 1
        clock.now += 0.1
        assert await documents.get(URL) == 2
        assert await documents.get(f"{URL}?other") == 3
        assert await documents.get(URL) == 2

    asyncio.run(run())


def test_a_document_that_must_not_be_kept_is_fetched_each_time() -> None:
    async def run() -> None:
        documents = DocumentCache(number, CountedFetcher(kept_seconds=0), Clock())
        assert [await documents.get(URL), await documents.get(URL)] == [1, 2]

    asyncio.run(run())


def test_a_url_that_failed_is_fetched_once_a_minute() -> None:
    async def run() -> None:
        fetcher, clock = CountedFetcher(), Clock()
        documents = DocumentCache(number, fetcher, clock)
        fetcher.refusal = FetchRefused("status", "documents.example.org answered status 500")
        for _ in range(20):
            error = await refused(documents)
            assert (error.reason, str(error)) == ("status", "documents.example.org answered status 500")
        assert len(fetcher.urls) == 1
        clock.now += FAILURE_SECONDS - 0.1
        await refused(documents)
        assert len(fetcher.urls) == 1
        clock.now += 0.1
        fetcher.refusal = None
        assert await documents.get(URL) == 2

    asyncio.run(run())


def test_a_document_that_breaks_the_rules_of_its_kind_is_not_kept_and_counts_as_a_failure() -> None:
    async def run() -> None:
        fetcher, clock = CountedFetcher(), Clock()
        documents = DocumentCache(number, fetcher, clock)
        fetcher.urls = ["another"] * 12
        for _ in range(2):
            error = await refused(documents)
            assert (error.reason, str(error)) == ("document", "the document has the number 13")
        assert len(fetcher.urls) == 13
        clock.now += FAILURE_SECONDS
        assert await documents.get(URL) == 14

    asyncio.run(run())


def test_a_stale_document_is_not_answered_when_the_next_fetch_fails() -> None:
    async def run() -> None:
        fetcher, clock = CountedFetcher(kept_seconds=60), Clock()
        documents = DocumentCache(number, fetcher, clock)
        await documents.get(URL)
        clock.now += 61
        fetcher.refusal = FetchRefused("time", "documents.example.org did not answer within 3 s")
        assert (await refused(documents)).reason == "time"

    asyncio.run(run())


def test_callers_at_the_same_time_share_one_fetch_and_one_that_leaves_ends_nothing() -> None:
    async def run() -> None:
        fetcher = CountedFetcher()
        documents = DocumentCache(number, fetcher, Clock())
        fetcher.gate.clear()
        callers = [asyncio.create_task(documents.get(URL)) for _ in range(20)]
        await asyncio.sleep(0)
        callers[0].cancel()
        await asyncio.sleep(0)
        fetcher.gate.set()
        results = await asyncio.gather(*callers, return_exceptions=True)
        assert isinstance(results[0], asyncio.CancelledError)
        assert results[1:] == [1] * 19
        assert fetcher.urls == [URL]

    asyncio.run(run())


def test_a_failed_fetch_whose_callers_all_left_is_not_logged_by_the_event_loop() -> None:
    async def run() -> list[Any]:
        complaints: list[Any] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
        fetcher = CountedFetcher()
        documents = DocumentCache(number, fetcher, Clock())
        fetcher.refusal = FetchRefused("status", "documents.example.org answered status 500")
        fetcher.gate.clear()
        caller = asyncio.create_task(documents.get(URL))
        await asyncio.sleep(0)
        caller.cancel()
        await asyncio.sleep(0)
        fetcher.gate.set()
        await asyncio.wait(documents._fetches.values())
        await asyncio.sleep(0)
        gc.collect()  # The loop complains when a task is collected whose exception nobody read.
        assert (await refused(documents)).reason == "status"
        return complaints

    assert asyncio.run(run()) == []


def test_documents_failures_and_concurrent_fetches_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guarded_fetch, "DOCUMENTS_LIMIT", 3)
    monkeypatch.setattr(guarded_fetch, "FAILURES_LIMIT", 3)
    monkeypatch.setattr(guarded_fetch, "CONCURRENT_FETCHES_LIMIT", 3)

    async def run() -> None:
        fetcher = CountedFetcher()
        documents = DocumentCache(number, fetcher, Clock())
        urls = [f"{URL}?{index}" for index in range(5)]
        for url in urls[:4]:
            await documents.get(url)
        await documents.get(urls[1])
        assert fetcher.urls == urls[:4]  # The first one has gone; the second one has not.
        await documents.get(urls[0])
        await documents.get(urls[1])
        assert fetcher.urls == [*urls[:4], urls[0]]  # The third one has gone: it was used longest ago.
        fetcher.refusal = FetchRefused("status", "documents.example.org answered status 500")
        failing = [f"{URL}?failing{index}" for index in range(9)]
        for url in failing:
            await refused(documents, url)
        assert len(documents._failures) == 3
        fetcher.refusal = None
        fetcher.gate.clear()
        waiting = [asyncio.create_task(documents.get(f"{URL}?waiting{index}")) for index in range(3)]
        await asyncio.sleep(0)
        assert (await refused(documents)).reason == "busy"
        fetcher.gate.set()
        await asyncio.gather(*waiting)
        await documents.get(URL)

    asyncio.run(run())


def test_a_url_of_another_form_is_refused_without_a_trace() -> None:
    async def run() -> None:
        fetcher = CountedFetcher()
        documents = DocumentCache(number, fetcher, Clock())
        assert (await refused(documents, "http://documents.example.org/client.json")).reason == "url"
        assert (fetcher.urls, len(documents._failures)) == ([], 0)

    asyncio.run(run())
