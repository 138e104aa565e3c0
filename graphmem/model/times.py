"""Times: microseconds since 1970-01-01T00:00:00Z inside, ISO 8601 in UTC outside.

Years 1 to 9999, as in RFC 3339. A time without a zone is UTC, a date alone is its first moment in UTC.
What is written has always six digits of a second, so that texts sort as times do.
"""

import contextlib
import re
import time
from collections.abc import Iterator
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH = EPOCH.replace(tzinfo=None)
EARLIEST = -62_135_596_800_000_000  # 0001-01-01T00:00:00Z
LATEST = 253_402_300_799_999_999  # 9999-12-31T23:59:59.999999Z
SECOND = 1_000_000  # microseconds of a second
DAY = 24 * 3600 * SECOND  # microseconds of a day
FUTURE_LIMIT_MICROSECONDS = DAY
"""How far ahead of the clock an observation may lie, in microseconds: the skew of an honest clock."""

ZONE: ContextVar[ZoneInfo | None] = ContextVar("ZONE", default=None)
"""The time zone of the days in a question; ``None`` is UTC."""

_SHAPE = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})"
    r"(?:[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d+))?)?\s?(?:([Zz])|([+-])(\d{2})(?::?(\d{2}))?)?)?",
    re.ASCII,
)


def now() -> int:
    """Return the clock's time in microseconds."""
    return time.time_ns() // 1000


@lru_cache(maxsize=64)
def zone_of(name: str) -> ZoneInfo | None:
    """Return a time zone by its IANA name, ``None`` for UTC; raises KeyError, OSError or ValueError."""
    return None if name == "UTC" else ZoneInfo(name)


@contextlib.contextmanager
def days_of(zone: ZoneInfo | None) -> Iterator[None]:
    """Read days by the clocks of a time zone for a block."""
    token = ZONE.set(zone)
    try:
        yield
    finally:
        ZONE.reset(token)


def on_clocks(at: int) -> int:
    """Return what the clocks of the time zone show at a time: the microseconds of that reading in UTC."""
    return at + _ahead((EPOCH + timedelta(microseconds=at)).astimezone(zone)) if (zone := ZONE.get()) else at


def from_clocks(shown: int) -> int:
    """Return the time at which the clocks of the time zone show this; the reverse of :func:`on_clocks`."""
    if (zone := ZONE.get()) is None or not EARLIEST + DAY < shown < LATEST - DAY:
        return shown
    return shown - _ahead((_EPOCH + timedelta(microseconds=shown)).replace(tzinfo=zone))


def midnight(at: int) -> int:
    """Return the first moment of the day of a time, as the clocks of the time zone show it."""
    shown = on_clocks(at)
    return shown - shown % DAY


def _ahead(moment: datetime) -> int:
    return (moment.utcoffset() or timedelta(0)) // timedelta(microseconds=1)


def parse(text: str) -> int:
    """Return the microseconds of an ISO 8601 date or time.

    Raises:
        ValueError: it is none, it is finer than a microsecond, or it lies outside the years 1 to 9999.
    """
    match = _SHAPE.fullmatch(text.strip())
    if match is None:
        raise ValueError("not an ISO 8601 time such as 2026-01-31T09:00:00Z")
    year, month, day, hour, minute, second, fraction, _, sign, zone_hours, zone_minutes = match.groups()
    fraction = (fraction or "").rstrip("0")
    if len(fraction) > 6:
        raise ValueError("finer than a microsecond")
    try:
        moment = datetime(
            int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0), tzinfo=UTC
        )
    except ValueError as exc:
        raise ValueError(f"no such time: {exc}") from None
    micros = (moment - EPOCH) // timedelta(microseconds=1) + int(fraction.ljust(6, "0"))
    if sign:
        if int(zone_hours) > 23 or int(zone_minutes or 0) > 59:
            raise ValueError("no such time zone")
        shift = (int(zone_hours) * 60 + int(zone_minutes or 0)) * 60_000_000
        micros += -shift if sign == "+" else shift
    if not EARLIEST <= micros <= LATEST:
        raise ValueError("outside the years 1 to 9999 in UTC")
    return micros


@lru_cache(maxsize=10_000)
def render(micros: int) -> str:
    """Return the ISO 8601 text of a time in microseconds, e.g. ``2026-01-31T09:00:00.000000Z``."""
    return f"{(_EPOCH + timedelta(microseconds=micros)).isoformat(timespec='microseconds')}Z"


def is_time(text: str) -> bool:
    """Return whether a string has strictly the shape of a date or time, as discovery asks it."""
    if len(text) > 40 or not text[:4].isdigit() or text != text.strip():
        return False
    try:
        parse(text)
    except ValueError:
        return False
    return True
