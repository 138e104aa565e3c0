"""OpenDocument text: what a program shows of it, in its order."""

from __future__ import annotations

from graphmem.ingest.child import parsed_here
from graphmem.ingest.document import DocumentLimits, ParsedDocument
from tests.support.packages import package

NAMES = "office text table draw dc style xlink"
DECLARED = " ".join(f'xmlns:{name}="urn:{name}"' for name in NAMES.split())
TYPE = "application/vnd.oasis.opendocument.text"


def parsed(body: str, styles: str = "", **members: str) -> ParsedDocument:
    content = f"<office:document {DECLARED}><office:body><office:text>{body}</office:text></office:body>"
    data = package(
        {
            "mimetype": TYPE,
            "content.xml": f"{content}</office:document>",
            "styles.xml": f"<office:styles {DECLARED}>{styles}</office:styles>",
            **members,
        }
    )
    return parsed_here(data, None, "a.odt", DocumentLimits())


def test_text_links_and_what_stands_apart_are_read_in_order() -> None:
    document = parsed(
        "<text:tracked-changes><text:p>Deleted.</text:p></text:tracked-changes>"
        '<text:p>See<text:s text:c="2"/><text:a xlink:href="https://plan.example/b7">the '
        "<text:span>plan</text:span></text:a><text:note><text:note-citation>1</text:note-citation>"
        "<text:note-body><text:p>Since May.</text:p></text:note-body></text:note>."
        "<office:annotation><dc:creator>Tove</dc:creator><text:p>Really?</text:p>"
        "</office:annotation><draw:frame><draw:text-box><text:p>Slip 7</text:p></draw:text-box></draw:frame>"
        "</text:p><text:table-of-content><text:table-of-content-source><text:p>No</text:p>"
        "</text:table-of-content-source><text:index-body><text:p>Chapter</text:p></text:index-body>"
        "</text:table-of-content>",
        "<style:header><text:p>Harbour</text:p></style:header>"
        "<style:footer><text:p>Tel. 1</text:p></style:footer>",
    )
    assert document.text.splitlines() == [
        "Harbour", "See  the plan <https://plan.example/b7>.", "Note: Since May.", "Comment: Really?",
        "Slip 7", "Chapter", "Tel. 1",
    ]  # fmt: skip
    assert document.warnings == ()


def test_rows_of_a_table_are_read_and_objects_are_named() -> None:
    cell = "<table:table-cell{}><text:p>{}</text:p></table:table-cell>"
    rows = (
        cell.format("", "Boat") + cell.format("", "Berth"),
        cell.format(' table:number-columns-repeated="2"', "4"),
    )
    table = "".join(f"<table:table-row>{row}</table:table-row>" for row in rows)
    document = parsed(f"<table:table>{table}</table:table>", **{"Object 1/content.xml": "<x/>"})
    assert document.text == "Boat\tBerth\n4\t4\n"
    assert document.warnings == ("TEXT_NOT_READ: 1 embedded file (Object 1/content.xml).",)
