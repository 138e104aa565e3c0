"""The terms of a public sandbox: what its visitors may expect, and when everything is wiped.

`graphmem mcp` imports this at its start, so it imports little.
"""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from typing_extensions import TypedDict

from graphmem.model import times
from graphmem.settings import Settings

VERSION: Final = "1"
EFFECTIVE_DATE: Final = "2026-11-27"
WEEKLY_RESET: Final = "Sunday 00:00 UTC"
SUMMARY: Final = (
    "This is a public sandbox: everybody reads what you store, and everything is wiped every Sunday at 00:00 "
    "UTC. Store no personal data and no secrets. Read GET /sandbox/terms before you write."
)
"""What the instructions of MCP and the page say at their beginning."""


def instructions_of(text: str, *, is_sandbox: bool) -> str:
    """Return the instructions of an MCP server, in a sandbox with a summary of its terms before them."""
    return f"{SUMMARY} {text}" if is_sandbox else text


class Terms(TypedDict):
    """The terms. ``version`` and ``effective_date`` change with their text. Times are ISO 8601 in UTC.

    ``notice`` is not null in the last day before a wipe.
    """

    version: str
    effective_date: str
    content_markdown: str
    weekly_reset_utc: str
    next_reset_at: str
    notice: str | None
    abuse_report_email: str | None


def last_wipe_time(now: int) -> int:
    """Return the last Sunday, 00:00 UTC, that is not after a time. Both are microseconds."""
    at = times.EPOCH + timedelta(microseconds=now)
    sunday = datetime(at.year, at.month, at.day, tzinfo=at.tzinfo) - timedelta(days=at.isoweekday() % 7)
    return (sunday - times.EPOCH) // timedelta(microseconds=1)


def next_wipe_time(now: int) -> int:
    """Return the next Sunday, 00:00 UTC, after a time. Both are microseconds."""
    return last_wipe_time(now) + 7 * times.DAY


def notice(now: int) -> str | None:
    """Return what visitors are told in the last day before a wipe."""
    wiped_at = next_wipe_time(now)
    if wiped_at - now > times.DAY:
        return None
    return f"Everything here is wiped at {times.render(wiped_at)}, in less than a day."


def terms_of(settings: Settings, now: int) -> Terms:
    text = Path(__file__).with_suffix(".md").read_text("utf-8").format(
        reset=WEEKLY_RESET, writes=settings.limit_writes, heavy=settings.limit_heavy,
        reads=settings.limit_reads, megabytes=settings.max_file_bytes / 1_000_000,
    )  # fmt: skip
    return {
        "version": VERSION,
        "effective_date": EFFECTIVE_DATE,
        "content_markdown": text,
        "weekly_reset_utc": WEEKLY_RESET,
        "next_reset_at": times.render(next_wipe_time(now)),
        "notice": notice(now),
        "abuse_report_email": settings.sandbox_contact,
    }
