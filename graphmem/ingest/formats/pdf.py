"""PDF: the text of each page.

A page is a part. Pictures are not read: a page that is a scan has no text, and a warning says so.
"""

from __future__ import annotations

from collections.abc import Iterator

import pypdfium2
from pypdfium2.raw import FPDF_ERR_PASSWORD

from graphmem.ingest.building import Builder
from graphmem.ingest.document import ParseFailed

KEYS = {
    "Author": "author",
    "Subject": "subject",
    "Keywords": "keywords",
    "Creator": "creator",
    "Producer": "producer",
    "CreationDate": "created",
    "ModDate": "modified",
}


def parse(builder: Builder, data: bytes, name: str) -> None:
    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as exc:
        if getattr(exc, "err_code", None) == FPDF_ERR_PASSWORD:
            raise ParseFailed("The PDF is encrypted: a password is needed to read it.", "encrypted") from None
        raise ParseFailed(f"The PDF is damaged: {exc}"[:300], "damaged") from None
    builder.check_page(len(document))
    metadata = document.get_metadata_dict()
    builder.title = metadata.get("Title")
    builder.metadata |= {key: metadata[name] for name, key in KEYS.items() if metadata.get(name)}
    empty, count = [], 0
    for count, text in enumerate(_pages(document, builder), 1):
        span = builder.add(text.strip("\n"), "\n\n")
        builder.part("page", span._replace(page=count))
        if not text.strip():
            empty.append(count)
    builder.metadata["pages"] = count
    if empty:
        pages = ", ".join(str(number) for number in empty[:20]) + (" …" if len(empty) > 20 else "")
        builder.warn(f"{len(empty):,} of {count:,} pages have no text (perhaps they are scans): {pages}.")


def _pages(document: pypdfium2.PdfDocument, builder: Builder) -> Iterator[str]:
    for number in range(len(document)):
        try:
            page = document[number]
            text_page = page.get_textpage()
            text = text_page.get_text_bounded()
            text_page.close()
            page.close()
        except pypdfium2.PdfiumError as exc:
            builder.warn(f"Page {number + 1} cannot be read: {exc}")
            text = ""
        yield text.replace("\r\n", "\n").replace("\ufffe", "-")
