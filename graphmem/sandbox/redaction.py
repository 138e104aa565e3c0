"""Personal data in what visitors report: found by plain rules, and replaced before anything is stored."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

import phonenumbers

_RULES: Final = (
    ("e-mail", re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")),
    ("secret", re.compile(r"\b(?:sk|pk|ghp|gho|xox[abp]|AKIA|gm)[-_]?[A-Za-z0-9_-]{16,200}\b")),
    ("IBAN", re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?\b")),
    (
        "address",
        re.compile(
            r"\b(?:\d{1,3}\.){3}\d{1,3}\b"
            r"|(?<![\w:])(?=[0-9a-fA-F:]{0,39}::|(?:[0-9a-fA-F]{1,4}:){3})[0-9a-fA-F:]{3,45}(?![\w:])"
        ),
    ),
    ("number", re.compile(r"\b\d(?:[ -]?\d){12,18}\b")),
)
_BACKSTOP: Final = re.compile(r"\S{0,64}@\S{0,64}|\d(?:[ ()/.-]{0,2}\d){6,}")
"""What may be personal data although no rule found it: an @, or 7 digits and more."""


class Redaction(NamedTuple):
    """A text without personal data: how much a rule replaced, and how much was only suspicious."""

    text: str
    replaced: int
    suspicious: int


def redacted(text: str) -> Redaction:
    """Replace personal data in a text by its kind in brackets, such as ``[e-mail]``."""
    replaced = 0
    for kind, pattern in _RULES:
        text, count = pattern.subn(f"[{kind}]", text)
        replaced += count
    matches = list(phonenumbers.PhoneNumberMatcher(text, None, phonenumbers.Leniency.POSSIBLE))
    for match in reversed(matches):
        text = f"{text[: match.start]}[phone]{text[match.end :]}"
    text, suspicious = _BACKSTOP.subn("[removed]", text)
    return Redaction(text, replaced + len(matches), suspicious)
