"""PDF: values of forms beside their labels, typed-on text, notes, links, attached files and invoices."""

from __future__ import annotations

import io
from typing import Any

from graphmem.ingest import propose
from graphmem.ingest.child import parsed_here
from graphmem.ingest.document import DocumentLimits, ParsedDocument
from tests.support.walks import walk_over

CII = """<rsm:CrossIndustryInvoice xmlns:rsm="urn:rsm" xmlns:ram="urn:ram" xmlns:udt="urn:udt">
<rsm:ExchangedDocument><ram:ID>RE-2026-17</ram:ID><ram:IssueDateTime><udt:DateTimeString format="102">20261103
</udt:DateTimeString></ram:IssueDateTime></rsm:ExchangedDocument><rsm:SupplyChainTradeTransaction>
<ram:IncludedSupplyChainTradeLineItem>
<ram:SpecifiedTradeProduct><ram:Name>Rope</ram:Name></ram:SpecifiedTradeProduct>
<ram:BilledQuantity>2</ram:BilledQuantity><ram:LineTotalAmount>100.00</ram:LineTotalAmount>
</ram:IncludedSupplyChainTradeLineItem>
<ram:SellerTradeParty><ram:Name>Marstal Ropes</ram:Name></ram:SellerTradeParty>
<ram:BuyerTradeParty><ram:Name>Ebbe Rask</ram:Name></ram:BuyerTradeParty>
<ram:InvoiceCurrencyCode>EUR</ram:InvoiceCurrencyCode><ram:TaxTotalAmount>19.00</ram:TaxTotalAmount>
<ram:DuePayableAmount>119.00</ram:DuePayableAmount></rsm:SupplyChainTradeTransaction></rsm:CrossIndustryInvoice>"""
UBL = """<Invoice xmlns="urn:ubl" xmlns:c="urn:c"><c:ID>U-9</c:ID><c:IssueDate>2026-11-04</c:IssueDate>
<c:DueDate>2026-12-01</c:DueDate><c:DocumentCurrencyCode>EUR</c:DocumentCurrencyCode><c:AccountingSupplierParty>
<c:Party><c:PartyName><c:Name>Sails Ltd</c:Name></c:PartyName></c:Party></c:AccountingSupplierParty>
<c:LegalMonetaryTotal><c:PayableAmount>7.5</c:PayableAmount></c:LegalMonetaryTotal></Invoice>"""


def pdf(
    content: str, annotations: tuple[str, ...] = (), *, files: dict[str, str] | None = None, info: str = ""
) -> bytes:
    """Return a PDF of one page. An annotation is a dictionary; those with a name are fields of a form."""
    text = content.encode()
    objects = [
        b"", b"<</Type/Pages/Count 1/Kids[3 0 R]>>", b"", b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(text), text), f"<<{info}>>".encode(),
    ]  # fmt: skip
    references: list[str] = []
    for annotation in annotations:
        objects.append(f"<</Type/Annot{annotation}>>".encode())
        references.append(f"{len(objects)} 0 R")
    names: list[str] = []
    for name, data in (files or {}).items():
        objects.append(b"<</Type/EmbeddedFile/Length %d>>stream\n%s\nendstream" % (len(data), data.encode()))
        objects.append(f"<</Type/Filespec/F({name})/UF({name})/EF<</F {len(objects)} 0 R>>>>".encode())
        names.append(f"({name}) {len(objects)} 0 R")
    fields = " ".join(each for each, raw in zip(references, annotations, strict=True) if "/FT" in raw)
    objects[0] = (
        f"<</Type/Catalog/Pages 2 0 R/AcroForm<</Fields[{fields}]/DA(/F1 9 Tf)>>"
        f"/Names<</EmbeddedFiles<</Names[{' '.join(names)}]>>>>>>"
    ).encode()
    objects[2] = (
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 400 400]/Resources<</Font<</F1 4 0 R>>>>/Contents 5 0 R"
        f"/Annots[{' '.join(references)}]>>"
    ).encode()
    stream = io.BytesIO(b"%PDF-1.7\n")
    stream.seek(0, io.SEEK_END)
    places: list[int] = []
    for number, each in enumerate(objects, 1):
        places.append(stream.tell())
        stream.write(b"%d 0 obj\n%s\nendobj\n" % (number, each))
    start = stream.tell()
    stream.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    stream.writelines(b"%010d 00000 n \n" % place for place in places)
    stream.write(
        b"trailer<</Size %d/Root 1 0 R/Info 6 0 R>>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, start)
    )
    return stream.getvalue()


def words(*texts: tuple[int, int, str]) -> str:
    lines = "".join(f"1 0 0 1 {x} {y} Tm ({text}) Tj " for x, y, text in texts)
    return f"BT /F1 12 Tf {lines}ET"


def field(kind: str, name: str, place: str, more: str) -> str:
    return f"/Subtype/Widget/FT/{kind}/T({name})/Rect[{place}]/F 4/DA(/F1 9 Tf){more}"


def parsed(data: bytes) -> ParsedDocument:
    return parsed_here(data, None, "a.pdf", DocumentLimits())


def test_values_of_a_form_stand_beside_their_labels() -> None:
    content = words(
        (40, 340, "Mooring form"), (40, 300, "Name:"), (200, 300, "Boat:"), (40, 260, "Berth:"),
        (40, 220, "Extras:"), (60, 180, "Paid"), (160, 180, "Insured"), (40, 140, "Name:"),
        (40, 100, "Code:"),
    )  # fmt: skip
    document = parsed(
        pdf(
            content,
            (
                field("Tx", "owner", "90 295 190 312", "/V(Gunhild Marstal)"),
                field("Tx", "boat", "240 295 390 312", "/V(Havmaagen)"),
                field("Ch", "berth", "90 255 190 272", "/Ff 131072/Opt[[(a)(14A)][(b)(14B)]]/V(b)"),
                field(
                    "Ch",
                    "extras",
                    "90 215 190 232",
                    "/Ff 2097152/Opt[(Crane)(Water)(Power)]/V[(Crane)(Power)]",
                ),
                field("Btn", "paid", "40 178 55 193", "/V/Yes/AS/Yes"),
                field("Btn", "insured", "140 178 155 193", "/AS/Off"),
                field("Tx", "second", "90 135 190 152", "/V(Tove Holm)"),
                field("Tx", "secret", "90 95 190 112", "/Ff 8192/V(s3cret)"),
                field("Tx", "remark", "10 10 190 32", "/TU(Remark of the owner)/V(No dogs)"),
                field("Btn", "agreed", "300 20 310 30", "/V/On/AS/On"),
            ),
        )
    )
    assert document.text.splitlines()[:-1] == [
        "Mooring form", "Name: Gunhild Marstal Boat: Havmaagen", "Berth: 14B", "Extras: Crane, Power",
        "[x] Paid [ ] Insured", "Name: Tove Holm", "Code:", "Remark of the owner: No dogs", "[x] agreed: On",
    ]  # fmt: skip
    assert document.warnings == ()


def test_typed_on_text_notes_and_links_are_read() -> None:
    link = "/Subtype/Link/Rect[70 335 130 352]/A<</S/URI/URI(https://plan.example/b7)>>"
    note = "/Subtype/Text/Rect[10 10 20 20]/Contents(Ask Tove)/T(Ebbe)"
    typed = "/Subtype/FreeText/Rect[10 40 200 60]/Contents(Paid on 4 Nov)/DA(/F1 9 Tf)"
    inner = "/Subtype/Link/Rect[40 295 130 312]/Dest[3 0 R/Fit]"
    document = parsed(
        pdf(words((40, 340, "See"), (70, 340, "the plan"), (40, 300, "Berths")), (link, note, typed, inner))
    )
    assert document.text.strip().splitlines() == [
        "See the plan <https://plan.example/b7>", "Berths", "Note: Ask Tove", "Paid on 4 Nov",
    ]  # fmt: skip


@walk_over(
    "name, xml, fields",
    [
        (
            "factur-x.xml",
            CII,
            {
                "number": "RE-2026-17", "vendor": "Marstal Ropes", "customer": "Ebbe Rask", "currency": "EUR",
                "invoice_date": "2026-11-03", "amount": 119.0, "tax": 19.0,
                "line_items": [{"name": "Rope", "quantity": 2.0, "amount": 100.0}],
            },
        ),
        (
            "xrechnung.xml",
            UBL,
            {
                "number": "U-9", "vendor": "Sails Ltd", "currency": "EUR", "invoice_date": "2026-11-04",
                "due_date": "2026-12-01", "amount": 7.5,
            },
        ),
    ],
)  # fmt: skip
def test_an_attached_invoice_is_read_and_other_files_are_named(
    name: str, xml: str, fields: dict[str, Any]
) -> None:
    document = parsed(pdf(words((40, 340, "Invoice")), files={name: xml, "terms.txt": "To be paid."}))
    assert f"Attachments: {name}; terms.txt" in document.text
    assert document.warnings == ("TEXT_NOT_READ: 1 attached file (terms.txt).",)
    _, entity = propose(document, file_name="a.pdf").entities
    assert (entity.entity_type, entity.fields) == ("invoice", fields)


def test_a_file_with_entities_is_no_invoice() -> None:
    xml = f'<!DOCTYPE a [<!ENTITY a "x">]>{UBL}'
    document = parsed(pdf(words((40, 340, "Invoice")), files={"xrechnung.xml": xml}))
    assert document.warnings == ("TEXT_NOT_READ: 1 attached file (xrechnung.xml).",)


@walk_over(
    "info, metadata",
    [
        (
            "/Title(untitled)/Author(\\(anonymous\\))/Subject(\\(unspecified\\))/CreationDate(D:20000101000000Z)",
            {},
        ),
        ("/Title(Lease)/Author(Ada)/CreationDate(D:20260101000000Z)", {"author": "Ada"}),
    ],
)
def test_what_a_program_fills_in_is_no_metadata(info: str, metadata: dict[str, str]) -> None:
    document = parsed(pdf(words((40, 340, "Text")), info=info))
    assert document.title == ("Lease" if metadata else None)
    assert {key: document.metadata.get(key) for key in ("author", "subject")} == {
        "author": metadata.get("author"), "subject": None,
    }  # fmt: skip
    assert ("created" in document.metadata) == bool(metadata)


def test_a_page_without_text_is_said_to_be_a_scan() -> None:
    [warning] = parsed(pdf("")).warnings
    assert warning == "TEXT_NOT_READ: 1 page (1) without text (perhaps scans)."
