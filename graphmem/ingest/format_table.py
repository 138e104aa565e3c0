"""The formats that graphmem reads: their types and suffixes, and what reads each."""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphmem.ingest.building import Builder

    Parse = Callable[[Builder, bytes, str], None]

PLACES = {
    "json_lines": "json_values:parse_lines",
    "memory_lines": "json_values:parse_lines",
    "exported_lines": "json_values:parse_lines",
    "memories": "json_values:parse",
    "mailbox": "mail:parse_mailbox",
    "chatgpt": "chats:parse_chatgpt",
    "claude": "chats:parse_claude",
    "open_webui": "chats:parse_open_webui",
    "whatsapp": "chats:parse_whatsapp",
    "telegram": "messengers:parse_telegram",
    "slack": "messengers:parse_slack",
    "messenger": "messengers:parse_messenger",
    "keep": "records:parse_keep",
    "google_tasks": "records:parse_tasks",
    "google_activity": "records:parse_activity",
    "enex": "records:parse_notes",
    "ofx": "records:parse_bookings",
    "camt": "records:parse_bookings",
}
"""Module and function of the parsers that share a module. Every other one is ``parse`` in its own."""


@dataclass(frozen=True, slots=True)
class Format:
    """A format. The first of ``media_types`` is its usual one; ``suffixes`` have their point.

    ``version`` rises with every change of what the parser makes of the same bytes. ``libraries`` are the
    distributions whose releases may change it as well. ``parts`` lists the kinds of parts, for people.
    """

    name: str
    title: str
    media_types: tuple[str, ...]
    suffixes: tuple[str, ...]
    parser: str
    parts: tuple[str, ...]
    libraries: tuple[str, ...] = ()
    version: int = 1

    @property
    def parser_version(self) -> str:
        """The version of the parser, then the releases of its libraries: ``1 lxml-6.0.2``."""
        releases = (f"{name}-{importlib.metadata.version(name)}" for name in self.libraries)
        return " ".join([str(self.version), *releases])

    def load(self) -> Parse:
        """Import the parser. It adds text and parts of a file to a builder, whose format it may change."""
        module, _, function = PLACES.get(self.parser, f"{self.parser}:parse").partition(":")
        return getattr(importlib.import_module(f"graphmem.ingest.formats.{module}"), function)


def _format(
    name: str, title: str, media_types: str, suffixes: str, parser: str, parts: str, libraries: str = "",
    version: int = 1,
) -> Format:  # fmt: skip
    """Return a format. Texts that name several have blanks between them."""
    types, endings, kinds, needed = map(tuple, map(str.split, (media_types, suffixes, parts, libraries)))
    return Format(name, title, types, endings, parser, kinds, needed, version)


def _office(usual: str, with_macros: str) -> str:
    """Return the types of a format of Microsoft Office."""
    usual = f"application/vnd.openxmlformats-officedocument.{usual}"
    return f"{usual} application/vnd.ms-{with_macros}.macroenabled.12"


def _chats(
    name: str, title: str, media_type: str = "application/json", version: int = 1, people: bool = False
) -> Format:
    """Return a format of chats. The file may come in the archive of the export."""
    parts = "contact conversation message" if people else "conversation message"
    return _format(name, title, f"{media_type} application/zip", "", name, parts, version=version)


FORMATS: tuple[Format, ...] = (
    _format("text", "plain text", "text/plain", ".txt .text .log", "plain_text", "paragraph",
            "chardet", version=3),
    _format("csv", "table with delimiters (CSV, TSV)", "text/csv text/tab-separated-values application/csv",
            ".csv .tsv .tab", "delimited", "row", "chardet", version=4),
    _format("json", "JSON", "application/json", ".json", "json_values", "record", version=3),
    _format("jsonl", "JSON Lines", "application/jsonl application/x-ndjson application/x-jsonlines",
            ".jsonl .ndjson", "json_lines", "record", version=3),
    _format("markdown", "Markdown with front matter", "text/markdown text/x-markdown", ".md .markdown",
            "markdown", "heading item paragraph record row table", "chardet markdown-it-py pyyaml",
            version=4),
    _format("html", "HTML", "text/html application/xhtml+xml", ".html .htm .xhtml", "web_page",
            "heading item paragraph row", "lxml chardet", version=4),
    _format("eml", "e-mail", "message/rfc822", ".eml", "mail", "message", "lxml chardet", version=7),
    _format("mbox", "mailbox", "application/mbox", ".mbox", "mailbox", "message", "lxml chardet", version=7),
    _format("ics", "calendar", "text/calendar", ".ics .ical", "calendar", "event",
            "python-dateutil chardet", version=5),
    _format("vcf", "contacts (vCard)", "text/vcard text/x-vcard text/directory", ".vcf .vcard", "contacts",
            "contact", "chardet", version=5),
    _format("memory", "memory.jsonl of the MCP memory server", "application/jsonl application/json", "",
            "memory_lines", "record", version=2),
    _format("mem0", "mem0 export", "application/json", "", "memories", "record"),
    _format("zep", "Zep export", "application/json", "", "memories", "record"),
    _format("graphmem", "JSON Lines of graphmem export", "application/jsonl", "", "exported_lines", "record",
            version=2),
    _chats("chatgpt", "ChatGPT export", version=4),
    _chats("claude", "Claude export", version=4),
    _chats("open_webui", "Open WebUI export", version=3),
    _chats("whatsapp", "WhatsApp chat", "text/plain", version=2),
    _chats("telegram", "Telegram export", people=True),
    _chats("slack", "Slack export", people=True),
    _chats("messenger", "chat of Facebook or Instagram", people=True),
    _format("keep", "note of Google Keep", "application/json", "", "keep", "record"),
    _format("google_tasks", "Google Tasks", "application/json", "", "google_tasks", "record"),
    _format("google_activity", "Google My Activity", "application/json", "", "google_activity", "record",
            "lxml"),
    _format("enex", "Evernote export (ENEX)", "application/enex+xml application/xml text/xml", ".enex",
            "enex", "record", "lxml chardet"),
    _format("ofx", "bank statement (OFX)", "application/x-ofx application/xml text/xml", ".ofx .qfx", "ofx",
            "record", "chardet"),
    _format("camt", "bank statement (CAMT.052 to 054)", "application/xml text/xml", "", "camt", "record",
            "chardet"),
    _format("pdf", "PDF", "application/pdf application/x-pdf", ".pdf", "pdf", "page record",
            "pypdfium2 lxml", version=4),
    _format("docx", "Word document", _office("wordprocessingml.document", "word.document"), ".docx .docm",
            "word", "heading item paragraph row table", "lxml", version=3),
    _format("xlsx", "Excel workbook", _office("spreadsheetml.sheet", "excel.sheet"), ".xlsx .xlsm",
            "workbook", "row sheet", "openpyxl", version=6),
    _format("pptx", "PowerPoint presentation",
            _office("presentationml.presentation", "powerpoint.presentation"), ".pptx .pptm", "presentation",
            "row slide", "lxml", version=3),
    _format("odt", "OpenDocument text", "application/vnd.oasis.opendocument.text", ".odt", "open_document",
            "heading item paragraph row table", "lxml", version=3),
    _format("rtf", "rich text", "application/rtf text/rtf", ".rtf", "rich_text", "paragraph", "striprtf",
            version=2),
    _format("image", "image (metadata)",
            "image/png image/jpeg image/jpg image/gif image/webp image/tiff image/bmp",
            ".png .jpg .jpeg .gif .webp .tif .tiff .bmp", "image", "property", "pillow"),
)  # fmt: skip
BY_NAME = {row.name: row for row in FORMATS}
# Of formats with the same type, the first one is meant: the content tells the others.
BY_MEDIA_TYPE = {media_type: row for row in reversed(FORMATS) for media_type in row.media_types}
BY_SUFFIX = {suffix: row for row in FORMATS for suffix in row.suffixes}
