"""Contacts (vCard): one part per contact. The text has one line per property; pictures and keys are left
out. The levels of an organisation are its name, which may be empty, and its units.
"""

from __future__ import annotations

import logging
from typing import Any

import vobject
from vobject.base import ParseError, VObjectError

from graphmem.ingest.building import Builder, normal, widened
from graphmem.ingest.decoding import decoded
from graphmem.ingest.document import FileSpan, ParseFailed, PartField

SINGLE = {
    "FN": "name",
    "NICKNAME": "nickname",
    "ORG": "organization",
    "TITLE": "title",
    "ROLE": "role",
    "BDAY": "birthday",
    "NOTE": "note",
    "UID": "uid",
    "REV": "revision",
    "GENDER": "gender",
    "KIND": "kind",
    "TZ": "timezone",
}
REPEATED = {"EMAIL": "emails", "TEL": "phones", "ADR": "addresses", "URL": "urls", "CATEGORIES": "categories"}
NAME_MEMBERS = {"given": "given_name", "additional": "additional_name", "family": "family_name"}
ADDRESS_MEMBERS = ("box", "extended", "street", "code", "city", "region", "country")


def parse(builder: Builder, data: bytes, name: str) -> None:
    """Add the contacts of a file."""
    text, _, warnings = decoded(data)
    builder.warn(*warnings)
    unreadable = _Unreadable()
    logging.getLogger("vobject.base").addHandler(unreadable)
    try:
        for card in vobject.readComponents(text, ignoreUnreadable=True):
            if card.name == "VCARD":
                _add(builder, card)
    except (ParseError, VObjectError, ValueError, AttributeError, IndexError, KeyError, TypeError) as exc:
        raise ParseFailed(
            f"The contacts are damaged: {' '.join(str(exc).split())[:200]}", "damaged"
        ) from None
    finally:
        logging.getLogger("vobject.base").removeHandler(unreadable)
    if unreadable.lines:
        builder.warn(f"{unreadable.lines:,} lines cannot be read: they are left out.")
    if builder.position == 0:
        raise ParseFailed("The file has no contact.", "empty")


class _Unreadable(logging.Handler):
    """Counts the lines that the library skips: it only logs them."""

    lines = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Count a line."""
        self.lines += "Skipped line" in str(record.msg)


def _add(builder: Builder, card: Any) -> None:
    start, line = builder.position, builder.line
    fields: dict[str, PartField] = {}
    lists: dict[str, list[tuple[str, FileSpan]]] = {}
    for member in card.getChildren():
        label, value = str(member.name).upper(), getattr(member, "value", None)
        if label == "N" and hasattr(value, "family"):
            for attribute, name in NAME_MEMBERS.items():
                text = _text(getattr(value, attribute))
                if text:
                    fields[name] = PartField(name, text, builder.add_line(attribute.upper(), text))
        elif label in REPEATED:
            for text in _texts(label, value):
                lists.setdefault(REPEATED[label], []).append((text, builder.add_line(label, text)))
        elif label in SINGLE and _text(value) and SINGLE[label] not in fields:
            text = _text(value)
            fields[SINGLE[label]] = PartField(SINGLE[label], text, builder.add_line(label, text))
            if label == "ORG" and isinstance(value, list) and len(value) > 1:
                levels = [_text(level) for level in value]
                fields["organization_levels"] = PartField(
                    "organization_levels", levels, fields["organization"].span
                )
        elif label.startswith("X-") and isinstance(value, str) and value.strip():
            name = label[2:].lower().replace("-", "_")
            fields.setdefault(name, PartField(name, normal(value), builder.add_line(label, value)))
    builder.add("", "\n")
    members = [
        *fields.values(),
        *(
            PartField(name, [text for text, _ in pairs], widened(span for _, span in pairs))
            for name, pairs in lists.items()
        ),
    ]
    if members:
        builder.count_cells(sum(len(pairs) for pairs in lists.values()) + len(fields))
        end = max(field.span.end or start for field in members)
        builder.part("contact", FileSpan(line=line, start=start, end=end), members)


def _texts(label: str, value: Any) -> list[str]:
    """Return the texts of a property that may come again; an address is one text of its members."""
    if label == "ADR" and hasattr(value, "street"):
        members = [_text(getattr(value, name)) for name in ADDRESS_MEMBERS]
        return [", ".join(member for member in members if member)] if any(members) else []
    if label == "CATEGORIES" and isinstance(value, list):
        return [text for member in value if (text := _text(member))]
    return [text] if (text := _text(value)) else []


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(text for member in value if (text := _text(member)))
    return normal(value).strip() if isinstance(value, str) else ""
