"""What a contact labels is asked for by its label."""

from __future__ import annotations

import base64

import pytest

from tests.faces.test_sources import with_file
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


@pytest.mark.parametrize(
    ("table", "question", "phone"),
    [
        ("姓名,电话\n王伟,+86 10 1111\n李娜,+86 10 2222\n", "王伟的电话", "+86 10 1111"),
        ("姓,名,携帯電話\n山田,太郎,03-1111\n佐藤,花子,03-2222\n", "山田太郎の電話番号", "03-1111"),
        ("שם פרטי,שם משפחה,טלפון\nרות,כהן,03-1111\nדן,לוי,03-2222\n", "טלפון של רות כהן", "03-1111"),
        ("الاسم الكامل,الهاتف\nليلى حداد,010 1111\nسمير عيد,010 2222\n", "هاتف ليلى حداد", "010 1111"),
        ("Adı;Soyadı;Telefon\nAyşe;Kaya;0212 1111\nCem;Ak;0212 2222\n", "Ayşe Kaya's phone", "0212 1111"),
    ],
)
@pytest.mark.usefixtures("own_interpretations")
def test_the_phone_of_a_contact_list_in_any_script_is_asked_for(
    run: Call, table: str, question: str, phone: str
) -> None:
    run("store", **with_file(table.encode(), "list.csv"))
    lines = run("context.retrieve", question=question)["lines"]
    person = next(line for line in lines if "(person," in line and phone in line)
    assert f"phone: {phone}" in person
    assert "not known" not in person
