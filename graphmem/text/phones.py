"""Phone numbers: which texts are one, and the forms under which look-up and similarity compare them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_PHONE = re.compile(r"\+?[\s(]*[0-9](?:[\s().\-/]*[0-9]){4,19}(?:\s*(?:ext\.?|x)\s*[0-9]{1,7})?")
_EXTENSION = re.compile(r"\s*(?:ext\.?|x)\s*[0-9]+$")
_NOT_A_DIGIT = re.compile(r"\D")
SIGNIFICANT_DIGITS: Final = 9
"""Last digits of a number, which prefixes of countries and trunks leave alone."""
SIGNIFICANT_DIGITS_LEAST: Final = 6
"""A number of fewer digits is no evidence."""


def is_phone(folded: str) -> bool:
    """Return whether a folded text is a phone number."""
    return _PHONE.fullmatch(folded) is not None


def normalise(folded: str) -> str | None:
    """Return a phone number in E.164, its digits where it names no country, ``None`` where it is none."""
    if not is_phone(folded):
        return None
    number = _EXTENSION.sub("", folded)
    number = ("+" if number.startswith("+") else "") + _NOT_A_DIGIT.sub("", number)
    # 00 is how most countries dial another one.
    international = f"+{number[2:]}" if number.startswith("00") else number
    return _e164(international) or number if international.startswith("+") else number


def regional_forms(folded: str, region: str | None) -> Iterator[str]:
    """Yield how a number of a region may be stored as well: with its country, and as it is dialled there.

    Args:
        region: the country that is meant where the number names none, such as ``DE``.
    """
    import phonenumbers

    if region is None or not is_phone(folded):
        return
    try:
        number = phonenumbers.parse(folded, region)
    except phonenumbers.NumberParseException:
        return
    if phonenumbers.region_code_for_country_code(number.country_code or 0) == region:
        yield phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)
        national = phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.NATIONAL)
        yield _NOT_A_DIGIT.sub("", national)


def written_forms(number: str, region: str | None) -> Iterator[str]:
    """Yield how people write a normalised number: grouped as in its country, with the country and without.

    Args:
        region: the country that is meant where the number names none, such as ``DE``.
    """
    import phonenumbers

    try:
        parsed = phonenumbers.parse(number, region)
    except phonenumbers.NumberParseException:
        return
    yield phonenumbers.format_number(parsed, phonenumbers.PhoneNumberFormat.INTERNATIONAL)
    yield phonenumbers.format_number(parsed, phonenumbers.PhoneNumberFormat.NATIONAL)


def significant_digits(folded: str) -> str:
    """Return the last digits of a number, by which similarity compares; empty where there are too few."""
    digits = _NOT_A_DIGIT.sub("", folded.partition("ext")[0])
    return digits[-SIGNIFICANT_DIGITS:] if len(digits) >= SIGNIFICANT_DIGITS_LEAST else ""


def _e164(number: str) -> str | None:
    import phonenumbers

    try:
        parsed = phonenumbers.parse(number, None)
    except phonenumbers.NumberParseException:
        return None
    if not phonenumbers.is_possible_number(parsed):
        return None
    return phonenumbers.format_number(parsed, phonenumbers.PhoneNumberFormat.E164)
