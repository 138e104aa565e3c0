"""Identifiers: the names, contact points, addresses and numbers by which an entity is looked up exactly.

Identity (:mod:`graphmem.model.identity`) decides which entity an item is about, and never changes. This
module decides what finds the entity. One function, :func:`keys`, normalises stored and looked-up values; the
region of phone numbers without a country code applies to looked-up values alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from graphmem.model import identity
from graphmem.model.identity import fold_text, identity_value, index_key
from graphmem.text import codes, line_spans

if TYPE_CHECKING:
    from phonenumbers import PhoneNumber

EXACT: Final = ("external_id", "email", "phone", "url", "domain")
"""The kinds of identifier besides names, the strongest first."""
NAMES: Final = ("name", "alias")
KINDS: Final = (*EXACT, *NAMES)  # all kinds that are looked up, the strongest first

FIELDS: Final[dict[str, str]] = {
    **identity.IDENTIFIER_KINDS,
    **dict.fromkeys(("emails", "e_mail", "email_address", "email_addresses"), "email"),
    **dict.fromkeys(
        ("phones", "phone_number", "phone_numbers", "mobile", "mobile_phone", "telephone", "tel"), "phone"
    ),
    **dict.fromkeys(("urls", "website", "homepage", "web_site"), "url"),
    **dict.fromkeys(("domain", "domains", "domain_name"), "domain"),
    **dict.fromkeys(
        (
            "aliases", "alias", "also_known_as", "aka", "nickname", "nicknames", "nick", "other_names",
            "former_name", "former_names", "maiden_name", "short_name", "display_name", "legal_name",
        ),
        "alias",
    ),
}  # fmt: skip
"""The fields by whose current value an entity is looked up, and the kind of each."""
ALIASES: Final = frozenset(field for field, kind in FIELDS.items() if kind == "alias")
"""The fields whose values are other names of an entity."""
SELF: Final = "self"  # the field that is true of who asks: "my" and "I" in questions mean the entity
ME: Final = (SELF, "true")  # the (kind, index key) pair by which that entity is found
LIST_ELEMENTS_LIMIT: Final = 50  # elements of a list by which an entity is looked up


def identifiers(snapshot: Mapping[str, Any], canonical_name: str) -> set[tuple[str, str]]:
    """Return the (kind, index key) pairs by which an entity with these current values is found."""
    pairs = {
        pair
        for pair in identity.identifiers(snapshot, canonical_name)
        if pair[0] in ("name", "tokens", "external_id")
    }
    if snapshot.get(SELF) is True:
        pairs.add(ME)
    for field in FIELDS.keys() & snapshot.keys():
        kind = FIELDS[field]
        if kind not in ("name", "external_id"):
            for value in _values(snapshot[field]):
                pairs.update(keys(kind, value))
    return pairs | {(kind, one_spelling(key)) for kind, key in pairs if kind in (*NAMES, "tokens")}


def matching_field(snapshot: Mapping[str, Any], kind: str, looked_up: set[tuple[str, str]]) -> str:
    """Return the field of an entity that has a looked-up key; ``canonical_name`` if none has."""
    for field, field_kind in FIELDS.items():
        values = _values(snapshot[field]) if field_kind == kind and field in snapshot else ()
        if any(keys(kind, value) & looked_up for value in values):
            return field
    return identity.CANONICAL_NAME


def _values(value: Any) -> Iterator[str]:
    elements = value[:LIST_ELEMENTS_LIMIT] if isinstance(value, list) else (value,)
    return (text for element in elements if (text := identity_value(element)) is not None)


def keys(kind: str, text: str) -> set[tuple[str, str]]:
    """Return the (kind, index key) pairs under which a folded value of a kind is found."""
    if kind == "phone":
        return {("phone", index_key(normalise_phone(text) or text))}
    if kind == "email":
        return {("email", index_key(address_of(text)))}
    if kind in ("url", "domain"):
        address = parse_url(text)
        if address is None:
            return {(kind, index_key(text))}
        host, rest = address
        pairs = {(kind, index_key(host + rest))}
        # A domain finds the address of a whole site, but not the address of one of its pages.
        return pairs if rest else pairs | {("domain", index_key(host))}
    return {(kind, index_key(text))}


def candidates(looked_up: str, region: str | None = None) -> set[tuple[str, str]]:
    """Return every (kind, index key) pair that a looked-up text may stand for. An external id is tried with
    and without blanks and hyphens, because it may be stored so."""
    text = fold_text(looked_up)
    if not text:
        return set()
    pairs = {
        (kind, index_key(each)) for kind in ("external_id", *NAMES) for each in (text, one_spelling(text))
    }
    for spelled in dict.fromkeys((text, line_spans.bare(text) or text)):
        pairs.update(("external_id", index_key(each)) for each in codes.code_spellings(spelled))
        for kind in ("email", "phone", "url", "domain"):
            pairs |= keys(kind, spelled)
        pairs.update(("phone", number) for number in regional_phones(spelled, region))
    return pairs


_SAME_LETTERS = str.maketrans({"ك": "ک", "ي": "ی", "ى": "ی"})
_WITHOUT_WIDTH = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_MAILBOX = re.compile(r"(?:[^<>]*<)?(?:mailto:)?(?P<address>[^<>\s\"]+@[^<>\s\"?]+)(?:\?[^<>\s]*)?>?")


def one_spelling(folded: str) -> str:
    """Return a folded text with one of letters that mean the same, such as Arabic and Persian ones. Signs
    without a width, which say how letters join and which way they run, are left out."""
    return folded if folded.isascii() else _WITHOUT_WIDTH.sub("", folded.translate(_SAME_LETTERS))


def address_of(folded: str) -> str:
    """Return the address of a mailbox: of ``"Cy" <cy@example.org>`` and of ``mailto:cy@example.org``."""
    match = _MAILBOX.fullmatch(folded)
    return match["address"] if match else folded


_PHONE = re.compile(r"\+?[\s(]*[0-9](?:[\s().\-/]*[0-9]){4,19}(?:\s*(?:ext\.?|x)\s*[0-9]{1,7})?")
_EXTENSION = re.compile(r"\s*(?:ext\.?|x)\s*[0-9]+$")
_NOT_A_DIGIT = re.compile(r"\D")
SIGNIFICANT_DIGITS: Final = 9  # last digits of a number, which prefixes of countries and trunks leave alone
SIGNIFICANT_DIGITS_LEAST: Final = 6  # a number of fewer digits is no evidence


def is_phone(folded: str) -> bool:
    return _PHONE.fullmatch(folded) is not None


def normalise_phone(folded: str) -> str | None:
    """Return a phone number in E.164, its digits where it names no country, ``None`` where it is none."""
    if not is_phone(folded):
        return None
    number = _EXTENSION.sub("", folded)
    number = ("+" if number.startswith("+") else "") + _NOT_A_DIGIT.sub("", number)
    # 00 is how most countries dial another one.
    international = f"+{number[2:]}" if number.startswith("00") else number
    return _e164(international) or number if international.startswith("+") else number


def regional_phones(folded: str, region: str | None) -> Iterator[str]:
    """Yield how a number of a region may be stored as well: with its country, and as it is dialled there."""
    from phonenumbers import PhoneNumberFormat, format_number, region_code_for_country_code

    number = _parsed(folded, region) if region is not None and is_phone(folded) else None
    if number is not None and region_code_for_country_code(number.country_code or 0) == region:
        yield format_number(number, PhoneNumberFormat.E164)
        yield _NOT_A_DIGIT.sub("", format_number(number, PhoneNumberFormat.NATIONAL))


def written_phones(number: str, region: str | None) -> Iterator[str]:
    """Yield how people write a normalised number: grouped as in its country, with the country and without."""
    from phonenumbers import PhoneNumberFormat, format_number

    if (parsed := _parsed(number, region)) is not None:
        yield format_number(parsed, PhoneNumberFormat.INTERNATIONAL)
        yield format_number(parsed, PhoneNumberFormat.NATIONAL)


def _parsed(number: str, region: str | None) -> PhoneNumber | None:
    import phonenumbers

    try:
        return phonenumbers.parse(number, region)
    except phonenumbers.NumberParseException:
        return None


def significant_digits(folded: str) -> str:
    """Return the last digits of a number, by which similarity compares; empty where there are too few."""
    digits = _NOT_A_DIGIT.sub("", folded.partition("ext")[0])
    return digits[-SIGNIFICANT_DIGITS:] if len(digits) >= SIGNIFICANT_DIGITS_LEAST else ""


def _e164(number: str) -> str | None:
    from phonenumbers import PhoneNumberFormat, format_number, is_possible_number

    if (parsed := _parsed(number, None)) is None or not is_possible_number(parsed):
        return None
    return format_number(parsed, PhoneNumberFormat.E164)


_URL = re.compile(r"(?:[a-z][a-z0-9+.-]*://)?(?:www\.)?(?P<host>[^\s/?#@:]+\.[^\s/?#@:.]{2,})"
                  r"(?::(?:80|443)(?![0-9]))?(?P<rest>(?::[0-9]+)?(?:[/?#]\S*)?)")  # fmt: skip
_SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*://")


class Address(NamedTuple):
    """A host without ``www.``, and what follows it: port, path, query and fragment."""

    host: str
    rest: str


def parse_url(folded: str) -> Address | None:
    """Return the address that a folded text is, with or without a scheme; ``None`` where it is none."""
    match = _URL.fullmatch(folded)
    return None if match is None else Address(match["host"], match["rest"].rstrip("/"))


def comparable_url(folded: str) -> str:
    """Return a folded text without scheme, ``www.``, fragment and last slash: what similarity compares."""
    return _SCHEME.sub("", folded.partition("#")[0]).removeprefix("www.").rstrip("/")
