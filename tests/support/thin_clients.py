"""Clients of the local service that only store: `graphmem store`, and a running `graphmem mcp`."""

from __future__ import annotations

import itertools
import json
import subprocess
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from graphmem.errors import ServiceUnreachable
from graphmem.settings import Settings
from tests.support.commands import command, environment
from tests.support.mcp_conversation import opening

Answer = dict[str, Any]
TRIES_LIMIT = 50
"""How often one write is sent at most."""


class ThinClient(Protocol):
    """A client of the local service."""

    def store(self, arguments: dict[str, Any]) -> Answer:
        """Store, and return the answer or the envelope of the error."""
        ...

    def close(self) -> None:
        """End the client."""
        ...


class CommandClient:
    """`graphmem store`: each write is a command of its own."""

    def __init__(self, local: Settings, owner: str) -> None:
        self._words = command(owner, "--json", "store", "-f", "-")
        self._environment = environment(local, local.data_path, **of_service(local))

    def store(self, arguments: dict[str, Any]) -> Answer:
        ended = subprocess.run(
            self._words, input=json.dumps(arguments), env=self._environment, capture_output=True, text=True
        )
        # stderr may have lines of progress before the envelope.
        return json.loads(ended.stdout if ended.returncode == 0 else ended.stderr.splitlines()[-1])

    def close(self) -> None:
        """Nothing runs between two writes."""


class McpClient:
    """A running `graphmem mcp`."""

    def __init__(self, local: Settings, owner: str) -> None:
        self._ids = itertools.count(1)
        self._process = subprocess.Popen(
            command(owner, "mcp"),
            env=environment(local, local.data_path, **of_service(local)),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        self._ask(opening("2025-06-18"))

    def store(self, arguments: dict[str, Any]) -> Answer:
        params = {"name": "store", "arguments": arguments}
        return self._ask({"method": "tools/call", "params": params})["structuredContent"]

    def close(self) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()

    def _ask(self, message: dict[str, Any]) -> Answer:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(f"{json.dumps({'jsonrpc': '2.0', 'id': next(self._ids), **message})}\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())["result"]


def of_service(local: Settings) -> dict[str, str]:
    """Return the variables with which a command uses the local service of these settings."""
    return {"GRAPHMEM_OFFLINE": "0", "GRAPHMEM_SHUTDOWN_SECONDS": str(local.shutdown_seconds)}


@dataclass(slots=True)
class ThinWriter:
    """Stores through one client, until it is stopped; each write has a key of its own and is settled.

    Attributes:
        transaction_ids: the transactions of the acknowledged writes, by key.
        doubted: writes that were sent more than once.
        replayed: those of them that had been done.
        faults: answers that are neither a store nor the end of the service.
    """

    name: str
    client: ThinClient
    transaction_ids: dict[str, str] = field(default_factory=dict)
    doubted: int = 0
    replayed: int = 0
    faults: list[str] = field(default_factory=list)

    def run(self, stop: threading.Event) -> None:
        """Store until ``stop`` is set."""
        try:
            while not stop.is_set() and not self.faults:
                self._store(f"{self.name}:{len(self.transaction_ids)}")
        finally:
            self.client.close()

    def _store(self, key: str) -> None:
        item = {"entity_type": "thing", "name": key}
        answer: Answer = {}
        for tries in range(TRIES_LIMIT):
            answer = self.client.store({"entities": [item], "idempotency_key": key})
            if "transaction_id" in answer:
                self.transaction_ids[key] = answer["transaction_id"]
                self.doubted += tries > 0
                self.replayed += tries > 0 and answer["replayed"]
                return
            if answer.get("error_code") != ServiceUnreachable.code:
                break
        self.faults.append(f"{key} is not settled: {answer}")


def reached(writers: list[ThinWriter], more: int, wait_for: Callable[[Callable[[], object]], None]) -> None:
    """Wait until each writer has stored ``more`` further items, or has a fault."""
    counts = [len(writer.transaction_ids) + more for writer in writers]
    wait_for(
        lambda: all(
            len(writer.transaction_ids) >= count or writer.faults
            for writer, count in zip(writers, counts, strict=True)
        )
    )
