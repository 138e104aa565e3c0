"""The hooks of agents on a real database."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest

from graphmem.cli.agents import hook_events
from graphmem.cli.agents.hook_transport import Reach
from tests.setup.hook_inputs import PROMPT, RECORDED
from tests.support.faces import Call


def test_a_prompt_is_told_whom_it_names_and_a_turn_is_stored_once(
    run: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    for kind in hook_events.SECONDS:
        monkeypatch.setitem(hook_events.SECONDS, kind, 60.0)
    monkeypatch.setattr(hook_events, "ASKING_SECONDS", 60.0)

    def call(reach: Reach, operation: str, arguments: Mapping[str, Any]) -> Any:
        return orjson.loads(orjson.dumps(run(operation, **arguments)))

    monkeypatch.setattr(Reach, "call", call)
    run("store", entities=[
        {"entity_type": "person", "name": "Ada Lovelace", "employer": "Analytical Engines"},
        {"entity_type": "person", "name": "Charles Babbage", "employer": "Difference Engines"},
        {"entity_type": "task", "title": "Oil the engine", "due_date": "2999-01-01"},
    ])  # fmt: skip

    def hook(kind: str, given: Mapping[str, Any]) -> str:
        return hook_events.run(kind, Reach("codex"), orjson.dumps({**given, "cwd": str(tmp_path)}))

    codex = RECORDED["codex"]
    named = hook("prompt", codex.prompt)
    assert "Analytical Engines" in named
    assert "Difference Engines" not in named
    assert hook("prompt", {**codex.prompt, "prompt": "Rename this function and run the tests"}) == ""
    long = "Rename the function, run all of the tests again, and tell me which of them fail and why. " * 20
    for prompt in (f"{long} Then write to Charles Babbage.", f"Write to Charles Babbage. {long}"):
        assert "Difference Engines" in hook("prompt", {**codex.prompt, "prompt": prompt})
    assert hook("prompt", {**codex.prompt, "prompt": long}) == ""
    run("store", entities=[{"entity_type": "note", "title": "The deck of the boat", "content": "Teak."}])
    order = "open the file and add a note about the deck"
    assert hook("prompt", {**codex.prompt, "prompt": order}) == ""
    start = hook("session-start", codex.start)
    assert "Charles Babbage (person) created: employer, name" in start
    for _ in range(2):
        assert hook("stop", codex.stop) == ""
    messages = run("entities.query", entity_type="message")["entities"]
    assert sorted(each["snapshot"]["sender"] for each in messages) == ["codex", "user"]
    assert (
        run("entities.query", entity_type="conversation")["entities"][0]["snapshot"]["title"]
        == "codex abc123"
    )
    assert PROMPT not in str(messages)
