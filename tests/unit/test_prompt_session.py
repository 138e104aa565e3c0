"""``graphmem session``: lines of a pipe, lines at a prompt, and what Tab completes."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from graphmem.cli.main import app
from graphmem.cli.prompt_session import HISTORY, Completions, LineRunner, history_of
from graphmem.cli.session import Session
from graphmem.sealing import InstanceKeys, RootKey
from graphmem.settings import load

ADA = {"entity_id": "ent_0123456789abcdef01234567", "canonical_name": "Ada Lovelace", "entity_type": "person"}
GRACE = {"entity_id": "ent_fedcba98765432100123456789", "canonical_name": "Grace", "entity_type": "person"}
ANSWERS: dict[str, Any] = {
    "server.stats": {"entities_by_type": {"person": 2, "task": 1}, "relationships_by_type": {"KNOWS": 1}},
    "entities.query": {"entities": [ADA]},
    "entities.find": {"entities": [GRACE]},
    "context.retrieve": {"lines": ["Ada (person)"], "total": 1},
    "server.health": {"ok": True, "version": "1", "database": "up"},
}
Calls = list[tuple[str, dict[str, Any]]]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    """The operations that commands call, with their arguments; their answers are made up."""
    made: Calls = []

    def run(session: Session, operation: Any, raw: dict[str, Any]) -> bytes:
        made.append((operation.name, raw))
        return json.dumps(ANSWERS[operation.name]).encode()

    monkeypatch.setattr(Session, "run", run)
    return made


def piped(text: str, *words: str) -> Result:
    return CliRunner().invoke(app, [*words[:-1], "session", *words[-1:]], input=text)


def test_each_line_of_a_pipe_is_a_command_until_the_first_one_that_fails(calls: Calls) -> None:
    text = "# comment\n\ngraphmem health  # and another\nstats --nope\nsession\nhealth\n"
    stopped = piped(text)
    assert (stopped.exit_code, [name for name, _ in calls]) == (2, ["server.health"])
    assert "--nope" in stopped.stderr
    went_on = piped(text, "--keep-going")
    assert (went_on.exit_code, [name for name, _ in calls]) == (2, ["server.health"] * 3)
    ended = piped("health\nexit\nstats\n")
    assert (ended.exit_code, len(calls)) == (0, 4)


def test_the_options_of_the_session_hold_for_its_commands(calls: Calls) -> None:
    assert json.loads(piped("health\n", "--json", "--keep-going").stdout) == ANSWERS["server.health"]


def test_a_question_that_is_no_command_is_answered_by_context(calls: Calls) -> None:
    questions = "who is Ada Lovelace?", "what's due this week", "Lovelace?", "graphmem tell me about Ada"
    for question in questions:
        assert piped(f"{question}\n").exit_code == 0, question
        name, arguments = calls.pop()
        assert (name, arguments["question"]) == ("context.retrieve", question.removeprefix("graphmem "))
    for no_question in ("entites list all", "Ada", "where is Ada --json", "health 'what"):
        assert piped(f"{no_question}\n").exit_code == 2, no_question
    assert calls == []


def test_tab_completes_commands_options_choices_types_names_and_ids(calls: Calls) -> None:
    session = Session()
    completions = Completions(session, LineRunner(session).group)
    for text, expected in (
        ("enti", ["entities"]),
        ("graphmem entities sna", ["snapshot"]),
        ("entities list --entity-t", ["--entity-type", "--entity-types"]),
        ("logs --level w", ["warning"]),
        ("entities list --entity-type p", ["person"]),
        ("relationships list --relationship-type k", ["KNOWS"]),
        ("entities get ada", ["'Ada Lovelace'"]),
        ("history 'ada lo", ["'Ada Lovelace'"]),
        ("entities get ent_", [ADA["entity_id"]]),
        ("entities get gra", ["Grace"]),
        ("health ", []),
        ("entities get 'Ada' x 'y", []),
    ):
        assert completions.of(text)[1] == expected, text
    assert completions.of("entities get ada")[0] == len("ada")
    asked = len(calls)
    completions.of("entities list --entity-type t")
    assert len(calls) == asked
    completions.forget()
    completions.of("entities list --entity-type t")
    assert len(calls) == asked + 1


def test_a_prompt_runs_lines_and_keeps_them_for_this_user_alone(
    calls: Calls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from prompt_toolkit.application import create_app_session
    from prompt_toolkit.input import create_pipe_input
    from prompt_toolkit.output import DummyOutput

    from graphmem.cli.prompt_session import _at_prompt

    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        keys.send_text("health\rst\x03exit\r")
        session = Session(overrides={"data_dir": tmp_path / "data"})
        _at_prompt(session, LineRunner(session))
    assert [name for name, _ in calls] == ["server.health"]
    history = tmp_path / "data" / HISTORY
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    assert [line for line in history.read_text().splitlines() if line[:1] == "+"] == ["+health", "+exit"]


def test_the_commands_of_a_session_share_a_connection() -> None:
    outer = Session(overrides={"base_url": "http://127.0.0.1:1"})
    inner = [Session(as_json=True).within(outer) for _ in range(2)]
    clients = [session.remote("http://127.0.0.1:1", session.settings()) for session in inner]
    assert clients[0] is clients[1]


def test_what_was_asked_of_a_sealed_instance_is_in_no_file(tmp_path: Path) -> None:
    chosen = load(env="test", data_dir=tmp_path)
    history_of(chosen).append_string("entities search Ada")
    assert "Ada" in (tmp_path / HISTORY).read_text()
    InstanceKeys.create(chosen.keys_path, RootKey.new())
    history = history_of(chosen)
    history.append_string("entities search Ada")
    assert history.get_strings() == ["entities search Ada"]
    assert {each.name for each in tmp_path.iterdir() if b"Ada" in each.read_bytes()} == set()
