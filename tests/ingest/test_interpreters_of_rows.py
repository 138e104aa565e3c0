"""The interpreter of rows: their types, names, values and places."""

from __future__ import annotations

import io
import json
from functools import partial
from typing import Any

import openpyxl
import pytest

from graphmem.ingest import InterpretationFailed, propose
from graphmem.ingest.child import parsed_here
from graphmem.ingest.document import DocumentLimits
from graphmem.ingest.interpreters.labels import field_name
from graphmem.ingest.interpreters.proposal_draft import FIELDS_LIMIT, VALUE_CHARACTERS_LIMIT
from graphmem.model import identity
from tests.support.long_texts import lines_run
from tests.support.proposals import check_storable, proposal_of, types_and_fields
from tests.support.walks import walk_over


@walk_over(
    "name, text, expected",
    [
        ("a.csv", "entity_type,name\nSales Order,A\n", "sales_order"),
        ("a.csv", "type,name\nboat,A\n", "boat"),
        ("a.csv", "name,city\nAda,Ockham\n", "record"),
        ("a.csv", "type,name\nb,A\n", "record"),
        ("Sheet1.csv", "name,city\nAda,Ockham\n", "record"),
        ("expenses 2026-07 (1).csv", "what,amount\nCoffee,3\n", "expenses"),
        ("a.csv", "Name,E-Mail\nAda,ada@example.org\n", "person"),
        ("vendors.csv", "First Name,Last Name\nAda,Byron\n", "person"),
        ("a.json", '{"rowers": [{"name": "Ada"}], "total": 1}', "rowers"),
        ("invoices.csv", "vendor,type\nA,paper\n", "invoice"),
        ("invoices.csv", "vendor,type\nA,task\n", "task"),
        ("folder/People.csv", "name,city\nAda,Ockham\n", "person"),
        ("a.json", '{"people": [{"name": "Ada"}], "total": 1}', "person"),
        ("a.json", '{"name": "Tide", "tasks": [{"title": "a"}]}', "record"),
        ("march.csv", "Date,Amount,Text\n2026-03-01,-3.20,Tea\n", "transaction"),
        ("march.csv", "Type,Date,Amount,Text\nCARD_PAYMENT,2026-03-01,-3.20,Tea\n", "transaction"),
        ("work.csv", "Date,Hours,Task\n2026-03-01,3.5,Sails\n", "work"),
        ("march.csv", "Invoice No,Date,Amount,Text\nR-7,2026-03-01,3.20,Tea\n", "march"),
        ("a.csv", "姓名\n王小明\n", "person"),
        ("a.csv", "ФИО;Город\nИванов Иван;Москва\n", "person"),
        ("a.csv", "Full name,City\nAda Byron,Ockham\n", "person"),
        ("a.csv", "Invoice No,Full name\nR-7,Ada Byron\n", "record"),
    ],
)
def test_the_type_of_a_row_comes_from_the_first_that_says_it(name: str, text: str, expected: str) -> None:
    assert [entity.entity_type for entity in proposal_of(name, text).entities] == [expected]


def test_an_empty_cell_does_not_change_the_type_of_a_row() -> None:
    texts = {
        "club.csv": "Name,E-Mail,Phone\nAda,ada@example.org,1\nBob,,2\n",
        "phone_book.tsv": "Full Name\tEmail\tPhone\nRhea Moss\trhea@moss.example\t1\nBob\t\t2\n",
        "card.csv": "First Name,Last Name,Phone,Company\nAda,Byron,1,\nBob,,2,\n,,3,Acme\n",
    }
    types = [[entity.entity_type for entity in proposal_of(*file).entities] for file in texts.items()]
    assert types == [["person", "person"], ["person", "person"], ["person", "person", "card"]]


def test_first_and_last_names_of_other_languages_name_people() -> None:
    for first, last in (("Vorname", "Nachname"), ("Prénom", "Nom"), ("Имя", "Фамилия"), ("First", "Last")):
        text = f"{first};{last};Ort\nAda;Byron;Oslo\nBob;;Rom\n"
        assert types_and_fields(proposal_of("a.csv", text)) == [
            ("person", {"first_name": "Ada", "last_name": "Byron", "ort": "Oslo"}),
            ("person", {"first_name": "Bob", "ort": "Rom"}),
        ]
    assert types_and_fields(proposal_of("a.csv", "Nom;Prix\nPain;1,50\n"))[0][1] == {
        "nom": "Pain",
        "prix": 1.5,
    }


@walk_over(
    "header, row, expected",
    [
        ("姓名,联系电话,公司", "王伟,010 1,茶馆", {"name": "王伟", "phone": "010 1", "company": "茶馆"}),
        ("姓,名,手机号码", "王,伟,138", {"name": "王伟", "mobile_phone": "138", "phone": "138"}),
        ("氏名,フリガナ,電話番号", "山田太郎,ヤマダ,03 1", {"name": "山田太郎", "フリガナ": "ヤマダ"}),
        ("姓,名,メールアドレス", "佐藤,さくら,s@x.example", {"name": "佐藤さくら", "email": "s@x.example"}),
        ("성,이름,휴대폰", "김,민수,010 1", {"name": "김민수", "phone": "010 1"}),
        ("ФИО,Телефон", "Иванов Пётр,+7 9", {"name": "Иванов Пётр", "phone": "+7 9"}),
        ("Фамилия,Имя,Эл. почта", "Петрова,Анна,a@x.example", {"first_name": "Анна", "email": "a@x.example"}),
        ("ΟΝΟΜΑ,ΕΠΩΝΥΜΟ,ΤΗΛΕΦΩΝΟ", "Μαρία,Παππά,210", {"first_name": "Μαρία", "last_name": "Παππά"}),
        ("שם פרטי,שם משפחה,טלפון", "רות,כהן,03", {"first_name": "רות", "last_name": "כהן", "phone": "03"}),
        ("שם,דוא״ל", "רות כהן,r@x.example", {"name": "רות כהן", "email": "r@x.example"}),
        ("الاسم الأول,اسم العائلة,البريد الإلكتروني", "ليلى,حداد,l@x.example", {"last_name": "حداد"}),
        (
            "ADI,SOYADI,CEP TELEFONU",
            "Ayşe,Kaya,05",
            {"first_name": "Ayşe", "last_name": "Kaya", "phone": "05"},
        ),
        ("Ad Soyad,E-posta,Şirket", "Ayşe Kaya,a@x.example,Boğaz", {"name": "Ayşe Kaya", "company": "Boğaz"}),
        ("Imię i nazwisko,Nr telefonu", "Anna Nowak,600", {"name": "Anna Nowak", "phone": "600"}),
        ("Jméno,Příjmení,Telefonní číslo", "Jana,Nová,777", {"first_name": "Jana", "phone": "777"}),
        ("Nome,Apelido,Telemóvel", "Rita,Matos,91", {"last_name": "Matos", "mobile_phone": "91"}),
        (
            "Naam,E-mailadres,Bedrijf",
            "Sanne Bos,s@x.example,Kaai",
            {"email": "s@x.example", "company": "Kaai"},
        ),
        ("Förnamn,Efternamn,E-post", "Elsa,Lind,e@x.example", {"last_name": "Lind", "email": "e@x.example"}),
        (
            "Name,Vorname,Telefon",
            "Dahl,Ilka,030",
            {"first_name": "Ilka", "last_name": "Dahl", "phone": "030"},
        ),
    ],
)
def test_columns_of_people_are_known_in_many_languages(
    header: str, row: str, expected: dict[str, str]
) -> None:
    [person] = proposal_of("list_7.csv", f"{header}\n{row}\n").entities
    assert person.entity_type == "person"
    assert {name: person.fields.get(name) for name in expected} == expected


def test_a_table_of_other_things_keeps_its_columns() -> None:
    for header in ("Nombre,Dirección,Teléfono", "名称,数量,单位", "Firma,Telefon,E-Mail"):
        [row] = proposal_of("stock.csv", f"{header}\nLuna,Calle 1,91\n").entities
        assert row.entity_type == "stock"
        assert list(row.fields) == [*map(field_name, header.split(","))]


@pytest.mark.parametrize("number", ["Mitgliedsnummer", "Member no.", "Numéro de client", "会员号", "Kd.-Nr."])
def test_the_number_of_a_member_tells_rows_of_a_table_apart(number: str) -> None:
    text = "{};Vorname;Nachname;Ort\n12;Anna;Nowak;Kiel\n40;Anna;Nowak;Ulm\n41;Ute;Kranz;Ulm\n"
    proposal = proposal_of("list_7.csv", text.format(number))
    names = [entity.canonical_name for entity in proposal.entities]
    assert names == ["Anna Nowak · 12", "Anna Nowak · 40", None]
    assert proposal.warnings == ()
    assert len({*identities("list_7.csv", text.format(number))}) == 3
    [kept] = proposal_of("fees.csv", f"{number},Fee\n12,30\n").entities
    assert kept.canonical_name == "12"


def test_the_columns_of_a_table_say_how_dates_and_amounts_are_written() -> None:
    text = "Nr;Due;Paid on;Amount\nA1;31/08/2026;28.02.26;1.284,50\nA2;01/09/2026;;960\n"
    fields = [each for _, each in types_and_fields(proposal_of("dues.csv", text))]
    assert [each["due"] for each in fields] == ["2026-08-31", "2026-09-01"]
    assert [each["amount"] for each in fields] == [1284.5, 960]
    assert fields[0]["paid_on"] == "2026-02-28"
    proposed = proposal_of("dues.csv", "Nr,Due,Size\nA1,03/04/2026,1.284\nA2,05/06/2026,2.345\n")
    assert [(each["due"], each["size"]) for _, each in types_and_fields(proposed)] == [
        ("03/04/2026", "1.284"),
        ("05/06/2026", "2.345"),
    ]
    assert any("the day or the month comes first" in each for each in proposed.warnings)


def test_the_configuration_gives_the_type_of_rows() -> None:
    proposed = proposal_of("people.csv", "vendor,type\nA,paper\n", configuration={"entity_type": "Invoices"})
    assert types_and_fields(proposed) == [("invoice", {"vendor": "A", "type": "paper"})]


@pytest.mark.parametrize("configuration", [{"entity_type": "!"}, {"entity_type": 3}, {"unknown": 1}])
def test_a_wrong_configuration_is_refused(configuration: dict[str, Any]) -> None:
    with pytest.raises(InterpretationFailed):
        proposal_of("a.csv", "a,b\n1,2\n", configuration=configuration)


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("First  Name", "first_name"),
        ("E-Mail", "email"),
        ("birthDate", "birth_date"),
        ("VATNumber", "vat_number"),
        ("Größe (cm)", "größe_cm"),
        ("_id", "id"),
        ("#", "#"),
    ],
)
def test_a_label_becomes_the_name_of_a_field(label: str, expected: str) -> None:
    assert field_name(label) == expected


def test_columns_of_address_books_are_lists_names_and_addresses() -> None:
    google = (
        "First Name,Last Name,Labels,E-mail 1 - Label,E-mail 1 - Value,E-mail 2 - Value,Organization Name\n"
        "Ada,Byron,* mine ::: Work,* Home,ada@a.example ::: ada@b.example,byron@c.example,Engine Ltd\n"
        "Bob,Lee,,,bob@a.example,,\n"
    )
    document = parsed_here(google.encode(), None, "google.csv", DocumentLimits())
    ada, bob = propose(document).entities
    emails = ["ada@a.example", "ada@b.example", "byron@c.example"]
    assert dict(ada.fields) == {
        "first_name": "Ada", "last_name": "Byron", "labels": ["mine", "Work"],
        "home_email": emails[:2],
        "email": emails[0], "emails": emails, "company": "Engine Ltd",
    }  # fmt: skip
    assert dict(bob.fields) == {"first_name": "Bob", "last_name": "Lee", "email": "bob@a.example"}
    assert document.text[ada.spans["email"].start : ada.spans["email"].end] == emails[0]
    outlook = "First Name,Last Name,E-mail Address,E-mail 2 Address\nAda,Byron,ada@a.example,{}\n"
    assert proposal_of("outlook.csv", outlook.format("")).entities[0].fields["email"] == "ada@a.example"
    both = proposal_of("outlook.csv", outlook.format("ada@b.example")).entities[0].fields
    assert both["emails"] == ["ada@a.example", "ada@b.example"]
    german = "E-Mail-Adresse,E-Mail 2: Adresse\nada@a.example,ada@b.example\n"
    assert proposal_of("outlook.csv", german).entities[0].fields["emails"] == emails[:2]


def test_equal_bookings_are_as_many_as_the_file_has() -> None:
    rows = ["05.01.2026;-3,20;Coffee"] * 3 + ["06.01.2026;-41,00;Ferry", "Total;-50,60;"]
    proposed = proposal_of("bookings.csv", "\n".join(["Date;Amount;Text", *rows]) + "\n")
    own = [entity.fields.get("occurrence") for entity in proposed.entities]
    assert own == [None, 2, 3, None]
    assert [warning for warning in proposed.warnings if "one entity" in warning] == []
    assert proposed.warnings == ("The row in row 6 is one of sums: it is left out.",)
    # Neither sums nor balances keep the others from being read as days and amounts.
    rows = ["28.12.2025;-1.000,00;Rent", "Neuer Kontostand;2.417,08 EUR;", "27.12.2025;-3,20;Tea"]
    rent, tea = types_and_fields(proposal_of("a.csv", "\n".join(["Tag;Betrag;Text", *rows]) + "\n"))
    assert (rent[1]["betrag"], tea[1]["tag"]) == (-1000.0, "2025-12-27")
    # Names that come again are those of who was paid; others name things of their own.
    rows = ["2026-01-05,Kiosk,-3.20", "2026-01-05,Kiosk,-3.20", "2026-01-06,Ferry,-41.00"]
    paid = proposal_of("may.csv", "\n".join(["Date,Name,Amount", *rows]) + "\n").entities
    assert [entity.fields.get("occurrence") for entity in paid] == [None, 2, None]
    plans = proposal_of("plans.csv", "\n".join(["Date,Name,Amount", *rows[1:]]) + "\n").entities
    assert {entity.entity_type for entity in plans} == {"plans"}
    # A list of something else has no bookings: equal rows are one.
    proposed = proposal_of("towns.csv", "Town,Country\nOslo,Norway\nOslo,Norway\n")
    assert "are one entity" in proposed.warnings[0]


@pytest.mark.parametrize(
    "label", ["Account;NO93;", "IBAN:;NO93", "Kontonummer: NO93", "Numéro de compte;NO93;\nName;Ilka Dahl;"]
)
def test_the_label_above_bookings_says_of_which_account_they_are(label: str) -> None:
    table = "Date;Text;Amount\n28.12.2025;Coffee;-3,20\n28.12.2025;Coffee;-3,20\n;Note alone;\n"
    rows = [
        fields for _, fields in types_and_fields(proposal_of("may.csv", f"Statement\n{label}\n\n{table}"))
    ]
    assert [(row.get("account"), row.get("occurrence")) for row in rows] == [
        ("NO93", None), ("NO93", 2), (None, None),
    ]  # fmt: skip


def test_a_label_in_a_column_of_its_own_names_the_value_beside_it() -> None:
    google = (
        "First Name,Last Name,Phone 1 - Type,Phone 1 - Value,Phone 2 - Type,Phone 2 - Value,"
        "Relation 1 - Type,Relation 1 - Value,Event 1 - Label,Event 1 - Value\n"
        "Ada,Byron,Work Fax,+45 1,* Other,+45 2,Domestic Partner,Bo Lee,Anniversary,2011-11-11\n"
        "Bob,Lee,,+45 3,Mobile,,,,,\n"
    )
    ada, bob = propose(parsed_here(google.encode(), None, "google.csv", DocumentLimits())).entities
    assert dict(ada.fields) == {
        "first_name": "Ada", "last_name": "Byron", "work_fax": "+45 1", "domestic_partner": "Bo Lee",
        "anniversary": "2011-11-11", "phone": "+45 1", "phones": ["+45 1", "+45 2"],
    }  # fmt: skip
    assert dict(bob.fields) == {"first_name": "Bob", "last_name": "Lee", "phone": "+45 3"}


def test_labels_that_are_no_text_are_kept() -> None:
    text = '{"title": "Shopping", "labels": [{"name": "home"}], "mime_type": 3}'
    assert dict(proposal_of("keep.json", text).entities[0].fields) == {
        "title": "Shopping", "labels": [{"name": "home"}], "mime_type": 3,
    }  # fmt: skip


def test_a_person_with_a_first_name_alone_is_called_by_it() -> None:
    text = "First Name,Last Name,Email,Phone,Notes\nAda,,ada@a.example,1,x\nBob,,,2,x\nBob,,,3,x\nCy,,,,x\n"
    names = [entity.canonical_name for entity in proposal_of("a.csv", text).entities]
    assert names == [None, "Bob · 2", "Bob · 3", "Cy · x"]


def test_numbers_of_several_kinds_are_the_phones_of_a_person() -> None:
    outlook = "First Name,Last Name,Home Phone,Mobile Phone\nAda,Byron,1,2\nBob,Lee,,3\n"
    ada, bob = (entity.fields for entity in proposal_of("a.csv", outlook).entities)
    assert dict(ada) == {
        "first_name": "Ada", "last_name": "Byron", "home_phone": "1", "mobile_phone": "2", "phone": "1",
        "phones": ["1", "2"],
    }  # fmt: skip
    assert dict(bob) == {"first_name": "Bob", "last_name": "Lee", "mobile_phone": "3", "phone": "3"}
    thunderbird = (
        "First Name,Last Name,Primary Email,Secondary Email,Work Phone\nAda,Lee,a@a.example,a@b.example,1\n"
    )
    fields = proposal_of("a.csv", thunderbird).entities[0].fields
    assert (fields["email"], fields["emails"]) == ("a@a.example", ["a@a.example", "a@b.example"])
    assert (fields["secondary_email"], fields["phone"]) == ("a@b.example", "1")
    assert "phone" not in proposal_of("calls.csv", "Mobile Phone,Day\n2,Monday\n").entities[0].fields


def test_a_row_that_nothing_names_is_called_by_its_values_and_stays_itself() -> None:
    text = "id,day,what,price\n7,2026-07-03,Coffee,3.50\n,2026-07-04,Coffee,3.50\n,2026-07-05," + "x" * 200
    proposed = proposal_of("spent.csv", text + ",3\n,2026-07-06," + "x" * 200 + ",4\n")
    names = [entity.canonical_name for entity in proposed.entities]
    assert names[:2] == ["Coffee · 2026-07-03 · 3.50", "Coffee · 2026-07-04 · 3.50"]
    assert names[2:] == ["x" * 120 + "…"] * 2
    assert (
        proposal_of("project.json", '{"project": "Tide", "open": true}').entities[0].canonical_name == "Tide"
    )


def test_a_long_row_that_nothing_names_is_itself_in_every_file() -> None:
    row = "2026-07-05;-3,20;" + "Card payment at the kiosk of the harbour " * 4
    first = identities("may.csv", f"Date;Amount;Text\n{row}\n")
    both = identities("june.csv", f"Date;Amount;Text\n2026-07-01;-1,00;Tea\n{row}\n{row}\n")
    assert len({*both}) == 3
    assert first == both[1:2]


def test_the_name_of_a_sheet_and_of_a_file_stays_with_its_rows() -> None:
    text = "Members of the rowing club,\nName,E-Mail\nAda,ada@example.org\n"
    assert proposal_of("a.csv", text).entities[0].fields["file"] == "Members of the rowing club"
    assert proposal_of("rowing club.csv", text.partition("\n")[2]).entities[0].fields["file"] == "rowing club"
    assert "file" not in proposal_of("people.csv", text.partition("\n")[2]).entities[0].fields
    book = openpyxl.Workbook()
    book.worksheets[0].title = "Harbour crew"
    for row in (["Name", "E-Mail"], ["Ada", "ada@example.org"]):
        book.worksheets[0].append(row)
    stream = io.BytesIO()
    book.save(stream)
    [ada] = propose(parsed_here(stream.getvalue(), None, "book.xlsx", DocumentLimits())).entities
    assert dict(ada.fields) == {"name": "Ada", "email": "ada@example.org", "sheet": "Harbour crew"}


def test_a_text_with_a_header_and_tabs_is_a_table() -> None:
    text = "Name\tE-Mail\r\nAda\tada@example.org\r\n"
    for data in (text.encode("utf-16"), text.encode()):
        document = parsed_here(data, "text/plain", "a.txt", DocumentLimits())
        assert (document.format, document.media_type) == ("csv", "text/tab-separated-values")
    log = "2026-07-03\tINFO\n2026-07-03\tINFO\n"
    assert parsed_here(log.encode(), None, "a.txt", DocumentLimits()).format == "text"


def test_columns_with_a_meaning_of_their_own_are_no_fields() -> None:
    header = "canonical_name,Observed at,intent,city,City"
    text = f"{header}\nAda,2026-07-03,create_new,Ockham,London\nBob,soon,,Oslo,\n"
    proposed = proposal_of("people.csv", text)
    assert [(e.canonical_name, e.observed_at, dict(e.fields)) for e in proposed.entities] == [
        ("Ada", "2026-07-03", {"city": "Ockham", "city_2": "London"}),
        ("Bob", None, {"city": "Oslo"}),
    ]
    assert len(proposed.warnings) == 2


def test_the_elements_of_a_list_in_an_object_have_their_places() -> None:
    text = '{\n "total": 2, "people": [{"name": "Ada"},\n  {"name": "Bob", "age": 3}]}'
    document = parsed_here(text.encode(), None, "a.json", DocumentLimits())
    proposed = propose(document)
    assert [entity.span and entity.span.line for entity in proposed.entities] == [2, 3]
    bob = proposed.entities[1]
    assert {name: text[span.start : span.end] for name, span in bob.spans.items()} == {
        "name": '"Bob"',
        "age": "3",
    }
    assert "total" in proposed.warnings[0]


def test_a_long_name_of_a_column_is_shortened() -> None:
    question = "How likely is it that you recommend our tea house at the quay to "
    [answer] = proposal_of("survey.csv", f"Name,{question}a friend?,{question}others?\nAda,9,3\n").entities
    short = "how_likely_is_it_that_you_recommend_our_tea_house_at_the_qua"
    assert dict(answer.fields) == {"name": "Ada", short: "9", f"{short}_2": "3"}


def test_what_could_not_be_stored_is_left_out_with_a_warning() -> None:
    deep: Any = "x"
    for _ in range(99):
        deep = [deep]
    row = {"name": "Ada", "intent": 1, "long": "x" * VALUE_CHARACTERS_LIMIT, "deep": deep, "empty": None}
    more = {f"f{number}": number for number in range(FIELDS_LIMIT)}
    proposed = proposal_of(
        "people.jsonl", f'{json.dumps(row)}\n{json.dumps(more)}\n{{"data": {{"a": 1}}}}\n{{}}\n'
    )
    assert set(proposed.entities[0].fields) == {"name", "deep"}
    assert len(proposed.entities) == 2
    assert len(proposed.warnings) == 4
    check_storable(proposed)


def test_many_labels_of_one_name_take_no_time() -> None:
    def text(count: int) -> str:
        separators = str.maketrans("01", " -")
        return json.dumps([{f"a{number:012b}".translate(separators): number for number in range(count)}])

    [entity] = proposal_of("people.json", text(3_000)).entities
    assert list(entity.fields.values()) == [*range(FIELDS_LIMIT)]
    few, many = (lines_run(partial(proposal_of, "people.json"), text(count)) for count in (600, 1_200))
    assert many <= 2.6 * few


def test_equal_rows_that_nothing_names_are_said_to_be_one_entity() -> None:
    rows = "date,amount\n2026-07-03,3.50\n2026-07-04,3.50\n2026-07-03,3.50\n"
    proposed = proposal_of("transactions.csv", rows)
    assert len(proposed.entities) == 3
    assert proposed.warnings == ("Equal rows without a name or an id are one entity: the one in row 4 too.",)
    assert proposal_of("people.csv", "name,city\nAda,Oslo\nAda,Oslo\n").warnings == ()


def test_rows_that_only_their_name_makes_one_entity_are_told() -> None:
    proposed = proposal_of("spent.csv", "Name,Sum\nCoop,12\nCoop,7\nRema,5\nRema,5\n")
    [warning] = proposed.warnings
    assert warning.startswith("Rows with the name 'Coop' are one entity")
    people = "Name,Email,City\nAda,a@a.example,Oslo\nAda,b@b.example,Rome\n"
    assert not proposal_of("people.csv", people).warnings


def identities(name: str, text: str) -> list[str]:
    """Return the ids of the entities that the rows of a table are about."""
    found = []
    for each in proposal_of(name, text).entities:
        named = {"canonical_name": each.canonical_name} if each.canonical_name else {}
        fields = {**each.fields, **named}
        found.append(identity.identify("", each.entity_type, fields, each.identified_by).entity_id)
    return found


INVOICES = "Rechnungs-Nr.;Kunde;Betrag;Status\nR-17;Kern;500;{}\nR-18;Lind;70;offen\n"


@pytest.mark.parametrize("name", ["invoices.csv", "rechnungen.csv", "export 2026.csv"])
def test_a_row_is_one_by_the_number_in_its_column_when_it_changes(name: str) -> None:
    before, after = (identities(name, INVOICES.format(status)) for status in ("offen", "bezahlt"))
    assert before == after
    assert len({*before}) == 2


def test_a_number_that_comes_twice_is_that_of_another_thing() -> None:
    rows = "Invoice No,Item,Sum\nR-17,Chair,5\nR-17,Desk,9\nR-18,Lamp,2\n"
    assert len({*identities("positions.csv", rows)}) == 3


def test_rows_of_one_number_are_told() -> None:
    [warning] = proposal_of("invoices.csv", "Invoice No,Sum\nR-17,5\nR-17,9\n").warnings
    assert warning.startswith("Rows with the number 'R-17' are one entity")


def test_a_column_that_only_looks_like_a_number_is_proposed() -> None:
    rows = "Kennung,Summe\nAB-1,5\nAB-2,9\nAB-3,2\n"
    [warning] = proposal_of("umsatz.csv", rows).warnings
    assert warning.startswith("The column kennung looks as if it identified the rows")
    assert "schema of umsatz" in warning
    twice = rows + "AB-3,7\n"
    assert proposal_of("umsatz.csv", twice).warnings == ()


def test_tables_in_a_text_are_read_where_that_is_wanted() -> None:
    text = "---\ntype: person\n---\n| Name | Role |\n|---|---|\n| Ada | lead |\n"
    configuration = {"entity_type": "contact"}
    proposed = proposal_of("a.md", text, name="tables", configuration=configuration)
    assert types_and_fields(proposed) == [("contact", {"name": "Ada", "role": "lead"})]


def test_a_file_with_several_sheets_does_not_name_them() -> None:
    book = openpyxl.Workbook()
    for title in ("Invoices", "Other"):
        sheet = book.create_sheet(title)
        sheet.append(["Vendor", "City"])
        sheet.append(["Acme", "Oslo"])
    book.remove(book.worksheets[0])
    stream = io.BytesIO()
    book.save(stream)
    document = parsed_here(stream.getvalue(), None, "people.xlsx", DocumentLimits())
    proposed = propose(document, file_name="people.xlsx")
    assert [entity.entity_type for entity in proposed.entities] == ["invoice", "record"]
