"""What a person does to an entity in the page: relate, merge, split, each after a preview, each undone."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.page.conftest import Tab, World


def test_an_entity_is_related_to_another_that_is_chosen_by_name(tab: Tab, world: World) -> None:
    (person,) = world.store({"entity_type": "person", "name": "Edda Ravn"})
    page = tab.open(f"/entity/{person}")
    page.get_by_role("link", name="Relate …").click()
    page.get_by_label("The other entity").fill("Analytical Engines")
    page.get_by_role("list", name="Entities found").get_by_role("button").first.click()
    page.get_by_label("What relates them").fill("employs")
    page.get_by_role("button", name="The other way round").click()
    expect(page.locator(".sentence")).to_contain_text("Analytical Engines employs Edda Ravn")
    page.get_by_label("From", exact=True).fill("2026-03-01")
    page.get_by_role("button", name="Preview").click()
    # The service says which way round it is stored.
    expect(page.get_by_text("This relationship is new")).to_contain_text(
        "Edda Ravn works at Analytical Engines"
    )
    expect(page.locator(".warning")).to_contain_text("EMPLOYS is stored as WORKS_AT")
    assert world.http.get(f"/entities/{person}/relationships").json()["relationships"] == []
    page.get_by_role("button", name="Relate", exact=True).click()
    expect(page.locator(".around")).to_contain_text("Edda Ravn works at Analytical Engines")
    take_back(page)
    expect(page.get_by_text("Nothing is related to it.")).to_be_visible()


def test_two_entities_are_merged_side_by_side_and_that_is_undone(tab: Tab, world: World) -> None:
    first = {"entity_type": "person", "name": "Jonas Falkenberg", "city": "Bergen", "email": "jf@x.example"}
    (survivor,) = world.store(first, observed_at="2026-01-01")
    second = {
        "entity_type": "person",
        "name": "Jonas Falkenbergh",
        "city": "Oslo",
        "phone": "+47 22 00 00 00",
    }
    (other,) = world.store(second, observed_at="2026-02-01")
    page = tab.open(f"/entity/{survivor}")
    alike = page.get_by_role("region", name="Likely duplicates")
    expect(alike).to_contain_text("Jonas Falkenbergh")
    alike.get_by_role("link", name="Compare and merge …").click()
    city = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name="city"))
    expect(city.get_by_role("cell")).to_have_text(["Bergen", "Oslo", "Oslo"])
    page.get_by_label("Take the name of Jonas Falkenbergh").check()
    name = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name="name that is shown"))
    expect(name.get_by_role("cell").last).to_have_text("Jonas Falkenbergh")
    page.get_by_role("button", name="Let the other one survive").click()
    page.wait_for_url(f"**/{other}/merge?with={survivor}")
    page.get_by_role("button", name="Let the other one survive").click()
    page.wait_for_url(f"**/{survivor}/merge?with={other}")
    expect(city.get_by_role("cell")).to_have_text(["Bergen", "Oslo", "Oslo"])
    page.get_by_role("button", name="Merge", exact=True).click()
    expect(page.get_by_text("They are merged.")).to_be_visible()
    assert world.http.get(f"/entities/{other}").json()["entity_id"] == survivor
    take_back(page, "each of the two is an entity of its own")
    expect(page.locator(".field", has=page.get_by_role("heading", name="city"))).to_contain_text("Bergen")
    assert world.http.get(f"/entities/{other}").json()["entity_id"] == other


def test_likely_duplicates_that_are_two_are_dismissed(tab: Tab, world: World) -> None:
    (one,) = world.store({"entity_type": "person", "name": "Solveig Tangenberg", "city": "Moss"})
    world.store({"entity_type": "person", "name": "Solveig Tangenbergh", "city": "Hamar"})
    page = tab.open(f"/entity/{one}")
    alike = page.get_by_role("region", name="Likely duplicates")
    alike.get_by_role("button", name="They are not the same").click()
    expect(page.get_by_text("They are two, and are proposed no more.")).to_be_visible()
    expect(alike).to_have_count(0)
    page.get_by_role("button", name="Undo …").click()
    expect(alike).to_contain_text("Solveig Tangenbergh")


def test_observations_of_another_thing_are_split_off_and_that_is_undone(tab: Tab, world: World) -> None:
    anna = {"entity_type": "person", "name": "Anna Berg"}
    (mixed,) = world.store(anna | {"city": "Bergen"}, observed_at="2026-01-01")
    world.store(anna | {"city": "Oslo", "role": "nurse"}, observed_at="2026-02-01")
    page = tab.open(f"/entity/{mixed}")
    page.get_by_role("link", name="Split …").click()
    preview = page.get_by_role("button", name="Preview")
    expect(preview).to_be_disabled()
    page.get_by_role("checkbox", name="Oslo").check()
    page.get_by_label("Its name").fill("Anna Berg (Oslo)")
    preview.click()
    expect(page.get_by_text("1 observation and 0 relationships move, 1 stay.")).to_be_visible()
    expect(page.locator(".preview")).to_contain_text("city: Oslo → Bergen")
    page.get_by_role("button", name="Split", exact=True).click()
    city = page.locator(".field", has=page.get_by_role("heading", name="city"))
    expect(city).to_contain_text("Bergen")
    expect(page.get_by_role("link", name="Look at the other one")).to_be_visible()
    take_back(page)
    expect(city).to_contain_text("Oslo")


def test_what_changed_meanwhile_is_not_merged_unseen(tab: Tab, world: World) -> None:
    (survivor,) = world.store({"entity_type": "person", "name": "Petter Lunde"})
    (other,) = world.store({"entity_type": "person", "name": "Petter Lundh"})
    page = tab.open(f"/entity/{survivor}/merge?with={other}")
    merge = page.get_by_role("button", name="Merge", exact=True)
    # It can be pressed once the preview is there: a change before it would be refused by the preview.
    expect(merge).to_be_enabled()
    world.store({"entity_type": "person", "name": "Petter Lunde", "city": "Moss"})
    merge.click()
    expect(page.get_by_role("alert")).to_contain_text("nothing was written")
    tab.faults[:] = [fault for fault in tab.faults if "409" not in fault]


def test_a_deed_by_keyboard_leaves_the_focus_where_one_goes_on(tab: Tab, world: World) -> None:
    (entity,) = world.store({"entity_type": "note", "title": "By keyboard", "status": "open"})
    page = tab.open(f"/entity/{entity}")
    correct = page.get_by_role("button", name="Correct status")
    dialog = page.get_by_role("dialog", name="Correct status")
    value = dialog.get_by_label("The right value")
    correct.press("Enter")
    # A key that is pressed before the dialog is open goes to the button.
    expect(value).to_be_focused()
    page.keyboard.press("Escape")
    expect(correct).to_be_focused()
    page.keyboard.press("Enter")
    dialog.get_by_role("button", name="Cancel").press("Enter")
    expect(correct).to_be_focused()
    page.keyboard.press("Enter")
    expect(value).to_be_focused()
    page.keyboard.type("done and ")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(dialog).to_contain_text("open → ")
    # The button of the preview is gone.
    expect(value).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(correct).to_be_focused()
    undo = page.get_by_role("button", name="Undo …")
    undo.press("Enter")
    page.get_by_role("dialog").get_by_role("button", name="Keep").press("Enter")
    expect(undo).to_be_focused()
    page.keyboard.press("Enter")
    confirm = page.get_by_role("dialog").get_by_role("button", name="Take back")
    expect(confirm).to_be_enabled()
    confirm.press("Enter")
    expect(page.get_by_text("It was taken back.")).to_be_visible()
    expect(page.get_by_role("main")).to_be_focused()


def take_back(page: Page, says: str = "will count no more") -> None:
    """Undo what the view says was done, after its preview."""
    page.get_by_role("button", name="Undo …").click()
    dialog = page.get_by_role("dialog", name="Take this back?")
    expect(dialog).to_contain_text(says)
    dialog.get_by_role("button", name="Take back").click()
