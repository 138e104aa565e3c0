"""The graph in a browser: what it shows and leaves out, and that the list and the keyboard do the same."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.page.conftest import MARKUP, Tab, World

pytestmark = pytest.mark.long
MEMBERS = 130


@pytest.fixture(scope="module")
def hub(world: World) -> str:
    """An entity with more relationships than one picture has."""
    members = [{"entity_type": "badge", "name": f"Badge {number:03}"} for number in range(MEMBERS)]
    links = [
        {"relationship_type": "MEMBER_OF", "source_index": number, "target_index": MEMBERS}
        for number in range(MEMBERS)
    ]
    return world.store(*members, {"entity_type": "company", "name": "Hub"}, relationships=links)[-1]


def drawn(page: Page) -> Page:
    """Wait until Cytoscape.js has drawn."""
    page.locator(".frame canvas").first.wait_for()
    return page


def test_the_picture_is_walked_by_keyboard_and_says_what_is_chosen(tab: Tab, world: World) -> None:
    page = drawn(tab.open(f"/graph/{world.ids['ada']}"))
    chosen = page.get_by_role("complementary", name="The chosen entity")
    expect(chosen.get_by_role("heading")).to_have_text("Ada Lovelace")
    page.get_by_role("application", name="Picture of the graph").focus()
    for key in ("ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"):
        page.keyboard.press(key)
    page.keyboard.press("Home")
    expect(chosen.get_by_role("heading")).to_have_text("Ada Lovelace")
    # The other entity lies in one of the four directions.
    for key in ("ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"):
        page.keyboard.press(key)
        if chosen.get_by_role("heading").inner_text() != "Ada Lovelace":
            break
    expect(chosen.get_by_role("heading")).to_have_text("Analytical Engines")
    expect(chosen.locator(".type")).to_have_text("company")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**walked={world.ids['company']}*")
    tab.settle()
    chosen.get_by_role("link", name="Begin here, at Analytical Engines").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Graph of Analytical Engines")


def test_a_hub_says_what_is_left_out_and_shows_more(tab: Tab, hub: str) -> None:
    page = drawn(tab.open(f"/graph/{hub}"))
    expect(page.locator(".left-out")).to_contain_text(
        f"80 more entities around Hub are left out, of {MEMBERS}"
    )
    page.get_by_role("link", name="Show up to 100").click()
    expect(page.locator(".left-out")).to_contain_text("30 more entities around Hub")
    page.get_by_role("link", name="Show up to 200").click()
    expect(page.get_by_text("Everything that fits is shown.")).to_be_visible()


def test_filters_hold_for_the_list_and_an_earlier_day_has_its_own_graph(tab: Tab, world: World) -> None:
    page = tab.open(f"/graph/{world.ids['ada']}?as=list")
    rows = page.locator("ul.rows > li")
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("Ada Lovelace works at Analytical Engines")
    page.get_by_role("button", name="company 1").click()
    expect(rows).to_have_count(1)
    page.get_by_role("button", name="company 1").click()
    page.get_by_label("Relationship").select_option("works at")
    expect(rows).to_have_count(2)
    page.get_by_label("As it was on").fill("1800-01-01")
    expect(page.locator(".empty")).to_contain_text("Nothing is related to it as you ask")


def test_a_hostile_name_is_text_in_the_graph(tab: Tab, world: World) -> None:
    page = drawn(tab.open(f"/graph/{world.ids['hostile']}"))
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Graph of {MARKUP}")
    expect(page.locator(".empty")).to_contain_text("Nothing is related to it")
    assert page.locator("main img, main script, main iframe, main style").count() == 0
