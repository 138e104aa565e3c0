"""Texts that look like secrets, of all kinds of keys and passwords, taken out of other texts.

By the standard library alone: hooks of agents take them out at every prompt. The rules of
``secret_rules.json`` are those of gitleaks (``packaging/secret_rules.py``); an expression is compiled when a
keyword of it occurs.
"""

import json
import math
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Final

_FORMS: Final = re.compile(
    r"""
    -----BEGIN[ ][A-Z ]{0,40}PRIVATE[ ]KEY(?:[ ]BLOCK)?-----
        .*?(?:-----END[ ][A-Z ]{0,40}PRIVATE[ ]KEY(?:[ ]BLOCK)?-----|\Z)
    | \b(?:sk|pk|rk|gm_sk|gh[oprsu]|github_pat|glpat|xox[abeprs]|npm|pypi|hf|tskey|dckr_[a-z]+|do[opr]_v1
        |lin_(?:api|oauth)|GOCSPX|whsec|shp(?:at|ca|pa|ss)|pscale_tkn|rubygems)[-_][\w-]{16,}
    | \b(?:AKIA|ASIA)[A-Z0-9]{16}\b | \bAIza[\w-]{30,} | \bya29\.[\w-]{20,} | \bSG\.[\w-]{16,}\.[\w-]{16,}
    | \bAGE-SECRET-KEY-1[A-Z0-9]{20,} | \b\d{8,10}:[\w-]{35}(?![\w-])
    | \beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*
    | (?<=://)[^\s/:@]+:[^\s/@]+(?=@)
    | (?:(?<=\s-u\s)|(?<=\s--user\s))["']?[\w.@-]{1,64}:[^\s"']{4,}
    | (?<=hooks\.slack\.com/)(?:services|workflows|triggers)/[\w/-]{16,}
    | (?<=/api/webhooks/)\d{10,}/[\w-]{20,} | (?<=\.webhook\.office\.com/)webhookb2/[\w@/-]{20,}
    | (?i:\b(?:bearer|basic)\s+)[\w.~+/=-]{16,}
    """,
    re.VERBOSE | re.DOTALL,
)
"""Texts whose form says that they are secrets: keys, JSON Web Tokens, passwords in addresses, webhooks."""
_NAME: Final = r"""
    (?<![^\W_])[\w-]{0,60}
    (?:passw(?:or)?[dt]|kennwort|contraseña|mot[ ]de[ ]passe|passphrase|(?<![^\W_])(?:pass|pwd|pw)
        |secret|(?:api|access|auth|account|private)[-_ ]?(?:key|token)|token)s?
    ["']?"""
_NAMED: Final = re.compile(
    rf"""({_NAME}\s*(?:[:=]|=>)\s*)(?!\[)(?:"[^"\n]{{4,}}"|'[^'\n]{{4,}}'|[^\s"',;]{{4,}})""",
    re.VERBOSE | re.IGNORECASE,
)
"""A name that says that what follows is a secret, and the secret."""
_TOLD: Final = re.compile(
    rf"""({_NAME}\s+(?:is|ist|lautet|est|es)\s+)
    (?!\[)(?:"[^"\n]{{4,}}"|'[^'\n]{{4,}}'|(?=[^\s"',;]*[\d#$%&*+@^_~!?])[^\s"',;]{{4,}}[^\s"',;.?!])""",
    re.VERBOSE | re.IGNORECASE,
)
"""The same in a sentence: the secret is in quotation marks, or has a digit or a sign."""
_OWN: Final = re.compile(
    rf"""(\b(?:my|our|mein|unser)\s+{_NAME}\s+(?:is|ist|lautet)\s+)
    (?!(?:not|too|the|in|expired|wrong|lost|gone|required|needed|changed|nicht|zu|falsch|weg|abgelaufen)\b|\[)
    [^\s"',;]{{4,}}[^\s"',;.?!]""",
    re.VERBOSE | re.IGNORECASE,
)
"""The same where it is the writer's own: the secret may be any word that is no state."""
_PHRASE: Final = re.compile(
    r"(\b(?:pass|seed|recovery|backup)[ -]?phrase\b[\"']?\s*(?::|=|\bis\b|\bist\b)\s*)\w+(?:[ -]\w+){2,23}",
    re.IGNORECASE,
)
_CODE: Final = re.compile(
    r"(\b(?:pin|puk|cvv|cvc|otp|(?:recovery|backup|security|verification|one-time)[ -]?codes?)\b[\"']?\s*"
    r"(?::|=|\bis\b|\bare\b|\bist\b)\s*)(?:\d{3,8}\b|(?=[\w-]*\d)[\w-]{6,}(?:[ ,]+(?=[\w-]*\d)[\w-]{6,})*)",
    re.IGNORECASE,
)
"""Codes of a few digits, and those that let somebody in again."""
_CARD: Final = re.compile(r"(?<![\d.-])\d(?:[ -]?\d){12,18}(?![\d-])")


def without_secrets(text: str, mark: str) -> tuple[str, int]:
    """Return a text with ``mark``, in brackets, in place of what looks like a secret, and how many were."""
    replaced = 0
    for pattern in (_FORMS, _PHRASE, _CODE, _NAMED, _TOLD, _OWN):
        text, count = pattern.subn(mark if pattern is _FORMS else rf"\g<1>{mark}", text)
        replaced += count
    for secret in sorted(_by_rules(text), key=len, reverse=True):  # a shorter one may be a part of it
        replaced += text.count(secret)
        text = text.replace(secret, mark)
    cards = sum(_is_card(each) for each in _CARD.findall(text))
    # In one pass: a long list of numbers may have thousands that could be cards.
    return _CARD.sub(lambda each: mark if _is_card(each[0]) else each[0], text), replaced + cards


def _by_rules(text: str) -> set[str]:
    lower = text.lower()
    return {
        secret
        for keywords, expression, entropy in _rules()
        if any(keyword in lower for keyword in keywords)
        for match in re.finditer(expression, text)
        if _entropy(secret := next(filter(None, match.groups()), match[0])) >= entropy
    }


@cache
def _rules() -> list[tuple[list[str], str, float]]:
    return json.loads(Path(__file__).with_name("secret_rules.json").read_text("utf-8"))["rules"]


def _entropy(text: str) -> float:
    """Return the entropy of the characters of a text, in bits for each (Shannon)."""
    shares = [count / len(text) for count in Counter(text).values()]
    return -sum(share * math.log2(share) for share in shares)


def _is_card(text: str) -> bool:
    """Return whether a number of 13 to 19 digits is that of a card (ISO/IEC 7812): issuer and check digit."""
    digits = [int(each) for each in text if each.isdecimal()]
    doubled = [digit * 2 - 9 * (digit > 4) for digit in digits[-2::-2]]
    return digits[0] in (3, 4, 5, 6) and (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0
