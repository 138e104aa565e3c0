"""How the page and its files are served."""

from __future__ import annotations

import hashlib
import re
import runpy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graphmem.api.rest_endpoints import LOADED_LATER, POLICY, page_files
from graphmem.context import Services
from tests.page.conftest import World
from tests.support.event_loop import Loop
from tests.support.faces import by_runner

ROOT = Path(__file__).parents[2]
BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
FIRST_VIEW_BYTES = 150_000


def test_what_others_wrote_is_what_the_list_names() -> None:
    listed = runpy.run_path(str(ROOT / "packaging" / "vendor.py"))["files"]()
    for file in listed:
        assert hashlib.sha256((ROOT / file["path"]).read_bytes()).hexdigest() == file["sha256"], file["path"]
        assert all(file[name] for name in ("license", "version", "package"))
    ours = {f"graphmem/api/page/{name}" for name in page_files() if name.startswith("vendor/")}
    assert ours == {file["path"] for file in listed if file["path"].startswith("graphmem/")}


def test_own_code_makes_no_markup_from_text_and_runs_none() -> None:
    for name, file in page_files().items():
        if name.startswith("src/"):
            text = file.plain.decode()
            assert not re.search(
                r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\(|new Function",
                text,
            )


def test_a_browser_gets_the_page_and_a_program_the_faces(served: World) -> None:
    page = served.http.get("/", headers=BROWSER)
    assert page.headers["content-type"].startswith("text/html")
    assert page.headers["content-security-policy"] == POLICY
    assert "unsafe" not in POLICY
    assert page.headers["referrer-policy"] == "no-referrer"
    assert "set-cookie" not in page.headers
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\son\w+=|style=", page.text)
    for accept in ("*/*", "application/json", "text/html;q=0"):
        assert served.http.get("/", headers={"Accept": accept}).json()["mcp"] == "/mcp"
    again = served.http.get("/", headers={**BROWSER, "If-None-Match": page.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert served.http.get("/api/", headers=BROWSER).content == page.content


def test_the_files_are_kept_for_good_and_the_first_view_is_small(served: World) -> None:
    page = served.http.get("/", headers=BROWSER)
    paths = set(re.findall(r'(?:href|src)="(app/[^"]+)"', page.text))
    assert {path.split("/", 2)[2] for path in paths} == set(page_files()) - LOADED_LATER
    sent = int(page.headers["content-length"])
    for path in paths:
        answer = served.http.get(f"/{path}")
        assert answer.status_code == 200
        assert "immutable" in answer.headers["cache-control"]
        assert answer.headers["content-encoding"] == "gzip"
        sent += int(answer.headers["content-length"])
        assert (
            served.http.get(f"/{path}", headers={"If-None-Match": answer.headers["etag"]}).status_code == 304
        )
        plain = served.http.get(f"/{path}", headers={"Accept-Encoding": "identity"})
        assert plain.content == answer.content
    assert sent < FIRST_VIEW_BYTES


@pytest.mark.parametrize(
    "path",
    ["/app/0/src/main.js", "/app/{}/src/none.js", "/app/{}/../main.js", "/app/{}/src/%2e%2e%2findex.html"],
)
def test_no_other_file_is_served(served: World, path: str) -> None:
    page = served.http.get("/", headers=BROWSER)
    (version,) = set(re.findall(r"app/(\w+)/", page.text))
    answer = served.http.get(path.format(version))
    assert (answer.status_code, answer.headers["content-type"]) == (404, "application/json")


def test_the_neo4j_browser_is_named_to_this_machine_alone(
    services: Services, loop: Loop, owner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = "http://127.0.0.1:7474/browser/"
    monkeypatch.setattr(services.database, "browser_url", address)

    def named(**changes: Any) -> str | None:
        settings = services.settings.model_copy(update={"public_url": None, "base_url": None, **changes})
        return by_runner(loop, replace(services, settings=settings), owner)("server.info")[
            "neo4j_browser_url"
        ]

    assert named() == address
    hidden: list[dict[str, Any]] = [
        {"host": "0.0.0.0"}, {"env": "production"}, {"sandbox": True}, {"public_url": "https://g.example"},
    ]  # fmt: skip
    assert [named(**each) for each in hidden] == [None] * 4
    monkeypatch.setattr(services.database, "browser_url", "")
    assert named() is None
