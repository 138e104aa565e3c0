"""Leave secrets out of texts that are stored without anybody asking."""

from __future__ import annotations

import re
from collections.abc import Sequence

REDACTED = "[redacted]"
_SECRETS = re.compile(
    r"""
    -----BEGIN[ ][A-Z ]*PRIVATE[ ]KEY-----.*?(?:-----END[ ][A-Z ]*PRIVATE[ ]KEY-----|\Z)
    | \b(?:sk|pk|rk|gm_sk|gh[oprsu]|github_pat|glpat|xox[abeprs]|npm|pypi|hf|tskey)[-_][\w-]{16,}
    | \b(?:AKIA|ASIA)[A-Z0-9]{16}\b | \bAIza[\w-]{30,} | \bya29\.[\w-]{20,}
    | \beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*
    | (?<=://)[^\s/:@]+:[^\s/@]+(?=@)
    | (?i:\b(?:bearer|basic)\s+)[\w.~+/=-]{16,}
    """,
    re.VERBOSE | re.DOTALL,
)
"""Texts whose form says that they are secrets: keys, JSON Web Tokens, passwords in addresses."""
_NAMED = re.compile(
    r"""(
        \b[\w-]*(?:passw(?:or)?[dt]|passphrase|secret|(?:api|access|auth)[-_ ]?(?:key|token)|token)s?
        ["']?\s*(?:[:=]|\bis\b|\bist\b)\s*
    )(?:"[^"\n]{4,}"|'[^'\n]{4,}'|[^\s"',;]{4,})""",
    re.VERBOSE | re.IGNORECASE,
)
"""A name that says that what follows is a secret, and the secret."""


def redacted(text: str, listed: Sequence[str] = ()) -> str:
    """Return a text without what looks like a secret, and without the listed texts, in any case."""
    text = _NAMED.sub(lambda match: f"{match[1]}{REDACTED}", _SECRETS.sub(REDACTED, text))
    for each in listed:
        text = re.sub(re.escape(each), REDACTED, text, flags=re.IGNORECASE) if each else text
    return text
