"""One finding, and how it is kept from telling secrets."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable
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


async def looked(check: str, look: Callable[[], Awaitable[Iterable[Finding]]]) -> list[Finding]:
    """Return what a check found; one that fails is a finding itself, and hides no other."""
    try:
        return list(await look())
    except OSError as exc:
        where = exc.filename or "what it looks at"
        what = f"could not be looked at: {where}: {exc.strerror or exc}"
        return [Finding(check, "fail", what, f"Give this user {where}, then run graphmem doctor again.")]
    except Exception as exc:
        what = f"could not be looked at: {type(exc).__name__}: {exc}"[:500]
        return [Finding(check, "fail", what, "Mend what is said here, then run graphmem doctor again.")]


def redact(findings: Iterable[Finding], settings: Settings) -> list[Finding]:
    """Return findings in which no secret stands, whatever was said by whom."""
    known = (settings.bearer_token, settings.neo4j_password, settings.embedding_key)
    secrets = [value for one in known if one and (value := one.get_secret_value())]

    def clean(text: str) -> str:
        for secret in secrets:
            text = text.replace(secret, "…")
        return _USERINFO.sub("…@", text)

    return [replace(one, what=clean(one.what), fix=clean(one.fix)) for one in findings]
