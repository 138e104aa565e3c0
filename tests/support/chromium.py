"""A Chromium in which tests look at the page."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

CHROMIUM = Path("/usr/bin/chromium")
OPTIONS = (
    "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
    "--no-first-run", "--disable-sync",
)  # fmt: skip


@contextmanager
def running_chromium() -> Iterator[Browser]:
    """Start a Chromium; skip the test where there is none. It keeps an event loop running in the thread."""
    if not CHROMIUM.exists():
        pytest.skip(f"the page is not tried in a browser: there is no {CHROMIUM}")
    # A statement that the database has not planned yet takes seconds.
    expect.set_options(timeout=30_000)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=list(OPTIONS))
        yield chromium
        chromium.close()
