"""The page of a public sandbox: it offers nothing that the sandbox refuses."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import httpx
import pytest
import uvicorn
from playwright.sync_api import Browser, expect

from graphmem.api.app import create_app
from graphmem.api.rest_endpoints import page_files
from graphmem.api.rest_routes import ROUTES
from graphmem.context import Services
from graphmem.registry import REGISTRY
from graphmem.sandbox import wiping
from tests.page.conftest import CARD, WIDE, Tab, World
from tests.support.event_loop import Loop
from tests.support.service import free_port, until_listening

VIEWS = (
    "/", "/search?q=Sluice", "/entities", "/entity/{ada}", "/entity/{twin}", "/sources", "/source/{card}",
    "/timeline", "/changes", "/schemas", "/schema/person", "/writers", "/health", "/account", "/graph/{ada}",
)  # fmt: skip
CLOSED_VERBS = re.compile(
    r"Merge|merge|Split|Take back|Undo|not the same|Withdraw|Reinstate|Quarantine|Release|Compare now|Make"
    r"|Revoke|End …|Log out"
)


@pytest.fixture(scope="module")
def sandbox(services: Services, loop: Loop, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A sandbox on the database of this run, of which it has one owner."""
    seed = tmp_path_factory.mktemp("seed")
    (seed / "1.json").write_text('{"entities": [{"entity_type": "lighthouse", "name": "Tarnhill"}]}')
    settings = services.settings.model_copy(update={"sandbox": True, "sandbox_seed": seed})
    public = replace(services, settings=settings)
    loop.run(wiping.look_after(public))
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(create_app(public), port=port, log_config=None))

    async def start() -> asyncio.Task[None]:
        return asyncio.create_task(server.serve())

    async def end() -> None:
        server.should_exit = server.force_exit = True
        await serving

    serving = loop.run(start())
    until_listening(port)
    url = f"http://127.0.0.1:{port}"
    with httpx.Client(base_url=url, timeout=60) as http:
        world = World(cast("Any", SimpleNamespace(url=url)), http)
        person: dict[str, Any] = {"entity_type": "person", "name": "Ada Sluice", "city": "Bergen"}
        twin = {"entity_type": "person", "name": "Ada Sluyce", "city": "Bergen"}
        world.ids["ada"], world.ids["twin"] = world.store(person, twin)
        sent = http.post("/store/unstructured", files={"file": ("nils.vcf", CARD, "text/vcard")})
        world.ids["card"] = sent.json()["source_id"]
        yield world
    loop.run(end())


def test_each_request_that_the_page_names_is_a_route() -> None:
    routes = {f"{method} {path}" for each in REGISTRY.values() for method, path in each.routes}
    routes |= {f"{route.method} {route.path}" for route in ROUTES}
    text = "".join(file.plain.decode() for name, file in page_files().items() if name.startswith("src/"))
    named = set(re.findall(r"'((?:GET|POST|DELETE) /[^'?]*)'", text))
    assert "POST /undo" in named
    assert named <= routes


@pytest.mark.long
def test_no_view_of_a_sandbox_offers_what_it_refuses(browser: Browser, sandbox: World) -> None:
    context = browser.new_context(viewport=WIDE, locale="en-GB")
    tab = Tab(context.new_page(), sandbox.service.url)
    refused: list[str] = []
    tab.page.on("response", lambda answer: refused.append(answer.url) if answer.status == 403 else None)
    for view in VIEWS:
        page = tab.open(view.format(**sandbox.ids))
        page.wait_for_load_state("networkidle") if view not in ("/", "/changes") else None
        names = page.locator("main :is(a, button, summary)").all_inner_texts()
        assert [name for name in names if CLOSED_VERBS.search(name)] == [], view
    assert refused == []
    assert tab.faults == []
    page = tab.open(f"/entity/{sandbox.ids['ada']}/merge")
    expect(page.get_by_text("A public sandbox does not offer this.")).to_be_visible()
    page = tab.open(f"/entity/{sandbox.ids['ada']}")
    page.get_by_role("button", name="Correct city").click()
    page.get_by_label("The right value").fill("Oslo")
    page.get_by_role("button", name="Preview").click()
    page.get_by_role("dialog").get_by_role("button", name="Correct", exact=True).click()
    expect(page.get_by_text("city was corrected.")).to_be_visible()
    expect(page.get_by_role("button", name="Undo …")).to_have_count(0)
    page.get_by_role("button", name="History of city").click()
    expect(page.get_by_role("list", name="History of city")).to_contain_text("Oslo")
    expect(page.get_by_role("button", name=re.compile("Take back"))).to_have_count(0)
    context.close()
