"""Links of every format: words and address stand in the text, and the value of a cell has the words."""

from __future__ import annotations

import io
from email.message import EmailMessage

import openpyxl
import pptx
from openpyxl.comments import Comment

from graphmem.ingest.building import parted
from graphmem.ingest.child import parsed_here
from graphmem.ingest.document import DocumentLimits, ParsedDocument
from tests.support.walks import walk_over

ADDRESS = "https://plan.example/b7?x=1"


def parsed(name: str, data: bytes) -> ParsedDocument:
    return parsed_here(data, None, name, DocumentLimits())


@walk_over(
    "html, text",
    [
        (f'<p>See <a href="{ADDRESS}">the plan</a>.</p>', f"See the plan <{ADDRESS}>.\n"),
        ('<p><a href="mailto:ada@a.example">Ada</a></p>', "Ada <mailto:ada@a.example>\n"),
        ('<p><a href="mailto:ada@a.example">ada@a.example</a></p>', "ada@a.example\n"),
        ('<p><a href="tel:+4562000001">+45 62 00 00 01</a></p>', "+45 62 00 00 01\n"),
        ('<p><a href="https://www.a.example/">a.example</a></p>', "a.example\n"),
        ('<p><a href="#top">up</a> <a href="javascript:x()">run</a> <a name="x">y</a></p>', "up run y\n"),
        ('<p><a href="b.html">next</a></p>', "next <./b.html>\n"),
        ('<base href="https://a.example/d/"><p><a href="../b">next</a></p>', "next <https://a.example/b>\n"),
        ('<a href="/n"><h3>Title</h3><p>Text</p></a><p>After</p>', "Title\nText\n</n>\nAfter\n"),
        (f'<p><a href="{ADDRESS}"><img alt="Map of berth"></a></p>', f"Map of berth <{ADDRESS}>\n"),
        (f'<map><area href="{ADDRESS}" alt="Berth 7">and</map>', f"Berth 7 <{ADDRESS}> and\n"),
        (
            "<details><summary>More</summary>words</details><button>Send</button>now",
            "More\nwords\nSend\nnow\n",
        ),
        (
            f'<dl><dt><a href="{ADDRESS}" add_date="1">The plan</a><dd>old</dl>',
            f"The plan <{ADDRESS}>\nold\n",
        ),
    ],
)
def test_a_link_of_html_has_its_address_behind_its_words(html: str, text: str) -> None:
    assert parsed("a.html", f"<html><body>{html}</body></html>".encode()).text == text


def test_fields_of_a_form_are_read_and_what_a_browser_does_not_show_is_counted() -> None:
    html = (
        '<p>Berth: <input value="15C"><input type="hidden" value="t0ken"><input type="checkbox" checked>'
        " paid</p>"
        "<svg><text>Pier 7</text></svg><noscript>No script</noscript><template><p>x</p></template>"
    )
    document = parsed("a.html", f"<html><body>{html}</body></html>".encode())
    assert document.text == "Berth: 15C [x] paid\nPier 7\n"
    assert document.warnings == (
        "TEXT_NOT_READ: 1 noscript element, 9 characters; 1 template element, 1 character.",
    )


def test_a_link_in_the_body_of_a_message_keeps_its_address() -> None:
    data = f'From: a@b.c\nTo: d@e.f\nContent-Type: text/html\n\n<p><a href="{ADDRESS}">here</a>'.encode()
    body = next(field.value for field in parsed("a.eml", data).parts[0].fields if field.name == "body")
    assert body == f"here <{ADDRESS}>"


def test_the_value_of_a_linked_cell_is_its_words() -> None:
    html = (
        f'<table><tr><th>Name<th><a href="?sort">Page</a><tr><td>Ada<td><a href="{ADDRESS}">hers</a></table>'
    )
    document = parsed("a.html", html.encode())
    [row] = document.parts
    assert document.text == f"Name\tPage <?sort>\nAda\thers <{ADDRESS}>\n"
    assert [(field.name, field.value) for field in row.fields] == [("Name", "Ada"), ("Page", "hers")]
    assert document.text[row.fields[1].span.start : row.fields[1].span.end] == "hers"


def test_text_in_angle_brackets_is_no_link() -> None:
    for text in ("vector <int>", "std <std::string>", "a <b c>", "<https://a.example>"):
        assert parted(text) == (text, "")


def test_links_of_slides_keep_their_address() -> None:
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[1])
    slide.shapes.title.text = "Plan"  # pyright: ignore[reportOptionalMemberAccess]
    words = slide.placeholders[1].text_frame.paragraphs[0]  # pyright: ignore[reportAttributeAccessIssue]
    for text, address in (("the ", ADDRESS), ("plan", ADDRESS), (" of today", None)):
        run = words.add_run()
        run.text, run.hyperlink.address = text, address
    shape = slide.shapes.add_textbox(0, 0, 9, 9)  # pyright: ignore[reportArgumentType]
    shape.text_frame.text, shape.click_action.hyperlink.address = "Button", "https://b.example"
    stream = io.BytesIO()
    presentation.save(stream)
    text = parsed("a.pptx", stream.getvalue()).text
    assert text == f"Plan\nthe plan <{ADDRESS}> of today\nButton <https://b.example>\n\n"


def workbook() -> openpyxl.Workbook:
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    sheet.title = "Boats"
    for row in (["Boat", "Berth", "Plan"], ["Ebba", "4", "the plan"], [None, "5", None], ["Una", "6", None]):
        sheet.append(row)
    return book


def read(book: openpyxl.Workbook) -> ParsedDocument:
    stream = io.BytesIO()
    book.save(stream)
    return parsed("a.xlsx", stream.getvalue())


def test_a_sheet_keeps_links_and_comments_and_gives_merged_values_to_each_row() -> None:
    book = workbook()
    sheet = book.worksheets[0]
    sheet.merge_cells("A2:A3")
    sheet["C2"].hyperlink = ADDRESS
    sheet["B2"].comment = Comment("Check the\nrope", "Tove")
    document = read(book)
    assert document.text == (
        f"Boats\nBoat\tBerth\tPlan\nEbba\t4\tthe plan <{ADDRESS}>\nEbba\t5\nUna\t6\n"
        "Comment on B2: Check the rope\n\n"
    )
    rows = [[field.value for field in part.fields] for part in document.parts if part.kind == "row"]
    assert rows == [["Ebba", "4", "the plan"], ["Ebba", "5"], ["Una", "6"]]
    assert document.warnings == ()


def test_formulas_without_values_and_errors_are_left_out_with_a_warning() -> None:
    book = workbook()
    sheet = book.worksheets[0]
    sheet["C2"], sheet["C3"], sheet["C4"] = "=B2*2", "#REF!", "#7"
    document = read(book)
    assert "#REF!" not in document.text
    assert "#7" in document.text
    assert document.warnings == (
        "TEXT_NOT_READ: 1 cell (C2) of the sheet Boats with formulas that no program has calculated (save the"
        " file with one); 1 cell (C3) of the sheet Boats with errors in place of values.",
    )


@walk_over(
    "plain, body, rest",
    [
        ("Your ticket is here.", f"Your ticket is here <{ADDRESS}>.", ""),
        (f"Your ticket: {ADDRESS}", f"Your ticket: {ADDRESS}", "1 text/html part, 6 characters; "),
    ],
)
def test_of_alternatives_the_one_with_the_addresses_is_read(plain: str, body: str, rest: str) -> None:
    html = f'<p>Your ticket is <a href="{ADDRESS}">here</a>.</p>'
    message = EmailMessage()
    message["From"], message["To"] = "a@b.c", "d@e.f"
    message.set_content(plain)
    message.add_alternative(html, subtype="html")
    message.add_attachment(b"x", maintype="application", subtype="pdf", filename="ticket.pdf")
    document = parsed("a.eml", message.as_bytes())
    assert {field.name: field.value for field in document.parts[0].fields}["body"] == body
    assert document.warnings == (f"TEXT_NOT_READ: {rest}1 attachment (ticket.pdf).",)
