"""Views of what programs said, were told of and may: conversations, subscriptions, grants; and pictures."""

from __future__ import annotations

from datetime import UTC, datetime

import neo4j
import pytest
from playwright.sync_api import Page, expect

from graphmem.settings import Settings
from tests.page.conftest import Tab, World
from tests.page.test_mcp_app import host, result, show
from tests.support.actors import DISABLED_ACCOUNT

__all__ = ["host"]
GRANT = {"label": "planner", "thumbprint": "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",
         "capabilities": [{"op": "store", "entity_types": ["task"]}]}  # fmt: skip


def test_a_conversation_shows_its_turns_in_order_and_what_was_stored_meanwhile(
    tab: Tab, world: World
) -> None:
    page = tab.open("/conversations")
    row = page.get_by_role("listitem").filter(has_text="Who wrote the notes?")
    expect(row).to_contain_text("session a1")
    row.get_by_role("link").click()
    turns = page.locator(".turns > li")
    expect(turns.first).to_contain_text("Who wrote the notes?")
    assert [each.split()[0] for each in turns.locator("h3").all_inner_texts()] == ["user", "notes-app"]
    assert "Ada did." in turns.nth(1).inner_text()
    expect(page.get_by_text("Nothing but the turns.")).to_be_visible()
    now = datetime.now(UTC).isoformat()
    said = {"entity_type": "message", "message_id": "now", "sender": "user", "content": "Keep the kettle",
            "channel": "kettle-app", "sent_at": now}  # fmt: skip
    talk = {"entity_type": "conversation", "title": "kettle-app b2"}
    link = {"relationship_type": "PART_OF", "source_index": 0, "target_index": 1}
    known = world.store(said, talk, relationships=[link])[1]
    kettle = {"entities": [{"entity_type": "thing", "name": "Copper kettle"}]}
    world.http.post("/store", json=kettle, headers={"X-Client-Name": "kettle-app"})
    page = tab.open(f"/entity/{known}")
    expect(page.get_by_role("link", name="Copper kettle")).to_be_visible()


@pytest.fixture
def account(world: World, settings: Settings) -> None:
    """The account of the owner, which subscriptions and grants are of."""
    login = (settings.neo4j_username, settings.neo4j_password.get_secret_value())
    with neo4j.GraphDatabase.driver(settings.neo4j_uri or "", auth=login) as driver:
        driver.execute_query(DISABLED_ACCOUNT, id=world.service.owner)


def test_subscriptions_and_grants_are_listed_and_ended(tab: Tab, world: World, account: None) -> None:
    world.http.post("/subscribe", json={"delivery_method": "sse", "entity_types": ["task"]})
    world.http.post("/agents/grants", json=GRANT)
    tab.open("/account").get_by_role("link", name="Subscriptions, and grants").click()
    tab.settle()
    page = tab.page
    told = page.get_by_role("region", name="Subscriptions").get_by_role("listitem")
    expect(told).to_contain_text("entity types task")
    told.get_by_role("button", name="End the subscription").click()
    page.get_by_role("button", name="End it").click()
    expect(page.get_by_text("Nobody is told of changes.")).to_be_visible()
    grant = page.get_by_role("region", name="Grants of agents").get_by_role("listitem")
    expect(grant).to_contain_text("may store of task")
    for name, state in (("Suspend", "suspended"), ("Allow", ""), ("Revoke", "revoked")):
        grant.get_by_role("button", name=name).click()
        page.get_by_role("dialog").get_by_role("button", name=name).click()
        expect(page.get_by_role("status").first).to_contain_text("The grant is")
        expect(grant.locator(".badge")).to_have_text([state] if state else [])


def test_a_type_has_its_entities_by_month_and_the_graph_begins_without_a_name(tab: Tab, world: World) -> None:
    for month in ("2026-01", "2026-03", "2026-03"):
        world.store({"entity_type": "visit", "title": f"Visit {month}", "place": month},
                    observed_at=f"{month}-04T09:00:00Z")  # fmt: skip
    world.store({"entity_type": "visit", "title": "Another visit"}, observed_at="2026-03-05T09:00:00Z")
    page = tab.open("/entities?type=visit")
    expect(page.get_by_role("img", name="Last observed by month: 2026-01 1, 2026-03 2")).to_be_visible()
    wide = [(each.bounding_box() or {})["width"] for each in page.locator("header > *").all()]
    assert (page.locator("header").bounding_box() or {})["height"] < 64, wide  # all views in one line
    page.get_by_role("navigation", name="Views").get_by_role("link", name="Graph").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Graph of")
    expect(page.get_by_role("application", name="Picture of the graph")).to_be_visible()


def test_a_host_of_mcp_apps_shows_the_graph_as_a_picture(host: Page, world: World) -> None:
    around = world.http.post("/retrieve_related_entities", json={"entity_id": world.ids["ada"]}).json()
    view = show(host, result(around))
    picture = view.get_by_role("group", name="Picture:")
    expect(picture.get_by_role("link", name="Analytical Engines")).to_be_visible()
    assert picture.locator("line").count() == len(around["relationships"])
