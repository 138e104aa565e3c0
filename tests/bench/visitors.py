"""A crowd of anonymous visitors of a public sandbox: what a hostile one gets, and a wipe under their load.

Each visitor has an address of its own, as behind a proxy. It stores, reads, and sends what no service should
fall over. `python -m tests.bench.visitors` prints the answers by status, times and memory.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psutil

from tests.support.service import free_port

UNLIMITED = {"GRAPHMEM_LIMIT_READS": "6000/minute", "GRAPHMEM_LIMIT_HEAVY": "3000/minute"}
"""Visitors may ask more here than in public: the answers themselves are what is tried."""
Sent = tuple[str, str, dict[str, Any]]


@dataclass
class Stored:
    """An entity that a visitor stored: when the request was sent and when it was answered."""

    entity_id: str
    sent: float
    answered: float


@dataclass
class Answers:
    """What the visitors got."""

    statuses: Counter[int] = field(default_factory=Counter[int])
    milliseconds: list[float] = field(default_factory=list[float])
    faults: list[str] = field(default_factory=list[str])
    stored: list[Stored] = field(default_factory=list[Stored])

    def percentile(self, share: float) -> float:
        """Return the milliseconds within which a share of the requests was answered."""
        ordered = sorted(self.milliseconds)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def hostile(number: int) -> Iterator[Sent]:
    """Yield requests that no caller should send, again and again."""
    deep: Any = "x"
    for _ in range(400):
        deep = [deep]
    odd = "\u202e\u0000 \U0001f600 ' OR 1=1 // MATCH (n) DETACH DELETE n {{7*7}} <script>"
    raw = {"headers": {"Content-Type": "application/json"}}
    big = {"entity_type": "note", "title": odd, "big": "y" * 300_000}
    crowd = [{"entity_type": "person", "name": f"Visitor {number}"}] * 300
    zipped = ("x.zip", os.urandom(20_000), "application/zip")
    pdf = ("x.pdf", b"%PDF-1.7 " + os.urandom(9_000), "application/pdf")
    requests: list[Sent] = [
        ("POST", "/store", {"content": b"{", **raw}),
        ("POST", "/store", {"content": b"\xff\xfe{}", **raw}),
        ("POST", "/store", {"content": b"[" * 100_000, **raw}),
        ("POST", "/store", {"json": {"entities": [{"entity_type": "note", "title": "x", "deep": deep}]}}),
        ("POST", "/store", {"json": {"entities": [{"entity_type": odd, "title": odd}]}}),
        ("POST", "/store", {"json": {"entities": [big]}}),
        ("POST", "/store", {"content": b" " * 3_000_000, **raw}),
        ("POST", "/store", {"json": {"file_path": "/etc/passwd"}}),
        ("POST", "/store", {"json": {"file_content": "not base64!", "original_filename": "../../x"}}),
        ("POST", "/store/unstructured", {"files": {"file": zipped}}),
        ("POST", "/store/unstructured", {"files": {"file": pdf}}),
        ("POST", "/entities/query", {"json": {"search": odd * 50}}),
        ("POST", "/entities/query", {"json": {"limit": 10**30, "offset": -1}}),
        ("POST", "/entities/query", {"json": {"sort_by": "snapshot.x') DETACH DELETE n //"}}),
        ("POST", "/retrieve_context", {"json": {"question": "who " * 4_000}}),
        ("GET", "/entities/%2e%2e%2f%2e%2e%2fetc", {}),
        ("GET", "/sources/x/content", {"headers": {"Range": "bytes=99999999999999999999-"}}),
        ("GET", "/timeline", {"params": {"start_date": "9999-99-99", "limit": "nan"}}),
        ("POST", "/entities/merge", {"json": {"source_entity_id": "a", "target_entity_id": "b"}}),
        ("POST", "/undo", {"json": {}}),
        ("POST", "/keys", {"json": {"name": "x"}}),
        ("GET", "/me", {"headers": {"Authorization": "Bearer " + "z" * 4_000}}),
        ("GET", "/signed_file", {"params": {"owner": "x", "signature": "y"}}),
        ("POST", "/mcp", {"content": b'{"jsonrpc":"2.0","method":"tools/call","id":{}}', **raw}),
        ("POST", "/sandbox/report", {"json": {"reason": "spam", "description": odd}}),
        ("GET", "/changes", {"params": {"after": odd}}),
        ("BREW", "/stats", {}),
        ("POST", "/store", {"json": {"entities": crowd}}),
    ]  # fmt: skip
    for at in itertools.count(number):
        yield requests[at % len(requests)]


async def visit(base: str, number: int, ended: asyncio.Event, answers: Answers) -> None:
    """Be one visitor until ``ended``: store, read, and send one hostile request after each."""
    headers = {"X-Forwarded-For": f"198.51.{number // 250}.{number % 250 + 1}"}
    others = hostile(number)
    async with httpx.AsyncClient(base_url=base, headers=headers, timeout=60) as http:
        while not ended.is_set():
            mark = f"Visitor {number} {base64.b32encode(os.urandom(8)).decode()}"
            entity = {"entity_type": "visitor", "name": mark}
            sent = time.time()
            stored = await _send(http, answers, "POST", "/store", {"json": {"entities": [entity]}})
            if stored is not None and stored.status_code == 200:
                entity_id = stored.json()["entities"][0]["entity_id"]
                answers.stored.append(Stored(entity_id, sent, time.time()))
            await _send(http, answers, *next(others))
            await _send(http, answers, "POST", "/entities/query", {"json": {"search": mark, "limit": 5}})
            await _send(http, answers, "GET", "/stats", {})


async def _send(
    http: httpx.AsyncClient, answers: Answers, method: str, path: str, options: dict[str, Any]
) -> httpx.Response | None:
    begin = time.perf_counter()
    try:
        answer = await http.request(method, path, **options)
    except httpx.TransportError as exc:
        # A server may close the connection of a body that it does not read.
        answers.statuses[0] += 1
        if len(options.get("content", b"")) < 1_000_000:
            answers.faults.append(f"{method} {path}: {exc!r}")
        return None
    answers.statuses[answer.status_code] += 1
    answers.milliseconds.append((time.perf_counter() - begin) * 1000)
    if answer.status_code >= 500 and answer.status_code != 503:
        answers.faults.append(f"{method} {path}: {answer.status_code} {answer.text[:300]}")
    if answer.status_code in (429, 503):
        await asyncio.sleep(min(2.0, float(answer.headers.get("retry-after", 1))))
    return answer


async def visitors(base: str, clients: int, seconds: float, answers: Answers) -> None:
    """Let visitors come for some seconds."""
    ended = asyncio.Event()
    tasks = [asyncio.create_task(visit(base, number, ended, answers)) for number in range(clients)]
    await asyncio.sleep(seconds)
    ended.set()
    await asyncio.gather(*tasks)


async def wiped_under_load(base: str, clients: int, reset: list[str], env: dict[str, str]) -> Answers:
    """Wipe while visitors are there; return what they got, after a look at what is left.

    Raises:
        AssertionError: something of before can be read, or something of after cannot.
    """
    answers, ended = Answers(), asyncio.Event()
    tasks = [asyncio.create_task(visit(base, number, ended, answers)) for number in range(clients)]
    await asyncio.sleep(6)
    begun = time.time()
    wipe = await asyncio.create_subprocess_exec(
        *reset, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    out, err = await asyncio.wait_for(wipe.communicate(), 300)
    done = time.time()
    assert wipe.returncode == 0, (out, err)
    await asyncio.sleep(6)
    ended.set()
    await asyncio.gather(*tasks)
    before = [each.entity_id for each in answers.stored if each.answered < begun]
    after = [each.entity_id for each in answers.stored if each.sent > done]
    assert before, "nothing was stored before"
    assert after, "nothing was stored after"
    headers = {"X-Forwarded-For": "192.0.2.1"}
    async with httpx.AsyncClient(base_url=base, headers=headers, timeout=60) as http:
        for expected, ids in ((404, before[-60:]), (200, after)):
            for entity_id in ids:
                answer = await http.get(f"/entities/{entity_id}")
                assert answer.status_code == expected, (expected, entity_id, answer.text[:300])
    return answers


def memory_of(pid: int) -> float:
    """Return the megabytes of a service, without those of the database."""
    return psutil.Process(pid).memory_info().rss / 1e6


def main() -> None:
    """Serve a sandbox, let visitors come, wipe it under their load, and print what happened."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=180.0)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        env = {
            **os.environ, **UNLIMITED, "GRAPHMEM_ENV": "sandbox", "GRAPHMEM_DATA_DIR": folder,
            "GRAPHMEM_TRUSTED_PROXIES": "127.0.0.1", "GRAPHMEM_OFFLINE": "1",
        }  # fmt: skip
        program = [sys.executable, "-P", "-m", "graphmem"]
        with (Path(folder) / "console").open("ab") as console:
            service = subprocess.Popen(
                [*program, "serve", "--port", str(port)], env=env, stdout=console, stderr=console
            )
        base = f"http://127.0.0.1:{port}"
        try:
            _wait(base)
            start, answers = memory_of(service.pid), Answers()
            sizes = [start]

            async def watched() -> None:
                async def look() -> None:
                    while True:
                        await asyncio.sleep(5)
                        sizes.append(memory_of(service.pid))

                looking = asyncio.create_task(look())
                await visitors(base, chosen.clients, chosen.seconds, answers)
                looking.cancel()

            asyncio.run(watched())
            print_answers("visitors", answers)
            sys.stdout.write(
                f"memory MB: {start:.0f} at first, " + " ".join(f"{s:.0f}" for s in sizes) + "\n"
            )
            reset = [*program, "sandbox", "reset", "--yes"]
            print_answers("wiped under load", asyncio.run(wiped_under_load(base, chosen.clients, reset, env)))
        finally:
            service.terminate()
            service.wait(60)
            subprocess.run([*program, "db", "stop"], env=env, check=False, capture_output=True)


def print_answers(title: str, answers: Answers) -> None:
    """Print what the visitors got."""
    line = {
        "answers": dict(sorted(answers.statuses.items())), "stored": len(answers.stored),
        "p50_ms": round(answers.percentile(0.5)), "p95_ms": round(answers.percentile(0.95)),
        "faults": answers.faults[:20],
    }  # fmt: skip
    sys.stdout.write(f"{title}: {json.dumps(line)}\n")
    sys.stdout.flush()


def _wait(base: str) -> None:
    for _ in range(600):
        try:
            if httpx.get(f"{base}/health/ready", timeout=5).is_success:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.5)
    raise AssertionError("the sandbox does not start")


if __name__ == "__main__":
    main()
