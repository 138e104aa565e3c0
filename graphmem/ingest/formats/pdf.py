"""PDF: the text of each page with its annotations, the names of attached files, and an invoice among these.

A page is a part. Pictures are not read: a page that is a scan has no text, and a warning says so.
"""

from __future__ import annotations

from collections.abc import Iterator

import pypdfium2
from pypdfium2.raw import FORMTYPE_NONE, FORMTYPE_XFA_FULL, FPDF_ERR_PASSWORD

from graphmem.ingest.building import Builder
from graphmem.ingest.document import ParseFailed
from graphmem.ingest.formats.invoice import add_invoice
from graphmem.ingest.formats.pdf_annotations import Annotations
from graphmem.ingest.tables import table


def parse(builder: Builder, data: bytes, name: str) -> None:
    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as exc:
        if getattr(exc, "err_code", None) == FPDF_ERR_PASSWORD:
            raise ParseFailed("The PDF is encrypted: a password is needed to read it.", "encrypted") from None
        raise ParseFailed(f"The PDF is damaged: {exc}"[:300], "damaged") from None
    if document.get_formtype() != FORMTYPE_NONE:
        document.init_forms()
    builder.check_page(len(document))
    metadata = document.get_metadata_dict()
    builder.title = metadata.get("Title")
    builder.metadata |= {
        key: metadata[name] for name, key in table("field_names")["pdf"].items() if metadata.get(name)
    }
    count, files = 0, dict[str, None]()
    for count, text in enumerate(_pages(document, builder, files), 1):
        span = builder.add(text.strip("\n"), "\n\n")
        builder.part("page", span._replace(page=count))
        if not text.strip():
            builder.left_out("page", None, str(count), " without text (perhaps scans)")
    builder.metadata["pages"] = count
    if document.get_formtype() == FORMTYPE_XFA_FULL:
        builder.left_out("XFA form")
    _add_files(builder, document, files)


def _add_files(builder: Builder, document: pypdfium2.PdfDocument, files: dict[str, None]) -> None:
    """Add the names of the attached files, and the invoice that is one of them."""
    invoices: list[tuple[str, bytes]] = []
    for number in range(document.count_attachments()):
        file = document.get_attachment(number)
        name = file.get_name()
        if name.lower().endswith(".xml"):
            invoices.append((name, bytes(file.get_data())))
        files[name] = None
    if files:
        builder.count_cells(len(files))
        builder.metadata["attachments"] = list(files)
        builder.add_line("Attachments", "; ".join(files))
    read = {name for name, data in invoices if add_invoice(builder, data, name)}
    for name in files:
        if name not in read:
            builder.left_out("attached file", None, name)


def _pages(document: pypdfium2.PdfDocument, builder: Builder, files: dict[str, None]) -> Iterator[str]:
    """Yield the text of each page; the names of files on pages are added to ``files``."""
    for number in range(len(document)):
        try:
            page = document[number]
            text_page = page.get_textpage()
            text = text_page.get_text_bounded().replace("\r\n", "\n").replace("\ufffe", "-")
            annotations = Annotations(document, page, text_page, text)
            builder.count_cells(annotations.count)
            text = annotations.with_text()
            files |= dict.fromkeys(annotations.files)
            text_page.close()
            page.close()
        except pypdfium2.PdfiumError as exc:
            builder.drop(f"Page {number + 1} cannot be read: {exc}")
            text = ""
        yield text
