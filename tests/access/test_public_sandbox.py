"""A public sandbox: everybody is one account, what could spoil it is off, and everything is wiped."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from graphmem.api import event_stream
from graphmem.api.app import create_app
from graphmem.api.rest_routes import ROUTES
from graphmem.auth import erasing
from graphmem.auth.shared_account import ACCOUNT_ID, REMEMBERED_SECONDS, SharedAccount
from graphmem.cli.main import app as cli
from graphmem.context import Context, Services
from graphmem.database import instance_kind
from graphmem.database.driver import Database
from graphmem.errors import (
    ConfigurationInvalid,
    DatabaseUnavailable,
    EncryptionKeyMissing,
    SandboxDisabled,
    SandboxMismatch,
    ServiceBusy,
)
from graphmem.ingest.document import FILE_BYTES_LIMIT
from graphmem.mcp.protocol import recorded
from graphmem.mcp.toolsets import TOOLSETS
from graphmem.model import times
from graphmem.observability.metrics import Metrics
from graphmem.reading.snapshot_check import audit
from graphmem.registry import REGISTRY, Face
from graphmem.runtime import connection, open_services
from graphmem.sandbox import reports, terms, wiping
from graphmem.sandbox.reports import Reports, redacted
from graphmem.settings import SANDBOX_DEFAULTS, load
from tests.access.conftest import Application
from tests.faces.test_event_stream import Stream
from tests.support.commands import environment
from tests.support.database import database
from tests.support.event_loop import Loop
from tests.support.faces import by_cli, share_services
from tests.support.lifespans import lifespan
from tests.support.walks import walk_over

CLOSED = sorted(name for name, operation in REGISTRY.items() if not operation.sandbox)
ADA = {"entity_type": "person", "name": "Ada Lovelace", "email": "ada@lovelace.example"}


def moment(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 1_000_000


@pytest.fixture(scope="module")
def seed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("seed")
    entities = [{"entity_type": "lighthouse", "name": "Tarnhill"}]
    (folder / "1.json").write_text(json.dumps({"idempotency_key": "first", "entities": entities}))
    return folder


@pytest.fixture(scope="module")
def public(services: Services, loop: Loop, seed: Path) -> Services:
    """The services of a sandbox on the database of this run, of which it has one owner."""
    settings = services.settings.model_copy(
        update={"sandbox": True, "sandbox_seed": seed, "limit_reports": "100/minute"}
    )
    made = replace(services, settings=settings)
    loop.run(wiping.look_after(made))
    return made


@pytest.fixture(scope="module")
def http(public: Services, loop: Loop) -> Iterator[Application]:
    app = create_app(public)
    with lifespan(loop, app):
        yield Application(loop, app)


def store(http: Application, **more: Any) -> Any:
    stored = http("POST", "/store", json={"entities": [{**ADA, "note": uuid.uuid4().hex}], **more})
    assert stored.status_code == 200, stored.text
    return stored.json()


@pytest.mark.parametrize("credential", [None, "gmk_stale", "token of another service", "x" * 40])
def test_every_caller_is_the_shared_account_whatever_it_sends(
    http: Application, credential: str | None
) -> None:
    me = http("GET", "/me", credential)
    assert me.headers["X-Graphmem-Sandbox"] == "1"
    body = me.json()
    assert (body["user_id"], body["account"]) == (ACCOUNT_ID, "sandbox")
    assert (body["scopes"], body["authentication"], body["sandbox_mode"]) == (
        ["read", "write"],
        "sandbox",
        True,
    )
    assert http("GET", "/metrics", credential).status_code == 403


def test_what_one_visitor_stores_another_one_reads(http: Application) -> None:
    entity_id = store(http)["entities"][0]["entity_id"]
    shown = http("GET", f"/entities/{entity_id}", "another credential")
    assert shown.json()["canonical_name"] == ADA["name"]


def variants(path: str) -> list[str]:
    """Return four spellings of a path that a guard of paths would miss."""
    first, _, rest = path[1:].partition("/")
    encoded = f"/%{ord(first[0]):02x}{first[1:]}" + (f"/{rest}" if rest else "")
    return [path, f"/api{path}", encoded, f"{path}?x=1"]


@walk_over("name", CLOSED)
def test_a_closed_operation_is_refused_on_every_face(http: Application, name: str) -> None:
    operation = REGISTRY[name]
    for method, route in operation.routes:
        path = route
        for part in [part for part in route.split("/") if part.startswith("{")]:
            path = path.replace(part, "x")
        for variant in variants(path):
            refused = http(method, variant, json=dict(operation.example) if method != "GET" else None)
            assert (refused.status_code, refused.json()["error_code"]) == (403, "SANDBOX_DISABLED"), variant
            assert "/sandbox/terms" in refused.json()["message"]
            assert refused.headers["X-Graphmem-Sandbox"] == "1"
    if Face.MCP in operation.faces:
        answer = http.tool(None, operation.tool).json()["result"]
        assert answer["isError"]
        assert "SANDBOX_DISABLED" in answer["content"][0]["text"]


def test_a_closed_operation_is_refused_on_the_command_line(
    public: Services, loop: Loop, owner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = by_cli(loop, public, monkeypatch, owner)
    for name in CLOSED:
        # The command that makes a key prints a warning first: a test below has it.
        if Face.CLI in REGISTRY[name].faces and name != "keys.create":
            with pytest.raises(SandboxDisabled):
                command(name, **REGISTRY[name].example)


def test_other_spellings_of_a_closed_path_are_no_route(http: Application) -> None:
    for path in ("/entities/merge/", "/Entities/MERGE", "/entities//merge", "/entities/./merge"):
        refused = http("POST", path, json=dict(REGISTRY["entities.merge"].example))
        assert refused.status_code in (403, 404), (path, refused.text)


def test_routes_of_oauth_and_backups_are_refused(http: Application) -> None:
    closed = [route for route in ROUTES if not route.sandbox]
    assert {"oauth_register", "oauth_token", "oauth_consent", "create_backup"} - {"oauth_consent"} <= {
        route.name for route in closed
    }
    for route in closed:
        refused = http(route.method, route.path)
        assert (refused.status_code, refused.json()["error_code"]) == (403, "SANDBOX_DISABLED"), route.path


def test_commands_are_refused_as_requests_are(
    public: Services, loop: Loop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    share_services(monkeypatch, loop, public)
    variables = environment(public.settings, tmp_path, GRAPHMEM_SANDBOX="true")
    dump = tmp_path / "x.dump"
    dump.write_bytes(b"x")
    for words in (
        ["rebuild"], ["backup", "restore", str(dump)], ["storage", "merge", str(dump)],
        ["account", "create", "ada"], ["auth", "keys", "create", "laptop"], ["snapshots", "check"],
    ):  # fmt: skip
        result = CliRunner().invoke(cli, ["--json", *words], env=variables)
        assert "SANDBOX_DISABLED" in result.stderr, (words, result.output)
    me = CliRunner().invoke(cli, ["--json", "auth", "whoami"], env=variables)
    assert ACCOUNT_ID in me.stdout, me.output


def test_mcp_tells_the_terms_at_its_start(http: Application) -> None:
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    accepted = {"Accept": "application/json, text/event-stream"}
    answer = http("POST", "/mcp", json=body, headers=accepted).json()["result"]
    assert answer["instructions"].startswith(terms.SUMMARY)


def test_a_toolset_lists_no_tool_that_is_closed(http: Application) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    listed = {tool["name"] for tool in http("POST", "/mcp/full", json=body).json()["result"]["tools"]}
    known = TOOLSETS["full"].tools()
    assert listed == {tool for tool, operation in known.items() if operation.sandbox}
    assert {*recorded("full")["closed"]} == known.keys() - listed


def test_terms_are_public_and_an_ordinary_service_has_none(
    http: Application, services: Services, loop: Loop
) -> None:
    answer = http("GET", "/sandbox/terms").json()
    assert (answer["version"], answer["weekly_reset_utc"]) == ("1", "Sunday 00:00 UTC")
    assert times.parse(answer["next_reset_at"]) == terms.next_wipe_time(times.now())
    closed = {route for operation in REGISTRY.values() if not operation.sandbox for route in operation.routes}
    closed |= {(route.method, route.path) for route in ROUTES if not route.sandbox}
    assert answer["closed_requests"] == sorted(map(" ".join, closed))
    ordinary = Application(loop, create_app(services))
    assert ordinary("GET", "/sandbox/terms").status_code == 404
    assert "X-Graphmem-Sandbox" not in ordinary("GET", "/sandbox/terms").headers
    info = http("GET", "/server-info").json()
    assert (info["sandbox"], info["sandbox_next_reset_at"]) == (True, answer["next_reset_at"])
    assert "sandbox_next_reset_at" not in ordinary("GET", "/server-info").json()


@pytest.mark.parametrize(
    ("now", "last"),
    [
        ("2026-11-29T00:00:00", "2026-11-29T00:00:00"), ("2026-11-28T23:59:59", "2026-11-22T00:00:00"),
        ("2026-11-29T00:00:01", "2026-11-29T00:00:00"), ("2026-12-02T12:00:00", "2026-11-29T00:00:00"),
    ],
)  # fmt: skip
def test_the_wipe_is_on_sunday_at_midnight(now: str, last: str) -> None:
    assert terms.last_wipe_time(moment(now)) == moment(last)


@pytest.mark.parametrize(("now", "is_told"), [("2026-11-27T23:59:59", False), ("2026-11-28T00:00:00", True)])
def test_a_day_before_a_wipe_visitors_are_told(
    http: Application, monkeypatch: pytest.MonkeyPatch, now: str, is_told: bool
) -> None:
    monkeypatch.setattr(times, "now", lambda: moment(now))
    # The banner of the page shows the notice of /server-info.
    info, shown = http("GET", "/server-info").json(), http("GET", "/sandbox/terms").json()
    for notice in (info["sandbox_notice"], shown["notice"]):
        assert ("2026-11-29T00:00:00" in notice) if is_told else notice is None


def test_a_wipe_leaves_nothing_of_before_by_any_route_and_stores_the_seed(
    http: Application, public: Services, loop: Loop
) -> None:
    text = base64.b64encode(b"the secret word is quixotry").decode()
    stored = store(http, file_content=text, original_filename="a.txt")
    entity_id, source_id = stored["entities"][0]["entity_id"], stored["source_id"]
    url = http("GET", "/get_file_url", params={"path": source_id}).json()["url"]
    signed = url[url.index("/signed_file") :]
    assert http("GET", signed).status_code == 200
    before = loop.run(SharedAccount(public.database).state())
    cursor = http("GET", "/changes").json()
    loop.run(wiping.wipe_now(public))
    after = loop.run(SharedAccount(public.database).state())
    assert after.owner != before.owner
    assert (after.is_seeded, after.retired) == (True, [])
    for path in (f"/entities/{entity_id}", f"/sources/{source_id}", f"/sources/{source_id}/content"):
        assert http("GET", path).status_code == 404, path
    assert http("GET", signed).status_code in (403, 404)
    for path, body in (
        ("/entities/query", {"search": "Lovelace"}), ("/retrieve_context", {"question": "quixotry"}),
    ):  # fmt: skip
        assert "Lovelace" not in http("POST", path, json=body).text
    assert http("GET", "/stats").json()["entities_by_type"] == {"lighthouse": 1}
    if resume := cursor.get("resume_cursor"):
        assert http("GET", "/changes", params={"after": resume}).status_code == 409
    left = loop.run(
        public.database.script("MATCH (n {owner: $owner}) RETURN count(*) AS n", owner=before.owner)
    )
    assert left == [{"n": 0}]
    assert store(http)["entities_created"] == 1


def test_a_stream_ends_at_a_wipe_and_its_cursor_is_refused(
    http: Application, public: Services, loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_stream, "CHECK_SECONDS", 0.2)
    stream = Stream(loop, http.app, "anybody").started()
    store(http)
    cursor = stream.until(1)[0]["cursor"]
    loop.run(wiping.wipe_now(public))
    assert "CURSOR_OF_ANOTHER_DATABASE" in stream.ended()
    # It ended before anything of after the wipe came.
    assert "Tarnhill" not in stream.text
    again = Stream(loop, http.app, "anybody", last=cursor)
    assert "CURSOR_OF_ANOTHER_DATABASE" in again.ended()
    assert again.status == 409


def test_a_reset_by_hand_asks_first_and_wipes_once(
    http: Application, public: Services, loop: Loop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entity_id = store(http)["entities"][0]["entity_id"]
    report_id = report_on(http, entity_id)
    share_services(monkeypatch, loop, public)
    variables = environment(public.settings, tmp_path, GRAPHMEM_SANDBOX="true")

    def reset(*words: str, answer: str = "", **more: str) -> Any:
        return CliRunner().invoke(cli, ["--json", *words], input=answer, env={**variables, **more})

    refused = reset("sandbox", "reset", answer="n\n")
    ordinary = reset("sandbox", "reset", "--yes", GRAPHMEM_SANDBOX="false")
    remote = reset("--base-url", "http://127.0.0.1:1", "sandbox", "reset", "--yes")
    assert 0 not in (refused.exit_code, ordinary.exit_code, remote.exit_code)
    assert "are those of no sandbox" in ordinary.stderr
    assert "works on its own machine, not at http://127.0.0.1:1" in remote.stderr
    assert http("GET", f"/entities/{entity_id}").status_code == 200
    done = reset("sandbox", "reset", "--yes")
    assert json.loads(done.stdout) == {"erased_owners": 1, "seeded": True}
    assert http("GET", f"/entities/{entity_id}").status_code == 404
    assert http("GET", "/stats").json()["entities_by_type"] == {"lighthouse": 1}
    assert report_id in reset("sandbox", "reports", "list").stdout


def test_one_of_many_processes_wipes_and_each_sunday_once(public: Services, loop: Loop) -> None:
    account = SharedAccount(public.database)
    sunday = terms.next_wipe_time(times.now()) + 1

    async def at_once() -> list[int]:
        return list(await asyncio.gather(*(wiping.look_after(public, sunday) for _ in range(5))))

    first = loop.run(account.state()).owner
    loop.run(at_once())
    loop.run(wiping.look_after(public, sunday))
    second = loop.run(account.state())
    assert second.owner != first
    assert (second.retired, second.is_seeded, second.wiped_at) == ([], True, sunday)
    loop.run(wiping.look_after(public, sunday + times.DAY))
    assert loop.run(account.state()).owner == second.owner
    # Later tests live at the time of the clock.
    loop.run(
        public.database.script("MATCH (a:Account {name: 'sandbox'}) SET a.wiped_at = $at", at=times.now())
    )


def test_a_wipe_that_is_interrupted_is_finished_by_the_next_process(
    http: Application, public: Services, loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    entity_id = store(http)["entities"][0]["entity_id"]

    async def fails(*_: Any, **__: Any) -> None:
        raise DatabaseUnavailable

    with monkeypatch.context() as patch:
        patch.setattr(erasing, "erase_closed", fails)
        with pytest.raises(DatabaseUnavailable):
            loop.run(wiping.wipe_now(public))
    # Already unreadable, although nothing is erased yet.
    assert http("GET", f"/entities/{entity_id}").status_code == 404
    state = loop.run(SharedAccount(public.database).state())
    assert state.retired
    with monkeypatch.context() as patch:
        patch.setattr(wiping, "_HOLDER", "another process")
        loop.run(wiping.look_after(public))
        # The lease of the process that was killed still holds.
        assert loop.run(SharedAccount(public.database).state()).retired == state.retired
        loop.run(public.database.script("MATCH (a:Account {name: 'sandbox'}) SET a.leased_until = 0"))
        loop.run(wiping.look_after(public))
    assert loop.run(SharedAccount(public.database).state()).retired == []


def test_a_sandbox_is_ready_once_its_world_is_stored(
    http: Application, public: Services, loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(*_: Any, **__: Any) -> None:
        raise DatabaseUnavailable

    with monkeypatch.context() as patch:
        patch.setattr(wiping, "_seed", fails)
        with pytest.raises(DatabaseUnavailable):
            loop.run(wiping.wipe_now(public))
    answer = http("GET", "/health/ready")
    assert (answer.status_code, "world" in answer.json()["message"]) == (503, True)
    assert http("GET", "/health").status_code == 200
    loop.run(public.database.script("MATCH (a:Account {name: 'sandbox'}) SET a.leased_until = 0"))
    loop.run(wiping.look_after(public))
    assert http("GET", "/health/ready").status_code == 200


def test_a_write_for_the_owner_before_is_refused_and_may_be_sent_again(public: Services, loop: Loop) -> None:
    actor = loop.run(SharedAccount(public.database).actor())
    loop.run(wiping.wipe_now(public))
    with pytest.raises(Exception) as refused:
        loop.run(REGISTRY["store"].run(public, actor, {"entities": [ADA]}))
    assert getattr(refused.value, "code", "") == "SERVICE_BUSY"
    left = loop.run(
        public.database.script("MATCH (n {owner: $owner}) RETURN count(*) AS n", owner=actor.owner)
    )
    assert left == [{"n": 0}]


def test_a_report_is_redacted_queued_and_decided(
    http: Application, public: Services, loop: Loop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entity_id = store(http)["entities"][0]["entity_id"]
    body = {
        "reason": "pii_leak",
        "description": "bob@example.org is in there",
        "reporter_contact": "me@x.example",
    }
    filed = http("POST", "/sandbox/report", json=body).json()
    assert filed["redaction_preview"]["redacted_description"] == "[e-mail] is in there"
    status = http("GET", "/sandbox/report/status", params={"access_token": filed["access_token"]}).json()
    assert (status["report_id"], status["status"]) == (filed["report_id"], "received")
    assert http("GET", "/sandbox/report/status", params={"access_token": "gmr_x"}).status_code == 404
    kept = loop.run(
        public.database.script("MATCH (r:SandboxReport {id: $id}) RETURN r", id=filed["report_id"])
    )
    assert "127.0.0.1" not in str(kept)
    assert filed["access_token"] not in str(kept)
    share_services(monkeypatch, loop, public)
    variables = environment(public.settings, tmp_path, GRAPHMEM_SANDBOX="true")

    def command(*words: str) -> Any:
        return CliRunner().invoke(cli, ["--json", "sandbox", *words], env=variables)

    listed = json.loads(command("reports", "list").stdout)["reports"]
    assert (filed["report_id"], None) in [(each["id"], each["notes"]) for each in listed]
    table = CliRunner().invoke(cli, ["sandbox", "reports", "list"], env=variables)
    assert (table.exit_code, filed["report_id"] in table.stdout) == (0, True), table.output
    assert "me@x.example" in command("reports", "show", filed["report_id"]).stdout
    confirmed = command("reports", "confirm", filed["report_id"], "--notes", "removed")
    assert '"status":"resolved"' in confirmed.stdout, confirmed.output
    assert "me@x.example" not in confirmed.stdout
    assert http("GET", f"/entities/{entity_id}").status_code == 404
    status = http("GET", "/sandbox/report/status", params={"access_token": filed["access_token"]}).json()
    assert (status["status"], status["resolution_notes"]) == ("resolved", "removed")
    other = http("POST", "/sandbox/report", json={"reason": "spam", "description": "x"}).json()
    assert '"status":"rejected"' in command("reports", "reject", other["report_id"]).stdout


@pytest.fixture
def moderate(
    public: Services, loop: Loop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., dict[str, Any]]:
    """A command of whoever runs the sandbox."""
    share_services(monkeypatch, loop, public)
    variables = environment(public.settings, tmp_path, GRAPHMEM_SANDBOX="true")

    def command(*words: str, fails: bool = False) -> dict[str, Any]:
        result = CliRunner().invoke(cli, ["--json", "sandbox", *words], env=variables)
        assert (result.exit_code != 0) is fails, result.output
        return json.loads(result.stderr if fails else result.stdout)

    return command


def report_on(http: Application, entity_id: str) -> str:
    body = {"reason": "abuse", "description": "x", "entity_id": entity_id}
    return http("POST", "/sandbox/report", json=body).json()["report_id"]


def audited(public: Services, loop: Loop) -> tuple[int, bool]:
    actor = loop.run(SharedAccount(public.database).actor())
    report = loop.run(audit(Context(actor, public), fix=False, deep=True))
    return report.stale_count, report.settled


def test_a_confirmed_report_erases_its_entity_alone(
    http: Application, public: Services, loop: Loop, moderate: Callable[..., dict[str, Any]]
) -> None:
    loop.run(wiping.wipe_now(public))
    query = {"search": "Tarnhill"}
    lighthouse = http("POST", "/entities/query", json=query).json()["entities"][0]["entity_id"]
    insult = {"entity_type": "lighthouse", "name": "Quaggrump", "email": "q@quaggrump.example"}
    friend = {"entity_type": "person", "name": "Bo Lindqvist"}
    link = {"relationship_type": "REFERS_TO", "source_index": 0, "target_index": 1}
    mine = {"entities": [insult, friend], "relationships": [link], "idempotency_key": "quagg"}
    stored = http("POST", "/store", json=mine).json()
    entity_id, friend_id = (each["entity_id"] for each in stored["entities"])
    own, shared = (base64.b64encode(text).decode() for text in (b"Quaggrump is bad", b"Quaggrump and Bo"))
    of_file = {"entities": [{**insult, "height": 30, "built_on": "1901-02-03"}], "file_content": own}
    source_id = http("POST", "/store", json={**of_file, "original_filename": "q.txt"}).json()["source_id"]
    of_both = {"entities": [{**insult, "lit": True}, {**friend, "age": 40}], "file_content": shared}
    shared_id = http("POST", "/store", json={**of_both, "original_filename": "s.txt"}).json()["source_id"]
    relate = {
        "relationship_type": "REFERS_TO", "source_entity_id": lighthouse, "target_entity_id": entity_id
    }  # fmt: skip
    assert http("POST", "/create_relationship", json=relate).status_code == 200
    assert "Quaggrump" in http("POST", "/entities/query", json={"search": "Quaggrump"}).text
    cursor = http("GET", "/changes").json()["resume_cursor"]

    confirmed = moderate("reports", "confirm", report_on(http, entity_id))

    assert (confirmed["status"], confirmed["erased_entities"]) == ("resolved", 1)
    assert confirmed["kept_sources"] == [shared_id]
    for path in (f"/entities/{entity_id}", f"/sources/{source_id}", f"/sources/{source_id}/content"):
        assert http("GET", path).status_code == 404, path
    assert http("GET", "/changes", params={"after": cursor}).status_code == 409
    for method, path, body in (
        ("POST", "/entities/query", {"search": "Quaggrump"}), ("GET", "/changes", None),
        ("POST", "/retrieve_context", {"question": "q@quaggrump.example"}), ("GET", "/timeline", None),
        ("GET", f"/entities/{friend_id}", None),
        ("POST", "/observations/query", {}), ("POST", "/list_relationships", {"entity_id": lighthouse}),
    ):  # fmt: skip
        assert "uaggrump.example" not in (answer := http(method, path, json=body)).text, path
        assert answer.status_code == 200, answer.text
        assert entity_id not in answer.text, path
    owner = loop.run(SharedAccount(public.database).state()).owner
    # Only the text of the file that was kept has the word.
    left = loop.run(
        public.database.script(
            "MATCH (n {owner: $owner}) WHERE NOT n:Passages RETURN properties(n) AS p", owner=owner
        )
    )
    assert left
    assert "quaggrump" not in str(left).lower()
    assert http("GET", f"/entities/{friend_id}").json()["snapshot"]["age"] == 40
    assert http("GET", f"/sources/{shared_id}").status_code == 200
    assert audited(public, loop) == (0, True)
    # Nobody gets the answer of before by its key: the same request stores the entity anew.
    assert http("POST", "/store", json=mine).json()["entities_created"] == 1


def test_an_entity_of_the_first_world_is_stored_again(
    http: Application, public: Services, loop: Loop, moderate: Callable[..., dict[str, Any]]
) -> None:
    loop.run(wiping.wipe_now(public))
    entity_id = http("POST", "/entities/query", json={"search": "Tarnhill"}).json()["entities"][0][
        "entity_id"
    ]
    spoilt = {"entities": [{"entity_type": "lighthouse", "name": "Tarnhill", "note": "a cesspit"}]}
    assert http("POST", "/store", json=spoilt).json()["entities"][0]["entity_id"] == entity_id
    moderate("reports", "confirm", report_on(http, entity_id))
    shown = http("GET", f"/entities/{entity_id}").json()
    assert (shown["canonical_name"], "note" in shown["snapshot"]) == ("Tarnhill", False)
    assert http("GET", "/stats").json()["entities_by_type"] == {"lighthouse": 1}
    assert audited(public, loop) == (0, True)


def test_a_report_on_no_entity_is_confirmed_with_everything(
    http: Application, public: Services, loop: Loop, moderate: Callable[..., dict[str, Any]]
) -> None:
    entity_id = store(http)["entities"][0]["entity_id"]
    report_id = report_on(http, "ent_ffffffffffffffffffffffff")
    assert moderate("reports", "confirm", report_id, fails=True)["error_code"] == "RESOURCE_NOT_FOUND"
    assert moderate("reports", "show", report_id)["status"] == "received"
    assert http("GET", f"/entities/{entity_id}").status_code == 200
    assert moderate("reports", "confirm", report_id, "--everything")["seeded"]
    assert http("GET", f"/entities/{entity_id}").status_code == 404


def test_nobody_stores_something_else_by_a_key_of_the_first_world(
    http: Application, public: Services, loop: Loop, seed: Path
) -> None:
    account = SharedAccount(public.database)
    loop.run(account.wipe(times.LATEST, times.now()))
    time.sleep(2 * REMEMBERED_SECONDS)
    data = (seed / "1.json").read_bytes()
    for key in (f"seed-{hashlib.sha256(data).hexdigest()[:32]}", json.loads(data)["idempotency_key"]):
        store(http, idempotency_key=key)
    loop.run(wiping.look_after(public))
    assert loop.run(account.state()).is_seeded
    assert http("GET", "/stats").json()["entities_by_type"]["lighthouse"] == 1


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"reason": "x", "description": "y"},
        {"reason": "spam", "description": " "},
        {"reason": "spam", "description": 1},
        {"reason": "spam", "description": "y", "entity_id": "bob@example.org"},
    ],
)
def test_a_report_that_is_none_is_refused(http: Application, body: dict[str, Any]) -> None:
    assert http("POST", "/sandbox/report", json=body).status_code == 400


def test_one_sender_does_not_fill_the_queue_of_reports(
    http: Application, public: Services, loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue, mine, other = Reports(public.database), uuid.uuid4().hex, uuid.uuid4().hex

    def send(address: str) -> None:
        loop.run(
            queue.add("spam", redacted("x"), entity_id=None, url=None, contact=None, address=address, now=1)
        )

    monkeypatch.setattr(reports, "SENDER_LIMIT", 2)
    for _ in range(2):
        send(mine)
    with pytest.raises(ServiceBusy):
        send(mine)
    send(other)


def test_the_addresses_of_a_network_are_one_sender(
    public: Services, loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxied = replace(public, settings=public.settings.model_copy(update={"trusted_proxies": ("127.0.0.1",)}))
    http = Application(loop, create_app(proxied))
    monkeypatch.setattr(reports, "SENDER_LIMIT", 1)
    # Reports of an earlier run may be in the database.
    site = f"2001:db8:{uuid.uuid4().hex[:4]}"
    statuses = [
        http(
            "POST", "/sandbox/report", json={"reason": "spam", "description": "x"},
            headers={"X-Forwarded-For": address},
        ).status_code
        for address in (f"{site}:2::1", f"{site}:2:ffff::9", f"{site}:3::1")
    ]  # fmt: skip
    assert statuses == [200, 503, 200]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("write to a.b+c@mail.example.org now", "write to [e-mail] now"),
        ("call +44 7700 900461", "call [phone]"),
        ("card 4111 1111 1111 1111", "card [number]"),
        ("IBAN DE89 3704 0044 0532 0130 00!", "IBAN [IBAN]!"),
        ("from 203.0.113.9 and 2001:db8:0:0:1::1", "from [address] and [address]"),
        ("0176 1234567", "[removed]"),
        ("in 2026 there were 15 notes", "in 2026 there were 15 notes"),
    ],
)
def test_personal_data_is_replaced(text: str, expected: str) -> None:
    assert redacted(text).text == expected


def test_redaction_of_a_long_hostile_text_is_quick() -> None:
    for text in ("a" * 100_000, "1 " * 50_000, "@" * 100_000, "a@" * 50_000, "DE89 " * 20_000, "1:" * 50_000):
        redacted(text)


def test_a_sandbox_has_stricter_limits_unless_they_are_set(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = load(env="sandbox")
    assert chosen.sandbox
    assert {name: getattr(chosen, name) for name in SANDBOX_DEFAULTS} == SANDBOX_DEFAULTS
    assert load(env="production", sandbox=True).limit_writes == "30/minute"
    monkeypatch.setenv("GRAPHMEM_LIMIT_WRITES", "7/minute")
    assert load(env="sandbox").limit_writes == "7/minute"
    assert (load().limit_reads, load().max_file_bytes) == ("60000/minute", FILE_BYTES_LIMIT)
    load(env="sandbox", host="0.0.0.0").check_bind()
    with pytest.raises(ConfigurationInvalid):
        load(env="sandbox", sandbox=False)


def test_the_limit_of_files_is_that_of_the_sandbox_on_every_way(public: Services, loop: Loop) -> None:
    changes = {"max_file_bytes": 3_000, "max_body_bytes": 2_000}
    made = replace(public, settings=public.settings.model_copy(update=changes))
    http = Application(loop, create_app(made))
    content, large = b"x" * 3_001, b"x" * 3_000_000
    accepted = {"Accept": "application/json, text/event-stream"}
    for data in (content, large):
        text = {"file_content": base64.b64encode(data).decode()}
        call = {"name": "store", "arguments": text}
        rpc = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        ways: list[tuple[str, dict[str, Any]]] = [
            ("/store", {"json": text}),
            ("/store/unstructured", {"json": text}),
            ("/parse_file", {"json": text}),
            ("/store", {"files": {"file": data}}),
            ("/mcp", {"json": rpc, "headers": accepted}),
        ]
        for path, body in ways:
            refused = http("POST", path, **body)
            assert refused.status_code == 413, (path, refused.text)
            assert refused.json()["details"] == {"file_size": len(data), "max_size": 3_000}, path
    stored = http("POST", "/store", files={"file": content[:3_000]})
    assert (stored.status_code, stored.json()["file_size"]) == (200, 3_000)


def test_addresses_are_limited_each_by_itself(public: Services, loop: Loop) -> None:
    changed = replace(public, settings=public.settings.model_copy(update={"limit_reads": "2/minute"}))
    http = Application(loop, create_app(changed))
    seen = [http("GET", "/me", key).status_code for key in (None, "a", "b")]
    assert seen == [200, 200, 429]


def test_a_database_that_is_no_sandbox_never_becomes_one(services: Services, loop: Loop) -> None:
    with pytest.raises(SandboxMismatch):
        loop.run(instance_kind.claim(services.database, is_sandbox=True))
    loop.run(instance_kind.claim(services.database, is_sandbox=False))


@pytest.mark.long
def test_each_kind_of_database_is_taken_by_its_own_kind_alone(tmp_path: Path, loop: Loop) -> None:
    async def opens(settings: Any, is_sandbox: bool) -> bool:
        changed = settings.model_copy(update={"sandbox": is_sandbox})
        try:
            async with open_services(changed):
                return True
        except SandboxMismatch:
            return False

    async def reached(settings: Any) -> Database:
        return Database(await connection(settings), settings, Metrics())

    async def claims(settings: Any, sealed: str) -> bool:
        opened = await reached(settings)
        try:
            await instance_kind.claim(opened, is_sandbox=False, sealed=sealed)
            return True
        except EncryptionKeyMissing:
            return False
        finally:
            await opened.close()

    with database(tmp_path, shared=False) as settings:

        async def script(text: Any) -> None:
            opened = await reached(settings)
            await opened.script(text)
            await opened.close()

        async def pairs() -> None:
            # Outside of long runs it is a copy of a migrated one, which has what migrations write.
            await script("MATCH (n) DETACH DELETE n")
            assert await opens(settings, True)  # an empty one, which it marks
            assert not await opens(settings, False)
            assert await opens(settings, True)
            await script("MATCH (n) DETACH DELETE n")
            assert await opens(settings, False)
            assert not await opens(settings, True)
            await script("MATCH (n) DETACH DELETE n")
            await script("CREATE (:Somebody {else: true})")
            assert not await opens(settings, True)  # data without a mark, as of an older version
            assert await opens(settings, False)
            await script("MATCH (n) DETACH DELETE n")
            both = await asyncio.gather(opens(settings, True), opens(settings, False))
            assert sorted(both) == [False, True]
            await script("MATCH (n) DETACH DELETE n")
            assert await asyncio.gather(claims(settings, "one"), claims(settings, "two")) in (
                [True, False],
                [False, True],
            )

        loop.run(pairs())
