"""How a hook calls the service: only one that runs, with as few imports as possible, and never for long.

A hook runs before each prompt. The settings take a quarter of a second to import, so the few that a hook
needs are read here in the same way; a test compares them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

from graphmem import environment_file

ACCOUNT_HEADER = "X-Graphmem-Account"
ROUTES = {
    "changes.list": ("GET", "/changes"),
    "context.retrieve": ("POST", "/retrieve_context"),
    "store": ("POST", "/store"),
    "timeline.list": ("GET", "/timeline"),
}
"""The routes of the operations that hooks call."""


class NoAnswer(Exception):
    """The service does not run, or refuses."""


@dataclass(frozen=True, slots=True)
class Reach:
    """Which service a hook calls, by the global options of the command line."""

    client: str
    base_url: str | None = None
    env: str | None = None
    data_dir: str | None = None
    account: str | None = None
    # Whether SERVICE_BEARER_TOKEN is for this service: not where a folder names another one.
    sends_token: bool = True

    def call(self, operation: str, arguments: Mapping[str, Any]) -> Any:
        try:
            environment_file.apply(self._data())
        except (OSError, ValueError) as exc:
            raise NoAnswer(f"{environment_file.FILE}: {exc}") from exc
        base_url = self.base_url or os.environ.get("GRAPHMEM_BASE_URL")
        send = partial(self._remote, base_url) if base_url else self._local
        return json.loads(send(ROUTES[operation], arguments))

    def place(self) -> Any:
        from graphmem.service.place import place

        uri, database = os.environ.get("NEO4J_URI") or None, os.environ.get("NEO4J_DATABASE") or "neo4j"
        settings: Any = SimpleNamespace(data_path=self._data(), neo4j_uri=uri, neo4j_database=database)
        return place(settings)

    def _data(self) -> Path:
        env = self.env or os.environ.get("GRAPHMEM_ENV") or "development"
        return environment_file.directory(self.data_dir or os.environ.get("GRAPHMEM_DATA_DIR"), env)

    def _local(self, route: tuple[str, str], arguments: Mapping[str, Any]) -> bytes:
        from graphmem.service import wire

        socket = self.place().record().get("socket")
        headers = {"X-Client-Name": self.client}
        if self.account:
            headers[ACCOUNT_HEADER] = quote(self.account, safe="")
        sign = None
        if os.environ.get("GRAPHMEM_AGENT_KEY"):
            from graphmem.service.calling import signing
            from graphmem.settings import load

            sign = signing(load())
        request = wire.request_of(route, arguments)
        try:
            status, body = wire.send(Path(socket or os.devnull), request, headers, sign=sign)
        except (wire.NotConnected, wire.Interrupted) as exc:
            raise NoAnswer(str(exc)) from exc
        if status != 200:
            raise NoAnswer(body[:500].decode(errors="replace"))
        return body

    def _remote(self, base_url: str, route: tuple[str, str], arguments: Mapping[str, Any]) -> bytes:
        from graphmem.client import Client
        from graphmem.errors import GraphmemError

        token = os.environ.get("SERVICE_BEARER_TOKEN") if self.sends_token else None
        try:
            with Client(base_url, token or None, self.client) as client:
                return client.call(route, arguments)
        except GraphmemError as exc:
            raise NoAnswer(str(exc)) from exc
