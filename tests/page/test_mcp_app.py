"""The view of the MCP App in a host: a page of another origin that frames it, as the extension says."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, FrameLocator, Page, expect

from graphmem.mcp import app_view
from tests.page.conftest import MARKUP, World
from tests.page.test_views import AXE, RULES

pytestmark = pytest.mark.long
POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; media-src 'self' data:; connect-src 'none'"
)
"""What a host sets for a view that names no domains."""
HOST = """<!doctype html><title>A host</title>
<iframe sandbox="allow-scripts" width="1000" height="800" srcdoc="%s">
</iframe><script>
const answers = %s, frame = document.querySelector('iframe');
window.heard = [];
addEventListener('message', ({data: {id, method, params}}) => {
    heard.push({method, params});
    const send = message => frame.contentWindow.postMessage({jsonrpc: '2.0', ...message}, '*');
    if (method === 'ui/initialize') {
        send({id, result: {protocolVersion: '2026-01-26', hostCapabilities: {serverTools: {}},
                           hostInfo: {name: 'a host', version: '1'}, hostContext: {theme: 'dark'}}});
    } else if (method === 'ui/notifications/initialized') {
        send({method: 'ui/notifications/tool-result', params: answers.first});
    } else if (method === 'tools/call') send({id, result: answers[params.name]});
    else if (id) send({id, result: {}});
});
</script>"""


def result(answer: Any) -> dict[str, Any]:
    """Return the result of a tool with an answer."""
    return {"content": [{"type": "text", "text": json.dumps(answer)}], "structuredContent": answer}


def show(page: Page, first: Any, **others: Any) -> FrameLocator:
    """Show the first answer in a host; it answers calls of tools by the others."""
    head = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    framed = app_view.document().replace("<head>", f"<head>{head}", 1)
    answers = json.dumps({"first": first, **others}).replace("<", "\\u003c")
    body = HOST % (html.escape(framed), answers)
    page.route("http://host.example/", lambda route: route.fulfill(body=body, content_type="text/html"))
    page.goto("http://host.example/")
    return page.frame_locator("iframe")


@pytest.fixture
def host(browser: Browser) -> Iterator[Page]:
    """A tab for the host, in which nothing goes wrong and nothing else is loaded."""
    context = browser.new_context(locale="en-GB")
    page, faults = context.new_page(), list[str]()
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda line: faults.append(line.text) if line.type == "error" else None)
    page.on("request", lambda sent: faults.append(sent.url) if "host.example" not in sent.url else None)
    yield page
    context.close()
    assert [fault for fault in faults if not fault.startswith(("about:", "http://host.example"))] == []


def test_a_snapshot_leads_to_what_is_around_it_by_the_tools_of_the_host(host: Page, world: World) -> None:
    ids = {"entity_id": world.ids["ada"]}
    snapshot = world.http.post("/get_entity_snapshot", json={**ids, "provenance": "full"}).json()
    around = world.http.post("/retrieve_related_entities", json=ids).json()
    tools = {"retrieve_related_entities": result(around), "retrieve_entity_snapshot": result(snapshot)}
    view = show(host, result(snapshot), **tools)
    expect(view.get_by_role("heading", level=1)).to_have_text("Ada Lovelace")
    expect(view.locator(".field", has_text="role")).to_contain_text("author")
    expect(view.locator("html")).to_have_attribute("data-theme", "dark")
    frame = host.frames[1]
    frame.evaluate(AXE)
    found: Any = frame.evaluate(
        "kinds => axe.run(document, {runOnly: kinds})", {"type": "tag", "values": RULES}
    )
    assert [(each["id"], each["nodes"][0]["html"][:200]) for each in found["violations"]] == []
    view.get_by_role("link", name="What is around it").click()
    expect(view.get_by_text("Ada Lovelace works at Analytical Engines").first).to_be_visible()
    heard: Any = host.evaluate("heard")
    assert {
        "method": "tools/call",
        "params": {"name": "retrieve_related_entities", "arguments": ids},
    } in heard
    assert any(each["method"] == "ui/notifications/size-changed" for each in heard)


def test_a_timeline_and_hostile_values_and_an_error_are_text(host: Page, world: World) -> None:
    events = world.http.get("/timeline", params={"entity_id": world.ids["task"]}).json()
    view = show(host, result(events))
    expect(view.get_by_role("link", name="Write the notes").first).to_be_visible()
    hostile = world.http.post("/get_entity_snapshot", json={"entity_id": world.ids["hostile"]}).json()
    view = show(host, {"content": [{"type": "text", "text": json.dumps(hostile)}]})
    expect(view.get_by_role("heading", level=1)).to_have_text(MARKUP)
    assert view.locator("img, main script").count() == 0
    missing = world.http.get("/entities/ent_000000000000000000000000").json()
    view = show(host, {**result(missing), "isError": True})
    expect(view.get_by_role("alert")).to_contain_text("there is no entity")
