"""What the tests of ``graphmem doctor`` share."""

from __future__ import annotations

from collections.abc import Callable

from graphmem.doctor import Finding

SECRET = "secret-that-nobody-may-see-0123456789abcdef"
Examine = Callable[..., list[Finding]]


def failed_findings(found: list[Finding], check: str) -> list[tuple[str, str]]:
    """Return what is not well of a check, after seeing that it was looked at."""
    ours = [one for one in found if one.check == check]
    assert ours, found
    return [(one.status, one.what) for one in ours if one.status != "ok"]
