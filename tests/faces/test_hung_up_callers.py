"""A caller that hangs up while its file is parsed: the parser ends, and nothing of the file has a name."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from graphmem.api.app import create_app
from graphmem.context import Services
from graphmem.ingest import processes
from tests.support import surface
from tests.support.actors import always, full_actor
from tests.support.event_loop import Loop
from tests.support.mcp_conversation import ENVELOPE
from tests.support.slow_parsers import slow_server, until_forks
from tests.support.surface import MCP_HEADERS

SLOW = {"file_content": "c2xvdw==", "original_filename": "slow.txt"}
pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="this system has no fork server")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[processes.ForkServer]:
    """A server whose forks never end with the file `slow`."""
    with slow_server(monkeypatch) as server:
        yield server


class Caller:
    """Sends one request to an application, and hangs up when it is told to."""

    def __init__(
        self, app: Any, method: str, path: str, query: str = "", content: Any = None,
        headers: Mapping[str, str] = MCP_HEADERS,
    ) -> None:  # fmt: skip
        self.hangs_up, self.answer = asyncio.Event(), b""
        self._bodies = [b"" if content is None else json.dumps(content).encode()]
        sent = {"host": "localhost", "content-type": "application/json", **headers}
        fields = [(name.lower().encode(), value.encode()) for name, value in sent.items()]
        scope = {
            "type": "http", "http_version": "1.1", "method": method, "path": path, "raw_path": path.encode(),
            "query_string": query.encode(), "headers": fields, "scheme": "http", "app": app,
            "client": ("127.0.0.1", 1), "server": ("localhost", 80), "root_path": "",
        }  # fmt: skip
        self.request = asyncio.create_task(app(scope, self._receive, self._send))

    async def _receive(self) -> dict[str, Any]:
        if self._bodies:
            return {"type": "http.request", "body": self._bodies.pop(), "more_body": False}
        await self.hangs_up.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: dict[str, Any]) -> None:
        self.answer += message.get("body", b"")


def call_of(app: Any, version: str) -> Caller:
    """Call the tool that parses a file, by a version of MCP."""
    message = surface.call_of("parse_file", SLOW)
    if version not in HANDSHAKE_PROTOCOL_VERSIONS:
        message["params"]["_meta"] = ENVELOPE
    headers = {**MCP_HEADERS, "MCP-Protocol-Version": version}
    if version not in HANDSHAKE_PROTOCOL_VERSIONS:
        headers |= {"Mcp-Method": "tools/call", "Mcp-Name": "parse_file"}
    return Caller(app, "POST", "/mcp/full", content=message, headers=headers)


@pytest.mark.parametrize("operation", ["files.parse", "sources.get", "2025-06-18", "2026-07-28"])
def test_the_parser_of_a_caller_that_hangs_up_ends_and_nothing_of_its_file_has_a_name(
    services: Services, loop: Loop, owner: str, server: processes.ForkServer, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, operation: str,
) -> None:  # fmt: skip
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    settings = services.settings.model_copy(update={"interpret_files": False})
    app = create_app(dataclasses.replace(services, settings=settings), always(full_actor(owner)))

    async def calling() -> list[str]:
        async with app.router.lifespan_context(app):
            return await scenario()

    async def scenario() -> list[str]:
        if operation[0] == "2":
            caller = call_of(app, operation)
        elif operation == "files.parse":
            caller = Caller(app, "POST", "/parse_file", content=SLOW)
        else:
            stores = Caller(app, "POST", "/store/unstructured", content=SLOW)
            await stores.request
            source = json.loads(stores.answer)["source_id"]
            caller = Caller(app, "GET", f"/sources/{source}", "include_text=true")
        assert await until_forks(server, 1) == 1, caller.answer
        names = os.listdir(tmp_path)
        caller.hangs_up.set()
        await asyncio.gather(caller.request, return_exceptions=True)
        assert await until_forks(server, 0) == 0
        return names

    assert loop.run(calling()) == []
