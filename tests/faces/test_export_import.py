"""`graphmem export` and `graphmem import`: what is written is read back, here and by other programs."""

from __future__ import annotations

import csv
import hashlib
import json
import threading
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from graphmem.auth import accounts
from graphmem.cli import import_files
from graphmem.cli.importing.neotoma import NeotomaReader
from graphmem.context import Services
from graphmem.errors import InvalidInput
from graphmem.model import canonical, state_hash
from tests.faces.conftest import Command
from tests.support.actors import full_actor
from tests.support.event_loop import Loop
from tests.support.faces import Call, by_runner

NOTE = {"title": "Hours", "textContent": "Open on Tuesday", "userEditedTimestampUsec": 1760000000123000}
Switch = Callable[[str], Call]


@pytest.fixture
def switch(loop: Loop, services: Services, command: Command, monkeypatch: pytest.MonkeyPatch) -> Switch:
    """Let the commands act as another owner; return what calls operations as this owner."""

    def act_as(owner: str) -> Call:
        monkeypatch.setattr(accounts, "local_actor", lambda *_: full_actor(owner, client="test"))
        return by_runner(loop, services, owner)

    return act_as


@pytest.fixture
def people(run: Call) -> Call:
    """What the exports hold: values that changed, were cleared, corrected and deleted, and a merge."""
    ada = {
        "entity_type": "person",
        "email": "ada@example.org",
        "name": "Ada King",
        "phone": "+44 1",
        "n": 1.0,
    }
    ada |= {"content": "# A life\n\nShe wrote it.", "tags": ["a", {"b": None}], "=cmd": "=1+1", "blank": ""}
    acme = {"entity_type": "company", "name": "Acme/Ltd: <a>", "size": 10**15, "open": True}
    times = {"observed_at": "2026-01-01T09:00:00Z", "source_priority": 7, "specificity_score": 0.5}
    links = [
        {"relationship_type": "WORKS_AT", "source_index": 0, "target_index": 1, "metadata": {"since": "2020"}}
    ]
    note = {"entity_type": "note", "content": "alone", "canonical_name": "N"}
    first = run(
        "store", entities=[{**ada, **times}, acme, note],
        relationships=links, file_content="YWJj", original_filename="letter.txt",
    )  # fmt: skip
    ada_id = first["entities"][0]["entity_id"]
    run(
        "store",
        entities=[{"target_id": ada_id, "phone": None, "n": 2, "observed_at": "2026-02-01T00:00:00Z"}],
    )
    run(
        "store",
        entities=[{"target_id": ada_id, "email": "king@example.org", "observed_at": "2026-02-02T00:00:00Z"}],
    )
    run("entities.correct", entity_id=ada_id, field="name", value="Ada Lovelace")
    run("store", entities=[{"target_id": ada_id, "name": "A. L.", "entity_type": "person"}])
    pair = [{"entity_type": "company", "name": name} for name in ("ACME/LTD: <A> ", "Beta", "Gone")]
    _, beta, gone = run("store", entities=[*pair])["entities"]
    run("entities.delete", entity_id=gone["entity_id"])
    gamma = run("store", entities=[{"entity_type": "company", "name": "Gamma", "city": "Oslo"}])["entities"][
        0
    ]
    run("entities.merge", source_entity_id=gamma["entity_id"], target_entity_id=beta["entity_id"])
    return run


def shown(call: Call) -> tuple[dict[str, Any], str | None]:
    """Return what is shown, and its state hash: that of the owner, without the ids of observations.

    Names stand for the ids of entities, which differ from owner to owner.
    """
    entities = call("entities.query", limit=500)["entities"]
    names = {row["entity_id"]: f"{row['entity_type']} {row['canonical_name']}" for row in entities}
    told: dict[str, Any] = {
        names[row["entity_id"]]: (row["entity_type"], row["snapshot"]) for row in entities
    }
    for row in call("relationships.list", limit=500)["relationships"]:
        ends = " ".join(names[row[f"{side}_entity_id"]] for side in ("source", "target"))
        told[ends] = row["relationship_type"], row["snapshot"]
    total = 0
    for name, (kind, values) in told.items():
        fields = [(each, canonical.encode(value), "") for each, value in sorted(values.items())]
        total += state_hash.entry(name, kind, True, None, fields)
    return told, state_hash.updated(state_hash.EMPTY, total, 0)


def lines(file: Path) -> list[Any]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_json_lines_are_read_back_whole_and_in_pieces_and_can_be_withdrawn(
    command: Command, switch: Switch, people: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "facts.jsonl"
    code, stdout, stderr = command("export", "--output", str(file), "--json")
    assert (code, json.loads(stdout)["entities"]) == (0, 4), stderr
    assert command("export", "-o", str(file))[0] == 2
    ada = next(line for line in lines(file) if line["entity_type"] == "person")
    assert ada["identity"]["fields"] == {"email": "ada@example.org"}
    assert ada["observations"][0]["source"]["original_filename"] == "letter.txt"
    for owner, piece in (("whole", 10**6), ("pieces", 300)):
        monkeypatch.setattr(import_files, "PIECE_BYTES", piece)
        other = switch(f"{people('server.stats')['state_hash'][:20]}-{owner}")
        code, stdout, stderr = command("import", str(file), "--json")
        answer = json.loads(stdout)
        assert (code, answer["failed"]) == (0, 0), stdout + stderr
        assert (len(answer["files"]) > 1) is (owner == "pieces")
        # The lines are facts: a search of texts must not find them a second time.
        assert not any(row["interpretation"].get("passages") for row in answer["files"])
        assert shown(other) == shown(people)
        before = other("server.stats")
        assert json.loads(command("import", str(file), "--json")[1])["stored"] == 0
        assert other("server.stats")["state_hash"] == before["state_hash"]
        again = tmp_path / f"{owner}.jsonl"
        assert command("export", "-o", str(again))[0] == 0
        if owner == "whole":
            there = [
                {name: line[name] for name in ("entity_type", "canonical_name", "identity")}
                for line in lines(again)
            ]
            assert there == [{name: line[name] for name in there[0]} for line in lines(file)]
        for row in answer["files"]:
            other("sources.withdraw", source_id=row["source_id"])
        assert other("server.stats")["total_entities"] == 0
        for row in answer["files"]:
            other("sources.reinstate", source_id=row["source_id"])
        assert other("server.stats")["state_hash"] == before["state_hash"]


def test_each_format_is_read_by_other_programs(
    command: Command, people: Call, switch: Switch, tmp_path: Path
) -> None:
    def written(format: str, name: str, *more: str) -> Path:
        code, _, stderr = command("export", "--format", format, "-o", str(tmp_path / name), *more)
        assert (code, "does not hold" in stderr) == (0, True), stderr
        return tmp_path / name

    with (written("csv", "tables") / "person.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert (row["canonical_name"], row["'=cmd"], row["n"]) == ("Ada Lovelace", "'=1+1", "2")
    exact = written("csv", "exact", "--exact-cells", "--type", "person")
    assert sorted(path.name for path in exact.iterdir()) == ["person.csv", "relationships.csv"]
    assert "=cmd" in (exact / "person.csv").read_text().splitlines()[0]
    with (tmp_path / "tables/relationships.csv").open(newline="") as file:
        assert [(row["source_name"], row["metadata"]) for row in csv.DictReader(file)] == [
            ("Ada Lovelace", '{"since":"2020"}')
        ]
    space = "{http://graphml.graphdrawing.org/xmlns}"
    graph = ET.parse(written("graphml", "graph.xml")).getroot()
    assert (len(graph.findall(f".//{space}node")), len(graph.findall(f".//{space}edge"))) == (4, 1)
    prov = json.loads(written("prov", "prov.json").read_text())
    for relation, ends in {
        "wasGeneratedBy": (("prov:entity", "entity"), ("prov:activity", "activity")),
        "wasAttributedTo": (("prov:entity", "entity"), ("prov:agent", "agent")),
        "wasDerivedFrom": (("prov:generatedEntity", "entity"), ("prov:usedEntity", "entity")),
    }.items():
        assert prov[relation]
        assert all(
            record[end] in prov[section] for record in prov[relation].values() for end, section in ends
        )
    memory = written("memory", "memory.jsonl", "--updated-since", "2020-01-01")
    names = {line["name"] for line in lines(memory) if line["type"] == "entity"}
    (relation,) = (line for line in lines(memory) if line["type"] == "relation")
    assert {relation["from"], relation["to"]} <= names
    other = switch(f"{people('server.stats')['state_hash'][:20]}-memory")
    assert command("import", str(memory))[0] == 0
    assert other("server.stats")["total_relationships"] == 1


def test_a_folder_of_notes_is_kept_up_to_date_and_read_back(
    command: Command, people: Call, switch: Switch, tmp_path: Path
) -> None:
    vault = tmp_path / "vault"
    words = "export", "--format", "markdown", "-o", str(vault), "--json"
    assert json.loads(command(*words)[1])["written"] == 4
    other = switch(f"{people('server.stats')['state_hash'][:20]}-vault")
    code, stdout, stderr = command("import", str(vault), "--json")
    assert (code, json.loads(stdout)["stored"]) == (0, 4), stdout + stderr
    assert shown(other) == shown(people)
    assert json.loads(command("import", str(vault), "--json")[1])["stored_before"] == 4
    for row in json.loads(stdout)["files"]:
        other("sources.withdraw", source_id=row["source_id"])
    assert other("server.stats")["total_entities"] == 0


def test_folders_and_archives_of_other_programs_come_in_and_can_be_withdrawn(
    command: Command, run: Call, tmp_path: Path
) -> None:
    table, page, other = (str(digit) * 32 for digit in range(3))
    link = f"[home](../Home%20{other}.md)"
    memory = {"id": "m", "memory": "tea", "hash": "h", "created_at": "2026-01-01"}
    members = {
        f"Export/Tasks {table}.csv": "Name,Status\nBuy milk,Done\n",
        f"Export/Tasks {table}/Buy milk {page}.md": f"# Buy milk\n\nStatus: Done\n\n{link}",
        f"Export/Home {other}.md": "# Home\n\nhello",
        "Takeout/Contacts/All.vcf": "BEGIN:VCARD\nVERSION:3.0\nFN:Bo Li\nEMAIL:bo@x.example\nEND:VCARD\n",
        "../../evil.txt": "text",
        # Each note comes twice.
        "Takeout/Keep/Hours.json": json.dumps({**NOTE, "isTrashed": False}),
        "Takeout/Keep/Hours.html": "<html><title>Hours</title>Open on Tuesday</html>",
        "memories.json": json.dumps({"results": [memory]}),
        "lines.jsonl": '{"type":"entity","name":"A","entityType":"x","observations":[]}\n{"type":"ent\n',
    }
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    archive_path = str(tmp_path / "all.zip")
    code, stdout, stderr = command("import", archive_path, "--dry-run", "--json")
    planned = json.loads(stdout)
    # A line of one is broken.
    assert (code, planned["would_store"], planned["failed"]) == (1, 6, 0), stdout + stderr
    assert run("server.stats")["total_observations"] == 0
    code, stdout, stderr = command("import", archive_path)
    assert (code, "6 stored, 0 stored before, 0 failed" in stdout) == (1, True), stdout + stderr
    assert "line 2" in stderr
    found = run("entities.query", limit=100)["entities"]
    kinds = {(row["entity_type"], row["canonical_name"]) for row in found}
    assert {("task", "Buy milk"), ("note", "Home"), ("note", "Hours"), ("person", "Bo Li")} <= kinds
    (link,) = run("relationships.list", relationship_type="REFERS_TO")["relationships"]
    (task,) = (row for row in found if row["entity_type"] == "task")
    assert (link["source_entity_id"], task["snapshot"]["status"]) == (task["entity_id"], "Done")
    assert "6 stored before" in command("import", archive_path)[1]
    for source in run("sources.list")["sources"]:
        run("sources.withdraw", source_id=source["source_id"])
    assert run("server.stats")["total_entities"] == 0


class FakeNeotoma(BaseHTTPRequestHandler):
    """Answers as the contract of neotoma says; two entities in a page."""

    entities: ClassVar = [
        {"entity_id": f"ent_{digit}" + "0" * 23, "entity_type": kind, "canonical_name": name, "snapshot": {}}
        for digit, kind, name in (
            ("a", "person", "ada"),
            ("b", "company", "acme"),
            ("c", "gadget", "thing 1"),
        )
    ]
    observations: ClassVar = {
        "a": [
            {"id": "2", "observed_at": "2026-01-02T00:00:00Z", "fields": {"city": "Oslo", "intent": "x"},
             "source_priority": 1000},
            {"id": "1", "observed_at": "2026-01-01T00:00:00Z", "fields": {"name": "Ada", "city": "Rom"},
             "source_id": "s", "observation_source": "human", "specificity_score": 0.5},
        ],
        "b": [{"id": "3", "observed_at": "2026-01-01T00:00:00Z", "fields": {"name": "Acme"}}],
        "c": [{"id": "4", "observed_at": "2026-01-01T00:00:00Z", "fields": {"size": 3}},
              {"id": "5", "observed_at": "2026-01-02T00:00:00Z", "fields": {"_deleted": False}}],
    }  # fmt: skip
    asked: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        start = int(body.get("cursor", "0"))
        more = {"next_cursor": str(start + 2)} if start + 2 < len(self.entities) else {}
        total = 5 if body.get("include_merged") else 3
        self._send({"entities": self.entities[start : start + 2], "total": total, **more})

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        live = {
            "relationship_type": "works_at",
            "source_entity_id": self.entities[0]["entity_id"],
            "snapshot": {},
        }
        dead = {**live, "target_entity_id": self.entities[2]["entity_id"], "is_live": False}
        links = [
            {**live, "target_entity_id": self.entities[1]["entity_id"], "snapshot": {"since": "2020"}},
            dead,
        ]
        files = [{"id": "s", "original_filename": "cities.csv", "content_hash": "0"}, {"id": "gone"}]
        answers = {"/relationships": {"relationships": links}, "/sources": {"sources": files}}
        if path.endswith("/observations"):
            answers[path] = {"observations": self.observations[path.split("_")[1][0]]}
        elif path.startswith("/entities/"):
            answers[path] = next(row for row in self.entities if row["entity_id"] in path)
        answers["/stats"] = {"entities_by_type": {"person": 1, "company": 1, "gadget": 1, "odd": 1}}
        answers["/schemas/gadget"] = {
            "entity_type": "gadget", "schema_version": "1.3", "active": True, "id": "x", "scope": "user",
            "schema_definition": {
                "fields": {"size": {"type": "number", "validator": "v"}, "name": {"type": "string"}},
                "identity_opt_out": "heuristic_canonical_name", "name_collision_policy": "merge",
            },
            "reducer_config": {"merge_policies": {"size": {"strategy": "highest_priority"}}},
        }  # fmt: skip
        answers["/schemas/person"] = {"schema_definition": {"fields": {"name": {"type": "string"}}}}
        answers["/schemas/odd"] = {"schema_definition": {"fields": 3}, "entity_type": "odd"}
        if path == "/sources/s/content":
            self._send(b"name,city\nGrace,Paris\n")
        else:
            self._send(answers.get(path, {}), 200 if path in answers else 404)

    def _send(self, answer: Any, status: int = 200) -> None:
        is_known = self.headers["Authorization"] == "Bearer secret"
        self.asked.append(self.path)
        self.send_response(status if is_known else 401)
        self.end_headers()
        self.wfile.write(answer if isinstance(answer, bytes) else json.dumps(answer).encode())

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""


def test_another_service_comes_in_with_times_priorities_and_relationships(
    command: Command, run: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), FakeNeotoma) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        words = "import", "--from", "neotoma", f"http://127.0.0.1:{server.server_port}", "--json"
        code, _, stderr = command(*words)
        assert (code, json.loads(stderr)["error_code"]) == (3, "AUTH_REQUIRED")
        monkeypatch.setenv("NEOTOMA_BEARER_TOKEN", "secret")
        planned = json.loads(command(*words, "--dry-run")[1])
        assert (planned["failed"], run("server.stats")["total_entities"]) == (0, 0)
        code, stdout, stderr = command(*words)
        made = json.loads(stdout)
        failed = [(row["file"], row["error_code"]) for row in made["files"] if row["outcome"] == "failed"]
        assert (code, failed) == (1, [("schema of odd", "SCHEMA_VALIDATION_FAILED")]), stdout + stderr
        assert [word in str(made["not_imported"]) for word in ("person", "2 merges", "file gone")] == [
            True
        ] * 3
        assert json.loads(command(*words)[1])["stored"] == 0
        assert "Not imported: 2 merges" in command(*words[:-1])[1]
        server.shutdown()
    hashes = {row["original_filename"]: row["content_hash"] for row in run("sources.list")["sources"]}
    assert hashes["cities.csv"] == hashlib.sha256(b"name,city\nGrace,Paris\n").hexdigest()
    assert run("schemas.get", entity_type="gadget")["fields"]["size"]["type"] == "number"
    assert run("server.stats")["total_entities"] == 3
    rows = {row["entity_type"]: row for row in run("entities.query")["entities"]}
    assert rows["person"]["snapshot"] == {"name": "Ada", "city": "Oslo"}
    assert (rows["gadget"]["canonical_name"], rows["gadget"]["snapshot"]) == ("thing 1", {"size": 3})
    first = run("observations.query", entity_id=rows["person"]["entity_id"])["observations"][-1]
    assert (first["observed_at"], first["specificity_score"]) == ("2026-01-01T00:00:00.000000Z", 0.5)
    assert first["observation_source"] == "human"
    (link,) = run("relationships.list")["relationships"]
    assert (link["relationship_type"], link["snapshot"]) == ("WORKS_AT", {"since": "2020"})
    assert link["target_entity_id"] == rows["company"]["entity_id"]
    with pytest.raises(InvalidInput, match="plain text"):
        NeotomaReader("http://example.org")


def test_a_note_that_is_uploaded_and_imported_is_told_to_be_two_entities(
    command: Command, run: Call, tmp_path: Path
) -> None:
    for name in ("keeper", "lighthouse"):
        (tmp_path / f"{name}.md").write_text(f"# The {name}\n\nSee [[keeper]].\n")
    one, both = str(tmp_path / "keeper.md"), str(tmp_path)
    assert "interpretations withdraw" not in command("upload", one)[2]
    for words, count in (
        (("import", both), 1),
        (("upload", both), 1),
        (("import", both), 0),
        (("upload", both), 0),
    ):
        rows = json.loads(command(*words, "--json")[1])["files"]
        messages = [each["message"] for row in rows for each in row.get("store_warnings", ())]
        assert len(messages) == count, words
        for message in messages:
            interpretation_id = message.partition("interpretations withdraw ")[2].partition("`")[0]
            assert command("interpretations", "withdraw", interpretation_id)[0] == 0
    assert sorted(row["canonical_name"] for row in run("entities.query")["entities"]) == [
        "The keeper", "The lighthouse",
    ]  # fmt: skip


def test_an_import_ends_with_one_where_a_line_was_left_out(command: Command, tmp_path: Path) -> None:
    lines = [
        {"type": "entity", "name": "Ann Left", "entityType": "person", "observations": ["likes tea"]},
        {"type": "relation", "from": "Ann Left", "to": "Nobody", "relationType": "knows"},
    ]
    whole, lacking = tmp_path / "whole.jsonl", tmp_path / "lacking.jsonl"
    whole.write_text(json.dumps(lines[0]))
    lacking.write_text("\n".join(map(json.dumps, lines)))
    assert command("import", str(whole))[0] == 0
    for more in ((), ("--dry-run",)):
        code, _, stderr = command("import", str(lacking), *more)
        assert code == 1
        assert "line 2 is left out" in stderr
    mail = tmp_path / "calendar.eml"
    head = "From: ada@example.org\nSubject: s\nContent-Type: text/{0}\n\n{1}"
    for kind, text, expected in (("calendar", "BEGIN:VCALENDAR\nnothing", 1), ("plain", "te\0xt", 0)):
        mail.write_text(head.format(kind, text))
        for more in ((), ("--dry-run",)):
            assert command("import", str(mail), *more)[0] == expected, (kind, more)
