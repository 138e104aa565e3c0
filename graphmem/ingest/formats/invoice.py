"""Invoices in XML (Factur-X, ZUGFeRD, XRechnung: CII and UBL) that are attached to a PDF."""

from __future__ import annotations

import re
from typing import Any

from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]

from graphmem.ingest.archives import DECLARATIONS
from graphmem.ingest.building import Builder, widened
from graphmem.ingest.document import PartField
from graphmem.ingest.tables import table
from graphmem.ingest.written_times import iso

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
        PartField(field, _value(field, text), builder.add_line(field.replace("_", " ").capitalize(), text))
        for field, text in texts.items()
    ]
    paths = table("xml_exports")["invoice_line"]
    lines = [_texts(line, paths) for kind in LINES for line in root.iter(f"{{*}}{kind}")]
    builder.count_cells(len(fields) + len(lines))
    if lines:
        spans = [builder.add("\t".join(line.values()), "\n") for line in lines]
        items = [{field: _value(field, text) for field, text in line.items()} for line in lines]
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


def _value(field: str, text: str) -> Any:
    return float(text) if field in NUMBERS and NUMBER.fullmatch(text) else text
