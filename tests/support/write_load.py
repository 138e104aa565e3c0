"""A mixed load of writes by many clients, each write under a key of its own, and what became of each.

A client sends one request at a time. A write without an answer, or with 503, is in doubt: the client sends it
again with the same key until it is answered. An answered write is acknowledged and must not be lost.
"""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import dataclass, field
from typing import Any

import httpx

PAUSE = 0.1
"""Seconds until what is in doubt is sent again."""
TIMEOUT = 70.0
"""Seconds that a client waits for an answer: the first run of a statement on a server may take 60."""
SETTLED_SECONDS = 600.0
"""Seconds in which a write must be settled, on a machine that plans all statements anew under much load."""


@dataclass(slots=True)
class SentWrite:
    """One write: what was sent, how many observations its transaction must have, and what was answered."""

    owner: str
    key: str
    path: str
    body: dict[str, Any]
    observations: int
    tries: int = 0
    answer: dict[str, Any] | None = None

    @property
    def transaction(self) -> str | None:
        """The transaction that was acknowledged."""
        return self.answer["transaction_id"] if self.answer and "transaction_id" in self.answer else None


@dataclass(slots=True)
class Ledger:
    """What all clients sent and heard."""

    sent: list[SentWrite] = field(default_factory=list)
    doubted: int = 0
    """Writes that were in doubt at least once."""
    replayed: int = 0
    """Those of them that had been done."""
    faults: list[str] = field(default_factory=list)
    """Answers that nobody should ever get."""
    reads: int = 0

    @property
    def acknowledged(self) -> list[SentWrite]:
        """The writes that were answered."""
        return [write for write in self.sent if write.answer is not None]


class Writer:
    """One client: it writes to entities of its own, and now and then to one that all share."""

    def __init__(self, url: str, owner: str, name: str, ledger: Ledger, dice: random.Random) -> None:
        self.url, self.owner, self.name, self.ledger, self.dice = url, owner, name, ledger, dice
        self.living: list[str] = []
        self.deleted: list[str] = []
        self.leaving: set[str] = set()
        """What a deletion was sent of, whether it is answered yet or not: a reader may find it gone."""
        self.merged: list[str] = []
        self.edges: list[str] = []
        self.versions: dict[str, int] = {}
        self.count = 0
        self.task: asyncio.Task[None] | None = None

    async def run(self, http: httpx.AsyncClient, stop: asyncio.Event) -> None:
        """Write until ``stop`` is set; the last write is settled."""
        while not stop.is_set():
            await self.once(http)

    async def reached(self, count: int) -> None:
        """Wait until it has begun with so many writes; raise what ended it before."""
        while self.count < count:
            if self.task is not None and self.task.done():
                self.task.result()
                raise AssertionError(f"{self.name} has stopped")
            await asyncio.sleep(0.02)

    async def once(self, http: httpx.AsyncClient) -> None:
        """Send one write until it is answered; raise if that takes longer than ``SETTLED_SECONDS``."""
        path, body, observations = self._next()
        self.count += 1
        key = f"{self.name}:{self.count}"
        sent = SentWrite(self.owner, key, path, body, observations)
        self.ledger.sent.append(sent)
        if path == "/delete_entity":
            self.leaving.add(body["entity_id"])
        end = time.monotonic() + SETTLED_SECONDS
        while sent.answer is None:
            assert time.monotonic() < end, f"{path} is not settled: {key}"
            await self._send(http, sent)
        self._learn(path, body, sent.answer)

    async def _send(self, http: httpx.AsyncClient, sent: SentWrite) -> None:
        sent.tries += 1
        if sent.tries == 2:
            self.ledger.doubted += 1
        headers = {"Authorization": f"Bearer {self.owner}"}
        body = {**sent.body, "idempotency_key": sent.key}
        try:
            answer = await http.post(self.url + sent.path, json=body, headers=headers)
        except httpx.TransportError:
            await asyncio.sleep(PAUSE)
            return
        if answer.status_code == 200:
            sent.answer = answer.json()
            self.ledger.replayed += sent.tries > 1 and bool(sent.answer and sent.answer.get("replayed"))
        elif answer.status_code == 503:
            if "retry-after" not in answer.headers or answer.json()["details"].get("retryable") is not True:
                self.ledger.faults.append(f"503 that does not say when to try again: {answer.text}")
            await asyncio.sleep(PAUSE)
        else:
            self.ledger.faults.append(f"{sent.path} {sent.body}: {answer.status_code} {answer.text[:500]}")
            sent.answer = {}

    def _next(self) -> tuple[str, dict[str, Any], int]:
        """Return what to write next: path, body, and how many observations that makes."""
        dice, kinds = self.dice, ["one", "one", "ten"]
        if len(self.living) > 3:
            kinds += ["more", "shared", "relate", "relate", "correct", "delete", "merge"]
        kinds += (
            ["restore"] * bool(self.deleted) + ["unmerge"] * bool(self.merged) + ["cut"] * bool(self.edges)
        )
        kind = dice.choice(kinds)
        if kind in ("one", "ten"):
            return self._store(1 if kind == "one" else 10)
        if kind == "more":
            fields = {f"f{dice.randrange(5)}": self.count}
            return "/observations/create", {"entity_id": dice.choice(self.living), "fields": fields}, 1
        if kind == "shared":
            item = {"entity_type": "thing", "name": "shared", f"{self.name} {dice.randrange(3)}": self.count}
            return "/store", {"entities": [item]}, 1
        if kind == "correct":
            body = {"entity_id": dice.choice(self.living), "field": "value", "value": self.count}
            return "/correct", body, 1
        if kind == "cut":
            return "/delete_relationship", {"relationship_key": self.edges[0]}, 1
        if kind == "restore":
            return "/restore_entity", {"entity_id": self.deleted[0]}, 1
        if kind == "unmerge":
            return "/entities/unmerge", {"source_entity_id": self.merged[0]}, 1
        source, target = dice.sample(self.living, 2)
        if kind == "relate":
            ends = {"source_entity_id": source, "target_entity_id": target}
            return "/create_relationship", {"relationship_type": "REFERS_TO", **ends}, 1
        if kind == "merge":
            return "/entities/merge", {"source_entity_id": source, "target_entity_id": target}, 1
        return "/delete_entity", {"entity_id": source}, 1

    def _store(self, items: int) -> tuple[str, dict[str, Any], int]:
        entities = [
            {"entity_type": "thing", "name": f"{self.name} {self.count} {i}", "value": i, "text": "x" * 50}
            for i in range(items)
        ]
        links = [
            {"relationship_type": "PART_OF", "source_index": i, "target_index": i - 1}
            for i in range(1, items, 2)
        ]
        return "/store", {"entities": entities, "relationships": links}, items + len(links)

    def _learn(self, path: str, body: dict[str, Any], answer: dict[str, Any]) -> None:
        """Remember which entities and relationships later writes can change, from the answer to a write."""
        if not answer:
            return
        if path == "/store":
            for entity in answer["entities"]:
                if entity["action"] == "created" and entity["canonical_name"] != "shared":
                    self.living.append(entity["entity_id"])
                self.versions[entity["entity_id"]] = entity["version"]
        elif path == "/create_relationship":
            if answer["relationship_key"] not in self.edges:
                self.edges.append(answer["relationship_key"])
        elif path == "/delete_relationship":
            self.edges.pop(0)
        elif path == "/delete_entity":
            self.living.remove(body["entity_id"])
            self.deleted.append(body["entity_id"])
            self._forget_edges(body["entity_id"])
        elif path == "/restore_entity":
            self.living.append(self.deleted.pop(0))
        elif path == "/entities/merge":
            self.living.remove(body["source_entity_id"])
            self.merged.append(body["source_entity_id"])
            self._forget_edges(body["source_entity_id"])
            self._forget_edges(body["target_entity_id"])
        elif path == "/entities/unmerge":
            self.living.append(self.merged.pop(0))

    def _forget_edges(self, entity_id: str) -> None:
        # What a relationship is shown as, or how many it stands for, changes with its ends.
        self.edges = [key for key in self.edges if entity_id not in key]

    async def read(self, http: httpx.AsyncClient, stop: asyncio.Event) -> None:
        """Read what was acknowledged, until ``stop`` is set: it is never older than its acknowledgement."""
        headers = {"Authorization": f"Bearer {self.owner}"}
        while not stop.is_set():
            known = [
                (subject_id, self.versions[subject_id])
                for subject_id in self.living
                if subject_id in self.versions
            ]
            if not known:
                await asyncio.sleep(PAUSE)
                continue
            subject_id, version = self.dice.choice(known)
            try:
                answer = await http.get(f"{self.url}/entities/{subject_id}", headers=headers)
            except httpx.TransportError:
                await asyncio.sleep(PAUSE)
                continue
            if answer.status_code == 200:
                self.ledger.reads += 1
                if answer.json()["version"] < version:
                    self.ledger.faults.append(
                        f"{subject_id} is at {answer.json()['version']}, was at {version}"
                    )
            elif answer.status_code == 503:
                await asyncio.sleep(PAUSE)
            elif subject_id not in self.leaving:
                self.ledger.faults.append(f"GET {subject_id}: {answer.status_code} {answer.text[:300]}")
