"""What a contact labels is asked for by its label."""

from __future__ import annotations

import base64

import pytest

from tests.support.faces import Call

CARDS = """BEGIN:VCARD
VERSION:3.0
FN:Runa Berthelsen
TEL;TYPE=CELL:+45 20 00 00 11
TEL;TYPE=WORK,FAX:+45 20 00 00 99
item1.EMAIL;type=INTERNET:runa@boat.example
item1.X-ABLabel:Boat club
item2.X-ABDATE:20111111
item2.X-ABLabel:_$!<Anniversary>!$_
item3.X-ABRELATEDNAMES:Aksel Berthelsen
item3.X-ABLabel:_$!<Brother>!$_
END:VCARD
BEGIN:VCARD
VERSION:3.0
FN:Aksel Berthelsen
TEL:+45 30 00 00 12
END:VCARD
"""


@pytest.mark.parametrize(
    ("question", "name", "value"),
    [
        ("Runa's fax", "Runa Berthelsen", "+45 20 00 00 99"),
        ("What is Runa Berthelsen's mobile phone?", "Runa Berthelsen", "+45 20 00 00 11"),
        ("When is Runa's anniversary?", "Runa Berthelsen", "2011-11-11"),
        ("Who is Runa's brother?", "Runa Berthelsen", "Aksel Berthelsen"),
    ],
)
def test_a_label_is_asked_for(run: Call, question: str, name: str, value: str) -> None:
    content = base64.b64encode(CARDS.encode()).decode()
    run("store.unstructured", file_content=content, original_filename="people.vcf")
    lines = run("context.retrieve", question=question, format="fields")["lines"]
    assert lines[0]["entity_name"] == name
    assert value in run("context.retrieve", question=question)["lines"][0]
