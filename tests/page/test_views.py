"""The views of the page in a browser: what they show, what can be done, and who can use them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect

from tests.page.conftest import MANY, MARKUP, WIDE, Tab, World
from tests.support.examples import LONG

AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text("utf-8")
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
PHONE: Any = {"width": 375, "height": 800}
VIEWS = (
    "/", "/search?q=Where%20does%20Ada%20work%3F", "/entities?type=sample", "/entity/{ada}",
    "/entity/{hostile}", "/entity/{ada}?at=2026-02-01T09:00:00.000000Z",
    "/entity/ent_000000000000000000000000", "/entity/{ada}/relate", "/entity/{ada}/merge",
    "/entity/{ada}/merge?with={nils}", "/entity/{ada}/split", "/sources",
    "/source/{card}?start=4&end=14", "/timeline", "/changes", "/changes?by_client=rest",
    "/schemas", "/schema/person", "/writers", "/health", "/account", "/graph/{ada}",
    "/graph/{ada}?as=list", "/graph", "/conversations", "/entity/{talk}", "/programs", "/nowhere",
)  # fmt: skip


def barriers(page: Page, rules: list[str]) -> list[str]:
    """Return what axe finds, with the elements."""
    kinds = {"type": "tag", "values": rules} if rules is RULES else {"type": "rule", "values": rules}
    found: Any = page.evaluate("kinds => axe.run(document, {runOnly: kinds})", kinds)
    return [
        f"{page.url} {each['id']}: {[node['html'][:200] for node in each['nodes'][:3]]}"
        for each in found["violations"]
    ]


def barriers_of(tab: Tab, view: str, *, on_phone: bool) -> list[str]:
    """Return what axe finds in a view, and whether it is too wide for a phone.

    An ordinary run looks at it once, in the light theme or in the dark one on a phone; a long run looks at
    each theme on each screen.
    """
    page = tab.open(view)
    if page.evaluate("typeof axe") == "undefined":
        page.evaluate(AXE)
    violations = barriers(page, RULES) if LONG or not on_phone else []
    page.emulate_media(color_scheme="dark")
    violations += barriers(page, ["color-contrast"]) if LONG else []
    page.set_viewport_size(PHONE)
    violations += barriers(page, RULES) if LONG or on_phone else []
    page.emulate_media(color_scheme="light")
    violations += barriers(page, ["color-contrast"]) if LONG else []
    if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
        violations.append(f"{view} is wider than a phone")
    page.set_viewport_size(WIDE)
    return violations


def test_nobody_meets_a_barrier_in_both_themes_and_on_a_phone(tab: Tab, world: World) -> None:
    violations = [
        each
        for number, view in enumerate(VIEWS)
        for each in barriers_of(tab, view.format(**world.ids), on_phone=number % 2 == 1)
    ]
    # The browser says that the entity which is not there was answered 404.
    tab.faults[:] = [fault for fault in tab.faults if "404" not in fault]
    assert violations == []


def test_a_name_is_found_by_keyboard_alone_and_leads_to_its_entity(tab: Tab) -> None:
    page = tab.open("/")
    page.reload()
    tab.settle()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type("open tasks")
    page.keyboard.press("Enter")
    expect(page.get_by_text("every task that is not finished").first).to_be_visible()
    page.get_by_role("link", name="Write the notes").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Write the notes")
    expect(page.get_by_role("main")).to_be_focused()


def test_a_view_begins_at_its_top_on_a_phone(tab: Tab) -> None:
    tab.open("/").set_viewport_size(PHONE)
    page = tab.open("/entities")
    expect(page.get_by_role("main")).to_be_focused()
    assert page.evaluate("scrollY") == 0
    page.set_viewport_size(WIDE)


def test_an_entity_says_what_since_when_by_whom_and_what_else_was_said(tab: Tab, world: World) -> None:
    page = tab.open(f"/entity/{world.ids['ada']}")
    role = page.locator(".field", has=page.get_by_role("heading", name="role", exact=True))
    expect(role).to_contain_text("author")
    expect(role).to_contain_text("since 1 Mar 2026")
    role.get_by_role("button", name="History of role").click()
    expect(role.get_by_role("list", name="History of role")).to_contain_text("translator")
    city = page.locator(".field", has=page.get_by_role("heading", name="city", exact=True))
    expect(city).to_contain_text("contested")
    expect(city).to_contain_text("also said")
    expect(page.get_by_text("Ada Lovelace works at Analytical Engines")).to_be_visible()
    page.get_by_text("JSON", exact=True).click()
    expect(page.locator("pre").first).to_contain_text('"canonical_name": "Ada Lovelace"')


def test_the_clock_shows_an_earlier_state_under_an_address_of_its_own(tab: Tab, world: World) -> None:
    page = tab.open(f"/entity/{world.ids['ada']}")
    page.get_by_text("Look at an earlier state").click()
    slider = page.get_by_role("slider", name="As it was", exact=True)
    slider.focus()
    page.keyboard.press("Home")
    page.wait_for_url("**at=2026-01-05*")
    tab.settle()
    role = page.locator(".field", has=page.get_by_role("heading", name="role", exact=True))
    expect(role).to_contain_text("translator")
    expect(page.get_by_role("button", name="Correct role")).to_have_count(0)
    page.get_by_role("link", name="Back to now").click()
    expect(role).to_contain_text("author")


def test_a_value_leads_to_its_place_in_the_file(tab: Tab, world: World) -> None:
    page = tab.open(f"/entity/{world.ids['nils']}")
    email = page.locator(".field", has=page.get_by_role("heading", name="email", exact=True))
    email.get_by_role("link", name="line 2 of a file").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("nils.vcf")
    expect(page.locator("mark")).to_have_text("nils@aarup.example")


def test_a_field_is_corrected_after_a_preview_and_that_is_undone(tab: Tab, world: World) -> None:
    page = tab.open(f"/entity/{world.ids['task']}")
    page.get_by_role("button", name="Correct status").click()
    dialog = page.get_by_role("dialog", name="Correct status")
    dialog.get_by_label("The right value").fill("done")
    dialog.get_by_role("button", name="Preview").click()
    expect(dialog).to_contain_text("open → done")
    dialog.get_by_role("button", name="Correct", exact=True).click()
    status = page.locator(".field", has=page.get_by_role("heading", name="status", exact=True))
    expect(status).to_contain_text("done corrected")
    page.get_by_role("button", name="Undo …").click()
    dialog = page.get_by_role("dialog", name="Take this back?")
    expect(dialog).to_contain_text("done → open")
    dialog.get_by_role("button", name="Take back").click()
    expect(status).to_contain_text("open")
    expect(status).not_to_contain_text("corrected")


def test_an_entity_is_deleted_and_restored(tab: Tab, world: World) -> None:
    (entity,) = world.store({"entity_type": "note", "title": "To be deleted"})
    page = tab.open(f"/entity/{entity}")
    page.get_by_role("button", name="Delete …").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete", exact=True).click()
    expect(page.locator(".badge", has_text="deleted")).to_be_visible()
    page.get_by_role("button", name="Restore …").click()
    page.get_by_role("dialog").get_by_role("button", name="Restore", exact=True).click()
    expect(page.get_by_role("button", name="Delete …")).to_be_visible()
    assert world.http.get(f"/entities/{entity}").json()["state"] == "live"


def test_what_changes_appears_by_itself(tab: Tab, world: World) -> None:
    page = tab.open("/")
    (entity,) = world.store({"entity_type": "note", "title": "Written a moment ago"})
    expect(page.get_by_role("link", name="Written a moment ago")).to_be_visible(timeout=60_000)
    page = tab.open(f"/changes?entity={entity}")
    expect(page.get_by_role("link", name="Written a moment ago")).to_be_visible()


def test_hostile_values_are_text_and_a_long_one_is_cut(tab: Tab, world: World) -> None:
    page = tab.open(f"/entity/{world.ids['hostile']}")
    expect(page.get_by_role("heading", level=1)).to_have_text(MARKUP)
    assert page.locator("main img, main script, main iframe").count() == 0
    addresses: list[str] = page.locator(".field a").evaluate_all("links => links.map(link => link.href)")
    schemes = {address.partition(":")[0] for address in addresses if not address.startswith(tab.url)}
    assert schemes == {"https"}
    site = page.get_by_role("link", name="https://example.org/a?b=<c>")
    assert "noopener" in (site.get_attribute("rel") or "")
    assert (
        page.locator(".field bdi").first.evaluate("node => getComputedStyle(node).unicodeBidi") == "isolate"
    )
    long = page.locator(".field", has=page.get_by_role("heading", name="long", exact=True))
    assert len(long.inner_text()) < 2_000
    long.get_by_role("button", name="Show 50,000 of").click()
    long.get_by_role("button", name="Show all").click()
    assert long.locator(".text").evaluate("node => node.textContent.length") == 20 * 10_000


def test_a_text_from_right_to_left_begins_at_the_right_on_each_line(tab: Tab, world: World) -> None:
    text = "اجتماع مع مدير المشروع في القاهرة (Observatory 2026) " * 8 + "شكرا"
    (entity,) = world.store({"entity_type": "note", "title": "לוי-כהן", "content": text})
    page = tab.open(f"/entity/{entity}")
    shown = page.locator(".field", has=page.get_by_role("heading", name="content")).locator(".text")
    # Where the last line ends, which is shorter than the others.
    measure = """node => {
        const range = document.createRange();
        range.selectNodeContents(node);
        const parts = [...range.getClientRects()];
        const last = parts.filter(part => part.top === Math.max(...parts.map(each => each.top)));
        return node.getBoundingClientRect().right - Math.max(...last.map(part => part.right));
    }"""
    assert shown.evaluate("node => getComputedStyle(node).direction") == "rtl"
    assert abs(shown.evaluate(measure)) < 2


def test_a_long_list_has_pages(tab: Tab) -> None:
    page = tab.open("/entities?type=sample&sort=canonical_name")
    expect(page.get_by_text(f"{MANY} in all")).to_be_visible()
    page.get_by_role("link", name="Next page").click()
    row = page.get_by_role("listitem").filter(has=page.get_by_role("link", name=f"Sample {MANY - 1:03}"))
    expect(row.locator(".brief")).to_have_text(f"shelf {MANY - 1}")
    expect(page.get_by_role("link", name="First page")).to_be_visible()


def test_an_error_is_a_sentence_with_its_trace_id(tab: Tab) -> None:
    traces: list[str] = []
    tab.page.on("response", lambda answer: traces.append(answer.headers.get("x-trace-id", "")))
    page = tab.open("/entity/ent_111111111111111111111111")
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("there is no entity ent_111111111111111111111111")
    assert alert.locator("code").inner_text() in traces
    tab.faults[:] = [fault for fault in tab.faults if "404" not in fault]


def test_the_theme_is_kept_and_no_token_or_cookie_is(tab: Tab) -> None:
    page = tab.open("/timeline")
    page.get_by_label("Theme").select_option("dark")
    page.reload()
    tab.settle()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 26)"
    page.get_by_label("Theme").select_option("auto")
    page.wait_for_function("localStorage.getItem('graphmem-theme') !== 'dark'")
    assert json.loads(page.evaluate("JSON.stringify(localStorage)")) == {"graphmem-theme": "auto"}
    assert page.context.cookies() == []
