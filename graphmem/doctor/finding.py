"""One finding, and how it is kept from telling secrets."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from graphmem.settings import Settings

Status = Literal["ok", "warn", "fail"]
_USERINFO = re.compile(r"(?<=//)[^/@\s]+@")


@dataclass(frozen=True, slots=True)
class Finding:
    """What was looked at, how it is, and, where something is to be done, that in one sentence."""

    check: str
    status: Status
    what: str
    fix: str = ""


def redact(findings: Iterable[Finding], settings: Settings) -> list[Finding]:
    """Return findings in which no secret stands, whatever was said by whom."""
    known = (settings.bearer_token, settings.neo4j_password, settings.embedding_key)
    secrets = [value for one in known if one and (value := one.get_secret_value())]

    def clean(text: str) -> str:
        for secret in secrets:
            text = text.replace(secret, "…")
        return _USERINFO.sub("…@", text)

    return [replace(one, what=clean(one.what), fix=clean(one.fix)) for one in findings]
