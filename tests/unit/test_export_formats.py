"""The formats of `graphmem export`, from lists as operations answer them."""

from __future__ import annotations

import json
import os
import threading
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from graphmem.cli import export
from graphmem.cli.exporting import export_lines, export_tables
from graphmem.cli.exporting.export_notes import JOURNAL, NoteFolder, collision_key, file_name
from graphmem.cli.exporting.export_spool import ExportSpool
from graphmem.cli.importing.note_files import NoteIndex, read_note
from graphmem.errors import InvalidInput

WRITER = {"agent": "anonymous", "client": "cli", "by": {"account": "local"}}


def entity(number: int, called: str, kind: str = "person", /, **shown: Any) -> dict[str, Any]:
    provenance = dict.fromkeys(shown, f"obs_{number:032x}")
    entity_id = "ent_" + f"{number:x}" * 24
    row = {"entity_id": entity_id, "entity_type": kind, "canonical_name": called, "snapshot": shown}
    return {**row, "provenance": provenance, "last_observation_at": "2026-02-01T00:00:00Z"}


def observation(number: int, of: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "id": f"obs_{number:032x}", "entity_id": of["entity_id"], "entity_type": of["entity_type"],
        "kind": "value", "observed_at": f"2026-01-{number:02}T00:00:00Z", "fields": of["snapshot"],
        "recorded_at": "2026-02-01T00:00:00Z", "source_priority": 100, "specificity_score": 1,
        "observation_source": "human", "source_id": None, "identity_basis": "name",
        "transaction_id": f"txn_{number}", "provenance": WRITER, **more,
    }  # fmt: skip


def spool_of(
    entities: list[dict[str, Any]],
    observations: list[dict[str, Any]] | None = None,
    links: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] | None = None,
    filters: dict[str, Any] | None = None,
) -> ExportSpool:
    """Return what an export holds. Lists answer two rows in a page."""
    relationships = [
        {
            "relationship_key": f"WORKS_AT:{a['entity_id']}:{b['entity_id']}",
            "relationship_type": "WORKS_AT",
            "source_entity_id": a["entity_id"],
            "target_entity_id": b["entity_id"],
            "snapshot": said,
            "last_observation_at": "2026-01-01T00:00:00Z",
        }
        for a, b, said in links or ()
    ]
    seen = observations or [observation(int(each["entity_id"][4], 16), each) for each in entities]
    lists = {
        "entities.query": ("entities", entities),
        "observations.query": ("observations", seen),
        "relationships.list": ("relationships", relationships),
        "sources.list": ("sources", []),
    }

    def call(name: str, raw: Any) -> dict[str, Any]:
        items, rows = lists[name]
        start = int(raw.get("cursor", "0"))
        more = {"next_cursor": str(start + 2)} if start + 2 < len(rows) else {}
        return {items: rows[start : start + 2], **more}

    spool = ExportSpool(call, lambda read: None)
    spool.fill(filters or {}, (), with_observations=True)
    return spool


ADA, BOB = (
    entity(1, "Ada", name="Ada", n=1, deep={"a": [None]}),
    entity(2, "bob", name="bob", n=1.5, bad="\x01&<"),
)
ACME = entity(3, "Acme", "company", name="Acme", open=True)


def test_lines_have_what_identifies_each_end_and_what_merged_entities_said() -> None:
    merged = {**entity(4, "Bee"), "merged_to_entity_id": BOB["entity_id"]}
    gone = entity(9, "Gone")
    changed = observation(1, ADA, fields={"name": "Ada", "city": "x"})
    later = observation(2, ADA, fields={"name": "Ada L."}, identity_basis="target_id")
    seen = [
        later,
        changed,
        observation(3, BOB),
        observation(4, merged, fields={"k": 1}),
        observation(5, gone),
    ]
    spool = spool_of([ADA, BOB, ACME, merged], seen, [(ADA, ACME, {"since": 1}), (ADA, gone, {})])
    lines = [json.loads(line) for line in export_lines.json_lines(spool)]
    assert [line["canonical_name"] for line in lines] == ["Acme", "Ada", "bob"]
    acme, ada, bob = lines
    assert ada["identity"] == {
        "basis": "name",
        "fields": {"name": "Ada"},
        "observed_at": changed["observed_at"],
    }
    assert [each["fields"] for each in ada["observations"]] == [changed["fields"], later["fields"]]
    assert [(each["target"]["canonical_name"], each["metadata"]) for each in ada["relationships"]] == [
        ("Acme", {"since": 1})
    ]
    assert [each["fields"] for each in bob["observations"]] == [BOB["snapshot"], {"k": 1}]
    assert acme["identity"] == {"basis": "id", "fields": {"id": ACME["entity_id"]}}


def test_relations_of_the_memory_server_name_their_ends() -> None:
    other = entity(4, "ADA", "company", observations=["likes tea"], entity_type_text="Firm")
    spool = spool_of(
        [ADA, other], None, [(ADA, other, {"relation_types": ["works for", "likes"]}), (other, ADA, {})]
    )
    lines = [json.loads(line) for line in export_lines.memory_lines(spool)]
    assert [(line["name"], line["entityType"], line["observations"]) for line in lines[:2]] == [
        ("ADA", "Firm", ["likes tea"]),
        ("Ada (person)", "person", ["n: 1", 'deep: {"a":[null]}']),
    ]
    assert [(line["from"], line["relationType"]) for line in lines[2:]] == [
        ("Ada (person)", "works for"), ("Ada (person)", "likes"), ("ADA", "WORKS_AT"),
    ]  # fmt: skip


def test_a_graph_declares_the_types_of_attributes_and_has_no_character_that_xml_refuses() -> None:
    text = "".join(export_tables.graphml(spool_of([ADA, BOB, ACME], None, [(ADA, ACME, {"since": "2020"})])))
    root = ET.fromstring(text)
    keys = {key.get("attr.name"): key.get("attr.type") for key in root.iter() if key.tag.endswith("key")}
    assert (keys["n"], keys["open"], keys["deep"], keys["since"]) == ("string", "boolean", "string", "string")
    assert "\ufffd&amp;&lt;" in text
    assert next(edge for edge in root.iter() if edge.tag.endswith("edge")).get("target") == ACME["entity_id"]


def test_every_record_of_prov_is_declared() -> None:
    document = json.loads("".join(export_tables.prov_json(spool_of([ADA, BOB]))))
    assert set(document["activity"]) == {"graphmem:txn_1", "graphmem:txn_2"}
    assert set(document["agent"]) == {"graphmem:writer/local/anonymous/cli"}
    derived = document["wasDerivedFrom"].values()
    assert {each["prov:usedEntity"] for each in derived} <= set(document["entity"])


def test_cells_that_begin_as_formulas_are_texts_unless_they_are_to_be_exact() -> None:
    for value in ("=1+1", "+1", "-1", "@x", "\tx"):
        assert export_tables.safe_cell(value) == f"'{value}"
        assert export_tables.exact_cell(value) == value
    assert [export_tables.safe_cell(value) for value in (-1, None, True, "a=", ["="])] == [
        "-1",
        "",
        "true",
        "a=",
        '["="]',
    ]


def test_names_of_files_are_taken_by_every_system() -> None:
    for name in (
        "../../etc/passwd",
        "a/b\\c:d",
        "CON",
        "nul.txt",
        " . ",
        "",
        "x" * 300,
        "é\u0301" * 200,
        "a\x00b\n",
        "[[x]]|#",
    ):
        made = file_name(name)
        assert 0 < len(made.encode()) < 200
        assert made == made.strip(" .")
        assert not set(made) & set('<>:"/\\|?*\x00\n[]#|')
        assert made.upper() not in ("CON", "NUL.TXT")
    assert collision_key("STRASSE É") == collision_key("straße e\u0301")


def test_a_folder_written_again_keeps_what_people_did(tmp_path: Path) -> None:
    def written(*entities: dict[str, Any]) -> dict[str, int]:
        folder = NoteFolder(tmp_path)
        list(folder.write(spool_of(list(entities))))
        return dict(folder.counts)

    same = entity(5, "ADA", name="ADA")
    assert written(ADA, BOB, same) == {"written": 3}
    assert written(ADA, BOB, same) == {"unchanged": 3}
    assert {path.name for path in tmp_path.rglob("*.md")} == {"Ada 11111111.md", "ADA 55555555.md", "bob.md"}
    bob = tmp_path / "person/bob.md"
    bob.write_text(bob.read_text() + "mine")
    (tmp_path / "person/own.md").write_text("own")
    (tmp_path / "company").mkdir()
    (tmp_path / "company/Acme.md").write_text("own")
    assert written(ADA, same, ACME, {**BOB, "snapshot": {"name": "bob", "n": 2}}) == {
        "unchanged": 2, "edited": 1, "written": 1,
    }  # fmt: skip
    assert bob.read_text().endswith("mine")
    assert (tmp_path / "company/Acme.md").read_text() == "own"
    # Of what is gone, only the file that nobody edited is removed.
    assert written(ACME) == {"unchanged": 1, "removed": 2, "edited": 1}
    assert bob.exists()
    assert (tmp_path / "person/own.md").exists()
    assert not list(tmp_path.rglob("*.part"))
    (tmp_path / "person/bob.md").unlink()
    (tmp_path / "person/own.md").unlink()
    (tmp_path / "person").rmdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "person").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InvalidInput, match="is a link"):
        written(ADA)


def test_a_run_that_is_killed_leaves_files_that_the_next_one_knows(tmp_path: Path) -> None:
    for _ in NoteFolder(tmp_path).write(spool_of([ADA, BOB])):
        break
    (file,) = tmp_path.rglob("*.md")
    folder = NoteFolder(tmp_path)
    list(folder.write(spool_of([{**ADA, "snapshot": {"name": "Ada", "n": 2}}, BOB])))
    assert (folder.counts["written"], folder.counts["edited"]) == (2, 0)
    assert '"n": 2' in file.read_text()
    assert (tmp_path / JOURNAL).exists()


def test_exports_into_one_folder_at_the_same_time_follow_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts, real = list[dict[str, Any]](), os.replace

    def write() -> None:
        counts.append(export._write(spool_of([ADA, BOB]), "markdown", tmp_path, False, False, lambda: None))

    other = threading.Thread(target=write)

    def replace(*paths: Any) -> None:
        if other.ident is None:
            other.start()
            other.join(0.3)
        real(*paths)

    monkeypatch.setattr(os, "replace", replace)
    write()
    other.join()
    assert counts == [{"written": 2}, {"unchanged": 2}]


def test_an_exported_note_is_read_back_as_it_was(tmp_path: Path) -> None:
    odd = {
        "name": "Ada",
        "yes": "no",
        "a: b": ["x", {"y": None}],
        "e": 1e22,
        "t": "2026-01-01",
        "blank": "",
        "text": "a\u2028b\x85c\ud7ff😀\n---\n",
        "content": "# T\n\n---\n[[x]]",
        "identity": 3,
        "fields": {"x": 1},
    }
    ada = entity(1, "Ada", **odd)
    notes = NoteFolder(tmp_path)
    spool = spool_of(
        [ada, ACME],
        [observation(1, ada, fields={"name": "Ada"}), observation(2, ACME)],
        [(ada, ACME, {"since": "2020 ]]"})],
    )
    list(notes.write(spool))
    read = [
        read_note(path.relative_to(tmp_path).as_posix(), path.read_text("utf-8"))
        for path in sorted(tmp_path.rglob("*.md"))
    ]
    _, note = read
    assert (note.fields, note.observed_at) == (odd, "2026-02-01T00:00:00Z")
    first, second = NoteIndex(read).requests(note)
    assert [each["name"] for each in first["entities"]] == ["Ada", "Acme"]
    assert second["relationships"] == [
        {
            "relationship_type": "WORKS_AT",
            "source_entity_id": "$0",
            "target_entity_id": "$1",
            "metadata": {"since": "2020 ]]"},
        }
    ]


def test_a_note_that_somebody_edited_says_what_it_says_now(tmp_path: Path) -> None:
    list(NoteFolder(tmp_path).write(spool_of([ADA])))
    text = next(tmp_path.rglob("*.md")).read_text().replace('"n": 1', '"n": two words') + "\nA body."
    note = read_note("person/Ada.md", text)
    assert (note.fields["n"], note.fields["content"], note.observed_at) == ("two words", "A body.", None)


def test_notes_of_other_programs_are_linked_by_path_title_and_alias() -> None:
    texts = {
        "Ada.md": "---\ntype: person\nemail: a@b\naliases: [Countess]\nemployer: '[[Acme Inc]]'\n---\n"
        "- works at [[companies/acme]] #maths\n`[[code]]` see [[Nobody]], [A](companies/acme.md) #tag/sub\n"
        "```\n[[code]] #code\n```\n![[picture]]",
        "companies/acme.md": "---\ntype: company\nname: Acme Inc\n---\nled by [[countess|her]], [[acme]]",
        "a/Ideas.md": "one",
        "b/Ideas.md": "two",
        "broken.md": "---\na: [\n---\ntext",
    }
    notes = {name: read_note(name, text) for name, text in texts.items()}
    index = NoteIndex(notes.values())
    ada = notes["Ada.md"]
    assert (ada.entity_type, ada.fields["tags"], ada.fields["name"]) == (
        "person",
        ["maths", "tag/sub"],
        "Ada",
    )
    (request,) = index.requests(ada)
    ends = [
        (each["relationship_type"], request["entities"][each["target_index"]])
        for each in request["relationships"]
    ]
    acme = {"entity_type": "company", "name": "Acme Inc"}
    assert all((kind, acme) in ends for kind in ("RELATED_TO", "WORKS_AT", "REFERS_TO"))
    assert ("REFERS_TO", {"entity_type": "note", "title": "Nobody", "canonical_name": "Nobody"}) in ends
    (request,) = index.requests(notes["companies/acme.md"])
    assert request["entities"][1:] == [{"entity_type": "person", "email": "a@b"}]
    names = [notes[name].fields["canonical_name"] for name in ("a/Ideas.md", "b/Ideas.md")]
    assert names == ["Ideas", "b/Ideas"]
    assert notes["broken.md"].warnings
    assert notes["broken.md"].fields["content"] == "text"


def test_a_page_of_notion_has_its_properties_as_fields() -> None:
    one, two = "0" * 32, "1" * 32
    link = f"See [it](Other%20{one}.md)"
    text = f"# Buy milk\n\nStatus: Done\nDue: May 1\n\n{link}"
    note = read_note(f"Tasks {one}/Buy milk {two}.md", text, "task")
    assert note.fields == {"title": "Buy milk", "status": "Done", "due": "May 1", "content": link}
    assert note.links[0].target == f"Tasks {one}/Other {one}.md"


def test_a_relation_of_notion_is_a_relationship_to_each_of_its_pages() -> None:
    boats, people = f"Boats {'0' * 32}", f"People {'1' * 32}"
    name, ada = f"{boats}/Tern {'2' * 32}.md", f"{people}/Ada {'3' * 32}.md"
    pages = f"Ada (../{ada.replace(' ', '%20')}), Li, Bo (../{people.replace(' ', '%20')}/Bo%20{'4' * 32}.md)"
    tern = read_note(name, f"# Tern\n\nSkipper: {pages}\nLength: 7 (m)\n\nA boat.", "boats")
    assert (tern.fields["skipper"], tern.fields["length"]) == ("Ada, Li, Bo", "7 (m)")
    (request,) = NoteIndex([tern, read_note(ada, "# Ada", "person")]).requests(tern)
    assert [(link["relationship_type"], link["metadata"]) for link in request["relationships"]] == [
        ("RELATED_TO", {"relation_types": ["Skipper"]})
    ] * 2
    # A page that is not in the export has the type of its database.
    assert [item["name"] for item in request["entities"][1:]] == ["Ada", "Li, Bo"]
    assert {item["entity_type"] for item in request["entities"][1:]} == {"person"}


def test_pictures_and_comments_of_a_note_are_no_notes() -> None:
    text = (
        "![[Mast head.PNG]] ![](a.jpg) ![[Rig]]\n%%ask [[Bo]] #later%%\n```\n# no title\n```\n# The `mast`\n"
    )
    note = read_note("a.md", f"---\ncover: '[[deck.jpg]]'\n---\n{text}")
    assert [link.target for link in note.links] == ["Rig"]
    assert (note.fields["title"], "tags" in note.fields) == ("The `mast`", False)
