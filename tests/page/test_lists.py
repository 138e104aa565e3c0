"""What home, lists and searches show: as other faces say it, narrowed, in names that people read."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, expect

from graphmem.mcp import app_view
from tests.page.conftest import Tab, World

SHIFTS = """() => new Promise(done => {
    const sum = list => done(list.getEntries().reduce((sum, each) => sum + each.value, 0));
    new PerformanceObserver(sum).observe({type: 'layout-shift', buffered: true});
    setTimeout(() => done(0), 300);
})"""


def turn(world: World, number: int) -> str:
    """Store a turn as hooks do; return the name of its conversation."""
    name, talk = "claude-code, 2026-11-30 09:12: Write to Maren", "claude-code a496711c"
    said = [("user", "Write to Maren"), ("claude-code", "I wrote to Maren")]
    messages: list[dict[str, Any]] = [
        {"entity_type": "message", "message_id": f"{talk} {number} {sender}", "sender": sender,
         "content": text, "canonical_name": f"{sender}: {text}",
         "sent_at": datetime.now(UTC).isoformat(timespec="seconds")}
        for sender, text in said
    ]  # fmt: skip
    links = [{"relationship_type": "PART_OF", "source_index": place, "target_index": 0} for place in (1, 2)]
    talk_item = {"entity_type": "conversation", "title": talk, "canonical_name": name}
    world.store(talk_item, *messages, relationships=links)
    return name


def test_messages_are_one_change_of_their_conversation_and_are_not_due(tab: Tab, world: World) -> None:
    names = {turn(world, number) for number in range(3)}
    page = tab.open("/")
    changed = page.get_by_role("region", name="Changed lately").get_by_role("listitem")
    expect(changed.first).to_contain_text(names.pop())
    expect(changed.first).to_contain_text("6 messages")
    assert changed.filter(has_text="a496711c").count() == 0
    due = page.get_by_role("region", name="Due and coming up")
    expect(due).to_contain_text("Write the notes")
    assert "Maren" not in due.inner_text()


@pytest.mark.parametrize(
    ("text", "saying"),
    [
        ("Zed Quillfrob", "hint"),
        ("Ada Lovelace", ""),
        ("Mina Mott", "formerly"),
        ("translates texts", "match"),
    ],
)
def test_a_search_says_what_every_other_face_says(tab: Tab, world: World, text: str, saying: str) -> None:
    for name in ("Mina Mott", "Mina Married"):
        world.store({"entity_type": "person", "name": name, "email": "mina@mott.example"})
    question = {"question": text, "format": "fields", "budget": 2500}
    known = world.http.post("/retrieve_context", json=question).json()
    found = world.http.post("/entities/query", json={"search": text, "limit": 25}).json()
    assert not saying or any(saying in each for each in (known, found, *found["entities"])), (known, found)
    page = tab.open(f"/search?q={quote(text)}")
    panels = page.locator(".panel")
    for panel, answer in ((panels.nth(0), known), (panels.nth(1), found)):
        for said in filter(None, (answer.get("hint"), answer.get("match"))):
            expect(panel).to_contain_text(said.replace("_", " "))
    for hit in found["entities"]:
        line = panels.nth(1).get_by_role("listitem").filter(has_text=hit["canonical_name"]).first
        for said in filter(None, (hit.get("match"), hit.get("formerly") and "formerly", hit.get("matched"))):
            expect(line).to_contain_text(said.replace("_", " "))


def test_a_list_is_narrowed_by_values_words_and_writers_with_their_counts(tab: Tab, world: World) -> None:
    colours = ["red", "green", "red", "blue", "red", "blue"]
    world.store(*({"entity_type": "kite", "name": f"Kite {n}", "colour": c} for n, c in enumerate(colours)))
    kites = {"entities": [{"entity_type": "kite", "name": "Kite 7", "colour": "green"}]}
    world.http.post("/store", json=kites, headers={"X-Client-Name": "kite-shop"})
    page = tab.open("/entities?type=kite")
    expect(page.get_by_text("7 in all")).to_be_visible()
    narrow = page.get_by_role("region", name="Narrow it")
    red = narrow.get_by_role("listitem").filter(has_text="red")
    expect(red).to_contain_text("3")
    red.get_by_role("link").click()
    expect(page.get_by_text("3 in all")).to_be_visible()
    page.get_by_role("link", name="colour:").click()
    narrow.get_by_role("link", name="kite-shop").click()
    expect(page.get_by_text("1 in all")).to_be_visible()
    expect(page.get_by_role("link", name="Kite 7")).to_be_visible()
    tab.open("/entities?type=kite")
    page.get_by_label("Words").fill("Kite 2")
    page.get_by_role("button", name="Filter").click()
    expect(page.get_by_role("link", name="Kite 2")).to_be_visible()


def test_a_name_that_changes_direction_is_spelled(tab: Tab, world: World) -> None:
    file = world.store({"entity_type": "note", "title": "a\u202egnp.exe"})[0]
    page = tab.open(f"/entity/{file}")
    expect(page.get_by_role("heading", level=1)).to_have_text("a<U+202E>gnp.exe")
    assert "\u202e" not in page.locator("main").inner_text()


def test_numbers_of_a_field_are_a_line_over_time(tab: Tab, world: World) -> None:
    entity = ""
    for month, weight in enumerate((60, 61.5, 59), 1):
        item = {"entity_type": "person", "name": "Weighed Person", "weight": weight}
        entity = world.store(item, observed_at=f"2026-0{month}-01")[0]
    page = tab.open(f"/entity/{entity}")
    page.get_by_role("button", name="History of weight").click()
    expect(
        page.get_by_role("img", name="weight from 60 to 59, at least 59, at most 61.5, 3 values")
    ).to_be_visible()


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_moves_while_a_view_is_read(browser: Browser, world: World, width: int) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900})
    page = context.new_page()
    for view in ("/", "/entities?type=sample", f"/entity/{world.ids['ada']}", "/search?q=Ada", "/changes"):
        page.goto(f"{world.service.url}/#{view}")
        page.reload()
        Tab(page, world.service.url).settle()
        assert page.evaluate(SHIFTS) <= 0.02, view
    context.close()


def test_the_view_of_a_host_is_silent_before_the_host_is_ready_and_says_alone_what_it_is(
    browser: Browser,
) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.set_content(app_view.document())
    expect(page.get_by_role("alert")).to_contain_text("the view of graphmem for hosts of MCP Apps")
    page.evaluate("""document => {
        window.heard = [];
        addEventListener('message', event => heard.push(event.data.method));
        const frame = window.document.createElement('iframe');
        frame.srcdoc = document;
        window.document.body.append(frame);
    }""", app_view.document())  # fmt: skip
    page.wait_for_function("heard.length > 0")
    page.wait_for_timeout(200)
    assert page.evaluate("heard") == ["ui/initialize"]
    context.close()


def test_fields_stand_as_people_read_them_and_the_graph_is_reached_from_the_top(
    tab: Tab, world: World
) -> None:
    item = {
        "entity_type": "person",
        "age": 36,
        "city": "Ely",
        "email": "lea@moor.example",
        "name": "Lea Moor",
    }
    page = tab.open(f"/entity/{world.store(item)[0]}")
    assert page.locator(".field h3").all_inner_texts() == ["name", "email", "age", "city"]
    graph, known = (
        page.get_by_role("link", name="Its graph"),
        page.get_by_role("heading", name="What is known"),
    )
    assert (graph.bounding_box() or {})["y"] < (known.bounding_box() or {})["y"]
