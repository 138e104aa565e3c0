"""Tables and graphs for other programs: CSV, GraphML and PROV-JSON."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final
from xml.sax.saxutils import escape, quoteattr

from graphmem.cli.exporting.export_spool import ExportSpool, Row, compact, fields_of

FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
"""Beginnings of cells that spreadsheets take for formulas, or that hide one."""
ENDS: Final = ("source_entity_id", "source_name", "target_entity_id", "target_name")
RELATIONSHIPS: Final = "relationships"
_NO_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
REPLACED: Final = "\ufffd"  # what stands for a character that no XML can hold
_SOFTWARE: Final = {"$": "prov:SoftwareAgent", "type": "prov:QUALIFIED_NAME"}
_GRAPHML_TYPES: Final[dict[type, str]] = {bool: "boolean", int: "long", float: "double"}


def csv_tables(spool: ExportSpool, cell: Callable[[Any], Any]) -> Iterator[tuple[str, Iterator[str]]]:
    """Yield the name of each table and its lines: one for each type, and one for the relationships.

    ``cell``: makes a value a cell; see :func:`safe_cell` and :func:`exact_cell`.
    """
    for entity_type in spool.types():
        yield entity_type, _table(spool, entity_type, cell)
    yield RELATIONSHIPS, _relationships(spool, cell)


def _table(spool: ExportSpool, entity_type: str, cell: Callable[[Any], Any]) -> Iterator[str]:
    names = sorted({name for row in spool.entities(entity_type) for name in row["snapshot"]})
    first = ("entity_id", "canonical_name")
    # The file has a name column of its own where a field has the same name.
    yield _line(cell, [*first, *names])
    for row in spool.entities(entity_type):
        yield _line(cell, [*(row[name] for name in first), *(row["snapshot"].get(name) for name in names)])


def _relationships(spool: ExportSpool, cell: Callable[[Any], Any]) -> Iterator[str]:
    yield _line(cell, ["relationship_type", *ENDS, "metadata"])
    for row in spool.relationships():
        ends: list[str] = []
        for entity_id in (row["source_entity_id"], row["target_entity_id"]):
            entity = spool.entity(entity_id)
            ends += entity_id, "" if entity is None else entity["canonical_name"]
        yield _line(cell, [row["relationship_type"], *ends, row["snapshot"] or None])


def _line(cell: Callable[[Any], Any], values: Iterable[Any]) -> str:
    file = io.StringIO()
    csv.writer(file, lineterminator="\r\n").writerow([cell(value) for value in values])
    return file.getvalue()


def exact_cell(value: Any) -> Any:
    """Return a value as a cell: a text as it is, null as nothing, all else as JSON."""
    return "" if value is None else value if isinstance(value, str) else compact(value)


def safe_cell(value: Any) -> Any:
    """Return a value as a cell; a text that a spreadsheet could take for a formula gets an apostrophe."""
    text = exact_cell(value)
    return f"'{text}" if isinstance(value, str) and value.startswith(FORMULA) else text


def graphml(spool: ExportSpool) -> Iterator[str]:
    """Yield a graph: entities are nodes, relationships edges. Lists and objects are JSON texts."""
    nodes = _keys((row["snapshot"] for row in spool.entities()), ("entity_type", "canonical_name"), "n")
    edges = _keys((row["snapshot"] for row in spool.relationships()), ("relationship_type",), "e")
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
    for kind, keys in (("node", nodes), ("edge", edges)):
        for name, (key, form) in keys.items():
            yield f'<key id="{key}" for="{kind}" attr.name={_attribute(name)} attr.type="{form}"/>\n'
    yield '<graph edgedefault="directed">\n'
    for row in spool.entities():
        values = {**row["snapshot"], **{name: row[name] for name in ("entity_type", "canonical_name")}}
        yield f'<node id="{row["entity_id"]}">{_data(values, nodes)}</node>\n'
    for row in spool.relationships():
        ends = f'source="{row["source_entity_id"]}" target="{row["target_entity_id"]}"'
        data = _data({**row["snapshot"], "relationship_type": row["relationship_type"]}, edges)
        yield f"<edge id={_attribute(row['relationship_key'])} {ends}>{data}</edge>\n"
    yield "</graph>\n</graphml>\n"


def _keys(rows: Iterable[Row], own: tuple[str, ...], prefix: str) -> dict[str, tuple[str, str]]:
    """Return the key and the type of each attribute. One with values of several types is a string."""
    forms = dict.fromkeys(own, "string")
    for row in rows:
        for name, value in row.items():
            form = _GRAPHML_TYPES.get(type(value), "string")
            form = "string" if form == "long" and abs(value) >= 1 << 63 else form
            forms[name] = form if forms.get(name, form) == form else "string"
    return {name: (f"{prefix}{number}", form) for number, (name, form) in enumerate(forms.items())}


def _data(values: Row, keys: dict[str, tuple[str, str]]) -> str:
    texts = ((keys[name][0], exact_cell(value)) for name, value in values.items() if value is not None)
    return "".join(f'<data key="{key}">{escape(_NO_XML.sub(REPLACED, text))}</data>' for key, text in texts)


def _attribute(text: str) -> str:
    return quoteattr(_NO_XML.sub(REPLACED, text))


def prov_json(spool: ExportSpool) -> Iterator[str]:
    """Yield a document of W3C PROV: what was observed, from which file, by whom, and what is shown of it."""
    yield '{"prefix":{"graphmem":"urn:graphmem:"}'
    of_observations = {
        "activity": lambda row: (_named(row["transaction_id"]), {"prov:endTime": row["recorded_at"]}),
        "agent": lambda row: (_agent(row), {
            "prov:type": _SOFTWARE, "prov:label": row["provenance"]["client"] or row["provenance"]["agent"],
        }),
        "wasGeneratedBy": lambda row: (f"_:g-{row['id']}", {
            "prov:entity": _named(row["id"]), "prov:activity": _named(row["transaction_id"]),
            "prov:time": row["recorded_at"],
        }),
        "wasAttributedTo": lambda row: (
            f"_:a-{row['id']}", {"prov:entity": _named(row["id"]), "prov:agent": _agent(row)}
        ),
    }  # fmt: skip
    for section, records in (
        ("entity", _prov_entities(spool)),
        *((section, map(record, spool.observations())) for section, record in of_observations.items()),
        ("wasDerivedFrom", _prov_derivations(spool)),
    ):
        yield f',\n"{section}":{{'
        written, count = set[str](), 0
        for name, record in records:
            if name in written:
                continue
            yield f"{',' if count else ''}\n{compact(name)}:{compact(record)}"
            count += 1
            # Only these come more than once.
            if section in ("activity", "agent"):
                written.add(name)
        yield "}"
    yield "}\n"


def _named(name: str) -> str:
    return f"graphmem:{name}"


def _kind(name: str) -> Row:
    return {"$": _named(name), "type": "prov:QUALIFIED_NAME"}


def _prov_entities(spool: ExportSpool) -> Iterator[tuple[str, Row]]:
    for row in spool.entities():
        values = {_named(name): exact_cell(value) for name, value in row["snapshot"].items()}
        kind = _kind(row["entity_type"])
        yield _named(row["entity_id"]), {**values, "prov:type": kind, "prov:label": row["canonical_name"]}
    for row in spool.observations():
        value = compact(fields_of(row))
        yield _named(row["id"]), {"prov:type": _kind("observation"), "prov:value": value}
    for row in spool.sources():
        label = row["original_filename"] or row["source_id"]
        hashed = {_named("content_hash"): row["content_hash"]}
        yield _named(row["source_id"]), {"prov:type": _kind("source"), "prov:label": label, **hashed}


def _agent(row: Row) -> str:
    writer = row["provenance"]
    account = (writer["by"] or {}).get("account", "") if isinstance(writer["by"], dict) else ""
    text = "/".join(str(part) for part in (account, writer["agent"], writer["client"]) if part)
    return _named("writer/" + re.sub(r"[^\w/.-]", "_", text))


def _prov_derivations(spool: ExportSpool) -> Iterator[tuple[str, Row]]:
    for row in spool.entities():
        for observation in sorted({each for text in row["provenance"].values() for each in text.split(",")}):
            used = {"prov:usedEntity": _named(observation)}
            name = f"_:s-{row['entity_id']}-{observation}"
            yield name, {"prov:generatedEntity": _named(row["entity_id"]), **used}
    for row in spool.observations():
        if spool.source(row["source_id"]) is not None:
            ends = {"prov:generatedEntity": _named(row["id"]), "prov:usedEntity": _named(row["source_id"])}
            kind = {"$": "prov:PrimarySource", "type": "prov:QUALIFIED_NAME"}
            yield f"_:d-{row['id']}", {**ends, "prov:type": kind}
