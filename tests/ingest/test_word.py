"""Word: the text of a document as Word shows it, whatever its paragraphs and tables are made of."""

from __future__ import annotations

from graphmem.ingest.child import parsed_here
from graphmem.ingest.document import DocumentLimits, ParsedDocument
from tests.support.packages import word
from tests.support.walks import walk_over

BY = 'w:id="1" w:author="Tove" w:date="2026-01-01T00:00:00Z"'

FIRST = '<w:vMerge w:val="restart"/>'


def run(text: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


def paragraph(*inner: str) -> str:
    return f"<w:p>{''.join(inner)}</w:p>"


def field(mark: str) -> str:
    return f'<w:r><w:fldChar w:fldCharType="{mark}"/></w:r>'


def table(*rows: str) -> str:
    return f"<w:tbl><w:tblPr/>{''.join(rows)}</w:tbl>"


def cell(inner: str, properties: str = "") -> str:
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{inner}</w:tc>"


def row(*texts: str, properties: str = "") -> str:
    cells = "".join(cell(paragraph(run(text))) for text in texts)
    return f"<w:tr><w:trPr>{properties}</w:trPr>{cells}</w:tr>"


def control(inner: str) -> str:
    return f'<w:sdt><w:sdtPr><w:alias w:val="No text"/></w:sdtPr><w:sdtContent>{inner}</w:sdtContent></w:sdt>'


def box(name: str) -> str:
    inner = f"<w:txbxContent>{paragraph(run('Slip 7 is free'))}</w:txbxContent>"
    return (
        f"<wps:txbx>{inner}</wps:txbx>"
        if name == "Choice"
        else f"<w:pict><v:textbox>{inner}</v:textbox></w:pict>"
    )


BODIES = {
    "insertions and deletions": (
        paragraph(
            run("The mast is "),
            f"<w:del {BY}><w:r><w:delText>nine</w:delText></w:r></w:del>",
            f"<w:ins {BY}>{run('twelve')}</w:ins>",
            run(" metres."),
        ),
        "The mast is twelve metres.\n",
    ),
    "a deleted end of a paragraph": (
        "<w:p><w:pPr><w:rPr><w:del/></w:rPr></w:pPr>"
        + run("Sails ")
        + "</w:p>"
        + paragraph(run("and ropes."))
        + paragraph(run("Next.")),
        "Sails and ropes.\nNext.\n",
    ),
    "a moved text": (
        paragraph(f"<w:moveFrom {BY}>{run('Sails first.')}</w:moveFrom>")
        + paragraph(run("Ropes."), f"<w:moveTo {BY}>{run(' Sails first.')}</w:moveTo>"),
        "Ropes. Sails first.\n",
    ),
    "inserted and deleted rows and cells": (
        table(
            row("Boat", "Berth"),
            row("Ebba", "4", properties=f"<w:ins {BY}/>"),
            row("Gone", "5", properties=f"<w:del {BY}/>"),
            f"<w:tr>{cell(paragraph(run('Una')))}{cell(paragraph(run('x')), f'<w:cellDel {BY}/>')}"
            f"{cell(paragraph(run('6')), f'<w:cellIns {BY}/>')}</w:tr>",
        ),
        "Boat\tBerth\nEbba\t4\nUna\t6\n",
    ),
    "content controls of every level": (
        control(paragraph(run("Skipper: "), control(run("Runa ") + control(run("Holm")))))
        + table(
            row("Boat", "Berth"),
            control(row("Ebba", "4")),
            f"<w:tr>{control(cell(paragraph(run('Una'))))}{cell(control(paragraph(control(run('6')))))}</w:tr>",
        ),
        "Skipper: Runa Holm\nBoat\tBerth\nEbba\t4\nUna\t6\n",
    ),
    "simple and complex fields": (
        paragraph(
            f'<w:fldSimple w:instr="MERGEFIELD Ref">{run("RE-77")}</w:fldSimple>', run(" of "),
            field("begin"),
            f'<w:r><w:instrText>IF </w:instrText></w:r>{field("begin")}{run("no")}{field("end")}',
            field("separate"), run("3 May"), field("end"), run("."),
        ),
        "RE-77 of 3 May.\n",
    ),
    "smart tags, custom XML, directions": (
        paragraph(
            f'<w:smartTag w:element="City">{run("Bergen")}</w:smartTag>', run(", "),
            f'<w:customXml w:element="x">{run("Norway")}</w:customXml>',
            f'<w:bdo w:val="rtl">{run(" one")}</w:bdo><w:dir w:val="ltr">{run(" two")}</w:dir>',
        )
        + f'<w:customXml w:element="y">{paragraph(run("Block."))}</w:customXml>',
        "Bergen, Norway one two\nBlock.\n",
    ),
    "a table in a table": (
        table(f"<w:tr>{cell(paragraph(run('outer')) + table(row('inner', 'winch')) + '<w:p/>')}</w:tr>"),
        "outer inner winch\n",
    ),
    "merged cells": (
        table(
            row("Boat", "Berth"),
            f"<w:tr>{cell(paragraph(run('Ebba')), FIRST)}"
            f"{cell(paragraph(run('4')))}</w:tr>",
            f"<w:tr>{cell('<w:p/>', '<w:vMerge/>')}{cell(paragraph(run('5')))}</w:tr>",
        ),
        "Boat\tBerth\nEbba\t4\nEbba\t5\n",
    ),
    "insertions within links, one link in two runs": (
        paragraph(
            run("See "), f'<w:hyperlink r:id="plan"><w:ins {BY}>{run("the")}</w:ins></w:hyperlink>',
            f'<w:hyperlink r:id="plan">{run(" plan")}</w:hyperlink>', run(" and "),
            f'<w:hyperlink w:anchor="x">{run("below")}</w:hyperlink>', run(", "), field("begin"),
            '<w:r><w:instrText> HYPERLINK "https://b.example/2" </w:instrText></w:r>', field("separate"),
            run("b"), field("end"), run("; "), f'<w:hyperlink r:id="mail">{run("a@b.example")}</w:hyperlink>',
        ),
        "See the plan <https://plan.example/b7> and below, b <https://b.example/2>; a@b.example\n",
    ),
    "equations": (
        paragraph(
            run("So "),
            "<m:oMath><m:r><m:t>E=m</m:t></m:r><m:sSup><m:e><m:r><m:t>c</m:t></m:r></m:e>"
            "<m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup>"
            "<m:f><m:num><m:r><m:t>a</m:t></m:r></m:num><m:den><m:r><m:t>b</m:t></m:r></m:den></m:f></m:oMath>",
        ),
        "So E=mc^2a/b\n",
    ),
    "equations with brackets, roots and sums": (
        paragraph(
            "<m:oMath><m:f><m:num><m:r><m:t>a+b</m:t></m:r></m:num><m:den><m:r><m:t>2</m:t></m:r></m:den></m:f>"
            '<m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr><m:sub><m:r><m:t>i=1</m:t></m:r></m:sub>'
            "<m:e><m:rad><m:e><m:r><m:t>x</m:t></m:r></m:e></m:rad></m:e></m:nary>"
            '<m:d><m:dPr><m:begChr m:val="["/><m:endChr m:val="]"/></m:dPr><m:e><m:r><m:t>y</m:t></m:r>'
            "</m:e></m:d>"
            "</m:oMath>"
        ),
        "(a+b)/2∑_(i=1)√x[y]\n",
    ),
    "the description of a picture": (
        paragraph(
            run("Plan:"),
            '<w:r><w:drawing><wp:inline xmlns:wp="wp"><wp:docPr id="1" descr="Depths at the quay"/>'
            '<wp:docPr id="2" name="Picture 2" descr="image1.png"/></wp:inline></w:drawing></w:r>',
        ),
        "Plan:\nDepths at the quay\n",
    ),
    "a text box once": (
        paragraph(
            run("Text."),
            f"<w:r><mc:AlternateContent><mc:Choice>{box('Choice')}</mc:Choice><mc:Fallback>{box('Fallback')}"
            "</mc:Fallback></mc:AlternateContent></w:r>",
        ),
        "Text.\nSlip 7 is free\n",
    ),
    "a text box that only older programs show": (
        paragraph(
            f"<w:r><mc:AlternateContent><mc:Choice/><mc:Fallback>{box('Fallback')}</mc:Fallback>"
            "</mc:AlternateContent></w:r>",
        ),
        "Slip 7 is free\n",
    ),
    "tabs, breaks and hyphens": (
        paragraph("<w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t><w:noBreakHyphen/><w:t>d</w:t></w:r>"),
        "a\tb\nc-d\n",
    ),
    "signs of fonts": (
        paragraph(
            '<w:r><w:sym w:font="Wingdings" w:char="F0FC"/><w:t> 5 k</w:t>'
            '<w:sym w:font="Symbol" w:char="F057"/></w:r>'
        ),
        "✓ 5 kΩ\n",
    ),
    "boxes and choices of forms": (
        "".join(
            paragraph(
                f'<w:r><w:fldChar w:fldCharType="begin"><w:ffData>{form}</w:ffData></w:fldChar></w:r>'
                f"<w:r><w:instrText>FORM</w:instrText></w:r>{field('end')}",
                run("!"),
            )
            for form in (
                '<w:checkBox><w:default w:val="0"/><w:checked/></w:checkBox>',
                '<w:checkBox><w:default w:val="0"/></w:checkBox>',
                '<w:ddList><w:result w:val="1"/><w:listEntry w:val="N"/><w:listEntry w:val="S"/></w:ddList>',
                '<w:ddList><w:result w:val="9"/><w:listEntry w:val="N"/></w:ddList>',
                "<w:textInput/>",
            )
        ),
        "[x] !\n[ ] !\nS!\n!\n!\n",
    ),
}  # fmt: skip
LINKS = {
    "plan": ("hyperlink", "https://plan.example/b7"),
    "mail": ("hyperlink", "mailto:a@b.example"),
}


def parsed(data: bytes) -> ParsedDocument:
    return parsed_here(data, None, "a.docx", DocumentLimits())


@walk_over("body, text", BODIES.values())
def test_a_document_is_read_as_word_shows_it(body: str, text: str) -> None:
    document = parsed(word(body, LINKS))
    assert (document.text, document.warnings) == (text, ())


def test_notes_comments_headers_and_footers_are_read_once() -> None:
    body = paragraph(
        run("The hull"), '<w:r><w:footnoteReference w:id="2"/></w:r>', run(" is blue."),
        '<w:r><w:commentReference w:id="0"/></w:r><w:r><w:endnoteReference w:id="2"/></w:r>',
    ) + paragraph(run("The end."))  # fmt: skip
    separator = '<w:footnote w:type="separator" w:id="0"><w:p><w:r><w:separator/></w:r></w:p></w:footnote>'
    data = word(
        body,
        {"h2": ("header", "header.xml")},
        footnotes=f'<w:footnotes>{separator}<w:footnote w:id="2">{paragraph(run("Since May."))}</w:footnote>'
        "</w:footnotes>",
        endnotes=f'<w:endnotes><w:endnote w:id="2">{paragraph(run("By Runa."))}</w:endnote></w:endnotes>',
        comments=f'<w:comments><w:comment w:id="0" w:author="Tove">{paragraph(run("Really?"))}</w:comment>'
        f'<w:comment w:id="1">{paragraph(run("Of nothing."))}</w:comment></w:comments>',
        header=f"<w:hdr>{paragraph(run('Harbour office'))}</w:hdr>",
        footer=f"<w:ftr>{paragraph(run('Tel. 62 00 00'))}</w:ftr>",
    )
    document = parsed(data)
    assert document.text.splitlines() == [
        "Harbour office", "The hull is blue.", "Footnote: Since May.", "Comment by Tove: Really?",
        "Endnote: By Runa.", "The end.", "Comment: Of nothing.", "Tel. 62 00 00",
    ]  # fmt: skip
    assert document.warnings == ()


def test_text_that_is_not_read_is_counted_and_named() -> None:
    unknown = f"<x>{paragraph(run('Lost text.'))}</x>"
    data = word(paragraph(run("Text.")), {"e": ("package", "embeddings/Sums.xlsx")}, other=unknown)
    document = parsed(data)
    assert document.warnings == ("TEXT_NOT_READ: 1 member (word/other.xml), 10 characters.",)
