"""Callers take turns with the parsers, and a parser ends with its caller."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from graphmem.ingest import parsing, processes
from graphmem.ingest.document import DocumentLimits, ParsedDocument
from graphmem.ingest.parsing import Terms, parsed
from tests.support.slow_parsers import slow_server, until_forks

SLOW = DocumentLimits(wall_seconds=4.0)
pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="this system has no fork server")


@pytest.fixture(autouse=True)
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[processes.ForkServer]:
    """A server whose forks never end with the file `slow`."""
    with slow_server(monkeypatch) as server:
        yield server


def slow_files(folder: Path, terms: Terms) -> list[asyncio.Task[ParsedDocument]]:
    (folder / "slow.txt").write_bytes(b"slow")
    return [asyncio.create_task(parsed(folder / "slow.txt", None, "slow.txt", SLOW, terms)) for _ in range(4)]


def test_a_file_of_another_owner_waits_for_no_file_of_the_first(
    tmp_path: Path, server: processes.ForkServer
) -> None:
    async def scenario() -> None:
        slow = slow_files(tmp_path, Terms("a"))
        assert await until_forks(server, 2) == 2
        (tmp_path / "b.txt").write_bytes(b"text")
        assert (await parsed(tmp_path / "b.txt", None, "b.txt", terms=Terms("b"))).text == "text"
        assert [task.done() for task in slow] == [False] * 4
        for task in slow:
            task.cancel()
        await asyncio.gather(*slow, return_exceptions=True)
        assert await until_forks(server, 0) == 0

    asyncio.run(scenario())


def test_the_parsers_of_a_caller_that_hangs_up_end_and_none_of_its_files_is_begun(
    tmp_path: Path, server: processes.ForkServer
) -> None:
    hung_up = asyncio.Event()

    async def is_gone() -> bool:
        return hung_up.is_set()

    async def scenario() -> None:
        slow = slow_files(tmp_path, Terms("a", is_gone=is_gone))
        assert await until_forks(server, 2) == 2
        hung_up.set()
        outcomes = await asyncio.gather(*slow, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [asyncio.CancelledError] * 4
        assert await until_forks(server, 0) == 0
        assert parsing.PLACES._running.total() == 0

    asyncio.run(scenario())
