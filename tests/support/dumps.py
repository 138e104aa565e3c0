"""Dumps in tests: a rich state to store, all answers about it, and a way to delete it."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, LiteralString

from graphmem import dump
from graphmem.context import Services
from graphmem.dump import CreateResult, RestoreResult, verifying
from graphmem.dump.container import DumpWriter
from graphmem.dump.verifying import VerifyResult
from graphmem.model.fact_records import Record
from tests.support.event_loop import Loop
from tests.support.examples import LONG
from tests.support.faces import Call

LARGE = 10**70 + 7
"""An integer that no 64 bits hold."""


def store_rich_example(call: Call) -> dict[str, str]:
    """Store a state in which everything occurs that is a fact; return ids by name."""
    call("schemas.register", schema={
        "entity_type": "wine", "aliases": ["vintage"],
        "fields": {
            "name": {"type": "string"}, "year": {"type": "number"},
            "notes": {"type": "array", "merge": "merge_array"},
        },
    })  # fmt: skip
    items = [
        {"entity_type": "person", "name": "Ada Lovelace", "email": "ada@example.org", "born": 1815},
        {"entity_type": "person", "name": "Ada Byron", "phone": "+44 1632 960000"},
        {"entity_type": "person", "name": "Ada King", "born": 1815.0},
        {"entity_type": "company", "name": "Analytical Engines 株式会社 \u0000🜁"},
        {"entity_type": "wine", "name": "Ridge", "year": "1971", "notes": ["cedar"], "hidden": True},
        {"entity_type": "vintage", "name": "Ridge", "notes": ["plum", "cedar"]},
        {"entity_type": "note", "text": "x" * 200_000, "many": list(range(500)), "none": None},
        {"entity_type": "thing", "name": "n", "large": LARGE, "zero": -0.0, "tiny": 5e-324, "deep": [{}]},
        {"entity_type": "thing", "intent": "create_new", "name": "n"},
    ]  # fmt: skip
    links = [
        {"relationship_type": "WORKS_AT", "source_index": 0, "target_index": 3, "metadata": {"since": 1843}},
        {"relationship_type": "WORKS_AT", "source_index": 1, "target_index": 3},
        {"relationship_type": "ADMIRES", "source_index": 2, "target_index": 0},
    ]
    answer = call("store", entities=items, relationships=links, idempotency_key="first")
    ids = [entity["entity_id"] for entity in answer["entities"]]
    ada, byron, king, company, wine = ids[0], ids[1], ids[2], ids[3], ids[4]
    earlier = {"target_id": ada, "born": 1816, "observed_at": "1990-01-01T00:00:00Z"}
    call("store", entities=[{**earlier, "expected_version": 1}])
    # The second transaction records the same observation as well.
    call("store", entities=[earlier])
    call("entities.correct", entity_id=ada, field="born", value=1815, idempotency_key="right")
    call("schemas.update", entity_type="wine", new_fields={"hidden": "boolean"})
    call("store", entities=[{"entity_type": "wine", "name": "Ridge", "hidden": False}])
    call("entities.merge", source_entity_id=byron, target_entity_id=ada, merge_reason="one person")
    call("entities.merge", source_entity_id=king, target_entity_id=ada)
    call("store", entities=[{"target_id": byron, "title": "Countess"}])
    call("entities.unmerge", source_entity_id=king)
    call("entities.dismiss_duplicates", entity_a=ada, entity_b=king, reason="mother and daughter")
    call("entities.dismiss_duplicates", entity_a=byron, entity_b=wine)
    call("entities.dismiss_duplicates", entity_a=byron, entity_b=wine, undo=True)
    keys = [edge["relationship_key"] for edge in answer["relationships_created"]]
    call("relationship_types.rename", relationship_type="ADMIRES", name="ADORES")
    call("relationships.delete", relationship_key=keys[2])
    call("relationships.restore", relationship_key=keys[2])
    call("relationships.delete", relationship_key=keys[2])
    call("entities.delete", entity_id=ids[7])
    call("entities.delete", entity_id=ids[6])
    call("entities.restore", entity_id=ids[6])
    call("store", entities=items[:1], idempotency_key="again")
    letter = base64.b64encode(b"Dear Ada").decode()
    call("store", file_content=letter, mime_type="text/plain", original_filename="letter.txt")
    copy = {"file_content": letter, "original_filename": "copy", "file_idempotency_key": "letter"}
    source_id = call("store", entities=[{"target_id": ada, "seen": True}], **copy)["source_id"]
    read = {"target_id": ada, "greeted": True, "spans": {"greeted": {"line": 1, "quote": "Dear Ada"}}}
    link = {"relationship_type": "REFERS_TO", "source_index": 0, "target_entity_id": company}
    call("interpretations.create", source_id=source_id, entities=[read], relationships=[link], model="m")
    _withdraw(call, ada)
    _split(call, ada, keys[0], wine)
    names = "ada", "byron", "king", "company", "wine"
    return dict(zip(names, (ada, byron, king, company, wine), strict=True))


def _withdraw(call: Call, ada: str) -> None:
    """Withdraw one file with what it said, and another for a while."""
    items = [{"target_id": ada, "title": "Princess"}, {"entity_type": "company", "name": "Lovelace & Co"}]
    link = {"relationship_type": "WORKS_AT", "source_index": 0, "target_index": 1}
    for content in (b"never", b"for a while"):
        file = {"file_content": base64.b64encode(content).decode(), "mime_type": "text/plain"}
        source_id = call("store", entities=items, relationships=[link], **file)["source_id"]
        call("sources.withdraw", source_id=source_id, reason="a draft")
        call("store", entities=[{"target_id": ada, "late": content.decode()}], **file)
    call("sources.reinstate", source_id=source_id)


def _split(call: Call, ada: str, key: str, wine: str) -> None:
    """Split one entity with a relationship, and another for a while."""
    title = {"field": "title", "value": "Countess"}
    new = {"entity_type": "person", "canonical_name": "The other Ada"}
    call(
        "entities.split", source_entity_id=ada, observation_field_equals=title, new_entity=new,
        relationships=[key], reason="mother and daughter",
    )  # fmt: skip
    hidden = {"field": "hidden", "value": False}
    new = {"entity_type": "wine", "canonical_name": "Another Ridge"}
    answer = call("entities.split", source_entity_id=wine, observation_field_equals=hidden, new_entity=new)
    call("entities.unsplit", split_id=answer["split_id"])


def all_answers(call: Call) -> dict[str, Any]:
    """Return all answers about an owner: now, and as of the moments at which something changed."""
    page = {"limit": 500, "include_total_count": True}
    answers = {
        "entities": call("entities.query", include_deleted=True, **page),
        "relationships": call("relationships.list", include_deleted=True, **page),
        "observations": call("observations.query", include_deleted=True, include_excluded=True, **page),
        "schemas": call("schemas.list"),
        "sources": call("sources.list", **page),
        "interpretations": call("interpretations.list", **page),
        "stats": call("server.stats"),
    }
    # It depends on when the worker ran.
    del answers["stats"]["types_pending"]
    for schema in answers["schemas"]["schemas"]:
        entity_type = schema["entity_type"]
        answers[f"schema {entity_type}"] = call("schemas.get", entity_type=entity_type)
    moments = sorted({fact["recorded_at"] for fact in answers["observations"]["observations"]})
    # In an ordinary run each moment is looked at of some entity, in a long run each third of every entity.
    step = 3 if LONG else 12
    for number, entity in enumerate(answers["entities"]["entities"]):
        entity_id = entity["entity_id"]
        for clock in ("at", "at_ingested"):
            for moment in moments[0 if LONG else number % step :: step]:
                arguments = {"entity_id": entity_id, "include_deleted": True, clock: moment}
                answers[f"{entity_id} {clock} {moment}"] = _or_error(call, "entities.snapshot", **arguments)
        proposed = _or_error(call, "entities.duplicates", entity_id=entity_id, include_dismissed=True)
        answers[f"duplicates {entity_id}"] = proposed
        answers[f"related {entity_id}"] = _or_error(call, "entities.related", entity_id=entity_id)
    for answer in answers.values():
        if isinstance(answer, dict):
            # How many entities wait depends on when the worker ran, too.
            answer.pop("pending", None)
    return answers


def _or_error(call: Call, name: str, **arguments: Any) -> Any:
    try:
        return call(name, **arguments)
    except Exception as exc:
        return type(exc).__name__


WIPE: tuple[LiteralString, ...] = (
    "MATCH (n:Entity|Relationship) WHERE n.owner = $owner MATCH (n)-[:HAS_HISTORY]->(history) "
    "CALL (history) { DETACH DELETE history } IN TRANSACTIONS OF 10 ROWS",
    "MATCH (n) WHERE n.owner = $owner CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 10 ROWS",
    "MATCH (n:Owner {id: $owner}) DETACH DELETE n",
)


def wipe(loop: Loop, services: Services, owner: str) -> None:
    """Delete everything of an owner, as if nothing had ever been stored."""
    for statement in WIPE:
        loop.run(services.database.script(statement, owner=owner))
    services.type_aliases.forget(owner)


class Dumps:
    """Dumps of one owner, made and restored in this process."""

    def __init__(self, loop: Loop, services: Services, owner: str, folder: Path) -> None:
        self.loop, self.services, self.owner, self.folder = loop, services, owner, folder
        self.with_files = True

    def create(self, name: str = "dump", *owners: str) -> CreateResult:
        """Dump some owners, or the owner of these dumps if none is named."""
        path = self.folder / name
        return self.loop.run(
            dump.create(
                self.services.database, path, owners or [self.owner],
                objects=self.services.objects if self.with_files else None, force=True,
                keys=self.services.keys,
            )
        )  # fmt: skip

    def restore(
        self, made: CreateResult | Path, progress: Callable[..., None] | None = None, **how: Any
    ) -> RestoreResult:
        """Restore a dump."""
        where = made.path if isinstance(made, CreateResult) else made
        database, vocabulary, writers = (
            self.services.database,
            self.services.vocabulary,
            self.services.writers,
        )
        how.setdefault("objects", self.services.objects)
        how.setdefault("keys", self.services.keys)
        return self.loop.run(dump.restore(database, vocabulary, writers, where, progress=progress, **how))

    def wipe(self) -> None:
        """Delete everything of the owner."""
        wipe(self.loop, self.services, self.owner)

    def verify(self, where: Path) -> VerifyResult:
        """Read a dump to its end, and check all of it."""
        return verifying.verify(where, keys=self.services.keys)

    def records(self, made: CreateResult | Path) -> list[Record]:
        """Return the records of a dump."""
        where = made.path if isinstance(made, CreateResult) else made
        with verifying.open_file(where) as file:
            return list(verifying.read(file, keys=self.services.keys))

    def root(self, made: CreateResult | Path) -> str:
        """Return a hash that dumps of equal facts share: two sealed dumps never have the same root."""
        if self.services.keys is not None:
            path = made.path if isinstance(made, CreateResult) else made
            return verifying.records_hash(path, self.services.keys)[1]
        return made.manifest.root if isinstance(made, CreateResult) else self.verify(made).manifest.root

    def forge(self, made: CreateResult, change: Callable[[Record], Record | None]) -> Path:
        """Write a dump of changed records in clear, with the manifest that fits them; return its path.

        Args:
            change: returns a record as the dump has it, ``None`` for a record that the dump lacks.
        """
        path = made.path.with_name("forged")
        contents: dict[str, Any] = {"owners": [], "relationship_types": 0}
        header = replace(verifying.verify(made.path).header, sealed=None)
        with path.open("wb") as out:
            writer = DumpWriter(out, files=header.files)
            for record in filter(None, map(change, self.records(made))):
                writer.add(record.line())
                verifying._count(contents, record, header)
            writer.finish(contents)
        return path
