"""Parsers that do not end with a file, and how many of them run."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Iterator

import psutil
import pytest

from graphmem.ingest import processes


@contextlib.contextmanager
def slow_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[processes.ForkServer]:
    """Yield the server of parsers; its forks never end with the file `slow`."""
    server = processes.ForkServer()
    monkeypatch.setattr(processes, "SERVER", server)
    monkeypatch.setattr(
        processes, "COMMAND", [sys.executable, "-P", "-m", "tests.ingest.other_parsers", "slow"]
    )
    yield server
    server.close()


async def until_forks(server: processes.ForkServer, count: int) -> int:
    """Return how many forks the server has, once they are as many; else after many looks."""
    forks = -1
    for _ in range(600):
        forks = len(psutil.Process(server._process.pid).children()) if server._process else -1
        if forks == count:
            break
        await asyncio.sleep(0.05)
    return forks
