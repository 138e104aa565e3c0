"""The formats that graphmem reads: ``formats.toml``, which says what each member of a format is."""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from graphmem.ingest.tables import table

if TYPE_CHECKING:
    from graphmem.ingest.building import Builder

    Parse = Callable[[Builder, bytes, str], None]


@dataclass(frozen=True, slots=True)
class Format:
    name: str
    title: str
    media_types: tuple[str, ...]
    parser: str
    parts: tuple[str, ...]
    suffixes: tuple[str, ...] = ()
    place: str = ""
    libraries: tuple[str, ...] = ()
    version: int = 1
    signatures: tuple[str, ...] = ()
    begins: str = ""
    marked_up: bool = False
    names: tuple[list[str], ...] = ()
    is_binary: bool = False
    is_text: bool = False

    @property
    def parser_version(self) -> str:
        """The version of the parser, then the releases of its libraries: ``1 lxml-6.0.2``."""
        releases = (f"{name}-{importlib.metadata.version(name)}" for name in self.libraries)
        return " ".join([str(self.version), *releases])

    def load(self) -> Parse:
        """Import the parser. It adds text and parts of a file to a builder, whose format it may change."""
        module, _, function = (self.place or f"{self.parser}:parse").partition(":")
        return getattr(importlib.import_module(f"graphmem.ingest.formats.{module}"), function)


TABLES: Final = table("formats")


def _format(name: str, table: dict[str, Any]) -> Format:
    values: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in table.items()
    }
    return Format(name, **values)


FORMATS: Final = tuple(_format(name, table) for name, table in TABLES["formats"].items())
BY_NAME: Final = {row.name: row for row in FORMATS}
# Of formats with the same type, the first one is meant: the content tells the others.
BY_MEDIA_TYPE: Final = {media_type: row for row in reversed(FORMATS) for media_type in row.media_types}
BY_SUFFIX: Final = {suffix: row for row in FORMATS for suffix in row.suffixes}


def json_format(head: str) -> str | None:
    """Return the format whose names stand in the beginning of a JSON text."""
    quoted = ((row.name, [f'"{name}"' for name in names]) for row in FORMATS for names in row.names)
    return next((format for format, names in quoted if all(name in head for name in names)), None)
