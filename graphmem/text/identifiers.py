"""By what an entity is looked up exactly: its names, contact points, addresses and numbers.

Identity (:mod:`graphmem.model.identity`) decides what an item is about and never changes; this decides
what finds it. The same function normalises what is stored and what is asked for. Nothing here depends on
a setting but the reading of a phone number without a country code, and that only when it is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from graphmem.model import identity
from graphmem.model.identity import fold_text, identity_value, index_key

EXACT: Final = ("external_id", "email", "phone", "url", "domain")
"""The kinds of identifier, the strongest first."""
NAMES: Final = ("name", "alias")
KINDS: Final = (*EXACT, *NAMES)
"""Every kind that is looked up, in the order of their strength."""

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
LISTED: Final = 50
"""How many elements of a list are looked up."""

_PHONE = re.compile(r"\+?[\s(]*[0-9](?:[\s().\-/]*[0-9]){4,19}(?:\s*(?:ext\.?|x)\s*[0-9]{1,7})?")
_URL = re.compile(r"(?:[a-z][a-z0-9+.-]*://)?(?:www\.)?(?P<host>[^\s/?#@:]+\.[^\s/?#@:.]{2,})"
                  r"(?::(?:80|443)(?![0-9]))?(?P<rest>(?::[0-9]+)?(?:[/?#]\S*)?)")  # fmt: skip


def identifiers(snapshot: Mapping[str, Any], shown: str) -> set[tuple[str, str]]:
    """Return the (kind, index key) pairs by which an entity with these current values is found.

    Args:
        snapshot: the current values of (at least) the fields in :data:`FIELDS`.
        shown: what people call it.
    """
    found = {
        pair for pair in identity.identifiers(snapshot, shown) if pair[0] in ("name", "tokens", "external_id")
    }
    for field, kind in FIELDS.items():
        if kind not in ("name", "external_id") and field in snapshot:
            for value in _values(snapshot[field]):
                found.update(keys(kind, value))
    return found


def matching_field(snapshot: Mapping[str, Any], kind: str, asked: set[tuple[str, str]]) -> str:
    """Return the field of an entity that holds what was looked up; the canonical name where none does."""
    for field, of in FIELDS.items():
        if of == kind and field in snapshot:
            for value in _values(snapshot[field]):
                if keys(kind, value) & asked:
                    return field
    return identity.CANONICAL_NAME


def _values(value: Any) -> Iterator[str]:
    for one in value[:LISTED] if isinstance(value, list) else (value,):
        text = identity_value(one)
        if text is not None:
            yield text


def keys(kind: str, text: str) -> set[tuple[str, str]]:
    """Return the (kind, index key) pairs under which a folded value of a kind is found."""
    if kind == "phone":
        return {("phone", index_key(_phone(text) or text))}
    if kind == "email":
        return {("email", index_key(text.removeprefix("mailto:")))}
    if kind in ("url", "domain"):
        address = _address(text)
        if address is None:
            return {(kind, index_key(text))}
        host, rest = address
        found = {(kind, index_key(host + rest))}
        # The address of a whole site is found by its domain; that of one of its pages is not.
        return found if rest else found | {("domain", index_key(host))}
    return {(kind, index_key(text))}


def candidates(given: str, region: str | None = None) -> set[tuple[str, str]]:
    """Return every (kind, index key) pair that a text may stand for.

    Args:
        region: the country whose phone numbers are meant where none is said, such as ``DE``.
    """
    text = fold_text(given)
    if not text:
        return set()
    found = {(kind, index_key(text)) for kind in ("external_id", "name", "alias")}
    for kind in ("email", "phone", "url", "domain"):
        found |= keys(kind, text)
    if _PHONE.fullmatch(text):
        found.update(("phone", number) for number in _elsewhere(text, region))
    return found


def is_identifier(given: str) -> bool:
    """Return whether a text is an address or a number rather than words: it means nothing beyond itself."""
    text = fold_text(given)
    if _PHONE.fullmatch(text) or ("@" in text and " " not in text):
        return True
    if " " in text:
        return False
    return _address(text) is not None or any(c.isdigit() for c in text)


def _address(text: str) -> tuple[str, str] | None:
    found = _URL.fullmatch(text)
    return None if found is None else (found["host"], found["rest"].rstrip("/"))


def _phone(text: str) -> str | None:
    """Return a phone number in E.164; its digits where it names no country; ``None`` where it is none."""
    if _PHONE.fullmatch(text) is None:
        return None
    digits = re.sub(r"\s*(?:ext\.?|x)\s*[0-9]+$", "", text)
    digits = ("+" if digits.startswith("+") else "") + re.sub(r"\D", "", digits)
    # 00 is how most countries dial another one.
    dialled = f"+{digits[2:]}" if digits.startswith("00") else digits
    return _parsed(dialled, None) or digits if dialled.startswith("+") else digits


def _parsed(number: str, region: str | None) -> str | None:
    import phonenumbers

    try:
        found = phonenumbers.parse(number, region)
    except phonenumbers.NumberParseException:
        return None
    if not phonenumbers.is_possible_number(found):
        return None
    return phonenumbers.format_number(found, phonenumbers.PhoneNumberFormat.E164)


def _elsewhere(text: str, region: str | None) -> Iterator[str]:
    """Yield how a number of a region may be stored otherwise: with its country, or as it is dialled there."""
    import phonenumbers

    if region is None:
        return
    try:
        found = phonenumbers.parse(text, region)
    except phonenumbers.NumberParseException:
        return
    if phonenumbers.region_code_for_country_code(found.country_code or 0) == region:
        yield phonenumbers.format_number(found, phonenumbers.PhoneNumberFormat.E164)
        national = phonenumbers.format_number(found, phonenumbers.PhoneNumberFormat.NATIONAL)
        yield re.sub(r"\D", "", national)
