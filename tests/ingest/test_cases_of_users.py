"""Files that failed for users: what is in them comes in. Their folder is no part of this one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

import pytest

from graphmem.ingest import propose
from graphmem.ingest.child import parsed_here
from graphmem.ingest.document import DocumentLimits
from tests.contract.snapshots import ROOT

CASES: Final = Path(os.environ.get("GRAPHMEM_TEST_CASES", ROOT.parent / "shared" / "cases"))
EXPECTED: Final[dict[str, list[dict[str, Any]]]] = {
    "csv_excel_sep_line.csv": [{"name": "Gesa Plön", "email": "gesa@ploen.example"}],
    "csv_google_contacts_colon_separator.csv": [
        {
            "name": "Noor Castell",
            "email": "noor@castell.example",
            "emails": ["noor@castell.example", "noor@old.example", "n.castell@work.example"],
            "phones": ["+31 6 0000 1111", "+31 6 0000 2222"],
            "company": "Castell BV",
        },
        {"name": "Emil Castell", "email": "emil@castell.example", "phone": "+31 6 0000 3333"},
    ],
    "csv_google_contacts_first_last_name_has_no_name.csv": [
        {"first_name": "Liv", "last_name": "Sandoval", "email": "liv@sandoval.example", "job_title": "Owner"},
        {"first_name": "Otto", "last_name": "Sandoval", "phone": "+34 600 000 002"},
    ],
    "csv_title_line_above_header.csv": [
        {"name": "Bram Idsinga", "email": "bram@idsinga.example", "since": "2019"},
        {"name": "Fokje Idsinga", "city": "Bolsward", "file": "Contacts of the rowing club"},
    ],
    "csv_trailing_empty_column_no_header.csv": [
        {"name": "Caro Vint", "email": "caro@vint.example", "city": "Gent"},
        {"name": "Dirk Vint", "email": "dirk@vint.example", "city": "Brugge"},
    ],
    "memory_duplicate.jsonl": [{"name": "Maja Dupby", "observations": ["one", "two", "three"]}],
    "memory_torn_last.jsonl": [
        {"name": "Dag Tornby", "observations": ["one"]},
        {"name": "Eira Tornby", "observations": ["two"]},
    ],
    "memory_two_on_line.jsonl": [
        {"name": "Ansgar Twohill", "observations": ["likes tea"]},
        {"name": "Bodil Twohill", "observations": ["likes rye"]},
        {"name": "Cees Twohill", "observations": ["sails"]},
    ],
    "excel_unicode_text_not_a_table.txt": [{"name": "Ida Ströbel3", "email": "ida3@stroebel.example"}],
}
"""Some fields of each entity, in the order of the file."""

pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="there is no folder of cases")


@pytest.mark.parametrize("name", EXPECTED)
def test_a_file_of_a_user_comes_in(name: str) -> None:
    if not (CASES / name).exists():
        pytest.skip("the folder has no such case")
    document = parsed_here((CASES / name).read_bytes(), None, name, DocumentLimits())
    entities = propose(document, file_name=name).entities
    shown = [
        {field: entity.fields.get(field) for field in expected}
        for entity, expected in zip(entities, EXPECTED[name], strict=True)
    ]
    assert shown == EXPECTED[name]
