"""A small world that a service shows, and one browser that looks at it, for all tests of the folder."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page

from graphmem.settings import Settings
from tests.support.chromium import running_chromium
from tests.support.service import Service, running

WIDE: Any = {"width": 1200, "height": 900}
CARD = b"BEGIN:VCARD\nVERSION:3.0\nFN:Nils Aarup\nEMAIL:nils@aarup.example\nORG:Owlmere Bakery\nEND:VCARD\n"
MARKUP = "<img src=x onerror=alert(1)><script>alert(2)</script>"
HOSTILE = {
    "entity_type": "note", "title": MARKUP, "unbroken": "W" * 10_000, "turned": "a\u202egnp.exe",
    "script": "javascript:alert(3)", "data": "data:text/html,<script>alert(4)</script>",
    "site": "https://example.org/a?b=<c>", "arabic": "مرحبا بالعالم",
    "list": [MARKUP, {"<b>": MARKUP}], "long": "line of a long text\n" * 10_000,
}  # fmt: skip
MANY = 60


@dataclass
class World:
    """The service, and the ids of what it shows by short names."""

    service: Service
    http: httpx.Client
    ids: dict[str, str] = field(default_factory=dict)

    def store(self, *entities: dict[str, Any], **more: Any) -> list[str]:
        """Store entities; return their ids."""
        answer = self.http.post("/store", json={"entities": entities, **more})
        assert answer.is_success, answer.text
        return [each["entity_id"] for each in answer.json()["entities"]]


@pytest.fixture(scope="session")
def served(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A service without a token."""
    folder = tmp_path_factory.mktemp("page")
    with running(settings, folder, str(uuid.uuid4())) as service, service.http() as http:
        yield World(service, http)


@pytest.fixture(scope="session")
def world(served: World) -> World:
    """The service, whose owner knows a few things."""
    _fill(served)
    return served


def _fill(world: World) -> None:
    ada: dict[str, Any] = {"entity_type": "person", "name": "Ada Lovelace", "email": "ada@example.org"}
    company = {"entity_type": "company", "name": "Analytical Engines"}
    task = {"entity_type": "task", "title": "Write the notes", "status": "open", "due": "2999-01-31"}
    link = {
        "relationship_type": "WORKS_AT",
        "source_index": 0,
        "target_index": 1,
        "metadata": {"since": "1842"},
    }
    early = ada | {"city": "London", "role": "translator"}
    ids = world.store(early, company, task, observed_at="2026-01-05T09:00:00Z", relationships=[link])
    world.ids |= {"ada": ids[0], "company": ids[1], "task": ids[2]}
    world.store(ada | {"role": "author"}, observed_at="2026-03-01T09:00:00Z")
    # Two say another city at the same time.
    for city in ("Ockham", "Ashley Combe"):
        world.store(ada | {"city": city}, observed_at="2026-02-01T09:00:00Z")
    world.ids["hostile"] = world.store(HOSTILE)[0]
    samples = (
        {"entity_type": "sample", "name": f"Sample {number:03}", "shelf": number} for number in range(MANY)
    )
    world.store(*samples)
    said = [
        {"entity_type": "message", "message_id": f"t{n}", "canonical_name": f"{who}: {text}", "sender": who,
         "content": text, "channel": "notes-app", "sent_at": f"2026-04-01T09:00:0{n}Z"}
        for n, (who, text) in enumerate((("user", "Who wrote the notes?"), ("notes-app", "Ada did.")))
    ]  # fmt: skip
    links = [{"relationship_type": "PART_OF", "source_index": n, "target_index": 2} for n in range(2)]
    talk = {"entity_type": "conversation", "title": "notes-app a1", "session": "a1"}
    talk["canonical_name"] = "notes-app, 2026-04-01: Who wrote the notes?"
    world.ids["talk"] = world.store(*said, talk, relationships=links)[2]
    card = world.http.post("/store/unstructured", files={"file": ("nils.vcf", CARD, "text/vcard")}).json()
    world.ids["card"] = card["source_id"]
    found = world.http.post("/entities/query", json={"search": "Nils Aarup"}).json()
    world.ids["nils"] = found["entities"][0]["entity_id"]


@pytest.fixture(scope="module")
def browser(world: World) -> Iterator[Browser]:
    """A Chromium. It keeps an event loop running in the thread, so the service is up before, and no test
    of another file runs meanwhile.
    """
    with running_chromium() as chromium:
        yield chromium


MOVE = """view => new Promise(done => {
    if (location.hash === `#${view}`) return done();
    addEventListener('hashchange', () => requestAnimationFrame(() => setTimeout(done)), {once: true});
    location.hash = view;
})"""


class Tab:
    """A tab at the page, and what went wrong in it: errors of scripts, refusals of the policy, dialogs."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url
        self.faults: list[str] = []
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("dialog", lambda dialog: self.faults.append(f"dialog {dialog.message}"))
        page.on("console", lambda line: self.faults.append(line.text) if line.type == "error" else None)

    def open(self, view: str) -> Page:
        """Open a view, and wait until it is loaded."""
        if not self.page.url.startswith(self.url):
            self.page.goto(self.url)
        self.page.evaluate(MOVE, view)
        self.settle()
        return self.page

    def settle(self) -> None:
        """Wait until nothing is being loaded."""
        self.page.locator("main:not(:has(.waiting)):not(:has(.stale)) h1").first.wait_for()


@pytest.fixture(scope="module")
def shared_tab(browser: Browser, world: World) -> Iterator[Tab]:
    """A tab that stays open."""
    context = browser.new_context(viewport=WIDE, color_scheme="light", locale="en-GB")
    yield Tab(context.new_page(), world.service.url)
    context.close()


@pytest.fixture
def tab(shared_tab: Tab) -> Iterator[Tab]:
    """The tab, in which nothing went wrong in the end."""
    shared_tab.faults.clear()
    yield shared_tab
    assert shared_tab.faults == []
