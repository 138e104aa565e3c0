"""The table of formats: its modules and libraries exist, and docs/files.md shows it."""

from __future__ import annotations

import re

from graphmem.ingest.document import PART_KINDS, DocumentLimits
from graphmem.ingest.format_table import BY_MEDIA_TYPE, BY_SUFFIX, FORMATS, Format
from tests.contract.snapshots import ROOT
from tests.support.walks import walk_over

PAGE = (ROOT / "docs" / "files.md").read_text(encoding="utf-8")


def row(format: Format) -> str:
    """Return the line of a format in the table of the page."""
    shown = [
        format.title,
        ", ".join(f"`{suffix}`" for suffix in format.suffixes) or "by its content",
        f"`{format.media_types[0]}`",
        ", ".join(format.parts),
        ", ".join(format.libraries) or "Python",
    ]
    return f"| {' | '.join(shown)} |"


@walk_over("format", FORMATS)
def test_the_page_has_the_row_of_each_format(format: Format) -> None:
    assert row(format) in PAGE.splitlines()


def test_the_page_has_the_limits() -> None:
    limits = DocumentLimits()
    numbers = {
        int(number.replace(",", "")) for number in re.findall(r"\d[\d,]*", PAGE.partition("## Limits")[2])
    }
    assert {limits.file_bytes, limits.text_characters, limits.parts, limits.pages, limits.cells} <= numbers
    assert {
        limits.archive_members,
        limits.inflation_ratio,
        limits.cpu_seconds,
        int(limits.wall_seconds),
    } <= numbers


@walk_over("format", FORMATS)
def test_a_format_can_be_loaded_and_names_its_version(format: Format) -> None:
    assert callable(format.load())
    assert re.fullmatch(r"\d+( [\w-]+-[\d.a-z]+)*", format.parser_version)
    assert set(format.parts) <= set(PART_KINDS)


def test_types_and_suffixes_lead_to_one_format() -> None:
    assert BY_SUFFIX[".md"].name == BY_MEDIA_TYPE["text/markdown"].name == "markdown"
    assert BY_MEDIA_TYPE["application/json"].name == "json"
    assert len(BY_SUFFIX) == sum(len(format.suffixes) for format in FORMATS)
