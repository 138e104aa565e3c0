"""Long texts for the functions that take a text of a caller, and what those functions do with them."""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import inspect
import json
import pkgutil
import re
import sys
import time
from collections.abc import Callable, Iterator
from types import FrameType, ModuleType
from typing import Any, Final, NamedTuple

from graphmem.duplicates import blocking
from graphmem.duplicates.similarity import Profile
from graphmem.ingest.building import Builder
from graphmem.ingest.child import parsed_here
from graphmem.ingest.document import DocumentLimits
from graphmem.ingest.format_table import BY_NAME
from graphmem.ingest.interpreters import interpreter_table
from graphmem.model.schema.shapes import Issues
from graphmem.search.questions import mentions
from graphmem.search.questions.reading import Reading
from graphmem.text import languages

ROOMS: Final = (
    "graphmem.text",
    "graphmem.model",
    "graphmem.duplicates",
    "graphmem.search.questions",
    "graphmem.search.kinds",
    "graphmem.search.terms",
    "graphmem.ingest",
)
"""The rooms whose functions take texts of callers."""


def _numbered(form: str) -> Callable[[int], str]:
    return lambda size: "".join(form.format(number) for number in range(size // len(form) + 1))[:size]


def _again(unit: str) -> Callable[[int], str]:
    return lambda size: unit * (size // len(unit))


# Units are whole, so that a longer text ends as a shorter one does.
SHAPES: Final[dict[str, Callable[[int], str]]] = {
    "one token again and again": _again("ada "),
    "digits with spaces": _again("1 "),
    "other words": _numbered("w{0}x "),
    "other numbers": _numbered("{0} "),
    "spaces": _again(" "),
    "one long word": _again("a"),
    "one long number": _again("1"),
    "open brackets": _again("("),
    "nested brackets": lambda size: "[" * (size // 2) + "]" * (size - size // 2),
    "quotes": _again("\"'"),
    "commas": _again(","),
    "scripts and marks": _again("é漢e\u0301я\u0301ab ש\u05b0 "),
    "marks alone": _again("\u0301"),
    "emoji": _again("😀"),
    "newlines": _again("\n"),
    "lines": _numbered("{0} a: b\r\n"),
    "hyphens": _again("1-"),
    "dots": _again("a."),
    "addresses": _again("a@b.c,"),
    "slashes": _again("http://a/"),
    "backslashes": _again("\\"),
    "tags": _again("<a "),
    "underscores": _again("_a"),
    "ending otherwise": lambda size: "a" * (size - 1) + "!",
    "initials": _again("A. "),
    "dates": _again("2024-01-01 "),
}
"""Shapes of long texts: each a function of the number of characters."""


class Case(NamedTuple):
    """A function that takes texts, in one way to call it with one."""

    name: str
    call: Callable[[str], object]
    is_single: bool = False
    """Whether only one of several texts is long."""

    def __str__(self) -> str:
        return self.name


def modules() -> Iterator[ModuleType]:
    """Yield the modules of the rooms."""
    for room in ROOMS:
        package = importlib.import_module(room)
        yield package
        for found in pkgutil.walk_packages(getattr(package, "__path__", []), room + "."):
            yield importlib.import_module(found.name)


NOW: Final = 1_790_000_000_000_000
_TEXTS = re.compile(r"(?:Sequence|Collection|Iterable|list|tuple|set|frozenset)\[str(?:, \.\.\.)?\]")
_BY_FORM: Final[dict[str, Callable[[str], object]]] = {
    "str": str,
    "str | None": str,
    "Any": str,
    "object": str,
    "bytes": str.encode,
    "int": lambda _: NOW,
    "Builder": lambda _: Builder(DocumentLimits(), BY_NAME["text"]),
    "DocumentLimits": lambda _: DocumentLimits(),
    "AskedNames": mentions.names_in,
    "Issues": lambda _: Issues(),
    "Kind": lambda _: "person",
    "str | bytes": str.encode,
    "Mapping[str, Any]": lambda text: {"name": text, "email": text, "phone": text},
    "Mapping[str, str]": lambda text: {"name": json.dumps(text), "end_date": json.dumps(text)},
    "Mapping[str, str | None]": lambda text: {"name": json.dumps(text)},
    "Iterable[tuple[str, str]]": lambda text: [("name", json.dumps(text)), ("end_date", json.dumps(text))],
}


OWN: Final = ("mark",)
"""Arguments that no caller gives: what stands in the place of what is taken out is a word of the product."""
NO_TEXTS: Final = ("int", "Builder", "DocumentLimits", "Issues", "Kind")


def _mark(_: str) -> str:
    return "[taken out]"


def _written(annotation: object) -> str:
    """Return an annotation as it is written, without the modules of its names."""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"\b(?:\w+\.)+(?=\w)", "", text)


def _form(annotation: str) -> Callable[[str], object] | None:
    if _TEXTS.fullmatch(annotation):
        # Words of a question are a set where their order does not count.
        return _words if annotation.startswith(("Collection", "set", "frozenset")) else str.split
    return _BY_FORM.get(annotation)


def _words(text: str) -> object:
    return dict.fromkeys(text.split()).keys()


FRAMES: Final[dict[str, tuple[str, ...]]] = {
    "note.txt": ("{0}", "Invoice 12: {0}\n"),
    "people.csv": ("{0}", "name,email,tags\nAda,{0},x\n", "name;{0}\nAda;2\n", 'name,note\n"{0}'),
    "record.json": ('{{"name": {1}, "email": {1}}}', "{0}"),
    "records.jsonl": ('{{"name": {1}, "email": {1}}}\n', "{0}"),
    "notes.md": ("{0}", "---\ntitle: {0}\n---\n", "# {0}\n", "| a |\n|---|\n| {0} |\n", "- {0}", "**{0}"),
    "page.html": ("<p>{0}</p>", "<p {0}>", "<!doctype html>{0}", "<p>{2}", "<p {3}>x", "<table><tr><td>{0}"),
    "message.eml": (
        "From: {0} <a@b.c>\nTo: {0}\nSubject: {0}\nDate: {0}\n\n{0}",
        "From: a@b.c\nTo: x <{0}>\nContent-Type: text/html\n\n<p>{0}",
        "From: a@b.c\nContent-Type: multipart/mixed; boundary={0}\n\n--{0}\n",
        "From: a@b.c\nSubject: =?utf-8?q?{0}?=\nReferences: {0}\n\n> {0}",
    ),
    "archive.mbox": ("From a@b.c Thu Jan  1 00:00:00 2026\nFrom: {0}\nSubject: {0}\n\n{0}\n\n",),
    "studio.ics": (
        "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:1\nDTSTART:20260101T100000Z\nSUMMARY:{0}\n"
        'ATTENDEE;CN="{0}":mailto:{0}\nLOCATION:{0}\nEND:VEVENT\nEND:VCALENDAR\n',
        "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:{0}\nDTSTART;TZID={0}:20260101T100000\nRRULE:{0}\n"
        "EXDATE:{0}\nEND:VEVENT\nEND:VCALENDAR\n",
        "BEGIN:VCALENDAR\n{0}\nEND:VCALENDAR\n",
    ),
    "people.vcf": (
        "BEGIN:VCARD\nVERSION:4.0\nFN:{0}\nN:{0};{0}\nEMAIL;TYPE={0}:{0}\nORG:{0}\nBDAY:{0}\nEND:VCARD\n",
        "BEGIN:VCARD\n{0}\nEND:VCARD\n",
    ),
    "memory.jsonl": (
        '{{"type": "entity", "name": {1}, "entityType": {1}, "observations": [{1}]}}\n'
        '{{"type": "relation", "from": {1}, "to": {1}, "relationType": {1}}}\n',
    ),
    "WhatsApp Chat with Ada.txt": (
        "[01.02.24, 10:00:00] {0}: {0}\n[01.02.24, 10:00:01] Ada: {0}\n",
        "01/02/2024, 10:00 - Ada: {0}\n",
    ),
    "report.rtf": ("{{\\rtf1 {0}}}", "{{\\rtf1 {2}"),
}
"""Files around a long text. ``{1}`` is the text as JSON, ``{2}`` its words as tags, ``{3}`` as attributes."""


def _parsed(name: str, frame: str, text: str) -> object:
    words = text.split() or [text]
    tags = "".join(f"<b{place}>" for place in range(len(words)))
    attributes = " ".join(f"a{place}=1" for place in range(len(text) // 8))
    data = frame.format(text, json.dumps(text), tags, attributes).encode()
    document = parsed_here(data, None, name, DocumentLimits())
    return interpreter_table.propose(document, file_name=name)


def _compared(entity_type: str, field: str, text: str) -> object:
    return blocking.propose(
        [
            Profile(f"ent_{place}", entity_type, f"Ada {place}", {field: json.dumps(each)})
            for place, each in enumerate((text, text[:-1] + "b", text[1:] + "c", text[: len(text) // 2]))
        ],
        0.5,
    )


def _read(text: str) -> object:
    question = mentions.names_in(text)
    parts = question.runs, question.parts({"ada"}), question.name_words, question.written_names
    return (
        parts,
        question.unknown_identifier(),
        Reading(question, {"person", "task"}, {}, NOW).kinds(),
    )


ADAPTERS: Final[dict[str, Callable[[str], object]]] = {
    **{
        f"{name} with {frame!r}": functools.partial(_parsed, name, frame)
        for name, frames in FRAMES.items()
        for frame in frames
    },
    **{
        f"duplicates of {entity_type} by {field}": functools.partial(_compared, entity_type, field)
        for entity_type, fields in {
            "person": ("name", "aliases", "email", "phone", "born", "address", "postcode", "city", "url"),
            "company": ("name", "url"),
            "invoice": ("vendor", "number", "date"),
            "task": ("name",),
        }.items()
        for field in fields
    },
    "questions.mentions.names_in and kinds": _read,
    "text.languages.stems": lambda text: languages.stems("en", text.split()),
}


def cases() -> list[Case]:
    """Return the public functions of the rooms whose arguments are texts, one case for each text."""
    found: list[Case] = []
    for module in modules():
        for name, value in vars(module).items():
            if name.startswith("_") or getattr(value, "__module__", "") != module.__name__:
                continue
            if not inspect.isfunction(inspect.unwrap(value)) or inspect.iscoroutinefunction(value):
                continue
            found += _ways(f"{module.__name__}.{name}", value)
    return found + [Case(name, call) for name, call in ADAPTERS.items()]


def _ways(name: str, function: Callable[..., object]) -> Iterator[Case]:
    asked = [
        value
        for value in inspect.signature(function).parameters.values()
        if value.default is value.empty and value.kind is value.POSITIONAL_OR_KEYWORD
    ]
    forms = [_mark if value.name in OWN else _form(_written(value.annotation)) for value in asked]
    known = [form for form in forms if form is not None]
    places = [
        place
        for place, each in enumerate(asked)
        if _written(each.annotation) not in NO_TEXTS and each.name not in OWN
    ]
    if not places or len(known) < len(forms):
        return
    for place in places if len(places) > 1 else ():
        yield Case(f"{name}({asked[place].name})", functools.partial(_called, function, known, place), True)
    yield Case(name, functools.partial(_called, function, known, None))


def _called(
    function: Callable[..., object],
    forms: list[Callable[[str], object]],
    place: int | None,
    text: str,
) -> object:
    texts = [
        (text[:-1] + "bcd"[index % 3] if index else text) if place in (None, index) else "person"
        for index in range(len(forms))
    ]
    answer = function(*(form(given) for form, given in zip(forms, texts, strict=True)))
    return list(answer) if inspect.isgenerator(answer) else answer


def clear_caches() -> None:
    """Forget what functions remember of earlier texts."""
    for cached in _caches():
        cached.cache_clear()


@functools.cache
def _caches() -> list[Any]:
    return [
        value
        for name, module in list(sys.modules.items())
        if name.startswith(("graphmem.", "chardet."))
        for value in vars(module).values()
        if hasattr(value, "cache_parameters") and (value.cache_parameters() or {}).get("maxsize") is not None
    ]


def lines_run(call: Callable[[str], object], text: str) -> int:
    """Return how many lines of graphmem and of the libraries a call runs."""
    clear_caches()
    count = 0

    def trace(_: FrameType, event: str, __: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        with contextlib.suppress(Exception):
            call(text)
    finally:
        sys.settrace(before)
    return count


def cpu_seconds(call: Callable[[str], object], text: str) -> float:
    """Return the CPU that this thread uses for a call, without that of the garbage collector."""
    clear_caches()
    gc.disable()
    start = time.thread_time()
    try:
        with contextlib.suppress(Exception):
            call(text)
        return time.thread_time() - start
    finally:
        gc.enable()
