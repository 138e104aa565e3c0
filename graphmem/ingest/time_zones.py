"""The zones of a calendar: by the names of the IANA and of Windows, by their rules in the file, by cities.

A zone that only its cities or its offset name is a guess, which a warning tells.
"""

from __future__ import annotations

import io
import re
import zoneinfo
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cache
from pathlib import Path

from graphmem.ingest.building import Builder
from graphmem.ingest.content_lines import Block

SHOWN = re.compile(r"\(?(?:UTC|GMT)\s*(?:([+-])(\d{1,2})[:.]?(\d\d)?)?\)?\s*(.*)", re.IGNORECASE)
UNTIL = re.compile(r"(?<=\d)Z\b", re.IGNORECASE)
OFFSET = re.compile(r"[+-][01]\d[0-5]\d([0-5]\d)?")
SHAPES = {
    "DTSTART": re.compile(r"\w+"),
    "RRULE": re.compile(r"(?!.*INTERVAL)(?:.*;)?FREQ=YEARLY(?:;.*)?", re.IGNORECASE),
    "RDATE": re.compile(r"[\w,]+"),
    "TZOFFSETFROM": OFFSET,
    "TZOFFSETTO": OFFSET,
}
"""What a reader of zones needs. It refuses other properties, and may never end with other rules."""

OF_WINDOWS = dict(
    line.split(": ")
    for line in Path(__file__).with_name("windows_zones.txt").read_text("ascii").splitlines()
    if not line.startswith("#")
)


class Zones:
    """The zones of one file, by the names that its times have."""

    def __init__(self, blocks: Mapping[str, Block], builder: Builder) -> None:
        """``blocks``: the zones that the file describes, by their names."""
        self._blocks = blocks
        self._builder = builder
        self._found: dict[str, tzinfo | None] = {}

    def get(self, name: str) -> tzinfo | None:
        """Return the zone of a name, ``None`` if nobody knows it; a warning tells this and a guess."""
        if name not in self._found:
            self._found[name] = self._find(name)
        return self._found[name]

    def _find(self, name: str) -> tzinfo | None:
        block = self._blocks.get(name)
        own_names = block.named("X-LIC-LOCATION") if block is not None else []
        for each in (name, *(line.value for line in own_names)):
            zone = next(filter(None, map(_known, _names(each))), None)
            if zone is not None:
                return zone
        zone = _described(block) if block is not None else None
        if zone is None:
            zone = _zone_of_display_name(name)
            read = f"it is read as {zone}" if zone is not None else "its times are kept without an offset"
            self._builder.warn(f"The zone {name[:100]} is not known: {read}.")
        return zone


def _names(name: str) -> Iterator[str]:
    """Yield the names that a zone may have: whole, as Windows calls it, without a prefix of the program."""
    yield name.strip("/ ")
    yield OF_WINDOWS.get(name.strip(), "")
    parts = name.strip("/ ").split("/")
    # No zone has a name of more than four parts.
    yield from ("/".join(parts[start:]) for start in range(max(1, len(parts) - 4), len(parts)))


@cache
def _known(name: str) -> tzinfo | None:
    try:
        return zoneinfo.ZoneInfo(name) if name else None
    except (KeyError, ValueError, OSError):
        return None


def _described(block: Block) -> tzinfo | None:
    """Return the zone that the rules in a file describe, ``None`` if they are damaged."""
    from dateutil.tz import tzical

    needed = [line for inner in block.inner for line in inner.lines if line.name in SHAPES]
    if any(SHAPES[line.name].fullmatch(line.value) is None for line in needed):
        return None
    lines = ["BEGIN:VTIMEZONE", "TZID:zone"]
    for inner in block.inner:
        rules = (f"{line.name}:{UNTIL.sub('', line.value)}" for line in inner.lines if line.name in SHAPES)
        lines += [f"BEGIN:{inner.name}", *rules, f"END:{inner.name}"]
    try:
        zone = tzical(io.StringIO("\n".join([*lines, "END:VTIMEZONE", ""]))).get()
        datetime(2000, 1, 1, tzinfo=zone).utcoffset()
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError):
        return None
    return zone


def _zone_of_display_name(name: str) -> tzinfo | None:
    """Return the zone of a name for people: ``(UTC+01:00) Amsterdam, Berlin``, ``Amsterdam``, ``UTC+2``."""
    match = SHOWN.fullmatch(name)
    sign, hours, minutes, places = match.groups() if match else (None, None, None, name)
    offset = timedelta(hours=int(hours or 0), minutes=int(minutes or 0)) * (-1 if sign == "-" else 1)
    for place in places.split(","):
        # "Eastern Time (US & Canada)" is what Windows calls "Eastern Standard Time".
        standard = f"{place.partition(' Time')[0].strip()} Standard Time"
        zones = [zone for zone in map(_known, _names(standard)) if zone is not None]
        for zone in zones or _zones_of_cities().get(place.strip().casefold(), ()):
            january, july = (
                datetime(2020, month, 1, tzinfo=UTC).astimezone(zone).utcoffset() for month in (1, 7)
            )
            if match is None or offset in (january, july):
                return zone
    return timezone(offset) if match is not None and abs(offset) < timedelta(days=1) else None


@cache
def _zones_of_cities() -> dict[str, list[tzinfo]]:
    cities: dict[str, list[tzinfo]] = {}
    for name in sorted(zoneinfo.available_timezones()):
        region, slash, city = name.rpartition("/")
        zone = _known(name) if slash and not region.startswith(("Etc", "posix", "right")) else None
        if zone is not None:
            cities.setdefault(city.replace("_", " ").casefold(), []).append(zone)
    return cities
