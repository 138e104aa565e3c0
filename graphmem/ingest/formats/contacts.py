"""Contacts (vCard): one part per contact, a line per property (docs/files.md says what labels become).

The levels of an organisation are its name, which may be empty, and its units.
"""

from __future__ import annotations

import quopri
import re
from collections.abc import Iterator, Mapping

from graphmem.ingest.building import Builder, iso, widened
from graphmem.ingest.content_lines import ADDRESS, Block, ContentLine, blocks
from graphmem.ingest.decoding import decoded
from graphmem.ingest.document import FileSpan, ParseFailed, PartField
from graphmem.ingest.tables import table
from graphmem.ingest.tabular import labelled_name

TABLES = table("contacts")
SINGLE, REPEATED, LABELLED, NOUNS = (TABLES[name] for name in ("single", "repeated", "labelled", "nouns"))
NAMES, KINDS, OTHERS = REPEATED | TABLES["renamed"], TABLES["kinds"], TABLES["others"]
NO_OWN_LABELS = ("other", "homepage")
SHIPPED_LABEL = re.compile(r"_\$!<(.*)>!\$_")  # how Apple writes a label that it translates
ADDRESS_ORDER = (0, 1, 2, 5, 3, 4, 6)
"""The members of an address as they are shown: the code stands before the city."""
CHARSET = re.compile(rb";CHARSET=\"?([\w-]+)", re.IGNORECASE)
MIDNIGHT = re.compile(r"T00:00:00(?:Z|[+-].*)?")
DAYS = ("birthday", "anniversary", "death_date")
SEVERAL = re.compile(r",(?=\S)")
SCHEMES = re.compile(r"(?:tel|mailto):", re.IGNORECASE)


def parse(builder: Builder, data: bytes, name: str) -> None:
    charset = CHARSET.search(data)
    text, _, warnings = decoded(data, charset[1].decode() if charset else None)
    builder.warn(*warnings)
    card = None
    for card in blocks(text, builder, frozenset({"VCARD"})):
        if card.is_cut:
            builder.drop(f"{card.place} has no end: it is left out.")
        elif card.name == "VCARD":
            _add(builder, card)
    if card is None:
        raise ParseFailed("The file has no contact.", "empty")


def _add(builder: Builder, card: Block) -> None:
    start, line = builder.position, builder.line
    fields: dict[str, PartField] = {}
    lists: dict[str, list[tuple[str, FileSpan]]] = {}
    faxes = set[tuple[str, FileSpan]]()

    def add(label: str, name: str, text: str) -> None:
        if text and name not in fields:
            fields[name] = PartField(name, text, builder.add_line(label, text))
        elif text and fields[name].value != text:
            builder.left_out(f"{label} line", len(text))

    labels = {each.group: each.texts()[0] for each in card.named("X-ABLABEL") if each.group}
    for label in dict.fromkeys(each.name for each in card.lines):
        for member in card.named(label):
            if label == "N":
                parts = [SEVERAL.sub(", ", part) for part in member.texts(";")]
                for part, (name, place) in TABLES["names"].items():
                    add(part, name, parts[place] if place < len(parts) else "")
            elif label == "ORG":
                levels = member.texts(";")
                add(label, "organization", ", ".join(filter(None, levels)))
                if len(levels) > 1 and "organization" in fields:
                    span = fields["organization"].span
                    fields.setdefault("organization_levels", PartField("organization_levels", levels, span))
            elif label in SINGLE:
                text = member.texts()[0]
                text = _day(text) if SINGLE[label] in DAYS else text
                add(label, SINGLE[label], "" if label == "FN" and ADDRESS.fullmatch(text) else text)
            elif label in OTHERS["not_read"] or _is_binary(member):
                builder.left_out(f"{label} line")
            elif label not in OTHERS["of_the_file"]:
                for text, own in _named(member, labels):
                    is_named = len(own) > 1 or label in LABELLED or label == "X-ANDROID-CUSTOM"
                    shown = f"{label} ({own[-1]})" if is_named else label
                    pair = (text, builder.add_line(shown, text))
                    if "fax" in own[-1]:
                        faxes.add(pair)
                    for name in own:
                        lists.setdefault(name, []).append(pair)
    names = (fields.get(name) for name in ("given_name", "additional_name", "family_name"))
    full_name = " ".join(field.value.replace(", ", " ") for field in names if field)
    if "name" not in fields:
        add("FN", "name", full_name)
    builder.add("", "\n")
    for name, pairs in lists.items():
        pairs.sort(key=faxes.__contains__)  # the first number is the one that people call
        texts = [text for text, _ in pairs]
        value = texts if len(texts) > 1 or name in REPEATED.values() else texts[0]
        fields.setdefault(name, PartField(name, value, widened(span for _, span in pairs)))
    if not fields:
        builder.drop(f"{card.place} says nothing: it is left out.")
        return
    builder.count_cells(sum(len(pairs) for pairs in lists.values()) + len(fields))
    end = max(field.span.end or start for field in fields.values())
    builder.part("contact", FileSpan(line=line, start=start, end=end), fields.values())


def _named(member: ContentLine, labels: Mapping[str, str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the texts of a property, each with the names of its fields: the usual one, and its label."""
    kind, label = member.name, _label(member, labels)
    if kind == "X-ANDROID-CUSTOM":
        # Its kind, the value, the number of its label, the label.
        of, text, number, own, *_ = [*member.texts(";"), "", "", "", ""]
        of = of.rpartition("/")[2]
        names = TABLES["android"].get(of, ())
        label = own or (names[int(number)] if number.isdecimal() and int(number) < len(names) else "")
        if text:
            yield _day(text) if of == "contact_event" else text, [label or of.replace("_", " ")]
        return
    if kind == "CATEGORIES":
        texts = member.texts(",")
    elif kind == "ADR":
        parts = member.texts(";")
        texts = [", ".join(parts[i] for i in ADDRESS_ORDER if i < len(parts) and parts[i])]
    else:
        texts = [SCHEMES.sub("", member.texts()[0], count=1)]
    usual = NAMES.get(kind) or kind.removeprefix("X-").lower().replace("-", "_")
    for text in filter(None, texts):
        if kind in LABELLED:
            yield _day(text) if kind == "X-ABDATE" else text, [label or LABELLED[kind]]
        else:
            yield text, [usual, labelled_name(label, NOUNS[kind])] if label and kind in NOUNS else [usual]


def _label(member: ContentLine, labels: Mapping[str, str]) -> str:
    """Return the label of a property: its own one, else its kinds."""
    own = labels.get(member.group, "")
    shipped = SHIPPED_LABEL.fullmatch(own.strip())
    own = " ".join((shipped[1].lower() if shipped else own).split())
    if own:
        return own if own not in NO_OWN_LABELS else ""
    custom = next((value for name, value in member.params.items() if name.startswith("X-CUSTOM(")), None)
    if custom is not None:
        # Android of old: `X-CUSTOM(CHARSET=UTF-8,ENCODING=QUOTED-PRINTABLE,B=C3=A5d)`.
        return quopri.decodestring(custom.rpartition(",")[2].strip(")").encode()).decode(errors="replace")
    bare = [name for name, value in member.params.items() if not value]
    types = [each.strip().strip('"') for each in (*member.params.get("TYPE", "").split(","), *bare)]
    if member.name in LABELLED:
        types = [member.params.get("X-SERVICE-TYPE", ""), *types]
        return next(
            (each.lower() for each in types if each.upper() not in {*OTHERS["no_labels"], *KINDS}), ""
        )
    kinds = dict.fromkeys(kind for name, kind in KINDS.items() if name in map(str.upper, types))
    more = [each[2:].lower() for each in types if each.upper().startswith("X-") and each.upper() not in KINDS]
    return " ".join(filter(None, [*kinds, *more]))


def _day(text: str) -> str:
    """Return a day in ISO 8601. Apple writes 1604 where a day has no year."""
    return MIDNIGHT.sub("", iso(text)).replace("1604-", "--")


def _is_binary(member: ContentLine) -> bool:
    encoding = member.params.get("ENCODING", "").upper()
    return encoding in ("B", "BASE64") or "BASE64" in member.params or member.value.startswith("data:")
