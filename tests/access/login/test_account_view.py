"""The page of a service with accounts: a person logs in by OAuth, and changes keys and connections."""

from __future__ import annotations

import time
from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.access.conftest import WITHIN_SECONDS, Instance
from tests.page.conftest import WIDE
from tests.support.chromium import running_chromium
from tests.support.service import Service

pytestmark = [pytest.mark.long, pytest.mark.timeout(500)]


@pytest.fixture
def browser() -> Iterator[Browser]:
    """A Chromium."""
    with running_chromium() as chromium:
        yield chromium


def log_in(browser: Browser, service: Service, secret: str) -> Page:
    """Log in at the view of the account, as a person does."""
    # Until it has seen the first key, the service is open.
    until_refused(service, None)
    page = browser.new_context(viewport=WIDE, locale="en-GB").new_page()
    page.goto(f"{service.url}/#/account")
    page.get_by_role("button", name="Log in").click()
    page.get_by_label("Password, API key or one-time code").fill(secret)
    page.get_by_role("button", name="Allow").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Account")
    return page


def confirm(page: Page, verb: str) -> None:
    """Press the button of the dialog that is open."""
    page.get_by_role("dialog").get_by_role("button", name=verb, exact=True).click()


def status(service: Service, token: str | None) -> int:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return httpx.get(f"{service.url}/me", headers=headers, timeout=60).status_code


def until_refused(service: Service, token: str | None) -> None:
    """Wait until a token, or a request without one, is refused, as long as that may take."""
    end = time.monotonic() + 2 * WITHIN_SECONDS
    while status(service, token) != 401 and time.monotonic() < end:
        time.sleep(0.2)
    assert status(service, token) == 401


def test_keys_are_made_and_revoked_and_connections_end(
    instance: Instance, own_service: Service, browser: Browser
) -> None:
    account = instance.account("ada")
    page = log_in(browser, own_service, instance.key(account))
    assert "code=" not in page.url
    expect(page.get_by_text("You are ada with the scopes read, write.")).to_be_visible()
    keys = page.get_by_role("region", name="API keys")
    expect(keys).to_contain_text("of a test")
    keys.get_by_role("button", name="Make a key …").click()
    code, _ = instance.loop.run(instance.accounts.create_code(account.id))
    page.get_by_label("Password or one-time code").fill(code)
    page.get_by_role("button", name="Allow").click()
    expect(page.get_by_text("You are ada with the scopes keys, read, write.")).to_be_visible()
    # The login of before ended.
    expect(page.get_by_role("region", name="Connected programs").get_by_role("listitem")).to_have_count(1)
    keys.get_by_text("Make a key").click()
    keys.get_by_label("Name").fill("of a robot")
    keys.get_by_label("write").uncheck()
    keys.get_by_role("button", name="Make", exact=True).click()
    secret = page.locator(".secret").inner_text()
    expect(page.get_by_role("button", name="Copy")).to_be_focused()
    assert status(own_service, secret) == 200
    robot = keys.get_by_role("listitem").filter(has_text="of a robot")
    expect(robot).to_contain_text("scopes read;")
    expect(robot).to_contain_text("on this page")
    robot.get_by_role("button", name="Revoke the key of a robot").click()
    confirm(page, "Revoke")
    expect(page.get_by_text("The key is revoked.")).to_be_visible()
    expect(page.locator(".secret")).to_have_count(0)
    expect(robot).to_contain_text("revoked")
    assert page.evaluate("document.activeElement.closest('main') !== null")
    until_refused(own_service, secret)


def test_a_connection_ends_and_all_end_at_once(
    instance: Instance, own_service: Service, browser: Browser
) -> None:
    key = instance.key(instance.account("ada"))
    other, page = log_in(browser, own_service, key), log_in(browser, own_service, key)
    connections = page.get_by_role("region", name="Connected programs")
    rows = connections.get_by_role("listitem")
    expect(rows).to_have_count(2)
    expect(rows.filter(has_text="this page")).to_have_count(1)
    connections.get_by_role("button", name="End the connection of Inspector of this service").click()
    confirm(page, "End it")
    expect(page.get_by_text("The connection has ended.")).to_be_visible()
    expect(rows).to_have_count(1)
    assert page.evaluate("document.activeElement.closest('main') !== null")
    # The view asks something each time it is opened.
    end = time.monotonic() + 2 * WITHIN_SECONDS
    while other.get_by_role("navigation", name="Views").is_visible() and time.monotonic() < end:
        other.evaluate("location.hash = `/timeline?type=${Math.random()}`")
        other.wait_for_timeout(500)
    expect(other.get_by_role("heading", level=1)).to_have_text("Log in")
    connections.get_by_role("button", name="Log out everywhere").click()
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.headers.get("authorization", "")))
    confirm(page, "Log out everywhere")
    expect(page.get_by_role("heading", level=1)).to_have_text("Log in")
    until_refused(own_service, next(each for each in sent if each).removeprefix("Bearer "))
    # Keys stay.
    assert status(own_service, key) == 200
