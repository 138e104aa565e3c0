"""What both ways of serving do beside answering, and what they say of themselves."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from graphmem import log, runtime, worker
from graphmem.cli import serve
from graphmem.mcp import stdio
from graphmem.settings import load

TENDING = (runtime, "warm"), (runtime, "keep_up"), (worker, "work")


def until_cancelled(name: str, seen: list[str]) -> Callable[[Any], Awaitable[None]]:
    async def task(services: Any) -> None:
        seen.append(f"{name} begins")
        try:
            await asyncio.Event().wait()
        finally:
            seen.append(f"{name} ends")

    return task


@pytest.mark.parametrize("way", ["serve", "serve_stdio"])
def test_both_ways_of_serving_tend_their_database_meanwhile(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    @contextlib.asynccontextmanager
    async def opened(*_: Any) -> AsyncIterator[None]:
        yield
        seen.append("closed")

    async def answer(*_: Any) -> None:
        await asyncio.sleep(0)
        seen.append("answered")

    for where, name in TENDING:
        monkeypatch.setattr(where, name, until_cancelled(name, seen))
    monkeypatch.setattr(runtime, "open_services", opened)
    monkeypatch.setattr("graphmem.api.app.create_app", lambda services: None)
    monkeypatch.setattr(serve._Server, "serve", answer)
    monkeypatch.setattr(stdio, "serve", answer)
    monkeypatch.setattr(log, "configure", lambda *_, **__: None)

    getattr(serve, way)(load(env="test", data_dir=tmp_path, port=0))

    names = [name for _, name in TENDING]
    assert sorted(seen[:3]) == sorted(f"{name} begins" for name in names)
    assert seen[3] == "answered"
    assert sorted(seen[4:7]) == sorted(f"{name} ends" for name in names)
    assert seen[7:] == ["closed"]
