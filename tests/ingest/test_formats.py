"""Every format: fixtures parse to goldens, spans hold values, damage ends in a document or a failure."""

from __future__ import annotations

import contextlib
import io
import json
import unicodedata
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image, PngImagePlugin

from graphmem.ingest import propose
from graphmem.ingest.child import parsed_here
from graphmem.ingest.decoding import decoded
from graphmem.ingest.document import DocumentLimits, ParsedDocument, ParseFailed, PartField
from graphmem.ingest.format_table import BY_NAME, FORMATS
from graphmem.ingest.media_types import media_type
from graphmem.ingest.pipe import lines, read_lines
from tests.ingest.goldens import FILES, document, golden
from tests.support.examples import examples
from tests.support.proposals import plain
from tests.support.walks import walk_over

SMALL = DocumentLimits(text_characters=200_000, parts=5_000, cells=20_000, pages=50, inflated_bytes=20 << 20)


def parsed_fixture(file: Path) -> ParsedDocument | None:
    try:
        return parsed_here(file.read_bytes(), None, file.name, DocumentLimits())
    except ParseFailed:
        return None


@walk_over("file", FILES)
def test_a_fixture_parses_to_its_golden(file: Path) -> None:
    assert document(file) == json.loads(golden(file).read_text(encoding="utf-8"))


def test_every_format_has_a_fixture() -> None:
    expected = [json.loads(golden(file).read_text(encoding="utf-8")) for file in FILES]
    assert {value["format"] for value in expected if "format" in value} == {row.name for row in FORMATS}


@walk_over("file", FILES)
def test_the_span_of_a_field_holds_its_value_as_it_stands_in_the_file(file: Path) -> None:
    parsed = parsed_fixture(file)
    if parsed is not None:
        check_document(parsed)
        wrong = [field for part in parsed.parts for field in part.fields if not holds(parsed, field)]
        assert wrong == []


@walk_over("file", FILES)
def test_a_document_is_the_same_after_the_pipe(file: Path) -> None:
    parsed = parsed_fixture(file)
    if parsed is not None:
        assert read_lines(lines(parsed), DocumentLimits()) == parsed


@walk_over(
    "text, expected",
    [
        ("12:30", "12:30"),
        ("0123", "0123"),
        ("no", "no"),
        ("2026-07-03", "2026-07-03"),
        ("2026-07-03 10:00:00", "2026-07-03 10:00:00"),
        ("-12", -12),
        ("+4712345678", "+4712345678"),
        ("1.50", 1.5),
        ("true", True),
        ("~", None),
        ("", None),
        ('"12"', "12"),
        ("!!python/object/apply:os.system [ls]", None),
    ],
)
def test_values_of_front_matter_are_those_that_people_mean(text: str, expected: Any) -> None:
    parsed = parsed_here(f"---\nkey: {text}\n---\nbody\n".encode(), None, "a.md", DocumentLimits())
    if text.startswith("!!"):
        assert "front matter is left as text" in parsed.warnings[0]
    else:
        assert parsed.parts[0].fields[0].value == expected
        assert type(parsed.parts[0].fields[0].value) is type(expected)


@walk_over(
    "text, encoding",
    [
        ("Name;Ort\nJürgen Weiß;Köln\n", "cp1252"),
        ("navn,by\nBjørn Bø,Tromsø\nÅse Lie,Ålesund\n", "cp1252"),
        ("nom,ville\nChloé Lefèvre,Orléans\nRené,Besançon\n", "cp1252"),
        ("jméno,město\nŘehoř Čapek,Plzeň\nJiří Dvořák,Třebíč\nŠtěpán,Kroměříž\n", "cp1250"),
        ("imię,miasto\nŁukasz Wójcik,Łódź\nŚwięty,Kraków\n", "cp1250"),
        ("имя,город\nИван Петров,Москва\n", "cp1251"),
        ("Иван Петров жил в Москве\n", "utf-16-le"),
        ("Иван Петров жил в Москве\n", "utf-16-be"),
        ("名前,都市\n山田太郎,東京\n", "shift_jis"),
    ],
)
def test_a_short_text_is_read_in_its_encoding(text: str, encoding: str) -> None:
    assert decoded(text.encode(encoding)).text == text


def test_a_few_damaged_bytes_of_utf_8_are_told_and_cost_nothing_else() -> None:
    text, encoding, warnings = decoded("Zoë Müller\nBjørn Bø\n?\0\nÅse\n".encode().replace(b"?", b"\xff"))
    assert (text, encoding) == ("Zoë Müller\nBjørn Bø\n\ufffd\nÅse\n", "utf-8")
    assert warnings == (
        "What is no utf-8 is shown as U+FFFD: 1 in line 3.",
        "NUL characters are left out: 1 in line 3.",
    )
    assert decoded("Zoë Bø".encode()[:-1])[:2] == ("Zoë B\ufffd", "utf-8")


def test_zero_bytes_at_the_end_of_a_text_are_no_other_format() -> None:
    line = '{"type": "entity", "name": "Zoë", "entityType": "person", "observations": ["sails"]}\n'
    for encoding in ("utf-8", "utf-16", "utf-16-le", "utf-32"):
        data = line.encode(encoding)
        read = parsed_here(data + bytes(9_001), None, "memory.jsonl", DocumentLimits())
        assert (read.format, read.text) == ("memory", line), encoding
        assert "zero bytes" in read.warnings[0]
        assert media_type(data + bytes(9_001), None, "memory.jsonl") == "application/jsonl"


@walk_over(
    "name, text, values, warnings",
    [
        ("a.json", '{"people": [{"name": "Ada"}, {"name": "Bob"}, {"nam', ["Ada", "Bob"], 1),
        ("a.json", '{"people": [{"name": "Ada"}, {"name: 3}, {"name": "Cy"}], "x": 1}', ["Ada", "Cy"], 2),
        ("a.json", '[{"a": {"a": 1}, "b": 3}, {"a": {"a": 5}, "b": x}, {"a": {"a": 7}, "b": 9}]', [3, 9], 1),
        ("a.json", '{"name": "Ada"}{"name": "Bob"}', ["Ada", "Bob"], 0),
        ("a.jsonl", '{"name": "Ada"}{"name": "Bob"}\n{"name": "Cy"}\n', ["Ada", "Bob", "Cy"], 0),
        ("a.jsonl", '{"name": "A{"name": "Ada"}\n{"name": "Bob", "x": [\n{"name": "Cy"}', ["Ada", "Cy"], 2),
        ("a.jsonl", '{"type": "entity", "na{"type": "entity", "name": "Ada", "entityType": "person", '
         '"observations": []}\n', ["Ada"], 1),
    ],
)  # fmt: skip
def test_whole_objects_beside_broken_ones_come_in(
    name: str, text: str, values: list[Any], warnings: int
) -> None:
    document = parsed_here(text.encode(), None, name, DocumentLimits())
    entities = propose(document, file_name=name).entities
    shown = [entity.fields.get("name", entity.fields.get("b")) for entity in entities]
    assert (shown, len(document.warnings)) == (values, warnings), document.warnings


def test_lists_of_objects_in_lines_of_their_own_are_one_json() -> None:
    for text in (
        '[\n{"name": "Ada"},\n{"name": "Bob"}\n]',
        '{"people": [\n{"name": "Ada"},\n{"name": "Bob"}]}',
    ):
        assert parsed_here(text.encode(), None, "a.json", DocumentLimits()).format == "json"


def test_a_message_without_its_boundary_is_text() -> None:
    data = b"Subject: x\nFrom: a@b.c\nTo: d@e.f\nContent-Type: multipart/mixed; boundary=no\n\nthe body\n"
    parsed = parsed_here(data, None, "a.eml", DocumentLimits())
    assert {field.name: field.value for field in parsed.parts[0].fields}["body"] == "the body"


def test_damaged_lines_of_a_calendar_and_of_contacts_are_named() -> None:
    for name, text in {
        "a.ics": "BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:A\nDTSTART:never\nEND:VEVENT\nEND:VCALENDAR\n",
        "a.vcf": "BEGIN:VCARD\nVERSION:3.0\nFN:A\ngarbage\nEND:VCARD\n",
    }.items():
        parsed = parsed_here(text.encode(), None, name, DocumentLimits())
        assert "cannot be read" in parsed.warnings[0]
        assert "A" in [field.value for field in parsed.parts[0].fields]


@given(data=st.data())
@settings(
    examples(40, 150),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example, HealthCheck.data_too_large],
)
def test_damaged_files_parse_or_fail_with_a_reason(data: st.DataObject) -> None:
    file = data.draw(st.sampled_from(FILES))
    damaged = data.draw(damages(file.read_bytes()))
    with contextlib.suppress(ParseFailed):
        parsed = parsed_here(damaged, None, file.name, SMALL)
        check_document(parsed)
        assert read_lines(lines(parsed), SMALL) == parsed


@st.composite
def damages(draw: st.DrawFn, data: bytes) -> bytes:
    """Return bytes that are cut, flipped, repeated or joined with another fixture."""
    for _ in range(draw(st.integers(1, 3))):
        if not data:
            return data
        place = draw(st.integers(0, len(data) - 1))
        match draw(st.sampled_from(["cut", "head", "flip", "repeat", "join", "insert"])):
            case "cut":
                data = data[:place]
            case "head":
                data = data[place:]
            case "flip":
                data = data[:place] + bytes([data[place] ^ draw(st.integers(1, 255))]) + data[place + 1 :]
            case "repeat":
                end = min(len(data), place + draw(st.integers(1, 300)))
                data = data[:place] + data[place:end] * draw(st.integers(2, 20)) + data[end:]
            case "join":
                data += draw(st.sampled_from(FILES)).read_bytes()
            case "insert":
                data = data[:place] + draw(st.binary(max_size=20)) + data[place:]
    return data


def check_document(parsed: ParsedDocument) -> None:
    """Check what every document promises."""
    text = parsed.text
    assert unicodedata.is_normalized("NFC", text)
    assert not set("\0\r") & set(text)
    assert parsed.media_type in BY_NAME[parsed.format].media_types
    for part in parsed.parts:
        spans = [part.span, *(field.span for field in part.fields)]
        assert all(0 <= (s.start or 0) <= (s.end or 0) <= len(text) for s in spans)
        if part.span.line is not None and part.span.start is not None:
            assert part.span.line == 1 + text.count("\n", 0, part.span.start)
    json.dumps(plain([parsed.head(), *parsed.parts]), allow_nan=False).encode()


def holds(parsed: ParsedDocument, field: PartField) -> bool:
    """Return whether the span of a field holds its value, perhaps in the quotes and escapes of the file."""
    if field.span.start is None:
        return True
    place = parsed.text[field.span.start : field.span.end]
    if json_of(place) == field.value or field.name == "sent_at":
        return True
    return all(squashed(leaf) in squashed(place) for leaf in leaves(field.value, field.name))


def leaves(value: Any, name: str) -> list[Any]:
    """Return the texts and numbers of a value; the media types of attachments are in no text."""
    if isinstance(value, dict):
        return [leaf for key, member in value.items() if key != "media_type" for leaf in leaves(member, key)]
    if isinstance(value, list):
        return [leaf for member in value for leaf in leaves(member, name)]
    return [value]


def squashed(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return "".join(character for character in text if character not in '\\"' and not character.isspace())


def json_of(place: str) -> Any:
    try:
        return json.loads(place)
    except ValueError:
        return None


def test_notes_of_rich_text_are_counted() -> None:
    data = rb"{\rtf1\ansi See {\footnote One}{\footnote Two}{\*\annotation x}this.\par}"
    document = parsed_here(data, None, "a.rtf", DocumentLimits())
    assert document.text == "See this.\n"
    assert document.warnings == ("TEXT_NOT_READ: 2 footnotes; 1 annotation.",)


def test_the_texts_of_a_png_and_the_comment_of_a_gif_are_read() -> None:
    said, png, gif = PngImagePlugin.PngInfo(), io.BytesIO(), io.BytesIO()
    said.add_text("Title", "The figurehead")
    said.add_itxt("Description", "Vor dem Streichen, größer")
    said.add_text("XML:com.adobe.xmp", "<x/>")
    Image.new("RGB", (2, 2)).save(png, "PNG", pnginfo=said)
    Image.new("P", (2, 2)).save(gif, "GIF", comment=b"by Tove")
    document = parsed_here(png.getvalue(), None, "a.png", DocumentLimits())
    assert document.title == "The figurehead"
    assert document.metadata["exif"] == {
        "Title": "The figurehead",
        "Description": "Vor dem Streichen, größer",
    }
    assert parsed_here(gif.getvalue(), None, "a.gif", DocumentLimits()).metadata["exif"] == {
        "comment": "by Tove"
    }
