"""Files that failed for users: what is in them comes in."""

from __future__ import annotations

from typing import Any, Final

import pytest

from graphmem.ingest import propose
from graphmem.ingest.child import parsed_here
from graphmem.ingest.document import DocumentLimits
from tests.contract.snapshots import ROOT
from tests.support.walks import walk_over

FILES: Final = ROOT / "tests" / "data" / "files_of_users"
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
    "ics_all_day_end_is_one_day_late.ics": [
        {"title": "Regatta day", "date_start": "2026-07-15", "date_end": "2026-07-15"},
        {"title": "Regatta week", "date_start": "2026-07-15", "date_end": "2026-07-17"},
        {"title": "Regatta no end", "date_start": "2026-07-20", "date_end": None},
        {"title": "Outlook midnight", "date_start": "2026-07-15", "date_end": "2026-07-15"},
    ],
    "ics_exdate_dropped.ics": [
        {
            "date_start": "2026-06-01T09:00:00+02:00",
            "instance_dates": ["2026-06-22T09:00:00+02:00", "2026-06-29T09:00:00+02:00"],
        },
        {"title": "Weekly sync moved", "external_id": "g1@x", "date_start": "2026-06-16T14:00:00+02:00"},
    ],
    "ics_room_becomes_person_quoted_cn.ics": [
        {"attendees": ["Tuominen; Aino", "Piet de Rooy", "ilja@brandsma.example", "NoMail"]},
        {"name": "Brandsma, Ilja (Boats)", "email": "ilja@brandsma.example"},
        {"name": "Tuominen; Aino", "email": "aino@tuominen.example"},
        {"name": "Piet de Rooy", "email": "piet@derooy.example"},
        {"name": None, "email": "ilja@brandsma.example"},
        {"name": "Boat Room 3", "email": "room3@brandsma.example"},
    ],
    "ics_same_uid_moved_1_of_2.ics": [{"external_id": "m1@x", "date_start": "2026-09-01T08:00:00+00:00"}],
    "ics_same_uid_moved_2_of_2.ics": [{"external_id": "m1@x", "date_start": "2026-09-03T10:00:00+00:00"}],
    "ics_tzone_microsoft_custom_unquoted_loses_start.ics": [
        {"date_start": "2026-07-15T09:00:00+02:00", "date_end": "2026-07-15T10:00:00+02:00"},
        {"date_start": "2026-01-15T09:00:00+01:00"},
    ],
    "mail_raw_latin1_headers_garbled.eml": [
        {"subject": "Grüße vom Fluß", "content": "Äpfel und Öl."},
        {"name": "Jörgen Öst", "email": "jorgen@ost.example"},
        {"name": None, "email": "maj@tveit.example"},
    ],
    "mail_raw_utf8_headers_garbled.eml": [
        {"subject": "Grüße – 東京", "content": "Hei."},
        {"name": "Bjørn Bø", "email": "bjorn@bo2.example"},
        {"name": "Žofie Šedá", "email": "zofie@seda.example"},
    ],
    "mbox_unescaped_from_cuts_body.mbox": [
        {
            "subject": "First letter",
            "content": "Dear Maj,\n\nFrom Monday on the yard is closed.\n"
            "From the window I can see the sea.\n\nFrom here nothing else.",
        },
        {"name": "Ove Skarstein"},
        {"email": "maj@tveit.example"},
        {
            "subject": "Second letter",
            "content": "Quoting a mailbox:\n\nFrom somebody@else.example Sun Mar  1 07:00:00 2026\n"
            "that was the line.\n\nFrom escaped line stays.",
        },
    ],
    "utf16_without_bom_cyrillic_read_as_utf8.vcf": [{"name": "Майя Жданова", "phone": "+7 900 000 0001"}],
    "vcard21_quoted_printable_soft_breaks_refused.vcf": [
        {
            "name": "Ольга-Вероника Константиновна Преображенская-Рождественская",
            "given_name": "Ольга-Вероника",
            "family_name": "Преображенская-Рождественская",
            "notes": "Первая строка\nвторая строка; с точкой с запятой",
        }
    ],
    "vcard_n_without_fn_has_no_name.vcf": [{"name": "Sindre Aage Lorentzen", "phone": "+47 400 00 777"}],
    "chatgpt_hidden_message_as_shown.json": [
        {"external_id": "conv-hidden"},
        {"content": "Preferred name: Tilda Rooks\nAnswer in short lines.", "hidden": True},
        {"content": "Which paint for a wooden dinghy?", "hidden": None},
        {"content": "Use a two-part polyurethane.", "hidden": None, "current": True},
        {"content": "Thanks, how many coats?", "hidden": None},
        {"content": "Use oil paint (older branch).", "hidden": None, "current": False},
        {"content": "Secret hidden system text about the user", "hidden": True},
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


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("chatgpt_user_editable_context_lost.json", {"Preferred name: Tilda Rooks\nAnswer in short lines."}),
        ("chatgpt_zip_refused.zip", {"Anchor chain", "Bilge pump"}),
    ],
)
def test_a_chat_of_a_user_has_its_texts(name: str, texts: set[str]) -> None:
    document = parsed_here((FILES / name).read_bytes(), None, name, DocumentLimits())
    entities = propose(document, file_name=name).entities
    assert texts <= {entity.fields.get("content", entity.canonical_name) for entity in entities}


@walk_over("name", EXPECTED)
def test_a_file_of_a_user_comes_in(name: str) -> None:
    document = parsed_here((FILES / name).read_bytes(), None, name, DocumentLimits())
    entities = propose(document, file_name=name).entities
    shown = [
        {field: entity.fields.get(field) for field in expected}
        for entity, expected in zip(entities, EXPECTED[name], strict=True)
    ]
    assert shown == EXPECTED[name]
