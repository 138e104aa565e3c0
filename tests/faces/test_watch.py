"""``graphmem watch``: a line for each change, a service that goes away, and where the next watch goes on."""

from __future__ import annotations

import json
from typing import Any

import pytest

from graphmem.changes.change_sentences import sentence
from graphmem.cli import watch
from graphmem.cli.session import Session
from graphmem.context import Services
from graphmem.errors import DatabaseUnavailable
from tests.faces.conftest import Command
from tests.support.actors import DISABLED_ACCOUNT
from tests.support.event_loop import Loop
from tests.support.faces import Call, by_runner


def test_watch_prints_what_comes_and_waits_for_a_service_that_went_away(
    run: Call, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(watch, "WAIT_SECONDS", 0)
    run("store", entities=[{"entity_type": "note", "title": "before"}])
    done, cursors = Session.run, list[str | None]()

    def ran(session: Session, operation: Any, raw: dict[str, Any]) -> bytes:
        cursors.append(raw.get("after"))
        if len(cursors) == 2:
            items = [{"entity_type": "note", "title": "tea\x1b[2J"}, {"entity_type": "task", "title": "x"}]
            run("store", entities=items)
            raise DatabaseUnavailable
        if len(cursors) == 4:
            raise KeyboardInterrupt
        return done(session, operation, raw)

    monkeypatch.setattr(Session, "run", ran)
    _, printed, errors = command("watch", "--type", "note", "--kind", "entity.created")
    (line,) = printed.splitlines()
    assert "note tea [2J created: title tea [2J by " in line
    assert errors.count("waiting: ") == 1
    assert cursors[1] == cursors[2] != cursors[3]
    start = str(cursors[1])
    cursors[:] = [None, None]
    _, printed, _ = command("--json", "watch", "--after", start)
    changes = [json.loads(each) for each in printed.splitlines()]
    assert sorted(each["name"] for each in changes) == ["tea\x1b[2J", "x"]


@pytest.mark.parametrize("undone", ["transaction_id", "by_client"])
def test_what_was_taken_back_is_told_under_its_name(
    loop: Loop, services: Services, owner: str, run: Call, undone: str
) -> None:
    robot = by_runner(loop, services, owner, client="robot")
    stored = robot("store", entities=[{"entity_type": "note", "title": "tea"}])
    value = stored["transaction_id"] if undone == "transaction_id" else "robot"
    run("writings.withdraw", **{undone: value})
    lines = [sentence(each) for each in run("changes.list", limit=2)["changes"]]
    what = value if undone == "transaction_id" else "what client robot wrote"
    assert sorted(lines) == sorted([f"{what} withdrawn", "note tea deleted: title cleared"])


def test_watch_prints_what_a_subscription_is_told(
    loop: Loop,
    services: Services,
    owner: str,
    run: Call,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop.run(services.database.script(DISABLED_ACCOUNT, id=owner))
    query = {"filters": {"entity_type": "note"}}
    made = by_runner(loop, services, owner)("subscriptions.add", query=query, delivery_method="sse")
    done, calls = Session.run, list[dict[str, Any]]()

    def ran(session: Session, operation: Any, raw: dict[str, Any]) -> bytes:
        calls.append(raw)
        if len(calls) == 3:
            raise KeyboardInterrupt
        answer = done(session, operation, raw)
        if len(calls) == 1:
            run("store", entities=[{"entity_type": "note", "title": "tea"}, {"entity_type": "task", "n": 1}])
        return answer

    monkeypatch.setattr(Session, "run", ran)
    _, printed, _ = command("watch", "--subscription", made["subscription_id"])
    assert "note tea began" in printed
    assert len(printed.splitlines()) == 1
