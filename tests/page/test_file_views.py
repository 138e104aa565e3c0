"""Files in a browser: stored by dropping them, interpreted again, withdrawn and reinstated."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.page.conftest import MARKUP, Tab, World

pytestmark = pytest.mark.long
TEAM = "name,email,role\nZoe Ahmadi,zoe@x.example,dev\nYan Lund,yan@x.example,ops\n"
DROP = """([name, text]) => {
    const data = new DataTransfer();
    data.items.add(new File([text], name, {type: 'text/csv'}));
    const how = {dataTransfer: data, bubbles: true, cancelable: true};
    for (const type of ['dragover', 'drop']) document.body.dispatchEvent(new DragEvent(type, how));
}"""


def file(name: str, content: bytes) -> Any:
    return {"name": name, "mimeType": "text/plain", "buffer": content}


def test_a_dropped_file_says_what_was_understood(tab: Tab) -> None:
    page = tab.open("/")
    page.evaluate(DROP, ["team.csv", TEAM])
    stored = page.get_by_role("region", name="Store files")
    expect(stored).to_contain_text("Understood as 2 person")
    expect(stored).to_contain_text("1 passage of its text can be found")
    page = tab.open("/sources")
    expect(page.get_by_role("link", name="team.csv").first).to_be_visible()


def test_files_are_stored_one_by_one_and_a_refused_one_says_why(tab: Tab) -> None:
    page = tab.open("/sources")
    files = [file("empty.txt", b""), file(f"{MARKUP}.bin", bytes(range(256)))]
    page.locator("#files").set_input_files(files)
    stored = page.get_by_role("region", name="Store files")
    expect(stored.get_by_role("alert")).to_contain_text("the file is empty")
    expect(stored.get_by_role("alert").locator("code")).to_be_visible()
    expect(stored).to_contain_text("It is stored. Nothing was read from it: No parser reads")
    # The name of the other file is markup.
    assert page.locator("main img, main script").count() == 0
    tab.faults[:] = [fault for fault in tab.faults if "400" not in fault]


def test_a_file_is_withdrawn_after_a_preview_and_reinstated(tab: Tab, world: World) -> None:
    sent = {"file": ("gone.csv", b"name,email\nWim Gone,wim@x.example\n", "text/csv")}
    source = world.http.post("/store/unstructured", files=sent).json()["source_id"]
    page = tab.open(f"/source/{source}")
    deeds = page.locator(".walks").first
    deeds.get_by_role("button", name="Withdraw …").click()
    dialog = page.get_by_role("dialog", name="Withdraw this file?")
    expect(dialog).to_contain_text("Wim Gone person disappears")
    assert world.http.get(f"/sources/{source}").json()["withdrawn"] is False
    dialog.get_by_label("Why").fill("a draft")
    dialog.get_by_role("button", name="Withdraw", exact=True).click()
    expect(page.get_by_text("withdrawn: nothing of it counts")).to_be_visible()
    deeds.get_by_role("button", name="Reinstate …").click()
    dialog = page.get_by_role("dialog", name="Reinstate this file?")
    expect(dialog).to_contain_text("Wim Gone person appears")
    dialog.get_by_role("button", name="Reinstate", exact=True).click()
    expect(deeds.get_by_role("button", name="Withdraw …")).to_be_visible()
    assert world.http.get(f"/sources/{source}").json()["withdrawn"] is False


def test_a_file_is_interpreted_again_and_one_reading_is_withdrawn(tab: Tab, world: World) -> None:
    page = tab.open(f"/source/{world.ids['card']}")
    page.get_by_role("button", name="Interpret again …").click()
    dialog = page.get_by_role("dialog", name="Interpret this file again?")
    dialog.get_by_role("button", name="Interpret", exact=True).click()
    expect(dialog).to_contain_text("has read the same bytes before")
    dialog.get_by_role("button", name="Close").click()
    page.get_by_role("button", name="Interpret again …").click()
    dialog.get_by_label("Read it even if").check()
    dialog.get_by_role("button", name="Interpret", exact=True).click()
    expect(dialog).to_contain_text("3 observations of 2 entities were read from it")
    dialog.get_by_role("button", name="Close").click()
    # The new reading has taken the place of the one before.
    withdrawn = page.get_by_role("button", name="Reinstate what was read at")
    expect(withdrawn).to_have_count(1)
    page.get_by_role("button", name="Withdraw what was read at").click()
    dialog = page.get_by_role("dialog", name="Withdraw this reading?")
    dialog.get_by_role("button", name="Withdraw", exact=True).click()
    expect(withdrawn).to_have_count(2)
    withdrawn.first.click()
    dialog = page.get_by_role("dialog", name="Reinstate this reading?")
    dialog.get_by_role("button", name="Reinstate", exact=True).click()
    expect(withdrawn).to_have_count(1)
