"""The part of ``make bench`` about the text of files: what their passages cost in memory and in a search.

The documents are generated words with a vocabulary like that of a language, 20 pages of 3,000 characters
each. Only their bytes are missing: their passages are stored as those of files that were read.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

from graphmem.auth import Actor, Scope
from graphmem.context import Context, Services
from graphmem.ingest.document import FileSpan, ParsedDocument, Part
from graphmem.interpretation import source_passages
from graphmem.registry import REGISTRY
from graphmem.runtime import open_services
from graphmem.search.passage_copies import PassageCopies
from graphmem.settings import Settings
from tests.support.database import database

PAGES, PAGE_CHARACTERS, WORDS = 20, 3_000, 30_000


def document(number: int, words: list[str]) -> ParsedDocument:
    """Return a document of 20 pages; frequent words are frequent in it (Zipf)."""
    chance = random.Random(number)
    parts: list[Part] = []
    text = ""
    for page in range(1, PAGES + 1):
        start = len(text)
        while len(text) - start < PAGE_CHARACTERS:
            sentence = [words[int(WORDS ** chance.random()) - 1] for _ in range(chance.randint(6, 18))]
            text += " ".join(sentence).capitalize() + ". "
        text += "\n\n"
        parts.append(Part("page", FileSpan(page=page, start=start, end=len(text))))
    return ParsedDocument(text, parts, "pdf", "application/pdf", "pdf", "bench", title=f"Report {number}")


async def measure(services: Services, documents: int, searches: int) -> None:
    """Store documents, and print what the first search and those after it take."""
    chance = random.Random(1)
    words = [
        "".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(3, 11))) for _ in range(WORDS)
    ]
    actor = Actor("bench", frozenset(Scope))

    async def call(name: str, **arguments: Any) -> dict[str, Any]:
        return json.loads(await REGISTRY[name].run(services, actor, arguments))

    async def timed(name: str, argument: str) -> float:
        question = " ".join(words[int(WORDS ** chance.random()) - 1] for _ in range(4))
        began = time.perf_counter()
        await call(name, **{argument: question})
        return time.perf_counter() - began

    began = time.perf_counter()
    for number in range(documents):
        content = base64.b64encode(f"report {number}".encode()).decode()
        stored = await call(
            "store", entities=[{"entity_type": "report", "name": f"Report {number}"}], file_content=content,
            original_filename=f"report-{number}.txt", find_duplicates=False,
        )  # fmt: skip
        await source_passages.store(Context(actor, services), stored["source_id"], document(number, words))
    print(f"{documents} documents of {PAGES} pages stored: {time.perf_counter() - began:.1f} s")
    process, began = psutil.Process(), time.perf_counter()
    before = process.memory_info().rss
    while "still being read" in (await call("sources.search", search=" ".join(words[:4]))).get("hint", ""):
        pass
    first, more = time.perf_counter() - began, process.memory_info().rss - before
    found = [await timed("sources.search", "search") for _ in range(searches)]
    contexts = [await timed("context.retrieve", "question") for _ in range(searches)]
    print(
        f"first search {first:.1f} s; copy {services.of(PassageCopies).bytes / 1e6:.0f} MB, process "
        f"{more / 1e6:.0f} MB more; p50 of a search {statistics.median(found) * 1_000:.0f} ms, of a context "
        f"{statistics.median(contexts) * 1_000:.0f} ms"
    )


async def run(settings: Settings, documents: int, searches: int) -> None:
    """Measure with the services of some settings."""
    async with open_services(settings) as services:
        await measure(services, documents, searches)


def main() -> None:
    """Measure what the command asks for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--documents", type=int, default=1_000)
    parser.add_argument("--searches", type=int, default=40)
    arguments = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="graphmem-passages-") as folder,
        database(Path(folder)) as settings,
    ):
        asyncio.run(run(settings, arguments.documents, arguments.searches))


if __name__ == "__main__":
    main()
