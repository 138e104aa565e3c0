"""The views of schemas, writers, health and account."""

from __future__ import annotations

import re
import uuid

import httpx
import pytest
from playwright.sync_api import expect

from tests.page.conftest import Tab, World

pytestmark = pytest.mark.long


def test_a_schema_says_what_identifies_what_wins_and_what_does_not_fit(tab: Tab, world: World) -> None:
    page = tab.open("/schemas")
    page.get_by_role("link", name="person").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("The type person")
    expect(page.get_by_text("Two are one entity if they have the same email")).to_be_visible()
    birthday = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name="birthday"))
    expect(birthday.get_by_role("cell").first).to_have_text("date")
    role = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name="role"))
    expect(role).to_contain_text("not declared")
    # Which fields those are depends on what other tests have stored.
    expect(page.get_by_role("region", name="What does not fit")).to_contain_text(
        re.compile(r"observations have \w+ proposed: ")
    )


def test_what_a_writer_wrote_is_taken_back_and_reinstated(tab: Tab, world: World) -> None:
    robot = f"robot-{uuid.uuid4()}"
    entity = by(world, robot, f"Written by {robot}")
    page = tab.open("/writers")
    row = page.get_by_role("listitem").filter(has_text=f"by {robot}")
    expect(row).to_contain_text("1 transaction, the newest")
    row.get_by_role("button", name="Take back what was written").click()
    dialog = page.get_by_role("dialog", name="Take back what was written?")
    expect(dialog).to_contain_text("1 observation of 1 entity")
    expect(dialog.locator(".preview")).to_contain_text(f"Written by {robot} → nothing")
    dialog.get_by_role("button", name="Take back").click()
    expect(page.get_by_text("It counts no more.")).to_be_visible()
    assert world.http.get(f"/entities/{entity}").status_code == 404
    page.get_by_role("button", name=f"Reinstate what client {robot} wrote").click()
    page.get_by_role("dialog").get_by_role("button", name="Reinstate", exact=True).click()
    expect(page.get_by_text("It counts again.")).to_be_visible()
    assert world.http.get(f"/entities/{entity}").is_success


def test_a_writer_is_quarantined_and_released(tab: Tab, world: World) -> None:
    robot = f"robot-{uuid.uuid4()}"
    by(world, robot, f"Before {robot}")
    # The tab may show the writers already, as they were.
    tab.open("/")
    page = tab.open("/writers")
    row = page.get_by_role("listitem").filter(has_text=f"by {robot}")
    row.get_by_role("button", name="Quarantine …").click()
    page.get_by_role("dialog").get_by_role("button", name="Quarantine", exact=True).click()
    expect(row).to_contain_text("in quarantine")
    apart = by(world, robot, f"During {robot}")
    assert world.http.get(f"/entities/{apart}").status_code == 404
    row.get_by_role("button", name="Release …").click()
    page.get_by_role("dialog").get_by_role("button", name="Release", exact=True).click()
    expect(row).not_to_contain_text("in quarantine")
    assert world.http.get(f"/entities/{apart}").is_success
    row.get_by_role("link", name="What it wrote").click()
    expect(page.get_by_role("link", name=f"Before {robot}").first).to_be_visible()


def test_nobody_quarantines_oneself(tab: Tab) -> None:
    page = tab.open("/account")
    expect(page.get_by_text("What you write is recorded as written by")).to_contain_text(
        "local, by inspector"
    )
    page = tab.open("/writers")
    mine = page.get_by_role("listitem").filter(has_text="you")
    expect(mine.get_by_role("button", name="Quarantine …")).to_have_count(0)


def test_the_health_says_what_the_doctor_finds_and_compares_snapshots(tab: Tab) -> None:
    page = tab.open("/health")
    findings = page.get_by_role("region", name="What the doctor finds")
    expect(findings).to_contain_text("memory")
    expect(findings).to_contain_text("settings")
    page.get_by_role("button", name="Compare now").click()
    # Its statements may have to be planned first.
    expect(page.get_by_role("status")).to_contain_text("all snapshots match", timeout=120_000)


def test_home_lists_what_is_contested(tab: Tab, world: World) -> None:
    # The list looks at what was observed last, and other tests store much.
    world.store({"entity_type": "person", "name": "Ada Lovelace", "email": "ada@example.org", "seen": True})
    tab.open("/schemas")
    page = tab.open("/")
    panel = page.locator(".panel", has=page.get_by_role("heading", name="Contested"))
    expect(panel).to_contain_text("Ada Lovelace")
    # Both have one time: the ids decide which of them is shown.
    expect(panel).to_contain_text(re.compile("city: (Ashley Combe, also Ockham|Ockham, also Ashley Combe)"))


def by(world: World, client: str, title: str) -> str:
    """Store a note as another program; return its id."""
    body = {"entities": [{"entity_type": "note", "title": title}]}
    answer = httpx.post(
        f"{world.service.url}/store", json=body, headers={"X-Client-Name": client}, timeout=60
    )
    return answer.json()["entities"][0]["entity_id"]
