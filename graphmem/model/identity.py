"""Identity: which entity an item is about, as a pure function of its type and its own fields.

The order of arrival does not matter, and similarity decides nothing. A *rule* is an ordered list of
alternatives; the first alternative whose fields are all present decides. Its field names, joined by ``+``,
are the *basis* of the id; ``content`` means the whole content, ``new`` an entity that is always new.

Values are compared after NFKC, case folding, trimming and collapsing of white space; nothing is
stripped ("Acme Inc" is not "Acme Ltd"). A number is its canonical JSON. Blank strings, null, booleans,
lists and objects identify nothing and count as absent.
"""

import hashlib
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from graphmem.model import canonical, ids, numbers
from graphmem.model.numbers import NUMBERED, squeezed

TYPE_SHAPE = re.compile(r"[a-z][a-z0-9_]{0,63}", re.ASCII)
NAME_LIMIT = 64  # characters of a type, a relationship type or a field name: indexes hold them
KEY_LIMIT = 200  # characters of an indexed text; a longer text is cut and gets a hash

CANONICAL_NAME = "canonical_name"
"""The name of an entity. It is folded like a field, but snapshots leave it out."""
CONTENT = "content"
NEW = "new"

_APOSTROPHES = dict.fromkeys(map(ord, "'’ʼ`´"))
_ASCII_WORD = re.compile(r"[a-z0-9]+", re.ASCII)

_PLURALS = {
    "companies": "company", "contacts": "contact", "conversations": "conversation",
    "documents": "document", "events": "event", "invoices": "invoice", "locations": "location",
    "messages": "message", "notes": "note", "people": "person", "persons": "person",
    "projects": "project", "tasks": "task", "transactions": "transaction",
}  # fmt: skip

SHIPPED_ALIASES = {"contact": "person"}
"""Types that are other names of a shipped type for owners that have no entity and no schema of them."""

_EXPLICIT = (("id",), ("uuid",), ("external_id",), ("message_id",))
_NAMES = ((CANONICAL_NAME,), ("name",), ("full_name",), ("title",))
_CONTACT = (("email",), ("url",), ("phone",))
NAME_FIELDS = tuple(name for names in _NAMES for name in names)
"""The fields that name an entity, the first that has a value does."""
GENERAL = (*_EXPLICIT, *_NAMES, *_CONTACT, (CONTENT,))
"""The alternatives of types without a rule of their own; most shipped rules end with them."""

Alternatives = tuple[tuple[str, ...], ...]

_BY_NAME: dict[str, Alternatives] = {
    "event": (("title", "date_start"), ("title",)),
    "person": (("email",), ("name", "birthday"), ("name",)),
    "contact": (("email",), ("name", "birthday"), ("name",)),
    "company": (("name",),),
    "project": (("name",),),
    "location": (("name",),),
    "task": (("title",), ("name",)),
    "document": (("title",), ("name",)),
    "conversation": (("title",), ("name",)),
}
_BY_CONTENT: dict[str, Alternatives] = {
    "invoice": (("vendor", "number"),),
    "transaction": (("external_id",),),
    "note": (("id",), ("message_id",)),
    "message": (("id",), ("message_id",)),
}
SHIPPED: dict[str, Alternatives] = {
    **{name: (*own, *GENERAL) for name, own in _BY_NAME.items()},
    **{name: (*own, *_EXPLICIT, (CANONICAL_NAME,), (CONTENT,)) for name, own in _BY_CONTENT.items()},
}
"""The rules of the shipped types. Some end with explicit ids and then the content, because titles and contact
points do not identify them: two invoices of one vendor are two invoices."""

PEOPLE: frozenset[str] = frozenset({"person", "contact", "employee", "user", "author"})

IDENTIFIER_KINDS: dict[str, str] = {
    "id": "external_id", "uuid": "external_id", "external_id": "external_id", "message_id": "external_id",
    "number": "external_id", "invoice_number": "external_id",
    "email": "email", "phone": "phone", "url": "url",
    CANONICAL_NAME: "name", "name": "name", "full_name": "name", "title": "name",
}  # fmt: skip
"""The fields by whose current value an entity is looked up, and the kind of identifier of each."""

NAMING = tuple(
    dict.fromkeys(
        name
        for names in (tuple(IDENTIFIER_KINDS), *(names for rule in SHIPPED.values() for names in rule))
        for name in names
        if name != CONTENT
    )
)
"""Every field that can name or identify an entity."""


_GIVEN_NAMES = ("first_name", "given_name", "forename")
_FAMILY_NAMES = ("last_name", "family_name", "surname")
_USUAL = {name.replace("_", ""): name for name in (*NAMING, *_GIVEN_NAMES, *_FAMILY_NAMES)}
_NAMED = frozenset(_USUAL.values())


@lru_cache(maxsize=10_000)
def spelled(label: str) -> str:
    """Return the usual name of a field that names or identifies: ``E-Mail`` is ``email``; others stay."""
    return _USUAL.get(squeezed(label), label)


def read_fields(entity_type: str, fields: Mapping[str, Any], *, with_id: bool = False) -> dict[str, Any]:
    """Return fields with those that name, number or identify an entity under their usual names too.

    A person without a name has its first and last name, joined by a blank, as its name.

    Args:
        with_id: also if it has an id, which identifies it before the name does.
    """
    read, numbered = dict(fields), NUMBERED.get(entity_type)
    for label in sorted(fields):
        read.setdefault(spelled(label), fields[label])
        name = numbered.names.get(squeezed(label)) if numbered else None
        if name and identity_value(read.get(name)) is None:
            read[name] = fields[label]
    if entity_type in PEOPLE and not any(
        identity_value(read.get(name)) for name in (_PERSON_NAMES if with_id else _BEFORE_PARTS)
    ):
        parts = [
            next(filter(None, (_plain_text(read.get(name)) for name in names)), "")
            for names in (_GIVEN_NAMES, _FAMILY_NAMES)
        ]
        if all(parts):
            read["name"] = " ".join(parts)
    return read


FORMER = "former_name"
FORMER_NAMES = ("formername", "formerly", "formerlyknownas", "previousname", "previously", "oldname", "fka")
"""The squeezed names of fields that hold an earlier name of a company."""
_RENAMED = re.compile(
    r"(?P<first>.+?)(?:, | \()"
    r"(?:(?:now|jetzt|heute|désormais|ahora|ora|agora) (?P<name>.+?)"
    r"|(?:formerly|previously|fka|früher|vormals|ehemals|anciennement|antes) (?P<old>.+?))\)?",
    re.IGNORECASE,
)


def renamed(name: str) -> tuple[str, str] | None:
    """Return the new and the former name that a name says: Alfa, now Beta; Beta (formerly Alfa)."""
    match = _RENAMED.fullmatch(name)
    return match and ((match["name"], match["first"]) if match["name"] else (match["first"], match["old"]))


def company_names(fields: Mapping[str, Any]) -> tuple[str, list[str]]:
    """Return the folded name of a company without what it says of a former one, and its former names."""
    name = identity_value(fields.get("name")) or ""
    values = [value for label, value in fields.items() if squeezed(label) in FORMER_NAMES]
    former = [each for value in values for each in (value if isinstance(value, list) else [value])]
    name, *more = renamed(name) or [name]
    return name, [*filter(None, map(identity_value, former)), *more]


_PERSON_NAMES = (CANONICAL_NAME, "name", "full_name")
_BEFORE_PARTS = (*_PERSON_NAMES, *(name for names in _EXPLICIT for name in names))
"""With one of these, the first and last name of a person do not identify it."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Which entity an item is about, and why."""

    entity_id: str
    basis: str


def normalise_type(entity_type: str) -> str:
    """Return the canonical spelling of a type, or raise ValueError: ``sales_order`` of "Sales-Order"."""
    spelled = re.sub(r"[\s-]+", "_", entity_type.strip().lower()) if entity_type.isascii() else ""
    if TYPE_SHAPE.fullmatch(spelled) is None:
        raise ValueError("a type is a letter, then letters, digits and underscores, 64 characters at most")
    return _PLURALS.get(spelled, spelled)


def fold_text(text: str) -> str:
    """Return a text as identities and look-ups compare it: NFKC, case folded, white space collapsed."""
    if text.isascii():
        return " ".join(text.lower().split())
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(folded.split())


def identity_value(value: Any) -> str | None:
    if isinstance(value, str):
        return fold_text(value) or None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return canonical.encode(value)
    return None


def is_abbreviated(folded: str) -> bool:
    """Return whether a folded name of a person has initials and no more than one whole word: "s. grant".
    Single characters of scripts without capitals are whole words."""
    parts = words(folded)
    whole = [part for part in parts if len(part) > 1 or part.upper() == part]
    return len(whole) < 2 and len(whole) < len(parts)


def index_key(folded: str) -> str:
    """Return a folded text as an index may hold it: cut at 200 characters plus a hash of the whole."""
    if len(folded) <= KEY_LIMIT:
        return folded
    return f"{folded[:KEY_LIMIT]}#{hashlib.sha256(folded.encode()).hexdigest()[:16]}"


def rule(entity_type: str) -> tuple[tuple[str, ...], ...]:
    return SHIPPED.get(entity_type, GENERAL)


_WITH_NUMBERS: dict[str, Alternatives] = {
    **{
        name: (*_EXPLICIT, *numbered.alternatives, *_NAMES, *_CONTACT, (CONTENT,))
        for name, numbered in NUMBERED.items()
    },
    "company": (*NUMBERED["company"].alternatives, *SHIPPED["company"]),
    "invoice": (*SHIPPED["invoice"][:-1], *NUMBERED["invoice"].alternatives[1:], (CONTENT,)),
}


def alternatives(entity_type: str) -> Alternatives:
    """Return the alternatives of a type with its own numbers; for an invoice a number alone comes last."""
    return _WITH_NUMBERS.get(entity_type) or rule(entity_type)


TYPES_WITH_RULES: frozenset[str] = frozenset(
    {*(name for name, own in {**_BY_CONTENT, **_BY_NAME}.items() if len(own) > 1), *NUMBERED}
)
"""The types by whose rules entities are merged without a registered schema."""


def own_rule(entity_type: str) -> Alternatives:
    """Return the alternatives of a type's own rule, without the general order; else none."""
    numbered = NUMBERED[entity_type].alternatives if entity_type in NUMBERED else ()
    return (*numbered, *_BY_NAME.get(entity_type, ())) or _BY_CONTENT.get(entity_type, ())


def identify(
    owner: str, entity_type: str, fields: Mapping[str, Any], registered: Alternatives | None = None
) -> Identity:
    """Return the entity of an item with some fields, by the alternatives of a ``registered`` schema."""
    read = read_fields(entity_type, fields)
    for names in alternatives(entity_type) if registered is None else registered:
        if names == (CONTENT,):
            break
        values = [identifying_value(entity_type, name, read) for name in names]
        if None not in values and is_number(entity_type, names, values[-1]):
            basis = "+".join(names)
            return Identity(ids.entity_id(owner, entity_type, basis, values), basis)
    return Identity(ids.entity_id(owner, entity_type, CONTENT, [dict(fields)]), CONTENT)


@lru_cache(maxsize=1_000)
def merging(entity_type: str) -> Alternatives:
    """Return the alternatives by which entities are merged, without contact points of a numbered thing."""
    if entity_type not in NUMBERED or entity_type in _BY_NAME:
        return own_rule(entity_type)
    return tuple(names for names in alternatives(entity_type) if names not in {*_CONTACT, (CONTENT,)})


def is_number(entity_type: str, names: tuple[str, ...], value: str | None) -> bool:
    """Return whether the last value of an alternative identifies: a number without its vendor has a digit."""
    is_alone = entity_type in NUMBERED and names[0] != numbers.VENDOR and names[-1] in numbers.FIELDS
    return not is_alone or any(map(str.isdigit, value or ""))


def identifying_value(entity_type: str, name: str, fields: Mapping[str, Any]) -> str | None:
    """Return the normalised value of an identifying field; a number without issuer is letters and digits."""
    value, numbered = identity_value(fields.get(name)), NUMBERED.get(entity_type)
    if value and numbered and name in numbered.numbers and not numbered.is_issued:
        return "".join(filter(str.isalnum, value)) or value
    return value


def identifying_names(entity_type: str, alternatives: Alternatives) -> list[str]:
    names = {name for each in alternatives for name in each}
    numbered = NUMBERED.get(entity_type)
    second = {label for label, name in numbered.names.items() if name in names} if numbered else set[str]()
    parts = {*_GIVEN_NAMES, *_FAMILY_NAMES} if entity_type in PEOPLE and "name" in names else set[str]()
    return sorted(names | second | parts)


def identifying_fields(entity_type: str, basis: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of some fields, as given, that make an id of a basis such as ``first_name+last_name``."""
    known = identifying_names(entity_type, (tuple(basis.split("+")),))
    return {name: value for name, value in fields.items() if {name, spelled(name), squeezed(name)} & {*known}}


def identify_new(owner: str, entity_type: str, transaction_id: str, index: int) -> Identity:
    """Return an entity that no other item reaches by its fields: ``intent: create_new``."""
    return Identity(ids.entity_id(owner, entity_type, NEW, [transaction_id, index]), NEW)


def display_name(entity_type: str, entity_id: str, snapshot: Mapping[str, Any]) -> str:
    """Return the name of an entity from its current values; never blank.

    The first of these that is not blank: ``canonical_name``, a name, the fields of the type's own rule, a
    contact point, an explicit id, the type with the beginning of the id.
    """
    snapshot = read_fields(entity_type, snapshot, with_id=True)
    if entity_type in numbers.COMPANIES and (names := renamed(_plain_text(snapshot.get("name")))):
        snapshot["name"] = names[0]
    own = [names for names in own_rule(entity_type) if names[0] != numbers.CUSTOMER]
    for names in (*_NAMES, *own, *_CONTACT, *_EXPLICIT):
        parts = [_plain_text(snapshot.get(name)) for name in names]
        if all(parts):
            return " ".join(parts)
    return f"{entity_type} {entity_id[4:12]}"


def naming_values(texts: Mapping[str, str]) -> dict[str, Any]:
    """Return the values of the fields that can name or identify an entity."""
    return {
        name: canonical.decode(text)
        for name, text in texts.items()
        if spelled(name) in _NAMED or squeezed(name) in numbers.NAMES
    }


def name_of(entity_type: str, entity_id: str, texts: Mapping[str, str]) -> str:
    return display_name(entity_type, entity_id, naming_values(texts))


def _plain_text(value: Any) -> str:
    if isinstance(value, str):
        return " ".join(value.split())
    return identity_value(value) or ""


def words(folded: str) -> list[str]:
    """Return the words of a folded text: letters, digits and their marks; apostrophes join them."""
    joined = folded.translate(_APOSTROPHES)
    if joined.isascii():
        return _ASCII_WORD.findall(joined)
    return "".join(c if c.isalnum() or unicodedata.category(c)[0] == "M" else " " for c in joined).split()


def identifiers(snapshot: Mapping[str, Any], shown_name: str) -> set[tuple[str, str]]:
    """Return the (kind, index key) pairs by which an entity with these current values is found.

    The kind ``tokens`` (the words of a name of several, sorted) serves proposals of duplicates only:
    nothing is looked up by it.
    """
    folded = fold_text(shown_name)
    pairs = {("name", index_key(folded))}
    names = {folded}
    for name in IDENTIFIER_KINDS.keys() & snapshot.keys():
        value = identity_value(snapshot[name])
        if value is not None:
            kind = IDENTIFIER_KINDS[name]
            pairs.add((kind, index_key(value)))
            if kind == "name":
                names.add(value)
    for name in names:
        parts = sorted(words(name))
        if len(parts) > 1:
            pairs.add(("tokens", index_key(" ".join(parts))))
    return pairs
