"""Who was told something of an entity or a file, and a receipt with what would be told otherwise today."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from graphmem.settings import Settings
from tests.page.conftest import Tab, World
from tests.support.service import running

WAIT_SECONDS = 60.0


@pytest.fixture(scope="module")
def told(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A service that keeps receipts: one agent was told of Ada, and her city was corrected since."""
    folder = tmp_path_factory.mktemp("receipts")
    variables = {"GRAPHMEM_RECEIPTS": "all"}
    with running(settings, folder, str(uuid.uuid4()), **variables) as service, service.http() as http:
        world = World(service, http)
        world.ids["ada"] = world.store({"entity_type": "person", "name": "Ada Lovelace", "city": "Bath"})[0]
        ask = {"question": "Where does Ada Lovelace live?"}
        assert http.post("/retrieve_context", json=ask, headers={"X-Client-Name": "planner"}).is_success
        file = {"file_content": "QWRhIGxpdmVzIGluIEJhdGg=", "original_filename": "ada.txt"}
        answer = http.post("/store", json={"entities": [{"entity_type": "note", "title": "Baths"}], **file})
        world.ids["file"] = answer.json()["source_id"]
        note = answer.json()["entities"][0]["entity_id"]
        assert http.get(f"/entities/{note}", headers={"X-Client-Name": "reader"}).is_success
        correction = {"entity_id": world.ids["ada"], "field": "city", "value": "Hull"}
        assert http.post("/correct", json=correction).is_success
        end = time.monotonic() + WAIT_SECONDS
        while len(http.get("/receipts").json()["receipts"]) < 2:
            assert time.monotonic() < end, "the receipts are not written"
            time.sleep(0.2)
        yield world


@pytest.fixture
def tab_of(told: World, browser: Browser) -> Iterator[Tab]:
    context = browser.new_context()
    yield Tab(context.new_page(), told.service.url)
    context.close()


def test_an_entity_and_a_file_say_to_whom_they_were_told(tab_of: Tab, told: World) -> None:
    page = tab_of.open(f"/entity/{told.ids['ada']}")
    section = page.get_by_role("region", name="Told to")
    expect(section).to_contain_text("planner")
    expect(section).not_to_contain_text("reader")
    page = tab_of.open(f"/source/{told.ids['file']}")
    section = page.get_by_role("region", name="Told to")
    expect(section).to_contain_text("reader")
    expect(section).not_to_contain_text("planner")


def test_a_receipt_marks_what_would_be_told_otherwise_and_why(tab_of: Tab, told: World) -> None:
    page = tab_of.open(f"/entity/{told.ids['ada']}")
    page.get_by_role("link", name="Where does Ada Lovelace live?").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Where does Ada Lovelace live?")
    difference = page.get_by_role("region", name="What would be told otherwise today").get_by_role("listitem")
    expect(difference).to_have_count(1)
    expect(difference).to_contain_text("corrected")
    expect(difference.locator("del")).to_have_text("Bath")
    expect(difference.locator("ins")).to_have_text("Hull")
    expect(page.get_by_role("region", name="What is behind it")).to_contain_text("corrected city")
    expect(page.get_by_role("region", name="What was told")).to_contain_text("city: Bath")
