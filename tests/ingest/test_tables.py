"""Tables with delimiters: what a program wrote comes back, each cell with its place; and the header rule."""

from __future__ import annotations

import csv
import io

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.ingest.building import Builder, normal
from graphmem.ingest.child import parsed_here
from graphmem.ingest.document import DocumentLimits, ParsedDocument, ParseFailed
from graphmem.ingest.format_table import BY_NAME
from graphmem.ingest.formats import delimited
from graphmem.ingest.formats.delimited import DELIMITERS
from graphmem.ingest.tabular import Columns, is_header
from tests.support.walks import walk_over

NAMES = ["aa", "bb", "cc"]
CELLS = st.text(st.sampled_from("ab é1\n,;\t|\"'"), max_size=8)


def parse(data: bytes) -> ParsedDocument:
    builder = Builder(DocumentLimits(), BY_NAME["csv"])
    delimited.parse(builder, data, "a.csv")
    return builder.document()


def document_of(rows: list[list[str]], delimiter: str, quoting: int = csv.QUOTE_MINIMAL) -> ParsedDocument:
    stream = io.StringIO(newline="")
    csv.writer(stream, delimiter=delimiter, quoting=quoting).writerows(rows)  # type: ignore[arg-type]
    return parse(stream.getvalue().encode())


@given(
    rows=st.lists(st.lists(CELLS, min_size=3, max_size=3), max_size=8),
    delimiter=st.sampled_from(DELIMITERS),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
def test_the_cells_that_were_written_come_back_with_their_places(
    rows: list[list[str]], delimiter: str, quoting: int
) -> None:
    document = document_of([NAMES, *rows], delimiter, quoting)
    assert document.metadata["delimiter"] == delimiter
    read = {part.span.row: {field.name: field for field in part.fields} for part in document.parts}
    for number, row in enumerate(rows, 2):
        fields = read.get(number, {})
        values = [fields[name].value if name in fields else "" for name in NAMES]
        # Where cells look like a file with a space after each delimiter, spaces at the beginning are skipped.
        assert [value.lstrip(" ") for value in values] == [normal(cell).lstrip(" ") for cell in row]
        for field in fields.values():
            place = document.text[field.span.start : field.span.end]
            assert place in (field.value, field.value.replace('"', '""'))


@walk_over(
    "cells, expected",
    [
        (["name", "mail"], True),
        (["", "name", "mail"], True),
        (["Name"], True),
        (["name", ""], True),
        (["name", "", "mail"], False),
        (["name", "12.50"], False),
        (["Ada", "2024-01-05"], False),
        (["Ada", "ada@example.org"], False),
        (["Ada", "https://example.org"], False),
        (["Ada", "yes"], False),
        (["x" * 101, "name"], False),
        (["", ""], False),
    ],
)
def test_the_first_row_is_the_header_by_rule(cells: list[str], expected: bool) -> None:
    assert is_header(cells) is expected


@walk_over(
    "text, columns, rows",
    [
        ("Name,City,\nAda,Oslo,\n", ["name", "city", "column_3"], ["Ada", "Oslo"]),
        ("sep=;\nName;City\nAda;Oslo\n", ["name", "city"], ["Ada", "Oslo"]),
        ("Members of 2026,\n,\nName,City\nAda,Oslo\n", ["name", "city"], ["Ada", "Oslo"]),
        ("Members of 2026\n\nName;City\nAda;Oslo\n", ["name", "city"], ["Ada", "Oslo"]),
        ("Account:,NO93\nName,City,Zip\nAda,Oslo,x\n", ["name", "city", "zip"], ["Ada", "Oslo", "x"]),
        (
            "Account,NO93\nBalance,12.50,EUR\n\nDay,Payee,Text,Kind,Sum,Tax\n2026-03-01,Ada,Tea,x,2,y\n",
            ["day", "payee", "text", "kind", "sum", "tax"],
            ["2026-03-01", "Ada", "Tea", "x", "2", "y"],
        ),
        (
            "Name,Day,Born\nAda,0/0/00,0000-00-00\nBob,,1.2.00\n",
            ["name", "day", "born"],
            ["Ada", "Bob", "1.2.00"],
        ),
        ('Name,Zip,Tax\n"=""Bob""","=""0150""",="x"\n', ["name", "zip", "tax"], ["Bob", "0150", "x"]),
        ("Town,2019,2020\nOslo,12,13\n", ["town", "2019", "2020"], ["Oslo", "12", "13"]),
        (
            "Ada,1988,2019\nBob,1990,2020\n",
            ["column_1", "column_2", "column_3"],
            ["Ada", "1988", "2019", "Bob", "1990", "2020"],
        ),
        ('name,city\n"Ada,Oslo\nBob,Rome\n', ["name", "city"], ['"Ada', "Oslo", "Bob", "Rome"]),
        ('name,city\n"Ada,Oslo\n"Bob",Rome\n', ["name", "city"], ['"Ada', "Oslo", "Bob", "Rome"]),
    ],
)
def test_the_header_is_found_and_no_row_is_lost(text: str, columns: list[str], rows: list[str]) -> None:
    document = parse(text.encode())
    assert [name.lower() for name in document.metadata["columns"]] == columns
    parts = [part for part in document.parts if part.kind == "row"]
    assert [field.value for part in parts for field in part.fields] == rows
    assert bool(document.warnings) == ('"Ada' in text)


@pytest.mark.parametrize(
    "above",
    [
        "Statement;\nName;Ilka Dahl;\nBLZ;37000000;\nBalance;2.417,08 EUR;\n\n",
        "Account;NO93 8601 1117 947\nFrom;01.01.2026\nTo;31.01.2026\n",
        "Kontoauszug\n\nIBAN:;DE02\nKontostand vom 31.12.2025:;1.200,50\n",
        "Girokonto;DE02\nZeitraum;30 Tage\nKontostand vom 31.12.2025:;1.200,50 EUR\n;\n",
        ";;\nClient;Ilka Dahl;\nCurrency;EUR;\n",
        "Bank of Oslo\n",
        "",
    ],
)
@pytest.mark.parametrize("header", ["Date;Text;Amount;Balance", "Date;Text;Amount"])
def test_the_labels_above_a_bank_statement_are_no_header(above: str, header: str) -> None:
    count = header.count(";") + 1
    bookings = [["28.12.2025", "Deposit", "-1.000,00", "2,00"], ["27.12.2025", "Coffee", "-3,20", "3,00"]]
    lines = [header, *(";".join(row[:count]) for row in bookings)]
    document = parse((above + "\n".join(lines) + "\n").encode())
    assert document.metadata["columns"] == header.split(";")
    rows = [part for part in document.parts if part.kind == "row"]
    assert [field.value for part in rows for field in part.fields] == [
        value for row in bookings for value in row[:count]
    ]


FEW = "Word;Sense\ntea;drink\nrye;grain\n"
TEXTS = "Imię;Nazwisko;Miasto\nAnna;Nowak;Kraków\nJan;Lis;Gdynia\nEwa;Lis;Łódź\n"
WIDE = "Artikel;Farbe;Regal;Halle;Notiz\nStuhl;rot;A;Nord;\nTisch;weiß;B;Nord;schwer\nLampe;gelb;C;Süd;\n"
SPARSE = "Vorname;Nachname;Telefon;Ort;Notiz\nAda;Byron;;;\nBob;;;;\nCy;Dahl;;Oslo;\n"
VALUES = "time;temp;wind\n2026-03-01;3,5;2\n2026-03-02;4,5;1\n"


@walk_over(
    "above, table",
    [
        ("Klub;Wioślarz\n", TEXTS),
        ("Lista członków\nKlub;Wioślarz\nSezon;Wiosna\n\n", TEXTS),
        ("单位;北京茶馆;;;\n", WIDE),
        ("Lager;Filiale Mitte;Herbst\n", WIDE),
        ("Kurs:;Segeln;Leitung:;M. Holm\nLegende;a;anwesend\n", WIDE),
        ("Person;;Place;;\n", WIDE),
        ("Gruppe;Chor\n", SPARSE),
        ("# Kontakte, Stand 2026\n# Name; Ort; und mehr; als nötig; ist; da\n", TEXTS),
        ("# Oslo; roof; north\n#\n", VALUES),
        ("#", VALUES),
        ("#", TEXTS),
        ("Umsatz;2026\n", "Tag;Text;Betrag\n2026-01-01;Text;1\n2026-01-02;Tee;2;x;y\n2026-01-03;Brot;3\n"),
        ("", "#;Name;Ort\n1;Ada;Oslo\n2;Bob;Rom\n"),
        ("", "tag;use\n#python;code\n#tea;drinks\n"),
        ("", "Name;Likes\nAda;tea\nBob;tea;rye\nCy;tea;rye;oats\nDi;oats\nEve;rye;tea\n"),
        ("", "Name;City\nByron; Ada;Oslo\nHale; Bob;Oslo\n"),
        ("", "Name;Score\nAda;absent\nBob;12\nCy;13\n"),
        ("", "Name:;Ort:\nAda;Oslo\nBob;Rom\n"),
        ("", "Day;How often " + "did you see the sea " * 6 + "?\n2026-03-01;often\n2026-03-02;once\n"),
        ("", FEW),
        ("Auszug;Auszug;Auszug\n", VALUES),
        ("", "Product;Price;Stock\nOars;n/a;-\nTea;3.20;7\nRye;4.10;8\n"),
        (
            "Club 2026;Secretary: Bo;Page 1\n",
            "Name;E-mail;Since\nAda;a@x.example;2019\nBob;b@x.example;2020\n",
        ),
    ],
)
def test_the_header_is_where_the_rows_below_begin_to_be_alike(above: str, table: str) -> None:
    lines = (above + table).splitlines()
    header, *rows = table.splitlines()
    document = parse("\n".join(lines).encode())
    names = (above if above == "#" else "") + header
    assert document.metadata["columns"][: names.count(";") + 1] == [cell.strip() for cell in names.split(";")]
    assert sum(part.kind == "row" for part in document.parts) == len(rows)


def test_labels_and_comments_above_a_table_keep_their_values() -> None:
    above = "# device: LOG 7; roof\nKunde:;Ilka Dahl;Konto:;DE02 1234\n"
    labels = parse((above + TEXTS).encode()).parts[0]
    assert {field.name: field.value for field in labels.fields} == {
        "device": "LOG 7, roof", "Kunde": "Ilka Dahl", "Konto": "DE02 1234",
    }  # fmt: skip
    labels = parse(("Kontonamn;Kontonummer;Saldo\nPrivat;1234-56;10,00\n\n" + WIDE).encode()).parts[0]
    assert [field.value for field in labels.fields] == ["Privat", "1234-56", "10,00"]


def test_a_row_of_more_cells_among_others_is_no_header() -> None:
    document = parse(b"Name;Note\nAda;x\nBob;y;and;more\nCy;2026\nDi;z\n")
    assert document.metadata["columns"][:2] == ["Name", "Note"]
    assert len(document.parts) == 4


@walk_over(
    "above, title",
    [("Members of 2026\n", "Members of 2026"), ("Notes:\nNot all.\n", None), ("Account:,NO93\n", None)],
)
def test_a_line_above_a_table_is_its_title_unless_it_is_a_label(above: str, title: str | None) -> None:
    assert parse(f"{above}Name,City,Zip\nAda,Oslo,x\n".encode()).title == title


def test_a_sheet_has_its_title_lines_and_years_above_its_rows() -> None:
    book = openpyxl.Workbook()
    for row in (["Visitors"], ["as of today"], [], ["Town", 2019, 2020], ["Oslo", 12, 13]):
        book.worksheets[0].append(row)
    stream = io.BytesIO()
    book.save(stream)
    document = parsed_here(stream.getvalue(), None, "a.xlsx", DocumentLimits())
    [row] = [part for part in document.parts if part.kind == "row"]
    assert {field.name: field.value for field in row.fields} == {"Town": "Oslo", "2019": 12, "2020": 13}
    assert "Visitors\nas of today\n" in document.text


def test_a_number_that_a_sheet_shows_with_zeros_keeps_them() -> None:
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    for row in (["Town", "Code", "People"], ["Dresden", 1067, 90]):
        sheet.append(row)
    sheet["B2"].number_format = "00000"
    stream = io.BytesIO()
    book.save(stream)
    document = parsed_here(stream.getvalue(), None, "a.xlsx", DocumentLimits())
    [row] = [part for part in document.parts if part.kind == "row"]
    assert [field.value for field in row.fields] == ["Dresden", "01067", 90]


def test_columns_get_names_of_their_own() -> None:
    columns = Columns(["name", "", "name", "name_2"])
    assert columns.upto(5) == ["name", "column_2", "name_2", "name_2_2", "column_5"]


def test_a_table_of_blank_lines_is_empty() -> None:
    with pytest.raises(ParseFailed, match="no row"):
        parse(b"\n\n")


def test_quotes_after_a_space_are_quotes() -> None:
    document = parse(b'name, mail\n"Ada, L", "a@example.org"\n"Bob", "b@example.org"\n')
    assert [field.value for field in document.parts[0].fields] == ["Ada, L", "a@example.org"]


def test_irregular_quotes_have_the_place_of_their_row() -> None:
    document = parse(b'a,b\n"x"y,z\n')
    assert [(field.value, field.span.start, field.span.end) for field in document.parts[0].fields] == [
        ("xy", 4, 10),
        ("z", 4, 10),
    ]
