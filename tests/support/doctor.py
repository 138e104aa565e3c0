"""What the tests of ``graphmem doctor`` share."""

from __future__ import annotations

from collections.abc import Callable

from graphmem.doctor import Finding

SECRET = "secret-that-nobody-may-see-0123456789abcdef"
Examine = Callable[..., list[Finding]]


def failed_findings(findings: list[Finding], check: str) -> list[tuple[str, str]]:
    """Return status and message of each finding of a check that is not ok; the check must have findings."""
    ours = [finding for finding in findings if finding.check == check]
    assert ours, findings
    return [(finding.status, finding.what) for finding in ours if finding.status != "ok"]
