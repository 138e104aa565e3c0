"""Receipts of services: what a kill loses, what a hook leaves, and that a process without a worker writes."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from graphmem.cli.agents import hook_call
from graphmem.context import Services
from graphmem.receipts import recording
from graphmem.service import calling
from graphmem.settings import Settings
from tests.support.commands import environment
from tests.support.event_loop import Loop
from tests.support.faces import by_runner
from tests.support.local_service import call_service, wait_for
from tests.support.service import running

LOST_SECONDS = 5.0  # the docs say so: receipts of the last seconds before a kill


def test_a_kill_loses_no_more_than_the_receipts_of_the_last_seconds(
    settings: Settings, tmp_path: Path, owner: str, loop: Loop, services: Services
) -> None:
    run = by_runner(loop, services, owner)
    stored = run("store", entities=[{"entity_type": "person", "name": "Ada Lovelace"}])
    path = f"/entities/{stored['entities'][0]['entity_id']}"
    asked: list[float] = []
    with running(settings, tmp_path, owner, GRAPHMEM_RECEIPTS="all") as service, service.http() as http:
        end = time.monotonic() + LOST_SECONDS + recording.FLUSH_SECONDS
        while time.monotonic() < end:
            assert http.get(path).is_success
            asked.append(time.monotonic())
            time.sleep(0.2)
        killed_at = time.monotonic()
        service.process.kill()
        service.process.wait()
    page = run("receipts.list", include_total_count=True, limit=1)
    sure = [each for each in asked if each < killed_at - LOST_SECONDS]
    assert len(sure) > 5
    assert len(sure) <= page["total"] <= len(asked)


def test_what_a_hook_tells_leaves_a_receipt_where_commands_leave_none(
    local: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    variables = {**environment(local, local.data_path), "GRAPHMEM_RECEIPTS": "mcp"}
    for name, value in {**variables, "XDG_DATA_HOME": str(tmp_path / "home")}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    for kind in hook_call.SECONDS:
        monkeypatch.setitem(hook_call.SECONDS, kind, 60.0)
        monkeypatch.setitem(hook_call.FIRST_SECONDS, kind, 60.0)
    hooked = local.model_copy(update={"receipts": "mcp"})
    calling.ensure(hooked)
    ada = {"entity_type": "person", "name": "Ada Lovelace", "employer": "Analytical Engines"}
    call_service(hooked, "store", {"entities": [ada]})
    call_service(hooked, "context.retrieve", {"question": "Ada Lovelace"})
    prompt = {"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": "Write to Ada Lovelace"}
    stdin = json.dumps(prompt).encode()
    wait_for(lambda: "Analytical Engines" in (hook_call.call("prompt", "claude-code", {}, stdin)[0] or ""))
    listed: list[dict[str, Any]] = []

    def are_listed() -> bool:
        listed[:] = call_service(hooked, "receipts.list", {})["receipts"]
        return bool(listed)

    wait_for(are_listed)
    assert {(each["face"], each["question"]) for each in listed} == {("hook", "Write to Ada Lovelace")}
    assert {each["provenance"]["client"] for each in listed} == {"claude-code"}
