"""A service of neotoma as files of JSON Lines, as `graphmem export` writes them.

Its entities are read by id, and each file has those whose ids begin alike: so a run that was interrupted, or
a later one, makes the same bytes of what is as before, which are stored once.
"""

from __future__ import annotations

import copy
import itertools
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, Final
from urllib.parse import quote, urlsplit

import httpx

from graphmem.cli.exporting.export_spool import compact
from graphmem.cli.session import Session
from graphmem.cli.upload import LocalFile, patiently, warned
from graphmem.errors import AuthRequired, InvalidInput, NotFound, ServiceUnreachable
from graphmem.ingest.document import LEFT_OUT
from graphmem.model import identity, items

TOKEN: Final = "NEOTOMA_BEARER_TOKEN"  # the environment variable with the token
PAGE: Final = 100
FILE_ENTITIES: Final = 200  # about how many entities a file has
TIMEOUT_SECONDS: Final = 60.0
ANSWER_BYTES_LIMIT: Final = 64_000_000
LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")

Row = dict[str, Any]


class NeotomaReader:
    """Reads a service over REST. No redirect is followed: it could lead the token elsewhere."""

    def __init__(self, url: str) -> None:
        token = os.environ.get(TOKEN)
        self.not_imported: list[str] = []
        parts = urlsplit(url)
        if token and parts.scheme != "https" and parts.hostname not in LOOPBACK:
            raise InvalidInput(f"{TOKEN} would be sent in plain text: give an address with https://")
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.host = parts.netloc.rpartition("@")[2]
        self._http = httpx.Client(base_url=url.rstrip("/"), headers=headers, timeout=TIMEOUT_SECONDS)

    def _answer(self, method: str, path: str, **sent: Any) -> tuple[int, bytes]:
        try:
            with self._http.stream(method, path, **sent) as answer:
                data = bytearray()
                for chunk in answer.iter_bytes():
                    data += chunk
                    if len(data) > ANSWER_BYTES_LIMIT:
                        raise InvalidInput(
                            f"{self.host} answers more than {ANSWER_BYTES_LIMIT:,} bytes to {path}"
                        )
        except (httpx.HTTPError, httpx.InvalidURL) as exc:
            raise ServiceUnreachable(
                f"no service answers at {self.host}: {str(exc) or type(exc).__name__}", base_url=self.host
            ) from exc
        if answer.status_code in (401, 403):
            raise AuthRequired(f"{self.host} wants a token: set {TOKEN}")
        return answer.status_code, bytes(data)

    def _ask(self, method: str, path: str, missing: bool = False, **sent: Any) -> Row:
        status, data = self._answer(method, path, **sent)
        if missing and status == 404:
            return {}
        try:
            value = json.loads(data) if 200 <= status < 300 else None
        except ValueError:
            value = None
        if not isinstance(value, dict):
            message = f"{self.host} answers {status} to {method} {path}, not as neotoma does"
            raise ServiceUnreachable(message, base_url=self.host)
        return value

    def _listed(self, path: str, name: str) -> Iterator[Row]:
        for offset in itertools.count(0, PAGE):
            rows = self._ask("GET", path, params={"limit": PAGE, "offset": offset}).get(name) or []
            yield from (row for row in rows if isinstance(row, dict))
            if len(rows) < PAGE:
                return

    def entities(self) -> Iterator[Row]:
        """Yield the entities by their ids; the first has the number of all as ``total``."""
        cursor: str | None = ""
        while cursor is not None:
            query = {"limit": PAGE, "sort_by": "entity_id", "sort_order": "asc"}
            page = self._ask("POST", "/entities/query", json=query | ({"cursor": cursor} if cursor else {}))
            for row in page.get("entities") or []:
                if isinstance(row, dict) and isinstance(row.get("entity_id"), str):
                    yield {**row, "total": page.get("total") or 0}
            cursor = page.get("next_cursor")

    def entity(self, entity_id: str) -> Row | None:
        return self._ask("GET", f"/entities/{quote(entity_id, safe='')}", missing=True) or None

    def observations(self, entity_id: str) -> list[Row]:
        """Return the observations of an entity, the earliest first."""
        rows = list(self._listed(f"/entities/{quote(entity_id, safe='')}/observations", "observations"))
        return sorted(rows, key=lambda row: (str(row.get("observed_at")), str(row.get("id"))))

    def relationships(self) -> dict[str, list[Row]]:
        by_source: dict[str, list[Row]] = {}
        for row in self._listed("/relationships", "relationships"):
            if row.get("is_live") is not False:
                by_source.setdefault(str(row.get("source_entity_id")), []).append(row)
        return by_source

    @cached_property
    def sources(self) -> dict[str, Row]:
        kept = {"original_filename": "original_filename", "file_name": "original_filename"}
        kept |= {"content_hash": "content_hash", "mime_type": "mime_type"}
        return {
            str(row.get("id") or row.get("source_id")): {
                new: row[old] for old, new in kept.items() if row.get(old)
            }
            for row in self._listed("/sources", "sources")
        }

    def contents(self) -> Iterator[LocalFile]:
        """Yield the files whose bytes the service gives: what they say is in its entities already."""
        for source_id, row in self.sources.items():
            path = f"/sources/{quote(source_id, safe='')}/content"
            try:
                status, data = self._answer("GET", path)
            except InvalidInput as exc:
                self.not_imported.append(str(exc))
                continue
            name = row.get("original_filename") or source_id
            if status == 200 and data:
                yield LocalFile(f"{self.host}{path}", str(name), data, interpret=False)
            else:
                self.not_imported.append(f"the file {name}: {self.host} answers {status} to {path}")

    def schemas(self) -> Iterator[tuple[str, Row]]:
        counts = self._ask("GET", "/stats", missing=True).get("entities_by_type")
        for entity_type in counts if isinstance(counts, dict) else ():
            row = self._ask("GET", f"/schemas/{quote(entity_type, safe='')}", missing=True)
            if row.get("active") is not False and isinstance(row.get("schema_definition"), dict):
                names = "entity_type", "schema_definition", "reducer_config", "schema_version"
                yield entity_type, {name: row[name] for name in names if row.get(name)}

    def count_merged(self) -> int:
        totals = [
            self._ask("POST", "/entities/query", json={"limit": 1, "include_merged": included}).get("total")
            or 0
            for included in (True, False)
        ]
        return totals[0] - totals[1]


def neotoma_files(reader: NeotomaReader, url: str) -> Iterator[LocalFile]:
    """Yield what a service has, as files of lines, and its own files.

    What it has and does not give is added to ``reader.not_imported``.

    Raises ServiceUnreachable: it does not answer, or not as neotoma does. Raises AuthRequired: it wants
    another token.
    """
    lines = _Lines(reader)
    entities = reader.entities()
    first = list(itertools.islice(entities, 1))
    digits = max(1, len(f"{max(sum(row['total'] for row in first) // FILE_ENTITIES, 1):x}"))
    for prefix, group in itertools.groupby(
        itertools.chain(first, entities), key=lambda row: row["entity_id"].partition("_")[2][:digits]
    ):
        data = "".join(compact(lines.of(row)) + "\n" for row in group).encode()
        yield LocalFile(f"{url} {prefix}", f"neotoma {reader.host} {prefix}.jsonl", data)
    yield from reader.contents()
    if merged := reader.count_merged():
        text = f"{merged:,} merges: what was observed of the merged entities is in those that they are now"
        reader.not_imported.append(text)
    reader.not_imported.append("deleted entities and relationships, and the history of relationships")


class _Lines:
    """Makes lines of entities, and keeps what identifies those that relationships name."""

    def __init__(self, reader: NeotomaReader) -> None:
        self._reader = reader
        self._links, self._sources = reader.relationships(), reader.sources
        self._named: dict[str, Row | None] = {}

    def of(self, row: Row) -> Row:
        observations = [
            each for each in map(self._observation, self._reader.observations(row["entity_id"])) if each
        ]
        named = _named(row, observations)
        self._named[row["entity_id"]] = named
        who = named["identity"]["fields"]
        if observations and identity.CANONICAL_NAME in who:
            observations[0]["fields"].setdefault(identity.CANONICAL_NAME, who[identity.CANONICAL_NAME])
        links = map(self._link, self._links.get(row["entity_id"], []))
        return {**named, "observations": observations, "relationships": [each for each in links if each]}

    def _observation(self, row: Row) -> Row | None:
        fields = row.get("fields")
        if not isinstance(fields, dict) or "_deleted" in fields or not fields:
            return None
        # These names say how an item is stored; here they are no fields.
        kept = {name: value for name, value in fields.items() if name not in items.RESERVED}
        source = row.get("observation_source")
        line = {
            "observed_at": row.get("observed_at"),
            "fields": kept,
            "source_priority": row.get("source_priority") or 0,
            "specificity_score": 1 if row.get("specificity_score") is None else row["specificity_score"],
            "observation_source": source if source in items.OBSERVATION_SOURCES else "import",
            "recorded_at": row.get("created_at"),
            "observation_id": row.get("id"),
            "source": self._sources.get(str(row.get("source_id"))),
        }
        return {name: value for name, value in line.items() if value is not None} if kept else None

    def _link(self, row: Row) -> Row | None:
        target = self._end(str(row.get("target_entity_id")))
        if target is None:
            return None
        return {
            "relationship_type": row.get("relationship_type"),
            "target": target,
            "metadata": row.get("snapshot") or {},
            "observed_at": row.get("last_observation_at"),
        }

    def _end(self, entity_id: str) -> Row | None:
        if entity_id not in self._named:
            row = self._reader.entity(entity_id)
            observations = [] if row is None else self._reader.observations(entity_id)
            made = [each for each in map(self._observation, observations) if each]
            self._named[entity_id] = None if row is None else _named(row, made)
        return self._named[entity_id]


def _named(row: Row, observations: list[Row]) -> Row:
    """Return what names an entity, and what identifies it: fields of its first observation, else its name."""
    entity_type, name = str(row.get("entity_type")), row.get("canonical_name")
    canonical_type = (
        identity.normalise_type(entity_type) if identity.TYPE_SHAPE.fullmatch(entity_type) else entity_type
    )
    first = observations[0] if observations else {"fields": {}}
    named = {identity.CANONICAL_NAME: name or row["entity_id"]}
    basis = identity.identify("", canonical_type, first["fields"]).basis
    fields = first["fields"]
    if basis == identity.CONTENT:
        basis, fields = identity.CANONICAL_NAME, named
    who = identity.identifying_fields(canonical_type, basis, fields)
    at = {"observed_at": first["observed_at"]} if "observed_at" in first else {}
    return {
        "entity_type": entity_type,
        "entity_id": row["entity_id"],
        "canonical_name": name,
        "identity": {"basis": basis, "fields": who, **at},
    }


def _without_members(document: Row, paths: Iterable[str]) -> Row:
    """Return a schema without members that paths name, such as ``$.schema.fields.size.validator``."""
    made = copy.deepcopy(document)
    for path in paths:
        *way, last = path.split(".")[2:]
        part: Any = made
        for name in way:
            part = part.get(name) if isinstance(part, dict) else None
        if isinstance(part, dict):
            part.pop(last, None)
    return made


def register_schemas(session: Session, other: NeotomaReader) -> Iterator[dict[str, Any]]:
    """Register the schemas of types that have none here; yield what became of each."""
    known: list[str] = []
    for entity_type, document in other.schemas():
        try:
            patiently(session, "schemas.get", {"entity_type": entity_type})
            known.append(entity_type)
        except NotFound:
            yield {"file": f"schema of {entity_type}", **_registration(session, document)}
    if known:
        other.not_imported.append(f"the schemas of types that have one here: {', '.join(known)}")


def _registration(session: Session, document: dict[str, Any], left_out: Sequence[str] = ()) -> dict[str, Any]:
    """Register a schema without the members that are unknown here; return what became of it."""
    try:
        answer = patiently(session, "schemas.register", {"schema": document})
    except InvalidInput as exc:
        issues = exc.details.get("issues") or ()
        unknown = [each["path"] for each in issues if each.get("code") == "ERR_UNKNOWN_KEY"]
        known = _without_members(document, unknown)
        if known != document:
            return _registration(session, known, [*left_out, *unknown])
        return {"outcome": "failed", "error_code": exc.code, "message": str(exc)}
    texts = [each["message"] for each in answer["warnings"]]
    return {
        "outcome": "stored",
        **warned([*texts, *(f"{LEFT_OUT}{path} is left out: no such key" for path in left_out)]),
    }
