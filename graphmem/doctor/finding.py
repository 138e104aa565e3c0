"""One finding of the doctor, with secrets removed."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic import SecretStr

from graphmem.settings import Settings, without_url_secrets

Status = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check: what was found, and how to mend it. An empty ``check`` is filled in later."""

    check: str
    status: Status
    what: str
    fix: str = ""


def ok(what: str) -> Finding:
    return Finding("", "ok", what)


def warn(what: str, fix: str) -> Finding:
    return Finding("", "warn", what, fix)


def fail(what: str, fix: str) -> Finding:
    return Finding("", "fail", what, fix)


Found = Finding | Iterable[Finding]


async def run_check(
    check: str, look: Callable[..., Found | Awaitable[Found]], *arguments: Any
) -> list[Finding]:
    """Return the findings of a check. A check that raises becomes a finding, so that the others still run."""
    try:
        result = look(*arguments)
        result = await result if isinstance(result, Awaitable) else result
        findings = [result] if isinstance(result, Finding) else result
        return [replace(item, check=item.check or check) for item in findings]
    except OSError as exc:
        where = exc.filename or "the file"
        what = f"the check failed: {where}: {exc.strerror or exc}"
        fix = f"Give this user access to {where}, then run graphmem doctor again."
    except Exception as exc:
        what = f"the check failed: {type(exc).__name__}: {exc}"[:500]
        fix = "Mend the cause that is named here, then run graphmem doctor again."
    return [Finding(check, "fail", what, fix)]


def redact(findings: Iterable[Finding], settings: Settings) -> list[Finding]:
    """Return the findings without passwords, keys and tokens."""
    known = [getattr(settings, name) for name in type(settings).model_fields]
    secrets = [value for each in known if isinstance(each, SecretStr) and (value := each.get_secret_value())]

    def clean(text: str) -> str:
        for secret in secrets:
            text = text.replace(secret, "…")
        return without_url_secrets(text)

    return [replace(item, what=clean(item.what), fix=clean(item.fix)) for item in findings]
