"""PDF: the text of each page with its annotations, the names of attached files, and an invoice among these.

A page is a part. Pictures are not read: a page that is a scan has no text, and a warning says so. The value
of a form stands behind its label: the text on its left, of a box the text on its right.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator
from typing import Any

import pypdfium2
from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]
from pypdfium2 import raw
from pypdfium2.raw import FORMTYPE_NONE, FORMTYPE_XFA_FULL, FPDF_ERR_PASSWORD

from graphmem.ingest.archives import DECLARATIONS
from graphmem.ingest.building import Builder, address_after, iso, widened
from graphmem.ingest.document import ParseFailed, PartField
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


BOXES = (raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON)
LISTS = (raw.FPDF_FORMFIELD_COMBOBOX, raw.FPDF_FORMFIELD_LISTBOX)
UNSHOWN = (raw.FPDF_FORMFIELD_UNKNOWN, raw.FPDF_FORMFIELD_PUSHBUTTON, raw.FPDF_FORMFIELD_SIGNATURE)
Addition = tuple[int | None, str]
"""A text, and the offset in the text of its page at which it stands; None is below that text."""
NO_NOTES = (raw.FPDF_ANNOT_POPUP, raw.FPDF_ANNOT_UNKNOWN)
PASSWORD_FLAG = 1 << 13
NEAR_POINTS = 60  # how far a label is looked for
LABEL_CHARACTERS_LIMIT = 200
OPTIONS_LIMIT = 1_000


class Annotations:
    """The annotations of one page. ``text`` is the text of the page."""

    def __init__(self, document: pypdfium2.PdfDocument, page: Any, text_page: Any, text: str) -> None:
        self._form = document.formenv.raw if document.formenv is not None else None
        self._page = page
        self._text_page = text_page
        self._text = text
        self.count: int = raw.FPDFPage_GetAnnotCount(page.raw)
        self.files: list[str] = []

    def with_text(self) -> str:
        additions = [each for number in range(self.count) for each in self._of_annotation(number)]
        inner = [(offset, text) for offset, text in additions if offset is not None]
        pieces, last = list[str](), 0
        for offset, addition in sorted(inner, key=lambda each: each[0]):
            pieces += [self._text[last:offset], addition]
            last = offset
        below = [text.strip() for offset, text in additions if offset is None]
        return "\n".join(["".join([*pieces, self._text[last:]]).strip("\n"), *below])

    def _of_annotation(self, number: int) -> Iterator[Addition]:
        annotation = raw.FPDFPage_GetAnnot(self._page.raw, number)
        if not annotation:
            return
        try:
            kind = raw.FPDFAnnot_GetSubtype(annotation)
            if kind == raw.FPDF_ANNOT_WIDGET:
                yield from self._of_field(annotation)
            elif kind == raw.FPDF_ANNOT_LINK:
                yield from self._of_link(annotation)
            elif kind == raw.FPDF_ANNOT_FILEATTACHMENT:
                file = raw.FPDFAnnot_GetFileAttachment(annotation)
                self.files.append(_text_of(raw.FPDFAttachment_GetName, file))
            elif kind not in NO_NOTES:
                note = _value(annotation, "Contents").strip()
                label = "" if kind == raw.FPDF_ANNOT_FREETEXT else "Note: "
                if note:
                    yield None, label + note
        finally:
            raw.FPDFPage_CloseAnnot(annotation)

    def _of_link(self, annotation: Any) -> Iterator[Addition]:
        action = raw.FPDFLink_GetAction(raw.FPDFAnnot_GetLink(annotation))
        if not action or raw.FPDFAction_GetType(action) != raw.PDFACTION_URI:
            return
        document = self._page.pdf.raw
        size = raw.FPDFAction_GetURIPath(document, action, None, 0)
        buffer = ctypes.create_string_buffer(size)
        raw.FPDFAction_GetURIPath(document, action, buffer, size)
        left, bottom, right, top = _rectangle(annotation)
        words = self._lines(left - 1, bottom - 1, right + 1, top + 1)
        address = address_after("".join(words), buffer.value.decode(errors="replace"))
        if address:
            offset = self._offset(words[-1], (left + right) / 2, (bottom + top) / 2) if words else None
            yield None if offset is None else offset + len(words[-1]), address

    def _of_field(self, annotation: Any) -> Iterator[Addition]:
        form = self._form
        kind = raw.FPDFAnnot_GetFormFieldType(form, annotation) if form is not None else -1
        if kind in UNSHOWN or kind < 0 or raw.FPDFAnnot_GetFormFieldFlags(form, annotation) & PASSWORD_FLAG:
            return
        name = _text_of(raw.FPDFAnnot_GetFormFieldAlternateName, form, annotation)
        name = name or _text_of(raw.FPDFAnnot_GetFormFieldName, form, annotation)
        left, bottom, right, top = _rectangle(annotation)
        middle = (bottom + top) / 2
        if kind in BOXES:
            # The library looks for the picture of a box, its state says as well that it is checked.
            state, value = _value(annotation, "AS") or _value(annotation, "V"), ""
            mark = "[x]" if state not in ("", "Off") else "[ ]"
            if mark == "[x]":
                value = _text_of(raw.FPDFAnnot_GetFormFieldExportValue, form, annotation)
                # It exports `Yes` where a box says nothing of it.
                value = state if value in ("", "Yes") else value
            label = next(iter(self._lines(right, bottom, right + 5 * NEAR_POINTS, top)), "")
            offset = self._offset(label, right + 2, middle)
            line = f"{mark} {name}: {value}" if value else f"{mark} {name}"
            yield (None, line) if offset is None else (offset, f"{mark} ")
            return
        value = self._chosen(annotation) if kind in LISTS else ""
        value = (value or _text_of(raw.FPDFAnnot_GetFormFieldValue, form, annotation)).strip()
        if value:
            label = next(iter(self._lines(self._page.get_mediabox()[0], bottom, left, top)), "")
            offset = self._offset(label, left - 2, middle)
            yield (None, f"{name}: {value}") if offset is None else (offset + len(label), f" {value}")

    def _chosen(self, annotation: Any) -> str:
        form, count = self._form, raw.FPDFAnnot_GetOptionCount(self._form, annotation)
        chosen = [
            _text_of(raw.FPDFAnnot_GetOptionLabel, form, annotation, number)
            for number in range(min(count, OPTIONS_LIMIT))
            if raw.FPDFAnnot_IsOptionSelected(form, annotation, number)
        ]
        return ", ".join(chosen)

    def _lines(self, left: float, bottom: float, right: float, top: float) -> list[str]:
        if right <= left or top <= bottom:
            return []
        text = self._text_page.get_text_bounded(left, bottom, right, top)
        return [line.strip() for line in text.splitlines() if line.strip()]

    def _offset(self, label: str, x: float, y: float) -> int | None:
        """Return where a label begins in the text: of equal ones the nearest to a point of the page."""
        if not label or len(label) > LABEL_CHARACTERS_LIMIT:
            return None
        index = self._text_page.get_index(x, y, NEAR_POINTS, NEAR_POINTS / 6) or 0
        before = self._text.rfind(label, 0, index + len(label))
        after = self._text.find(label, index)
        offsets = [offset for offset in (before, after) if offset >= 0]
        return min(offsets, key=lambda offset: abs(offset - index), default=None)


def _rectangle(annotation: Any) -> tuple[float, float, float, float]:
    place = raw.FS_RECTF()
    raw.FPDFAnnot_GetRect(annotation, place)
    return (
        min(place.left, place.right), min(place.bottom, place.top),
        max(place.left, place.right), max(place.bottom, place.top),
    )  # fmt: skip


def _value(annotation: Any, key: str) -> str:
    return _text_of(raw.FPDFAnnot_GetStringValue, annotation, key.encode())


def _text_of(call: Callable[..., int], *arguments: Any) -> str:
    """Return the text that a function of the library writes into a buffer."""
    size = call(*arguments, None, 0)
    buffer = ctypes.create_string_buffer(size + size % 2)
    call(*arguments, ctypes.cast(buffer, ctypes.POINTER(raw.FPDF_WCHAR)), size)
    return buffer.raw[:size].decode("utf-16-le", "replace").rstrip("\0")


ROOTS = {"CrossIndustryInvoice", "CrossIndustryDocument", "Invoice", "CreditNote"}
LINES = ("IncludedSupplyChainTradeLineItem", "InvoiceLine", "CreditNoteLine")
NUMBERS = {"amount", "tax", "quantity"}
NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,6})?", re.ASCII)


def add_invoice(builder: Builder, data: bytes, name: str) -> bool:
    """Add an invoice as a record with its fields; return whether a file is one."""
    if any(declaration in data for declaration in DECLARATIONS):
        return False
    parser = etree.XMLParser(resolve_entities=False, remove_comments=True, remove_pis=True)
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError:
        return False
    if etree.QName(root).localname not in ROOTS:
        return False
    texts = _texts(root, table("xml_exports")["invoice"])
    builder.add(f"Invoice {name}:", "\n")
    fields = [
        PartField(field, _number(field, text), builder.add_line(field.replace("_", " ").capitalize(), text))
        for field, text in texts.items()
    ]
    paths = table("xml_exports")["invoice_line"]
    lines = [_texts(line, paths) for kind in LINES for line in root.iter(f"{{*}}{kind}")]
    builder.count_cells(len(fields) + len(lines))
    if lines:
        spans = [builder.add("\t".join(line.values()), "\n") for line in lines]
        items = [{field: _number(field, text) for field, text in line.items()} for line in lines]
        fields.append(PartField("line_items", items, widened(spans)))
    if fields:
        builder.part("record", widened(field.span for field in fields), fields)
    return True


def _texts(element: etree._Element, paths: dict[str, list[str]]) -> dict[str, str]:
    """Return the texts that stand at these places, days as ISO 8601."""
    texts: dict[str, str] = {}
    for field, places in paths.items():
        candidates = (" ".join((element.findtext(place) or "").split()) for place in places)
        text = next(filter(None, candidates), "")
        if text:
            texts[field] = iso(text) if field.endswith("_date") else text
    return texts


def _number(field: str, text: str) -> Any:
    return float(text) if field in NUMBERS and NUMBER.fullmatch(text) else text
