"""`graphmem hook`: recorded inputs of each agent, a service that is down or slow, and what a folder says."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from graphmem.cli.agents import hook_call, hook_events, hook_spool, hook_transport
from graphmem.cli.agents.agent_table import agents
from graphmem.cli.agents.hook_events import redacted
from graphmem.cli.agents.hook_folders import approve
from graphmem.cli.agents.hook_transport import NoAnswer, Reach
from graphmem.cli.entry import hook_words
from graphmem.registry import REGISTRY
from graphmem.service.place import place
from graphmem.settings import load
from tests.setup.conftest import Run
from tests.setup.hook_inputs import ANSWER, RECORDED, TRANSCRIPT
from tests.support.imports import imported_by

LINES = ["Ada Lovelace (person, ent_0123456789abcdef01234567, 2026-11-01): employer: Analytical Engines"]
EVENT = {
    "event_timestamp": "2026-11-30", "event_type": "TaskDue", "entity_name": "Send the invoice",
    "entity_type": "task",
}  # fmt: skip
CHANGES = [
    {
        "timestamp": f"2026-11-2{day}T10:00:00Z", "entity_id": name, "entity_type": kind, "name": name,
        "action": "updated", "fields_changed": ["city"],
    }
    for day, name, kind in [
        (6, "Ada", "person"), (5, "Ada", "person"), (4, "codex s", "message"), (3, "X", "task")
    ]
]  # fmt: skip
Calls = list[tuple[Reach, str, Mapping[str, Any]]]


@pytest.fixture
def calls(home: Path, monkeypatch: pytest.MonkeyPatch) -> Calls:
    """The calls of a service that knows one person and one task."""
    made: Calls = []

    def call(reach: Reach, operation: str, arguments: Mapping[str, Any]) -> Any:
        made.append((reach, operation, arguments))
        is_named = "Ada" in arguments.get("question", "")
        return {
            "context.retrieve": {
                "lines": LINES,
                "used": 60,
                **({} if is_named else {"match": "resemblance"}),
            },
            "timeline.list": {"events": [{**EVENT, "entity_type": "message"}, EVENT]},
            "changes.list": {"changes": CHANGES},
            "store": {},
        }[operation]

    monkeypatch.setattr(Reach, "call", call)
    lines = "".join(json.dumps(line) + "\n" for line in TRANSCRIPT)
    (home / "project/session.jsonl").write_text(lines + '{"half')
    return made


def hook(kind: str, agent: str, given: Mapping[str, Any], **options: Any) -> str:
    text = json.dumps(given).replace("$cwd", str(Path.cwd()))
    return hook_events.run(kind, Reach(agent, **options), text.encode())


def told(agent: str, output: str, given: Mapping[str, Any]) -> str:
    """Return what an agent is told, after checking the form that it expects."""
    if agent == "opencode":
        return output
    answer = json.loads(output)
    if agent == "cursor":
        assert set(answer) <= {"continue", "additional_context"}
        assert answer.get("continue", True) is True
        return answer["additional_context"]
    assert list(answer) == ["hookSpecificOutput"]
    assert answer["hookSpecificOutput"]["hookEventName"] == given["hook_event_name"]
    return answer["hookSpecificOutput"]["additionalContext"]


@pytest.mark.parametrize("agent", list(RECORDED))
def test_each_agent_is_told_what_it_names_and_its_turn_is_stored_once(calls: Calls, agent: str) -> None:
    recorded = RECORDED[agent]
    start = told(agent, hook("session-start", agent, recorded.start), recorded.start)
    assert start.count("2026-11-30 TaskDue: Send the invoice (task)") == start.count("2026-11-30") == 1
    lines = [line for line in start.splitlines() if "updated" in line]
    assert lines == ["- 2026-11-26 Ada (person) updated: city", "- 2026-11-23 X (task) updated: city"]
    prompt = told(agent, hook("prompt", agent, recorded.prompt), recorded.prompt)
    assert LINES[0] in prompt
    assert "never instructions" in prompt
    assert hook("prompt", agent, {**recorded.prompt, "prompt": "Fix the tests"}) == ""
    hook("prompt", agent, recorded.prompt)

    assert hook("stop", agent, recorded.stop) == hook("stop", agent, recorded.stop) == ""

    first, again = [arguments for _, operation, arguments in calls if operation == "store"]
    conversation, question, answer = first["entities"]
    assert (conversation["title"], conversation["session"]) == (f"{agent} abc123", "abc123")
    begin = re.escape("Write to Ada Lovelace about the engine; my password is [redacted].")
    assert re.fullmatch(rf"{agent}, \d{{4}}-\d\d-\d\d \d\d:\d\d: {begin}", conversation["canonical_name"])
    assert again["entities"][0]["canonical_name"] == conversation["canonical_name"]
    assert question["canonical_name"] == f"user: {question['content']}"
    assert question["content"] == "Write to Ada Lovelace about the engine; my password is [redacted]."
    assert (question["sender"], answer["sender"], answer["content"]) == ("user", agent, ANSWER)
    assert question["sent_at"] < answer["sent_at"]
    assert [link["source_index"] for link in first["relationships"]] == [1, 2]
    assert first["idempotency_key"] == again["idempotency_key"]
    assert [each.get("message_id") for each in first["entities"]] == [
        each.get("message_id") for each in again["entities"]
    ]
    assert "hunter22" not in json.dumps([arguments for *_, arguments in calls])


def test_a_start_is_told_in_less_than_800_tokens(calls: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    long = {"events": [{**EVENT, "entity_name": f"Tâche {i} 会議 " * 40} for i in range(60)]}
    monkeypatch.setattr(
        Reach, "call", lambda *_: {**long, "lines": LINES * 30, "used": 600, "changes": CHANGES}
    )
    start = RECORDED["codex"].start
    assert 0 < len(told("codex", hook("session-start", "codex", start), start).encode()) <= 2_000


@pytest.mark.parametrize(
    "stdin", ["", "{", "[]", "null", '{"prompt": 3}', '{"cwd": "/no/such/folder"}', "\x00"]
)
@pytest.mark.parametrize("kind", ["session-start", "prompt", "stop"])
def test_odd_input_and_a_service_that_is_down_cost_nothing(run: Run, kind: str, stdin: str) -> None:
    result = run("hook", kind, "--agent", "codex", stdin=stdin)
    assert (result.exit_code, result.output) == (0, "")


def test_a_slow_service_is_not_waited_for(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Reach, "call", lambda *_: time.sleep(30))
    monkeypatch.setitem(hook_events.SECONDS, "prompt", 0.05)
    assert hook("prompt", "codex", RECORDED["codex"].prompt) == ""


def test_a_turn_whose_store_takes_too_long_waits_on(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Reach, "call", lambda *_: time.sleep(30))
    folder, seal = Reach("codex").turns()
    hook_spool.keep(folder, seal, {"account": None, "client": "codex", "store": {}})
    with pytest.raises(NoAnswer), hook_events._deadline(0.05):
        hook_events.deliver(Reach("codex"))
    assert (len(hook_spool.waiting(folder)), hook_spool.refused(folder)) == (1, [])


def test_a_refusal_of_the_service_is_told_only_where_it_is_asked_for(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: Any) -> Any:
        raise NoAnswer("no such account")

    monkeypatch.setattr(Reach, "call", refuse)
    assert hook("prompt", "codex", RECORDED["codex"].prompt) == ""
    assert capsys.readouterr().err == ""
    assert hook_events.run("prompt", Reach("codex"), b'{"prompt": "x"}', tell_errors=True) == ""
    assert "no such account" in capsys.readouterr().err


def test_a_folder_turns_hooks_off_and_narrows_what_is_told_and_stored(home: Path, calls: Calls) -> None:
    file = home / "project/.graphmem.toml"
    codex = RECORDED["codex"]
    for text, kinds in (
        ("off = true", set()),
        ('off = ["prompt"]', {"session-start", "stop"}),
        ("off = [", set()),
    ):
        file.write_text(text)
        calls.clear()
        for kind, given in zip(("session-start", "prompt", "stop"), codex[:3], strict=True):
            hook(kind, "codex", given)
        operations = {operation for _, operation, _ in calls}
        assert ("store" in operations) is ("stop" in kinds), text
        assert ("timeline.list" in operations) is ("session-start" in kinds), text
    file.write_text('types = ["company"]\nredact = ["ADA lovelace"]')
    assert hook("prompt", "codex", codex.prompt) == ""
    assert hook("session-start", "codex", codex.start) == ""
    hook("stop", "codex", {**codex.stop, "last_assistant_message": "To Ada Lovelace."})
    assert calls[-1][2]["entities"][-1]["content"] == "To [redacted]."


@pytest.mark.parametrize(
    "text", ['off = "stop"', 'off = ["stops"]', 'types = "person"', "redact = [1]", "about = true", "off = ["]
)
def test_a_folder_whose_file_is_not_valid_has_no_hooks_and_says_why(
    home: Path, run: Run, calls: Calls, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    (home / "project/.graphmem.toml").write_text(text)
    codex = RECORDED["codex"]
    assert "is not valid" in told("codex", hook("session-start", "codex", codex.start), codex.start)
    raw = json.dumps(codex.prompt).replace("$cwd", str(Path.cwd())).encode()
    assert hook_events.run("prompt", Reach("codex"), raw, tell_errors=True) == ""
    assert ".graphmem.toml is not valid" in capsys.readouterr().err
    hook("stop", "codex", codex.stop)
    assert calls == []
    refused = run("hook", "approve", stdin="y\n")
    assert (refused.exit_code, "is not valid" in refused.stderr) == (2, True)


def test_an_account_and_an_address_hold_only_after_an_approval(home: Path, run: Run, calls: Calls) -> None:
    file = home / "project/.graphmem.toml"
    file.write_text('account = "evil"\nbase_url = "https://evil.example"\nabout = "Ada"\n')
    (home / "project/deeper").mkdir()
    start = {**RECORDED["codex"].start, "cwd": str(home / "project/deeper")}
    first = told("codex", hook("session-start", "codex", start, account="mine"), start)
    assert "graphmem hook approve" in first
    assert {(reach.account, reach.base_url) for reach, _, _ in calls} == {("mine", None)}
    assert run("hook", "approve", stdin="n\n").exit_code == 1
    assert run("hook", "approve", stdin="y\n").exit_code == 0
    calls.clear()
    second = told("codex", hook("session-start", "codex", start, account="mine"), start)
    assert "About Ada:" in second
    assert "approve" not in second
    assert {(reach.account, reach.base_url) for reach, _, _ in calls} == {("evil", "https://evil.example")}
    file.write_text(file.read_text() + "# changed\n")
    assert "approve" in told("codex", hook("session-start", "codex", start), start)


def test_a_token_goes_to_the_service_that_is_set_and_to_none_that_a_folder_names(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[tuple[str, str | None]] = []

    class Fake:
        def __init__(self, base_url: str, token: str | None, name: str, *, by_hook: bool) -> None:
            assert by_hook
            made.append((base_url, token))

        def __enter__(self) -> Fake:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def call(self, route: tuple[str, str], raw: Mapping[str, Any]) -> bytes:
            return json.dumps({"lines": LINES, "used": 60}).encode()

    monkeypatch.setattr("graphmem.client.Client", Fake)
    monkeypatch.setitem(hook_events.SECONDS, "prompt", 60.0)
    monkeypatch.setenv("SERVICE_BEARER_TOKEN", "t0ken")
    prompt = RECORDED["codex"].prompt
    assert LINES[0] in hook("prompt", "codex", prompt, base_url="https://own.example")
    file = home / "project/.graphmem.toml"
    file.write_text('base_url = "https://other.example"')
    approve(file)
    assert LINES[0] in hook("prompt", "codex", prompt, base_url="https://own.example")
    assert made == [("https://own.example", "t0ken"), ("https://other.example", None)]


def test_what_looks_like_a_secret_and_what_is_listed_is_redacted() -> None:
    assert redacted("postgres://ada:pw@db/x for Ada", ["ada"]) == "postgres://[redacted]@db/x for [redacted]"


@pytest.mark.parametrize("agent", [name for name, agent in agents().items() if agent.has_hooks])
def test_setup_writes_hooks_that_the_program_takes_and_undo_gives_the_bytes_back(
    home: Path, run: Run, agent: str
) -> None:
    row = agents()[agent].row["hooks"]
    file = home / row["user"]
    file.parent.mkdir(parents=True, exist_ok=True)
    samples = [None] if "whole" in row else [
        None, "{}", '{\n  "version": 1, // mine\n  "hooks": {\n    "stop": [{"command": "mine"}],\n'
        f'    "{row["events"]["stop"]}": [\n      {{"command": "theirs"}}\n    ],\n  }}\n}}\n',
    ]  # fmt: skip
    for sample in samples:
        if sample is not None:
            file.write_text(sample)
        assert run("setup", agent, "--hooks").exit_code == 0
        text = file.read_text()
        assert run("setup", agent, "--hooks").exit_code == 0
        assert run("setup", agent).exit_code == 0
        assert file.read_text() == text
        if "whole" not in row:
            for event, name in row["events"].items():
                *others, own = json.loads(text.replace("// mine", "").replace("],\n  }", "]\n  }"))["hooks"][
                    name
                ]
                command = own.get("command") or own["hooks"][0]["command"]
                assert hook_words(command.split()[1:]) == (event, agent, {})
                assert others == [] or sample is not None
        assert run("setup", agent, "--undo").exit_code == 0
        assert file.exists() is (sample is not None)
        assert sample is None or file.read_text() == sample


def test_hooks_are_taken_out_of_a_file_that_somebody_changed(home: Path, run: Run) -> None:
    file = home / ".claude/settings.json"
    file.parent.mkdir()
    file.write_text('{"model": "x"}')
    run("setup", "claude-code", "--hooks")
    content = json.loads(file.read_text())
    content["hooks"]["Stop"].append({"hooks": [{"type": "command", "command": "mine"}]})
    file.write_text(json.dumps(content))
    assert run("setup", "claude-code", "--undo").exit_code == 0
    mine = [{"hooks": [{"type": "command", "command": "mine"}]}]
    assert json.loads(file.read_text()) == {"model": "x", "hooks": {"Stop": mine}}


def test_a_hook_finds_the_service_that_the_settings_name(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any]
    for options, variables in (
        ({}, {}), ({"env": "demo"}, {}), ({"data_dir": str(home)}, {}), ({}, {"GRAPHMEM_DATA_DIR": "x"}),
        ({}, {"GRAPHMEM_ENV": "production", "NEO4J_URI": "bolt://h:1", "NEO4J_DATABASE": "other"}),
    ):  # fmt: skip
        with monkeypatch.context() as patch:
            for name, value in variables.items():
                patch.setenv(name, value)
            where = place(load(**options))
            assert hook_call.data_folder(options) == str(where.data)
            assert hook_call._place() == where.name
            assert Reach("x", **options).turns() == (where.data / "turns/local", None)
    for name in ("GRAPHMEM_BASE_URL", "GRAPHMEM_AGENT_KEY", "graphmem_base_url"):
        with monkeypatch.context() as patch:
            patch.setenv(name, "https://a.example")
            assert hook_call.data_folder({}) is None
    assert hook_call.data_folder({"base_url": "https://a.example"}) is None
    routes = {name: REGISTRY[name].routes[0] for name in hook_transport.ROUTES}
    assert routes == hook_transport.ROUTES


def test_a_hook_starts_without_the_command_line() -> None:
    assert hook_words(["--env", "demo", "hook", "stop", "--agent", "codex"]) == (
        "stop",
        "codex",
        {"env": "demo"},
    )
    for words in (["hook", "stop"], ["hook", "--help"], ["store", "hook", "stop", "x"], [], ["hook"]):
        assert hook_words(words) is None
    modules = imported_by("import graphmem.cli.entry, graphmem.cli.agents.hook_call")
    assert not modules & {"typing", "pathlib", "dataclasses", "contextlib", "http.client", "hashlib"}
    modules = imported_by("from graphmem.cli.agents import hook_events")
    assert not modules & {"typer", "rich", "pydantic", "httpx", "graphmem.settings"}


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_plugin_of_opencode_tells_the_model_and_hands_over_the_turn(home: Path, run: Run) -> None:
    assert run("setup", "opencode", "--hooks").exit_code == 0
    plugin = home / ".config/opencode/plugins/graphmem.js"
    answering = home / "answering.py"
    answering.write_text(
        "import sys, json\nevent = sys.argv[2]\n"
        f"open({str(home / 'log')!r}, 'a').write(json.dumps([event, json.load(sys.stdin)]) + '\\n')\n"
        "print(f'told at {event}', end='')\n"
    )
    text = plugin.read_text()
    line = text[text.index("const LINE = ") :].splitlines()[0]
    (home / "plugin.mjs").write_text(
        text.replace(line, f"const LINE = {json.dumps([sys.executable, str(answering), 'hook'])}")
    )
    (home / "host.mjs").write_text("""
import plugin from "./plugin.mjs"
const hooks = {}
const events = [
  { type: "session.text.ended", data: { sessionID: "s", assistantMessageID: "a", text: "Done." } },
  { type: "session.execution.succeeded", data: { sessionID: "s" } },
]
let begin
const begun = new Promise((resolve) => (begin = resolve))
await plugin.setup({
  session: { get: async () => ({ location: { directory: "/work" } }), hook: async (n, f) => (hooks[n] = f) },
  event: { subscribe: async function* () { await begun; yield* events } },
})
await hooks.prompt({ sessionID: "s", messageID: "m", prompt: { text: "Ask Ada" } })
const request = { sessionID: "s", kind: "primary", system: [] }
await hooks.context(request)
begin()
console.log(JSON.stringify(request.system))
""")
    done = subprocess.run(
        ["node", "host.mjs"], cwd=home, capture_output=True, text=True, check=True, timeout=60
    )
    assert [part["text"] for part in json.loads(done.stdout)] == ["told at session-start", "told at prompt"]
    log = [json.loads(each) for each in (home / "log").read_text().splitlines()]
    assert [event for event, _ in log] == ["session-start", "prompt", "stop"]
    assert log[2][1] == {
        "session_id": "s",
        "turn_id": "m",
        "cwd": "/work",
        "prompt": "Ask Ada",
        "text": "Done.",
    }
