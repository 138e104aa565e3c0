"""The command line, for people and for programs."""

from __future__ import annotations

import itertools
import json
import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from graphmem import tables
from graphmem.auth import Scope, accounts
from graphmem.cli import commands, in_process, session
from graphmem.cli.main import app
from graphmem.context import Services
from graphmem.observability.logs import FILE
from graphmem.registry import REGISTRY, Face
from graphmem.settings import Settings
from tests.contract.command_list import example_line
from tests.faces.example_data import told
from tests.support.actors import full_actor
from tests.support.commands import environment
from tests.support.event_loop import Loop
from tests.support.faces import Call, argv, share_services
from tests.support.long_cases import mostly_long
from tests.support.walks import walk_over

ODD = "ev\x1b[2J\x1b]0;pwned\x07il \x9b31m\u202egnp\r\n\x00\x08"
ADA = {"entity_type": "person", "name": "Ada Lovelace", "born": 1815, "note": "[bold]x[/bold] [/] :smile:"}
Command = Callable[..., Result]
OPERATIONS = [operation for operation in REGISTRY.values() if Face.CLI in operation.faces]


@pytest.fixture
def command(
    settings: Settings, loop: Loop, services: Services, monkeypatch: pytest.MonkeyPatch, owner: str
) -> Command:
    """Run a command as a person would, and return what it printed where."""
    share_services(monkeypatch, loop, services)
    monkeypatch.setattr(accounts, "local_actor", lambda *_: full_actor(owner, client="test"))
    where = environment(settings, settings.data_path)

    def run(*words: str, stdin: bytes | None = None, **more: str) -> Result:
        return CliRunner().invoke(app, list(words), env={**where, **more}, input=stdin or b"")

    return run


def ids(answer: dict[str, Any]) -> list[str]:
    return [item["entity_id"] for item in answer["entities"]]


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session.console, "_width", 250)


@pytest.fixture
def odd_ids(run: Call, loop: Loop, services: Services) -> list[str]:
    """The ids of entities, a relationship and an event of which every text tries to steer a terminal."""
    odd = {"entity_type": "thing", "name": ODD, ODD: ODD, "x": [ODD, {ODD: ODD}], f"{ODD} date": "2026-01-31"}
    links = [{"relationship_type": "OWNS", "source_index": 0, "target_index": 1, "metadata": {ODD: ODD}}]
    file = {"file_content": "YWJj", "original_filename": ODD}
    answer = run("store", entities=[odd, ADA], relationships=links, **file)
    (link,) = answer["relationships_created"]
    (event,) = run("timeline.list")["events"]
    note = {"entity_type": "note", "title": ODD, "spans": {"title": {"line": 1, "quote": ODD}}}
    reading = run("interpretations.create", source_id=answer["source_id"], entities=[note])
    names = link["relationship_key"], link["relationship_id"], event["id"], answer["source_id"]
    one = ids(answer)[0]
    run("store", entities=[{"target_id": one, "y": ODD}, {"target_id": one, "z": ODD}])
    new = {"entity_type": "thing", "canonical_name": ODD}
    moved = {"field": "y", "value": ODD}
    split = run("entities.split", source_entity_id=one, observation_field_equals=moved, new_entity=new)
    receipt = told(
        loop, services, lambda: run("entities.get", entity_id=one), lambda name, each: run(name, **each)
    )
    return [*ids(answer), *names, reading["interpretation_id"], split["split_id"], receipt]


ENDS = {"relationship_type": "OWNS", "source_entity_id": "$one", "target_entity_id": "$two"}
CALLS: dict[str, dict[str, Any]] = {
    "store": {"entities": [ADA]},
    "observations.create": {"entity_id": "$one", "fields": {"x": ODD}},
    "observations.query": {},
    "entities.query": {},
    "entities.get": {"entity_id": "$one"},
    "entities.snapshot": {"entity_id": "$one"},
    "entities.provenance": {"entity_id": "$one", "field": ODD},
    "entities.history": {"entity_id": "$one", "field": ODD},
    "entities.find": {"identifier": "Ada Lovelace"},
    "search.explain": {"search": ODD},
    "context.retrieve": {"question": "Ada Lovelace", "budget": "2000"},
    "entities.duplicates": {"entity_id": "$one", "threshold": 0.5},
    "entities.contested": {"limit": 3},
    "entities.related": {"entity_id": "$two"},
    "graph.neighborhood": {"node_id": "$two", "include_observations": True},
    "relationships.list": {"entity_id": "$two"},
    "relationship_types.list": {"limit": "500"},
    "relationship_types.rename": {"relationship_type": "ADMIRES", "name": "ADORES"},
    "relationship_types.register": {"relationship_type": "ODDLY_DESCRIBED", "description": ODD},
    "schemas.list": {},
    "schemas.get": {"entity_type": "thing"},
    "schemas.analyze": {"entity_type": "thing"},
    "schemas.recommend": {"entity_type": "thing"},
    "schemas.register": {"schema": {"entity_type": "wine", "fields": {ODD: "string"}}},
    "schemas.update": {"entity_type": "thing", "new_fields": {ODD: "string"}},
    "relationships.get": {"relationship_id": "$link"},
    "relationships.snapshot": {"relationship_key": "$key"},
    "relationships.create": {**ENDS, "metadata": {ODD: ODD}},
    "relationships.create_many": {"relationships": [ENDS]},
    "relationships.delete": {"relationship_key": "$key", "reason": ODD},
    "relationships.restore": {"relationship_key": "$key", "reason": ODD},
    "entities.correct": {"entity_id": "$one", "field": ODD, "value": {ODD: ODD}},
    "entities.delete": {"entity_id": "$one", "reason": ODD},
    "entities.restore": {"entity_id": "$one", "reason": ODD},
    "entities.merge": {"source_entity_id": "$one", "target_entity_id": "$two", "merge_reason": ODD},
    "entities.split": {
        "source_entity_id": "$one",
        "observation_field_equals": {"field": "z", "value": ODD},
        "reason": ODD,
        "new_entity": {"entity_type": "thing", "canonical_name": ODD},
    },
    "entities.unsplit": {"split_id": "$split", "reason": ODD},
    "entities.dismiss_duplicates": {"entity_a": "$one", "entity_b": "$two", "reason": ODD},
    "entities.unmerge": {"source_entity_id": "$one", "reason": ODD},
    "interpretations.create": {"source_id": "$source", "entities": [ADA]},
    "interpretations.list": {},
    "interpretations.get": {"interpretation_id": "$interpretation"},
    "interpretations.run": {"source_id": "$source"},
    "interpretations.withdraw": {"interpretation_id": "$interpretation", "reason": ODD},
    "interpretations.reinstate": {"interpretation_id": "$interpretation", "reason": ODD},
    "receipts.list": {},
    "receipts.get": {"receipt_id": "$receipt"},
    "receipts.replay": {"receipt_id": "$receipt"},
    "sources.list": {},
    "sources.search": {"search": ODD},
    "sources.get": {"source_id": "$source"},
    "sources.url": {"path": "$source"},
    "sources.withdraw": {"source_id": "$source", "reason": ODD},
    "sources.reinstate": {"source_id": "$source", "reason": ODD},
    "changes.list": {},
    "timeline.list": {},
    "timeline.get": {"event_id": "$event"},
    "agents.quarantine": {"by_key": "odd", "reason": ODD},
    "agents.release": {"by_key": "odd", "reason": ODD},
    "auth.session": {},
    "auth.whoami": {},
    "undo": {"reason": ODD},
    "writings.reinstate": {"by_client": "test", "until": "2026-01-01", "reason": ODD},
    "writings.withdraw": {"by_client": "test", "until": "2026-01-01", "reason": ODD},
    "server.check_snapshots": {},
    "server.health": {},
    "server.info": {},
    "server.ready": {},
    "server.stats": {},
}


def words(name: str, odd_ids: list[str]) -> list[str]:
    names = "$one", "$two", "$key", "$link", "$event", "$source", "$interpretation", "$split", "$receipt"
    known: dict[str, str] = dict(zip(names, odd_ids, strict=True))

    def fill(value: Any) -> Any:
        if isinstance(value, dict):
            return {n: fill(v) for n, v in value.items()}
        if isinstance(value, list):
            return [fill(v) for v in value]
        return known.get(value, value) if isinstance(value, str) else value

    return argv(name, fill(CALLS[name]))


def before(command: Command, odd_ids: list[str], name: str) -> None:
    """Do what a command needs to have been done."""
    if name.endswith(".restore"):
        assert command(*words(name.replace("restore", "delete"), odd_ids)).exit_code == 0
    if name.endswith(".reinstate"):
        assert command(*words(name.replace("reinstate", "withdraw"), odd_ids)).exit_code == 0
    if name == "agents.release":
        assert command(*words("agents.quarantine", odd_ids)).exit_code == 0
    if name == "relationship_types.rename":
        ends = {
            "relationship_type": "ADMIRES",
            "source_entity_id": odd_ids[0],
            "target_entity_id": odd_ids[1],
        }
        assert command(*argv("relationships.create", ends)).exit_code == 0
    if name == "entities.unmerge":
        assert command(*words("entities.merge", odd_ids)).exit_code == 0


def test_every_command_is_tried_here() -> None:
    # Keys, copies, connections, subscriptions and grants need an account: tests/access tries these.
    of_accounts = (
        "agents.grant", "agents.revoke", "agents.suspend", "connections.", "copies.", "keys.",
        "subscriptions.",
    )  # fmt: skip
    names = {operation.name for operation in OPERATIONS}
    assert set(CALLS) == {name for name in names if not name.startswith(of_accounts)}


@pytest.mark.parametrize(
    ("name", "shown"),
    [("sources.withdraw", {"disappears", "touched entities"}), ("entities.split", {"appears", "changes"})],
)
def test_a_dry_run_prints_what_would_change_and_no_odd_text(
    command: Command, odd_ids: list[str], wide: None, name: str, shown: set[str]
) -> None:
    *verb, rest = *name.split("."), words(name, odd_ids)[2:]
    result = command(*verb, "--dry-run", *(word for word in rest if word != "--json"))
    assert (result.exit_code, result.stderr) == (0, ""), result.stderr
    assert all(word in result.stdout for word in (*shown, "set by")), result.stdout
    assert not set(ODD) & set(result.stdout) & {"\x1b", "\x07", "\x9b", "\u202e"}
    answer = json.loads(command(*verb, "--dry-run", *rest).stdout)
    assert answer["dry_run"]
    assert all(each["entity_id"] in result.stdout for each in answer["entities"])


READS = [name for name in CALLS if REGISTRY[name].scope is Scope.READ]
"""Commands that disturb no other."""


def check_steers_no_terminal(command: Command, odd_ids: list[str], name: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(commands, "is_terminal", lambda: True)
        result = command(*[word for word in words(name, odd_ids) if word != "--json"])
    assert (result.exit_code, result.stderr) == (0, ""), result.stderr
    assert result.stdout.strip()
    controls = set(re.findall(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", result.stdout))
    assert not controls


def check_is_one_document(command: Command, odd_ids: list[str], name: str) -> None:
    result = command(*words(name, odd_ids))
    assert (result.exit_code, result.stderr) == (0, "")
    assert isinstance(json.loads(result.stdout), dict)
    assert result.stdout.count("\n") == 1


@walk_over("name", READS)
def test_nothing_that_was_stored_steers_a_terminal(command: Command, odd_ids: list[str], name: str) -> None:
    check_steers_no_terminal(command, odd_ids, name)


@walk_over("name", READS)
def test_json_is_one_document_and_nothing_else(command: Command, odd_ids: list[str], name: str) -> None:
    check_is_one_document(command, odd_ids, name)


CHECKS = (check_steers_no_terminal, check_is_one_document)
CHANGES = sorted({*CALLS} - {*READS})


@pytest.mark.parametrize(
    ("name", "check"),
    mostly_long(itertools.product(CHANGES, CHECKS), *zip(CHANGES, itertools.cycle(CHECKS), strict=False)),
)
def test_a_change_steers_no_terminal_and_answers_one_document(
    command: Command, odd_ids: list[str], name: str, check: Callable[..., None]
) -> None:
    before(command, odd_ids, name)
    check(command, odd_ids, name)


def test_json_may_be_asked_for_before_the_command(command: Command) -> None:
    assert json.loads(command("--json", "stats").stdout)["total_entities"] == 0


def test_an_empty_memory_is_shown(command: Command) -> None:
    for name in ("entities list", "observations list", "schemas list", "stats", "info", "health"):
        result = command(*name.split())
        assert (result.exit_code, result.stderr) == (0, ""), name


@pytest.mark.usefixtures("wide")
def test_a_table_says_who_said_what(command: Command, run: Call) -> None:
    (entity,) = run("store", entities=[ADA], observation_source="human")["entities"]
    shown = command("entities", "snapshot", entity["entity_id"]).stdout
    for text in (
        "Ada Lovelace",
        "1815",
        entity["observation_id"],
        "human",
        "test, by test",
        "[bold]x[/bold] [/] :smile:",
    ):
        assert text in shown, text


@pytest.mark.usefixtures("wide")
def test_a_table_of_what_was_stored_says_what_happened(command: Command) -> None:
    entities = json.dumps([ADA, {"entity_type": "note", "text": "hm"}])
    shown = command("store", "--entities", entities).stdout
    assert "created" in shown
    assert "CONTENT_IDENTITY" in shown


@pytest.mark.usefixtures("wide")
def test_a_list_shows_the_requested_fields(command: Command, run: Call) -> None:
    (entity,) = run("store", entities=[{**ADA, "a [red]b": 7}])["entities"]
    for line in ("entities list", "entities search Ada"):
        shown = command(*line.split(), "--fields", "born,absent", "--fields", "a [red]b\x1b[2J").stdout
        head, row = (line for line in shown.splitlines() if "born" in line or entity["entity_id"] in line)
        assert head.split()[2:8] == ["name", "born", "absent", "a", "[red]b", "[2J"]
        assert row.split()[2:5] == ["Ada", "Lovelace", "1815"]


# Errors


@pytest.mark.parametrize(
    ("line", "code", "error_code"),
    [
        ("entities get ent_000000000000000000000000", 4, "RESOURCE_NOT_FOUND"),
        ("entities list --limit 0", 2, "VALIDATION_INVALID_FORMAT"),
        ("entities list --limit many", 2, "VALIDATION_INVALID_FORMAT"),
        ("schemas get unicorn", 4, "RESOURCE_NOT_FOUND"),
        ("schemas get 9", 2, "VALIDATION_INVALID_FORMAT"),
        ("entities related x --depth 9", 2, "VALIDATION_INVALID_FORMAT"),
        ("store", 2, "VALIDATION_INVALID_FORMAT"),
        ("store --entities {", 2, "INVALID_JSON"),
        ("store --entities @/nowhere.json", 2, "VALIDATION_INVALID_FORMAT"),
        ("store --entities [7]", 2, "ERR_STORE_RESOLUTION_FAILED"),
        ("store --file /nowhere.json", 4, "FILE_NOT_FOUND"),
        ("store --file /", 2, "FILE_IS_DIRECTORY"),
        ("--base-url http://127.0.0.1:1 stats", 7, "SERVICE_UNREACHABLE"),
        ("--base-url nonsense stats", 7, "SERVICE_UNREACHABLE"),
        ("--base-url http://127.0.0.1:1 rebuild", 6, "CONFIGURATION_INVALID"),
        ("db status", 6, "CONFIGURATION_INVALID"),
    ],
)
def test_an_error_is_told_on_stderr_with_its_exit_code(
    command: Command, line: str, code: int, error_code: str
) -> None:
    for_people = command(*line.split())
    assert (for_people.exit_code, for_people.stdout) == (code, "")
    assert f"error {error_code}:" in for_people.stderr
    assert "trace_id" in for_people.stderr
    assert "Traceback" not in for_people.stderr
    for_programs = command("--json", *line.split())
    assert (for_programs.exit_code, for_programs.stdout) == (code, "")
    envelope = json.loads(for_programs.stderr)
    assert envelope["error_code"] == error_code
    assert set(envelope) == {"error_code", "message", "details", "trace_id", "timestamp"}


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("entities list --limit 0", "error VALIDATION_INVALID_FORMAT: --limit: "),
        ("timeline list --to never", "error VALIDATION_INVALID_FORMAT: --to: "),
        ("entities search x --limit 0", "error VALIDATION_INVALID_FORMAT: --limit: "),
        ("relationships list --direction up", "error VALIDATION_INVALID_FORMAT: --direction: "),
        ("schemas get 9", "error VALIDATION_INVALID_FORMAT: entity_type: "),
        ("store", "error VALIDATION_INVALID_FORMAT: --entities: "),
        ("store --entities [7]", "nothing was stored: --entities[0]: "),
        ("store --file FILE", "nothing was stored: entities[0]: "),
        ("schemas analyze 9", "error VALIDATION_INVALID_FORMAT: entity_type: "),
        ("schemas analyze --entity-type 9", "error VALIDATION_INVALID_FORMAT: --entity-type: "),
    ],
)
def test_an_error_names_the_option_once(command: Command, tmp_path: Path, line: str, text: str) -> None:
    file = tmp_path / "items.json"
    file.write_text('{"entities": [7]}')
    shown = re.sub(r"\s+", " ", command(*line.replace("FILE", str(file)).split()).stderr)
    assert text in shown
    message = shown.partition(text)[2].partition(" trace_id")[0].strip()
    assert message
    assert shown.count(message) == 1
    assert "$" not in shown


def test_a_read_of_a_folder_without_a_database_creates_nothing(tmp_path: Path) -> None:
    where = {"GRAPHMEM_OFFLINE": "0", "GRAPHMEM_DATA_DIR": str(tmp_path / "data"), "GRAPHMEM_ENV": "test"}
    refused = CliRunner().invoke(app, ["--json", "stats"], env=where)
    assert (refused.exit_code, json.loads(refused.stderr)["error_code"]) == (6, "DATA_DIRECTORY_REFUSED")
    assert list(tmp_path.iterdir()) == []


def test_the_last_lines_of_the_log_of_neo4j_are_printed(tmp_path: Path) -> None:
    log = tmp_path / "neo4j" / "logs" / "neo4j.log"
    log.parent.mkdir(parents=True)
    log.write_text("first\nsecond\nthird\n")
    words = ["logs", "--log", "neo4j", "-n", "2", "--json"]
    printed = CliRunner().invoke(app, words, env={"GRAPHMEM_DATA_DIR": str(tmp_path)})
    events = [json.loads(line)["event"] for line in printed.stdout.splitlines()]
    assert (printed.exit_code, events) == (0, ["second", "third"])


def test_a_check_that_finds_a_wrong_snapshot_exits_with_1(
    command: Command, run: Call, loop: Loop, services: Services
) -> None:
    (entity_id,) = ids(run("store", entities=[ADA]))
    assert command("snapshots", "check").exit_code == 0
    change = "MATCH (n:Entity {id: $id}) SET n.canonical_name = 'Eve'"
    loop.run(services.database.script(change, id=entity_id))
    wrong = command("--json", "snapshots", "check")
    assert (wrong.exit_code, json.loads(wrong.stdout)["stale"]) == (1, 1)
    assert command("snapshots", "check", "--auto-fix").exit_code == 0


@pytest.mark.parametrize("is_in_operation", [True, False])
def test_an_unexpected_fault_is_one_error_and_its_traceback_is_in_the_log(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, is_in_operation: bool
) -> None:
    async def fail(context: Any, arguments: Any) -> Any:
        raise RuntimeError("a fault of our own")

    def fail_to_run(work: Any) -> Any:
        work.close()
        raise RuntimeError("a fault of our own")

    if is_in_operation:
        monkeypatch.setitem(REGISTRY, "server.stats", replace(REGISTRY["server.stats"], function=fail))
    else:
        monkeypatch.setattr(in_process, "run_async", fail_to_run)
    result = command("stats", "--json", GRAPHMEM_DATA_DIR=str(tmp_path))
    envelope = json.loads(result.stderr)
    assert (result.exit_code, envelope["error_code"]) == (1, "INTERNAL_ERROR")
    log = [json.loads(line) for line in (tmp_path / "logs" / FILE).read_text().splitlines()]
    (fault,) = (line for line in log if line["level"] == "error")
    assert fault["trace_id"] == envelope["trace_id"]
    assert "Traceback" in fault["exception"]
    shown = command("--verbose", "stats", GRAPHMEM_DATA_DIR=str(tmp_path)).stderr
    assert "Traceback" in shown


def test_an_address_without_a_scheme_is_told_how_to_write_it(command: Command) -> None:
    shown = command("--base-url", "localhost:3080", "stats").stderr
    assert "write --base-url http://localhost:3080" in re.sub(r"\s+", " ", shown)


def test_several_faults_are_each_told_once(command: Command) -> None:
    lines = command("entities", "list", "--limit", "0", "--offset", "x").stderr.splitlines()
    assert ["--limit" in line for line in lines].count(True) == 1
    assert [line.startswith("  --offset: ") for line in lines].count(True) == 1


def test_the_same_key_with_other_content_exits_with_5(command: Command, run: Call) -> None:
    run("store", entities=[ADA], idempotency_key="k")
    result = command("store", "--entities", json.dumps([{**ADA, "born": 1}]), "--idempotency-key", "k")
    assert result.exit_code == 5


@pytest.mark.parametrize(
    "line", ["nonsense", "entities", "entities nonsense", "entities get", "entities list --nonsense"]
)
def test_a_wrong_command_line_exits_with_2(command: Command, line: str) -> None:
    result = command(*line.split())
    assert (result.exit_code, bool(result.stderr or result.stdout)) == (2, True)


@pytest.mark.parametrize("line", ["serve --data-dir /tmp", "entities list --offline"])
def test_an_option_of_graphmem_behind_a_command_is_told_its_place(command: Command, line: str) -> None:
    result = command(*line.split())
    option = next(word for word in line.split() if word.startswith("--"))
    assert result.exit_code == 2
    assert f"No such option: {option} (it stands before the command: graphmem {option} …)" in result.stderr


@pytest.mark.parametrize("line", ["--env nowhere stats", "mcp --tools few", "serve --env nowhere"])
def test_a_wrong_choice_is_told_with_the_choices_alone(command: Command, line: str) -> None:
    result = command(*line.split())
    assert result.exit_code == 2
    option, value = next(re.finditer(r"(--\w+) (\w+)", line)).groups()
    assert f"Invalid value for '{option}': '{value}' is not one of '" in result.stderr


def test_an_error_does_not_steer_a_terminal(command: Command) -> None:
    result = command("entities", "get", ODD)
    assert result.exit_code == 4
    assert not set(re.findall(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", result.stderr))


@pytest.mark.parametrize(
    "line",
    ["entities get \udcff", "entities search \udcff", "schemas get \udcff",
     'store --entities "\udcff"', "entities list --limit \udcff"],
    ids=ascii,
)  # fmt: skip
@pytest.mark.parametrize("as_json", [[], ["--json"]])
def test_bytes_that_are_no_text_are_told_in_the_envelope(
    command: Command, as_json: list[str], line: str
) -> None:
    result = command(*as_json, *line.split())
    assert result.exit_code in (2, 4), result.output
    assert not isinstance(result.exception, UnicodeError | TypeError)


def test_a_file_name_that_is_no_text_is_told_in_the_envelope(command: Command) -> None:
    result = command("store", "--file", "/nowhere\udcff", "--json")
    assert json.loads(result.stderr)["error_code"] == "FILE_NOT_FOUND"


# Values without quotes


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("CEO", "CEO"), ("+44 1632 960000", "+44 1632 960000"), ("007", "007"), ("nan", "nan"),
        ("7", 7), ("-1.5", -1.5), ("true", True), ('"7"', "7"), ("[1]", [1]), ('{"a": 1}', {"a": 1}),
    ],
)  # fmt: skip
def test_a_value_that_cannot_be_json_is_text(command: Command, run: Call, text: str, value: Any) -> None:
    (entity_id,) = ids(run("store", entities=[ADA]))
    result = command("entities", "correct", entity_id, "role", "--value", text, "--json")
    assert json.loads(result.stdout)["value"] == value


@pytest.mark.parametrize("text", ["[1", '{"a": 1', '"CEO'])
def test_a_value_that_begins_as_json_must_be_json(command: Command, text: str) -> None:
    result = command("entities", "correct", "ent_0", "role", "--value", text)
    assert result.exit_code == 2
    assert "--value begins as JSON and is not valid JSON" in re.sub(r"\s+", " ", result.stderr)


def test_an_empty_value_is_refused(command: Command) -> None:
    result = command("entities", "correct", "ent_0", "role", "--value", "")
    assert (result.exit_code, "--value is not valid JSON" in result.stderr) == (2, True)


def test_a_value_that_takes_objects_only_is_never_bare_text(command: Command) -> None:
    result = command("observations", "create", "--entity-id", "ent_0", "--fields", "CEO")
    assert (result.exit_code, "--fields is not valid JSON" in result.stderr) == (2, True)


# Help


def test_help_shows_every_command_and_an_example_of_each(command: Command) -> None:
    top = command("--help", COLUMNS="200").stdout
    for operation in OPERATIONS:
        shown = command(*operation.command, "--help", COLUMNS="300").stdout
        assert f"graphmem {' '.join(operation.command)}" in shown
        assert example_line(operation).split(" ")[-1] in shown
        assert operation.command[0] in top
        assert operation.summary.rstrip(".").split(",")[0][:40] in re.sub(r"\s+", " ", shown)


@walk_over("name", [o.name for o in OPERATIONS if o.scope == "read"])
def test_the_example_of_a_command_is_understood(command: Command, name: str) -> None:
    line = shlex.split(example_line(REGISTRY[name]))
    result = command(*line[1:], "--json")
    assert result.exit_code in (0, 4), result.stderr


@pytest.mark.parametrize(
    "line", ["serve", "demo", "db start", "db stop", "db status", "db info", "logs", "--env demo mcp"]
)
def test_the_other_commands_have_an_example_too(command: Command, line: str) -> None:
    shown = command(*line.split(), "--help", COLUMNS="200").stdout
    assert ('"args": ["mcp"]' if "mcp" in line else f"graphmem {line}") in shown


def test_the_version_is_told(command: Command) -> None:
    assert re.fullmatch(r"graphmem \d+\.\d+\.\d+\n", command("--version").stdout)


@pytest.mark.parametrize("words", [["--query", "Ada Lovelace"], ["Ada Lovelace"]])
def test_a_search_takes_its_query_by_name_or_position(
    command: Command, odd_ids: list[str], words: list[str]
) -> None:
    answer = json.loads(command("entities", "search", *words, "--json").stdout)
    assert answer["entities"][0]["canonical_name"] == "Ada Lovelace"


def test_what_a_command_works_on_is_positional_or_an_option(command: Command, run: Call) -> None:
    people = [{"entity_type": "person", "name": name} for name in ("Ada", "Bo")]
    entity_id, other_id = (entity["entity_id"] for entity in run("store", entities=people)["entities"])
    ends = {"source_entity_id": entity_id, "target_entity_id": other_id}
    relationship_id = run("relationships.create", relationship_type="REFERS_TO", **ends)["relationship_id"]
    document = json.dumps({"fields": {"name": "string"}})
    for words, option, subject in (
        (["observations", "create", "--fields", '{"city": "Ockham"}'], "--entity-id", entity_id),
        (["schemas", "analyze"], "--entity-type", "person"),
        (["schemas", "register", "--schema", document], "--entity-type", "wine"),
        (["relationships", "snapshot"], "--relationship-key", relationship_id),
        (["relationships", "delete"], "--relationship-key", relationship_id),
        (["relationships", "restore"], "--relationship-key", relationship_id),
        (["context"], "--question", "Ada"),
    ):
        for end in ([subject], [option, subject], [subject, option, subject]):
            if words[-1] == "restore":
                run("relationships.delete", relationship_key=relationship_id)
            result = command(*words, *end, "--json")
            assert result.exit_code == 0, (words, end, result.stderr)
            if words[-1] == "delete":
                run("relationships.restore", relationship_key=relationship_id)
        twice = command(*words, subject, option, "another", "--json")
        assert (twice.exit_code, "is given twice, with different values" in twice.stderr) == (2, True)


@pytest.mark.parametrize("target", [["{target}"], ["--target-entity-id", "{target}"]])
def test_an_unmerge_takes_both_entities_by_position(command: Command, run: Call, target: list[str]) -> None:
    people = [{"entity_type": "person", "name": name} for name in ("Ada", "Bo")]
    source_id, target_id = (entity["entity_id"] for entity in run("store", entities=people)["entities"])
    run("entities.merge", source_entity_id=source_id, target_entity_id=target_id)
    words = [word.format(target=target_id) for word in target]
    result = command("entities", "unmerge", source_id, *words, "--json")
    assert json.loads(result.stdout)["target_entity_id"] == target_id


# Entities by their names, words without quotes


@pytest.fixture
def people(run: Call) -> dict[str, str]:
    """The ids of some people, a company and a person of the same name, by their name or type."""
    items = [
        {"entity_type": "person", "name": "Tilda Brunsgaard", "email": "tilda@example.org"},
        {"entity_type": "person", "name": "Ivo Maric"},
        {"entity_type": "person", "name": "Mercury", "city": "Split"},
        {"entity_type": "company", "name": "Mercury"},
    ]
    keys = ["tilda", "ivo", "person", "company"]
    return dict(zip(keys, ids(run("store", entities=items)), strict=True))


@pytest.mark.parametrize("name", ["Tilda Brunsgaard", "tilda brunsgaard", "tilda@example.org", "Tilda"])
def test_a_read_takes_what_names_one_entity(command: Command, people: dict[str, str], name: str) -> None:
    for line in (["entities", "get"], ["entities", "related"], ["relationships", "list", "--entity-id"]):
        result = command(*line, name, "--json")
        assert (result.exit_code, result.stderr) == (0, ""), (line, result.stderr)
    assert json.loads(command("entities", "get", name, "--json").stdout)["entity_id"] == people["tilda"]


def test_a_change_takes_a_whole_name_and_tells_which_entity_it_is(
    command: Command, run: Call, people: dict[str, str]
) -> None:
    told = f"(person, {people['tilda']})"
    changed = command("entities", "correct", "Tilda Brunsgaard", "city", "--value", "Ribe", "--json")
    assert (changed.exit_code, told in changed.stderr) == (0, True), changed.stderr
    assert run("entities.get", entity_id=people["tilda"])["snapshot"]["city"] == "Ribe"
    linked = command("relationships", "create", "REFERS_TO", "tilda@example.org", "Ivo Maric", "--json")
    answer = json.loads(linked.stdout)
    assert answer["source_entity_id"] == people["tilda"], linked.stderr
    assert answer["target_entity_id"] == people["ivo"]
    part = command("entities", "delete", "Tilda", "--json")
    assert (part.exit_code, part.stdout) == (8, "")
    assert [row["entity_id"] for row in json.loads(part.stderr)["details"]["candidates"]] == [people["tilda"]]
    deleted = command("entities", "delete", "Tilda Brunsgaard")
    assert (deleted.exit_code, told in re.sub(r"\s+", " ", deleted.stderr)) == (0, True)
    restored = command("entities", "restore", "Tilda Brunsgaard", "--json")
    assert (restored.exit_code, told in re.sub(r"\s+", " ", restored.stderr)) == (0, True), restored.stderr
    # What lives is not restored, and what is merged is named by its own name.
    again = command("entities", "restore", "Tilda Brunsgaard", "--json")
    assert (again.exit_code, "no deleted entity" in again.stderr) == (4, True)
    assert command("entities", "merge", "Tilda Brunsgaard", "Ivo Maric").exit_code == 0
    assert command("entities", "unmerge", "tilda brunsgaard").exit_code == 0
    left = run("entities.query", entity_type="person")["entities"]
    assert {row["entity_id"] for row in left} == {people["ivo"], people["person"], people["tilda"]}


def test_me_says_and_marks_who_asks(command: Command, run: Call, people: dict[str, str]) -> None:
    told = json.loads(command("me", "--json").stdout)
    assert "`graphmem me ENTITY`" in told["hint"]
    for name, key in (("Tilda Brunsgaard", "tilda"), (people["ivo"], "ivo")):
        marked = json.loads(command("me", name, "--json").stdout)
        assert marked["entity_id"] == people[key]
        assert json.loads(command("me", "--json").stdout) == marked
    (observation, *_) = run("observations.query", filters={"entity_id": people["ivo"]})["observations"]
    assert (observation["fields"], observation["observation_source"]) == ({"self": True}, "human")
    assert command("me", "mercury").exit_code == 8
    assert "Ivo Maric" in command("ask", "who am I").stdout


def test_a_name_that_several_have_is_answered_with_them_and_an_exit_code_of_its_own(
    command: Command, run: Call, people: dict[str, str]
) -> None:
    both = {people["person"], people["company"]}
    for line in ("entities get mercury", "entities delete Mercury", "relationships list --entity-id Mercury"):
        told = command(*line.split(), "--json")
        envelope = json.loads(told.stderr)
        assert (told.exit_code, told.stdout, envelope["error_code"]) == (8, "", "ENTITY_AMBIGUOUS")
        assert {row["entity_id"] for row in envelope["details"]["candidates"]} == both
        printed = command(*line.split()).stderr
        assert all(each in printed for each in (*both, "company", "person")), printed
    result = command("entities", "delete", "Mercury", "--entity-type", "company", "--json")
    assert json.loads(result.stdout)["entity_id"] == people["company"]
    assert json.loads(command("entities", "get", "Mercury", "--json").stdout)["entity_id"] == people["person"]


def test_a_name_that_nobody_has_is_not_found_and_names_those_that_resemble_it(
    command: Command, people: dict[str, str]
) -> None:
    for line, near in (
        (["entities", "get", "Brunsgaard the younger"], True),
        (["entities", "get", "Qz"], False),
    ):
        result = command(*line, "--json")
        envelope = json.loads(result.stderr)
        assert (result.exit_code, envelope["error_code"]) == (4, "RESOURCE_NOT_FOUND")
        assert ("candidates" in envelope["details"]) == near
    for line in ("entities get ent_0", "entities delete ent_000000000000000000000000"):
        assert "candidates" not in json.loads(command(*line.split(), "--json").stderr)["details"]


@pytest.mark.parametrize(
    ("short", "whole"),
    [
        ("search Tilda Brunsgaard", ["entities", "search", "Tilda Brunsgaard"]),
        ("search --limit 1 Mercury", ["entities", "search", "Mercury", "--limit", "1"]),
        ("entities search Ivo Maric --entity-type person",
         ["entities", "search", "Ivo Maric", "--entity-type", "person"]),
        ("ask who is Ivo Maric --budget 600", ["context", "who is Ivo Maric", "--budget", "600"]),
        ("context who is Ivo Maric", ["context", "--question", "who is Ivo Maric"]),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("people")
def test_words_need_no_quotes(command: Command, short: str, whole: list[str]) -> None:
    answers = [json.loads(command(*words, "--json").stdout) for words in (short.split(), whole)]
    assert answers[0] == answers[1]
    assert answers[0].get("entities") or answers[0]["lines"]


@pytest.mark.usefixtures("people")
def test_an_explained_search_keeps_its_command(command: Command) -> None:
    assert json.loads(command("search", "explain", "Ivo", "Maric", "--json").stdout)["phrases"]


@pytest.mark.usefixtures("people")
def test_context_is_text_as_other_answers_are_and_json_where_it_is_wanted(
    command: Command, run: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = " ".join(f"word{number}" for number in range(60))
    run("store", entities=[{"entity_type": "person", "name": "Ivo Maric", "note": long}])
    assert command("ask", "Ivo", "Maric").stdout.startswith("Ivo Maric")
    assert json.loads(command("ask", "Ivo", "Maric", "--json").stdout)["lines"]
    monkeypatch.setattr(session.console, "_width", 60)
    shown = command("ask", "Ivo", "Maric").stdout
    assert shown.startswith("Ivo Maric")
    assert max(map(len, shown.splitlines())) <= 60
    assert " ".join(shown.split()).count(long) == 1
    assert "field" in command("ask", "Ivo", "Maric", "--format", "fields").stdout


@pytest.mark.parametrize(
    ("line", "proposed"),
    [
        ("view Ada", "graphmem entities snapshot NAME"),
        ("update Ada", "graphmem entities correct NAME FIELD --value VALUE"),
        ("rememebr this", "Did you mean 'remember'"),
        ("memorize this", "graphmem store"),
        ("forget Ada", "graphmem entities delete"),
        ("where does Ada live", "graphmem ask WORDS..."),
        ("entities add", "graphmem store"),
        ("account add x", "graphmem account create"),
        ("auth keys ls", "graphmem auth keys list"),
        ("entites list", "Did you mean 'entities'"),
        # Lines of another service.
        ("api logs", "use `graphmem logs`"),
        ("storage set-data-dir x", "use `graphmem storage move`"),
        ("mcp guide", "use `graphmem setup`"),
        ("timeline get --event-id x", "an id is an argument"),
        ("store --plan", "--dry-run"),
        ("stats --user-id another", "there is no user_id of another"),
    ],
)
def test_a_word_that_is_no_command_is_answered_with_the_one_that_is_meant(
    command: Command, line: str, proposed: str
) -> None:
    told = command(*line.split())
    assert (told.exit_code, told.stdout) == (2, "")
    assert proposed in told.stderr


def test_the_user_id_of_the_caller_asks_for_nothing(command: Command, owner: str) -> None:
    own = command("stats", "--user-id", owner, "--json")
    assert (own.exit_code, own.stdout) == (0, command("stats", "--json").stdout)


def test_commands_are_said_as_people_say_them(command: Command, run: Call) -> None:
    def said(*words: str) -> Any:
        result = command(*words, "--json")
        assert result.exit_code == 0, result.stderr
        return json.loads(result.stdout)

    ada = said("add", "person", "Ada Lovelace", "email=ada@example.org", "born=1815")["entities"][0][
        "entity_id"
    ]
    said("add", "company", "Analytical Engines")
    said("add", "task", "Order brass", "status=open", f"due_date={datetime.now(UTC).date()}")
    said("set", "Ada Lovelace", "phone", "+44 1632 960000")
    said("relate", "Ada Lovelace", "works at", "Analytical Engines")
    shown = said("show", "Ada", "Lovelace")["snapshot"]
    assert (shown["born"], shown["phone"]) == (1815, "+44 1632 960000")
    kept = said("note", "Ada Lovelace says the engine is ready")["entities"][0]["entity_id"]
    links = run("relationships.list", entity_id=kept)["relationships"]
    assert [(each["relationship_type"], each["target_entity_id"]) for each in links] == [("REFERS_TO", ada)]
    assert said("remember", "a", "note", "that", "names", "nobody")["relationships_created"] == []
    table = command("note", "The dentist asked me to come back in May").stdout
    assert ("created" in table, "CONTENT_IDENTITY" in table) == (True, False)
    assert said("list", "people")["entities"][0]["entity_id"] == ada
    assert "Ada Lovelace" in said("who", "works", "at", "Analytical", "Engines")["lines"][0]
    assert "Order brass" in said("today")["lines"][0]
    assert [each["canonical_name"] for each in said("todo")["entities"]] == ["Order brass"]
    refused = command("add", "person", "Bob", "email")
    assert (refused.exit_code, "field=value" in refused.stderr) == (2, True)


def test_every_proposed_command_exists_and_no_synonym_hides_one() -> None:
    table = tables.read("cli/synonyms")
    root: Any = typer.main.get_command(app)
    for line, synonyms in table["commands"].items():
        found = root
        for word in itertools.takewhile(str.islower, shlex.split(line)[1:]):
            found = found.commands[word] if not word.startswith("-") else found
        assert not hasattr(found, "commands") or line.split()[1] in {"search", "--version", "--help"}, line
        # "search" and "snapshot" are words of commands below a group too.
        assert len(synonyms) == len(set(synonyms)), line
        # Below `graphmem update` a word that is no command stands for a change of an entity.
        assert not set(synonyms) & (root.commands.keys() - {"add", "ask", "update"}), line


@pytest.mark.parametrize(
    "line",
    ["nonsense", "entities nonsense", "entities get", "entities list --nonsense", "doctor --limit 9",
     "--env nowhere stats", "schemas update x --force"],
)  # fmt: skip
def test_a_fault_of_the_command_line_is_told_in_the_envelope_to_programs(command: Command, line: str) -> None:
    for words in (["--json", *line.split()], [*line.split(), "--json"]):
        result = command(*words)
        envelope = json.loads(result.stderr)
        assert (result.exit_code, result.stdout) == (2, "")
        assert (envelope["error_code"], bool(envelope["message"])) == ("VALIDATION_INVALID_FORMAT", True)


def test_an_option_of_earlier_versions_says_what_to_do_instead(command: Command) -> None:
    told = command("schemas", "register", "wine", "--no-activate").stderr
    assert "No such option: --no-activate (leave it out, a registered schema is active at once)" in told


def test_a_search_without_a_query_is_refused(command: Command) -> None:
    result = command("entities", "search", "--json")
    assert result.exit_code == 2
    assert "identifier" in result.stderr


# Files


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (json.dumps({"entities": [ADA], "observed_at": "2026-01-01"}), 1),
        (json.dumps([ADA, {**ADA, "name": "Grace"}]), 2),
        (json.dumps(ADA) + "\n\n" + json.dumps({**ADA, "name": "Grace"}) + "\n", 2),
        ("[\n  " + json.dumps(ADA) + "\n]", 1),
    ],
    ids=["object", "list", "lines", "spread"],
)
@pytest.mark.parametrize("by", ["file", "stdin"])
def test_a_file_is_stored(command: Command, tmp_path: Path, text: str, count: int, by: str) -> None:
    path = tmp_path / "items.json"
    path.write_text(text, "utf-8")
    if by == "file":
        result = command("store", "--file", str(path), "--json")
    else:
        result = command("store", "--file", "-", "--json", stdin=text.encode())
    assert json.loads(result.stdout)["entities_created"] == count


def test_an_option_wins_over_the_file(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "items.json"
    path.write_text(json.dumps({"entities": [ADA], "commit": True}), "utf-8")
    result = command("store", "--file", str(path), "--no-commit", "--json")
    assert json.loads(result.stdout)["commit"] is False


@pytest.mark.parametrize("prefix", ["@", ""])
def test_an_option_may_name_a_file_or_stdin(command: Command, tmp_path: Path, prefix: str) -> None:
    path = tmp_path / "items.json"
    path.write_text(json.dumps([ADA]), "utf-8")
    value = f"@{path}" if prefix else "-"
    result = command("store", "--entities", value, "--json", stdin=json.dumps([ADA]).encode())
    assert json.loads(result.stdout)["entities_created"] == 1


@pytest.mark.parametrize(
    "data",
    [b"{", b"{}\n{", b'{"a": 1}\nnonsense\n', b"[" * 5000, b'[{"a": NaN}]'],
    ids=lambda data: ascii(data[:20]),
)
def test_a_file_that_cannot_be_read_says_where(command: Command, tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "items.json"
    path.write_bytes(data)
    result = command("store", "--file", str(path), "--json")
    envelope = json.loads(result.stderr)
    assert (result.exit_code, envelope["error_code"]) == (2, "INVALID_JSON")
    assert str(path) in envelope["message"]


def test_a_bad_line_is_named(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "items.ndjson"
    path.write_text(f"{json.dumps(ADA)}\n\nnonsense\n", "utf-8")
    assert "line 3" in json.loads(command("store", "--file", str(path), "--json").stderr)["message"]
