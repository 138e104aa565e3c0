"""The formats that graphmem reads: their types and suffixes, and what reads each."""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphmem.ingest.document import Document, Limits

    Parse = Callable[[bytes, str, Limits], Document]


@dataclass(frozen=True, slots=True)
class Format:
    """A format. The first of ``media_types`` is its usual one; ``suffixes`` have their point.

    ``version`` rises with every change of what the module makes of the same bytes. ``libraries`` are the
    distributions whose releases may change it as well. ``parts`` lists the kinds of parts, for people.
    """

    name: str
    title: str
    media_types: tuple[str, ...]
    suffixes: tuple[str, ...]
    module: str
    version: int
    parts: tuple[str, ...]
    libraries: tuple[str, ...] = ()

    @property
    def parser_version(self) -> str:
        """The version of the parser, then the releases of its libraries: ``1 pypdf-6.21.4``."""
        releases = (f"{name}-{importlib.metadata.version(name)}" for name in self.libraries)
        return " ".join([str(self.version), *releases])

    def load(self) -> Parse:
        """Import the module that reads this format, and with it its libraries."""
        return importlib.import_module(f"graphmem.ingest.formats.{self.module}").parse


TEXT = Format(
    "text", "plain text", ("text/plain",), (".txt", ".text", ".log"), "plain_text", 1, ("paragraph",)
)
CSV = Format(
    "csv",
    "table with delimiters (CSV, TSV)",
    ("text/csv", "text/tab-separated-values", "application/csv"),
    (".csv", ".tsv", ".tab"),
    "delimited",
    1,
    ("row",),
)
FORMATS: tuple[Format, ...] = (TEXT, CSV)
BY_NAME = {row.name: row for row in FORMATS}
BY_MEDIA_TYPE = {media_type: row for row in FORMATS for media_type in row.media_types}
BY_SUFFIX = {suffix: row for row in FORMATS for suffix in row.suffixes}
