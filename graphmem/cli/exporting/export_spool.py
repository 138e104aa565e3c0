"""A copy of what an export holds, in a temporary database on the disk.

Lists answer entities, observations and relationships each on their own, and a format needs them together:
so memory stays small however much is exported, and each list is read once, from front to back.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Self

from graphmem.model import facts, identity

Row = dict[str, Any]
Call = Callable[[str, Mapping[str, Any]], Row]  # calls an operation by its name; returns its answer
PAGE: Final = 500
FEW_ENTITIES: Final = 1_000
"""Up to so many entities that filters chose are asked for one by one; of more, whole lists are read."""


def _script(name: str) -> str:
    return Path(__file__).with_name(f"{name}.sql").read_text("utf-8")


def compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class ExportSpool:
    """The entities, observations, relationships and sources of one export."""

    def __init__(self, call: Call, tell: Callable[[str], None]) -> None:
        """Make an empty one. ``tell``: called with what was read so far, such as ``500 entities``."""
        self._call, self._tell = call, tell
        self._database = sqlite3.connect("", isolation_level=None)
        self._database.executescript(_script("tables"))
        self._database.execute("BEGIN")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def fill(self, filters: Mapping[str, Any], ids: Iterable[str], *, with_observations: bool) -> None:
        """Read what is to be exported. ``filters``: those of the list of entities.

        Raises NotFound: there is no entity of one of the ids.
        """
        chosen = list(ids)
        for entity_id in chosen:
            self._add_entity(self._call("entities.get", {"entity_id": entity_id}))
        if not chosen:
            query = {"filters": {**filters, "include_merged": True}, "sort_by": "entity_id"}
            for row in self._pages("entities.query", query, "entities"):
                self._add_entity(row)
        is_few = bool(chosen) or (bool(set(filters) - {"entity_types"}) and self.count <= FEW_ENTITIES)
        names = [row["entity_id"] for row in self.entities()] if is_few else [None]
        for name in names:
            about = {} if name is None else {"filters": {"entity_id": name}}
            for row in self._pages("relationships.list", about, "relationships"):
                ends = row["source_entity_id"], row["target_entity_id"]
                self._insert("relationship", row["relationship_key"], *ends, row["relationship_type"], row)
            if with_observations:
                for row in self._pages("observations.query", about, "observations"):
                    self._insert("observation", row["id"], name or row["entity_id"], row["observed_at"], row)
        if with_observations:
            for row in self._pages("sources.list", {}, "sources"):
                self._insert("source", row["source_id"], row)
        self._settle()

    def _pages(self, operation: str, query: Mapping[str, Any], items: str) -> Iterator[Row]:
        cursor: str | None = ""
        count = 0
        while cursor is not None:
            page = self._call(operation, {**query, "limit": PAGE, **({"cursor": cursor} if cursor else {})})
            yield from page[items]
            cursor, count = page.get("next_cursor"), count + len(page[items])
            self._tell(f"{count:,} {items}")

    def _insert(self, table: str, *values: Any) -> None:
        *plain, row = values
        marks = ", ".join("?" * len(values))
        insert = f"INSERT OR IGNORE INTO {table} VALUES ({marks})"  # noqa: S608
        self._database.execute(insert, (*plain, compact(row)))

    def _add_entity(self, row: Row) -> None:
        if "merged_to_entity_id" in row:
            into = row["entity_id"], row["merged_to_entity_id"]
            self._database.execute("INSERT OR IGNORE INTO merged VALUES (?, ?)", into)
        else:
            self._insert("entity", row["entity_id"], row["entity_type"], row["canonical_name"], row)

    @property
    def count(self) -> int:
        return self._database.execute("SELECT count(*) FROM entity").fetchone()[0]

    def types(self) -> list[str]:
        return [row[0] for row in self._database.execute("SELECT DISTINCT type FROM entity ORDER BY 1")]

    def _rows(self, query: str, *values: Any) -> Iterator[Row]:
        for (text,) in self._database.execute(query, values):
            yield json.loads(text)

    def entities(self, entity_type: str | None = None) -> Iterator[Row]:
        """Yield the entities, as the list answers them, by type, name and id."""
        if entity_type is None:
            return self._rows("SELECT row FROM entity ORDER BY type, name, id")
        return self._rows("SELECT row FROM entity WHERE type = ? ORDER BY name, id", entity_type)

    def entity(self, entity_id: str) -> Row | None:
        return next(self._rows("SELECT row FROM entity WHERE id = ?", entity_id), None)

    def relationships(self, source: str | None = None) -> Iterator[Row]:
        """Yield the relationships between exported entities, or those of them from one entity."""
        if source is None:
            return self._rows("SELECT row FROM relationship ORDER BY source, type, target")
        return self._rows("SELECT row FROM relationship WHERE source = ? ORDER BY type, target", source)

    def _settle(self) -> None:
        """Give observations of merged entities to what these are merged into; drop what is not exported."""
        self._database.executescript(_script("settle"))

    def observations(self, entity_id: str | None = None) -> Iterator[Row]:
        """Yield the observations of one entity, or of all that are exported; the earliest first."""
        if entity_id is None:
            return self._rows("SELECT row FROM observation ORDER BY entity_id, observed_at, id")
        return self._rows(
            "SELECT row FROM observation WHERE entity_id = ? ORDER BY observed_at, id", entity_id
        )

    def source(self, source_id: str | None) -> Row | None:
        return next(self._rows("SELECT row FROM source WHERE id = ?", source_id), None)

    def sources(self) -> Iterator[Row]:
        return self._rows("SELECT row FROM source ORDER BY id")

    def identity(self, entity_id: str) -> Row:
        """Return what identifies an entity, as a line of an export has it; see :func:`identity_of`."""
        known = next(self._rows("SELECT row FROM identity WHERE entity_id = ?", entity_id), None)
        if known is None:
            known = identity_of(entity_id, self.observations(entity_id))
            self._insert("identity", entity_id, known)
        return known


def identity_of(entity_id: str, observations: Iterable[Row]) -> Row:
    """Return the basis of an entity's id, the fields that have it, and when they were observed.

    The earliest observation that was identified by its own fields has them. An entity of which there is none
    has its id as the field ``id``: where it is imported, it gets another one.
    """
    for row in observations:
        basis = row["identity_basis"]
        if row["kind"] not in facts.VALUE_KINDS or basis in (None, "", "target_id", identity.NEW):
            continue
        fields = fields_of(row)
        if row["entity_id"] == entity_id and "home_entity_id" not in row:
            if basis != identity.CONTENT:
                fields = identity.identifying_fields(row["entity_type"], basis, fields)
            return {"basis": basis, "fields": fields, "observed_at": row["observed_at"]}
    return {"basis": "id", "fields": {"id": entity_id}}


def fields_of(row: Row) -> Row:
    """Return the fields of an observation, the canonical name among them."""
    name = {identity.CANONICAL_NAME: row["canonical_name"]} if "canonical_name" in row else {}
    return {**row["fields"], **name}
