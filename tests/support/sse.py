"""A client of the stream of changes, in a thread of its own."""

from __future__ import annotations

import json
import threading
import time
from typing import Any, Self

import httpx

WAIT_SECONDS = 60.0
PAUSE = 0.2


class Events:
    """What a stream brought, read until the block ends. A stream that breaks is opened again where it was.

    Attributes:
        events: the data of each event, in order.
        opened: how often a stream was opened.
    """

    def __init__(self, http: httpx.Client) -> None:
        self.events: list[dict[str, Any]] = []
        self.opened = 0
        self._http, self._last = http, ""
        self._stop, self._ready = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(WAIT_SECONDS), "no stream opens"
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()

    def until_all(self, entity_ids: set[str]) -> set[str]:
        """Wait for events of all these entities; return those of which none came."""
        end = time.monotonic() + WAIT_SECONDS
        while missing := entity_ids - {event.get("entity_id", "") for event in list(self.events)}:
            if time.monotonic() > end:
                break
            time.sleep(0.05)
        return missing

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                headers = {"Last-Event-ID": self._last} if self._last else {}
                with self._http.stream("GET", "/events/stream", headers=headers, timeout=30) as response:
                    response.raise_for_status()
                    self.opened += 1
                    self._read(response)
            except httpx.HTTPError:
                self._stop.wait(PAUSE)
            except RuntimeError:
                # The client is closed: the test has ended.
                return

    def _read(self, response: httpx.Response) -> None:
        name = ""
        for line in response.iter_lines():
            if self._stop.is_set():
                return
            key, _, value = line.partition(": ")
            if key == "id":
                self._last = value
            elif key == "event":
                name = value
                self._ready.set()
            elif key == "data" and name != "ready":
                self.events.append(json.loads(value))
