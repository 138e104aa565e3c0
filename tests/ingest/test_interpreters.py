"""All interpreters: proposals of the fixtures, the places of values, and that each can be stored."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphmem.ingest import InterpretationFailed, interpreter_for, propose
from graphmem.ingest.child import parsed_here
from graphmem.ingest.document import (
    PART_KINDS,
    DocumentLimits,
    FileSpan,
    ParsedDocument,
    ParseFailed,
    Part,
    PartField,
)
from graphmem.ingest.format_table import BY_NAME
from graphmem.ingest.interpreters import Interpreter, interpreter_table
from tests.contract.snapshots import ROOT
from tests.ingest.goldens import FILES, golden, golden_proposal, proposal
from tests.ingest.test_formats import SMALL, damages, json_of, leaves, squashed
from tests.ingest.test_parsing import LIBRARIES
from tests.ingest.test_table import PAGE
from tests.support.examples import examples
from tests.support.proposals import check_storable
from tests.support.walks import walk_over

FORMATS = sorted({format for interpreter in interpreter_table.INTERPRETERS for format in interpreter.formats})
INTERPRETED = [file for file in FILES if json.loads(golden(file).read_text())["format"] in FORMATS]
LABELS = [
    "name", "Name", "E-Mail", "type", "entity_type", "canonical_name", "observed_at", "data", "intent",
    "value", "span", "spans",
]  # fmt: skip
FUZZ = [HealthCheck.too_slow, HealthCheck.large_base_example, HealthCheck.data_too_large]


def holds(document: ParsedDocument, value: Any, span: FileSpan) -> bool:
    """Return whether a place holds a value, perhaps in the quotes and escapes of the file."""
    if span.start is None:
        return True
    text = document.text[span.start : span.end]
    return json_of(text) == value or all(squashed(leaf) in squashed(text) for leaf in leaves(value, ""))


@walk_over("file", FILES)
def test_a_fixture_has_its_golden_proposal(file: Path) -> None:
    assert proposal(file) == json.loads(golden_proposal(file).read_text(encoding="utf-8"))


@walk_over("file", INTERPRETED)
def test_the_place_of_a_field_holds_its_value(file: Path) -> None:
    document = parsed_here(file.read_bytes(), None, file.name, DocumentLimits())
    proposed = propose(document, file_name=file.name)
    check_storable(proposed)
    wrong = [
        (name, entity.fields[name])
        for entity in proposed.entities
        for name, span in entity.spans.items()
        if name != "sent_at" and not holds(document, entity.fields[name], span)
    ]
    assert wrong == []


@given(data=st.data())
@settings(examples(15, 100), suppress_health_check=FUZZ)
def test_a_damaged_file_has_a_proposal_that_can_be_stored(data: st.DataObject) -> None:
    file = data.draw(st.sampled_from(INTERPRETED))
    with contextlib.suppress(ParseFailed):
        document = parsed_here(data.draw(damages(file.read_bytes())), None, file.name, SMALL)
        if document.format in FORMATS:
            check_storable(propose(document, file_name=file.name))


@st.composite
def documents(draw: st.DrawFn) -> ParsedDocument:
    """Return any document: its parts need not fit its text."""
    text = draw(
        st.sampled_from(["", "[]", '[{"name": "a"}]', "name,type\nAda,person\n"]) | st.text(max_size=40)
    )
    spans = st.builds(
        lambda start, end, line: FileSpan(line=line, start=min(start, end), end=max(start, end)),
        st.integers(0, len(text)),
        st.integers(0, len(text)),
        st.integers(1, 9) | st.none(),
    ) | st.just(FileSpan())  # fmt: skip
    scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20)
    scalars |= st.sampled_from(
        ["2026-07-03", "2026-07-03T08:00:00Z", "a@example.org", "person", "x" * 1_000_001]
    )
    people = st.dictionaries(st.sampled_from(["name", "address"]), st.text(max_size=9), max_size=2)
    values = st.recursive(
        scalars | people,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
        max_leaves=6,
    )
    fields = st.builds(PartField, st.sampled_from(names()) | st.text(max_size=70), values, spans)
    parts = st.builds(
        Part,
        st.sampled_from(PART_KINDS),
        spans,
        st.integers(1, 6) | st.none(),
        st.lists(fields, max_size=8).map(tuple),
    )
    return ParsedDocument(
        text=text,
        parts=draw(st.lists(parts, max_size=6)),
        format=draw(st.sampled_from(FORMATS)),
        media_type="text/plain",
        parser="text",
        parser_version="1",
        title=draw(st.none() | st.text(max_size=9)),
        metadata=draw(st.dictionaries(st.sampled_from(metadata_names()), values, max_size=4)),
    )


def names() -> list[str]:
    """Return the names of fields that parsers give, and some more."""
    goldens = [json.loads(golden(file).read_text(encoding="utf-8")) for file in FILES]
    parts = [part for value in goldens for part in value.get("parts", ())]
    return sorted({field["name"] for part in parts for field in part.get("fields", ())} | set(LABELS))


def metadata_names() -> list[str]:
    """Return the names of metadata that parsers give."""
    goldens = [json.loads(golden(file).read_text(encoding="utf-8")) for file in FILES]
    return sorted({name for value in goldens for name in value.get("metadata", ())})


@given(document=documents(), file_name=st.none() | st.sampled_from(["people.csv", "a", "x" * 300]))
@settings(examples(15, 200), suppress_health_check=FUZZ)
def test_any_document_has_a_proposal_that_can_be_stored(
    document: ParsedDocument, file_name: str | None
) -> None:
    check_storable(propose(document, file_name=file_name))


def test_interpreters_import_nothing_before_they_are_needed_and_no_library_of_a_format() -> None:
    code = (
        "import sys, graphmem.ingest\nprint(*sys.modules)\n"
        "for row in graphmem.ingest.interpreters.interpreter_table.INTERPRETERS: row.load()\n"
        "print(*sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT, env=os.environ
    )
    at_once, later = (set(line.split()) for line in run.stdout.splitlines())
    assert not [name for name in at_once if name.startswith("graphmem.model")]
    assert not LIBRARIES & later


@pytest.mark.parametrize(
    "interpreter", interpreter_table.INTERPRETERS, ids=lambda interpreter: interpreter.name
)
def test_the_page_has_the_row_of_each_interpreter(interpreter: Interpreter) -> None:
    titles = ", ".join(BY_NAME[name].title for name in interpreter.formats)
    assert f"| `{interpreter.name}` | {titles} |" in PAGE


@pytest.mark.parametrize(("format", "name"), [("csv", "invented"), ("pdf", "rows")])
def test_an_interpreter_that_does_not_fit_is_refused(format: str, name: str) -> None:
    with pytest.raises(InterpretationFailed, match=name):
        interpreter_for(format, name)
