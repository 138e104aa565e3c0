"""Contacts (vCard): one part per contact. The text has one line per property; pictures and keys are left
out. The levels of an organisation are its name, which may be empty, and its units. A contact without a
formatted name has its given, additional and family name as its name. A property that is in no table here
has its own name, and all of several values. Days are ISO 8601; one without a year begins with `--`.

A value with a kind or a label stands a second time under the name that these give it: `mobile phone`,
`work fax`, `Boat club email`. A relative and a day stand under their label alone: `brother`, `anniversary`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from graphmem.ingest.building import Builder, widened
from graphmem.ingest.content_lines import ADDRESS, Block, ContentLine, blocks
from graphmem.ingest.decoding import decoded
from graphmem.ingest.document import FileSpan, ParseFailed, PartField

SINGLE = {
    "FN": "name",
    "ORG": "organization",
    "BDAY": "birthday",
    "ANNIVERSARY": "anniversary",
    "X-ANNIVERSARY": "anniversary",
    "UID": "uid",
    "REV": "revision",
    "KIND": "kind",
}
REPEATED = {"EMAIL": "emails", "TEL": "phones", "ADR": "addresses", "URL": "urls", "CATEGORIES": "categories"}
LISTS = {*REPEATED.values()}
NOUNS = {"EMAIL": "email", "TEL": "phone", "ADR": "address", "URL": "url"}
LABELLED = {
    "X-ABDATE": "date",
    "X-ABRELATEDNAMES": "related",
    "RELATED": "related",
    "X-SOCIALPROFILE": "socialprofile",
    "IMPP": "impp",
}
"""Properties that their label names, and the name of those without one."""
KINDS = {
    "HOME": "home",
    "DOM": "home",
    "WORK": "work",
    "SCHOOL": "school",
    "MAIN": "main",
    "OTHER": "other",
    "CELL": "mobile",
    "MOBILE": "mobile",
    "IPHONE": "mobile",
    "CAR": "car",
    "FAX": "fax",
    "PAGER": "pager",
}
"""The kinds of values, in the order of their words: "work fax"."""
NO_LABELS = {"INTERNET", "VOICE", "PREF", "TEXT", "MSG", "X400", "CONTACT", "USER", ""}
NO_OWN_LABELS = ("other", "homepage")
NO_PHONES = ("fax", "pager")
SHIPPED_LABEL = re.compile(r"_\$!<(.*)>!\$_")
"""How Apple writes a label that it translates."""
ANDROID = {
    "relation": (
        "", "assistant", "brother", "child", "domestic partner", "father", "friend", "manager", "mother",
        "parent", "partner", "referred by", "relative", "sister", "spouse",
    ),
    "contact_event": ("", "anniversary", "date", "birthday"),
    "nickname": ("nickname",) * 6,
}  # fmt: skip
"""Kinds of values in Android's own property, and the label of each number (CommonDataKinds of Android)."""
NAMES = {"TZ": "timezone", "LANG": "language"}
LEFT_OUT = {
    *("VERSION", "PRODID", "PHOTO", "LOGO", "SOUND", "KEY", "LABEL", "AGENT", "SOURCE", "MAILER"),
    *("CLIENTPIDMAP", "PROFILE", "XML", "X-ABADR", "X-ABLABEL"),
}
NAME_MEMBERS = ("family_name", "given_name", "additional_name", "name_prefix", "name_suffix")
NAME_ORDER = {"GIVEN": 1, "ADDITIONAL": 2, "FAMILY": 0, "PREFIX": 3, "SUFFIX": 4}
"""The members of a name in the order of the text, and the place of each in the property."""
ADDRESS_ORDER = (0, 1, 2, 5, 3, 4, 6)
"""The members of an address as they are shown: the code stands before the city."""
CHARSET = re.compile(rb";CHARSET=\"?([\w-]+)", re.IGNORECASE)
DAYS = ("BDAY", "ANNIVERSARY", "X-ANNIVERSARY")
DAY = re.compile(r"(?:(\d{4})-?|--)(\d\d)-?(\d\d)(?:T00:?00(?::?00)?(?:Z|[+-]\d\d:?\d\d)?)?")
SEVERAL = re.compile(r",(?=\S)")
SCHEMES = re.compile(r"(?:tel|mailto):", re.IGNORECASE)


def parse(builder: Builder, data: bytes, name: str) -> None:
    charset = CHARSET.search(data)
    text, _, warnings = decoded(data, charset[1].decode() if charset else None)
    builder.warn(*warnings)
    card = None
    for card in blocks(text, builder, frozenset({"VCARD"})):
        if card.is_cut:
            builder.warn(f"{card.place} has no end: it is left out.")
        elif card.name == "VCARD":
            _add(builder, card)
    if card is None:
        raise ParseFailed("The file has no contact.", "empty")


def _add(builder: Builder, card: Block) -> None:
    start, line = builder.position, builder.line
    fields: dict[str, PartField] = {}
    lists: dict[str, list[tuple[str, FileSpan]]] = {}

    def add(label: str, name: str, text: str) -> None:
        if text and name not in fields:
            fields[name] = PartField(name, text, builder.add_line(label, text))

    labels = {each.group: each.texts()[0] for each in card.named("X-ABLABEL") if each.group}
    for label in dict.fromkeys(each.name for each in card.lines):
        for member in card.named(label):
            if label == "N":
                parts = [SEVERAL.sub(", ", part) for part in member.texts(";")]
                for part, place in NAME_ORDER.items():
                    add(part, NAME_MEMBERS[place], parts[place] if place < len(parts) else "")
            elif label == "ORG":
                levels = member.texts(";")
                add(label, "organization", ", ".join(filter(None, levels)))
                if len(levels) > 1 and "organization" in fields:
                    span = fields["organization"].span
                    fields.setdefault("organization_levels", PartField("organization_levels", levels, span))
            elif label in SINGLE:
                text = _day(member)
                add(label, SINGLE[label], "" if label == "FN" and ADDRESS.fullmatch(text) else text)
            elif label not in LEFT_OUT and not _is_binary(member):
                for text, own in _named(member, labels):
                    is_named = len(own) > 1 or label in LABELLED or label == "X-ANDROID-CUSTOM"
                    shown = f"{label} ({own[-1]})" if is_named else label
                    pair = (text, builder.add_line(shown, text))
                    for name in own:
                        lists.setdefault(name, []).append(pair)
    names = (fields.get(name) for name in ("given_name", "additional_name", "family_name"))
    add("FN", "name", " ".join(field.value.replace(", ", " ") for field in names if field))
    builder.add("", "\n")
    members = [*fields.values(), *(each for each in _lists(lists) if each.name not in fields)]
    if not members:
        builder.warn(f"{card.place} says nothing: it is left out.")
        return
    builder.count_cells(sum(len(pairs) for pairs in lists.values()) + len(fields))
    end = max(field.span.end or start for field in members)
    builder.part("contact", FileSpan(line=line, start=start, end=end), members)


def _named(member: ContentLine, labels: Mapping[str, str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the texts of a property, each with the names of its fields: the usual one, and its label."""
    label = _label(member, labels)
    if member.name == "X-ANDROID-CUSTOM":
        yield from _of_android(member)
        return
    for text in _texts(member):
        if member.name in LABELLED:
            yield _iso(text) if member.name == "X-ABDATE" else text, [label or LABELLED[member.name]]
        elif member.name in NOUNS:
            is_phone = not label.endswith(NO_PHONES)
            named = [f"{label} {NOUNS[member.name]}" if is_phone else label] if label else []
            yield text, [REPEATED[member.name], *named]
        else:
            own = NAMES.get(member.name, member.name.removeprefix("X-").lower().replace("-", "_"))
            yield text, [REPEATED.get(member.name, own)]


def _label(member: ContentLine, labels: Mapping[str, str]) -> str:
    """Return the label of a property: its own one, else its kinds."""
    own = labels.get(member.group, "")
    shipped = SHIPPED_LABEL.fullmatch(own.strip())
    own = " ".join((shipped[1].lower() if shipped else own).split())
    if own:
        return own if own not in NO_OWN_LABELS else ""
    bare = [name for name, value in member.params.items() if not value]
    types = [each.strip().strip('"') for each in (*member.params.get("TYPE", "").split(","), *bare)]
    if member.name in LABELLED:
        types = [member.params.get("X-SERVICE-TYPE", ""), *types]
        return next((each.lower() for each in types if each.upper() not in {*NO_LABELS, *KINDS}), "")
    kinds = dict.fromkeys(KINDS[each] for each in KINDS if each in map(str.upper, types))
    return " ".join(each for each in kinds if each != "other")


def _of_android(member: ContentLine) -> Iterator[tuple[str, list[str]]]:
    """Yield the value of Android's own property: its kind, the value, the number of its label, the label."""
    kind, text, number, own, *_ = [*member.texts(";"), "", "", "", ""]
    kind = kind.rpartition("/")[2]
    names = ANDROID.get(kind, ())
    label = names[int(number)] if number.isdecimal() and int(number) < len(names) else ""
    if text:
        yield _iso(text) if kind == "contact_event" else text, [own or label or kind.replace("_", " ")]


def _lists(lists: dict[str, list[tuple[str, FileSpan]]]) -> Iterator[PartField]:
    """Yield the properties that may come again: a list, or a text where one that is no list comes once."""
    for name, pairs in lists.items():
        texts = [text for text, _ in pairs]
        value = texts if len(texts) > 1 or name in LISTS else texts[0]
        yield PartField(name, value, widened(span for _, span in pairs))


def _texts(member: ContentLine) -> list[str]:
    """Return the texts of a property that may come again; an address is one text of its members."""
    if member.name == "CATEGORIES":
        return list(filter(None, member.texts(",")))
    if member.name == "ADR":
        parts = member.texts(";")
        return list(filter(None, [", ".join(parts[i] for i in ADDRESS_ORDER if i < len(parts) and parts[i])]))
    return list(filter(None, [SCHEMES.sub("", member.texts()[0], count=1)]))


def _day(member: ContentLine) -> str:
    """Return a text, a day in ISO 8601. Apple writes a year that a parameter names where a day has none."""
    text = member.texts()[0]
    return _iso(text, member.params.get("X-APPLE-OMIT-YEAR")) if member.name in DAYS else text


def _iso(text: str, no_year: str | None = None) -> str:
    """Return a day in ISO 8601, without its year if that is ``no_year``; another text as it is."""
    match = DAY.fullmatch(text)
    if match is None:
        return text
    is_known = match[1] not in (None, no_year)
    return f"{match[1] if is_known else '-'}-{match[2]}-{match[3]}"


def _is_binary(member: ContentLine) -> bool:
    encoding = member.params.get("ENCODING", "").upper()
    return encoding in ("B", "BASE64") or "BASE64" in member.params or member.value.startswith("data:")
