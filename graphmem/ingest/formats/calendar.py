"""Calendars (ICS): events, tasks and journal entries with their people and times (see docs/files.md).

The text has one line per property. `rule` is the recurrence as the file has it; `instances` are the times
at which the entry takes place beside its start, within :data:`HORIZON_DAYS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final
from urllib.parse import unquote

from graphmem.ingest.building import Builder, normal, widened
from graphmem.ingest.content_lines import ADDRESS, Block, ContentLine, blocks
from graphmem.ingest.decoding import decoded
from graphmem.ingest.document import FileSpan, ParseFailed, PartField
from graphmem.ingest.tables import table
from graphmem.ingest.time_zones import Zones

HORIZON_DAYS: Final = 400
INSTANCES_LIMIT: Final = 90  # instances of one entry; an entity has at most 100 events in the timeline
STEPS_LIMIT: Final = 20_000  # instances of one rule that are looked at: 50 years of days
UNTIL = re.compile(r"UNTIL=([0-9TZ]+)", re.IGNORECASE)
FREQUENCY = re.compile(r"FREQ=(?:DAILY|WEEKLY|MONTHLY|YEARLY)(?:;|\Z)", re.IGNORECASE)
NO_INTERVAL = re.compile(r"INTERVAL=0*(?:;|\Z)", re.IGNORECASE)
Moment = date | datetime


def instances(
    start: Moment, rules: Iterable[str], added: Iterable[Moment], left_out: Sequence[Moment],
    rules_left_out: Iterable[str], since: tuple[Moment, Moment] | None, parted: Iterable[Moment],
    reference: str,
) -> tuple[Moment | None, list[Moment]]:  # fmt: skip
    """Return the first instance, ``None`` if there is none, and the instances within the horizon.

    Times may be days, times in a zone, or times without one.

    Args:
        since: an instance, and when it takes place instead: only later instances, moved as this one is.
        parted: the instances from which on other entries say when the later ones take place.
        reference: a time in ISO 8601; an empty text stands for the start.

    Raises:
        ValueError: a rule cannot be read, or repeats more often than daily or for too long.
    """
    zone = start.tzinfo if isinstance(start, datetime) else None

    def local(moment: Moment) -> datetime:
        """Return a time in the clock of the series, without its zone."""
        if not isinstance(moment, datetime):
            return datetime.combine(moment, time())
        is_moved = zone is not None and moment.tzinfo is not None
        return (moment.astimezone(zone) if is_moved else moment).replace(tzinfo=None)

    def as_start(moment: datetime) -> Moment:
        return moment.replace(tzinfo=zone) if isinstance(start, datetime) else moment.date()

    base = local(start)
    middle = datetime.fromisoformat(reference[:10]) if reference else base
    now, horizon = max(base, middle), timedelta(days=HORIZON_DAYS)
    begin, end = max(base, middle - horizon), now + horizon
    moments = {
        base,
        *map(local, added),
        *(each for rule in rules for each in _of_rule(rule, base, end, local)),
    }
    no_moments = {*map(local, left_out)}
    no_moments.update(each for rule in rules_left_out for each in _of_rule(rule, base, end, local))
    days = {moment for moment in left_out if not isinstance(moment, datetime)}
    least, moved = map(local, since) if since else (datetime.min, datetime.min)
    limit = min((moment for moment in map(local, parted) if moment > least), default=datetime.max)
    kept = sorted(
        moment + (moved - least)
        for moment in moments
        if moment not in no_moments and moment.date() not in days and least <= moment < limit
    )
    near = [moment for moment in kept if begin <= moment <= end]
    later = next((place for place, moment in enumerate(near) if moment >= now), len(near))
    first = max(0, min(later, len(near) - INSTANCES_LIMIT))
    return as_start(kept[0]) if kept else None, [*map(as_start, near[first : first + INSTANCES_LIMIT])]


def _of_rule(
    rule: str, base: datetime, end: datetime, local: Callable[[Moment], datetime]
) -> Iterator[datetime]:
    from dateutil.rrule import rrulestr

    if FREQUENCY.search(rule) is None or NO_INTERVAL.search(rule) is not None:
        raise ValueError("it repeats more often than daily")
    # The end of a rule is in the clock of the series; a day is its end.
    if (until := UNTIL.search(rule)) is not None:
        is_day = "T" not in until[1].upper()
        last = f"{until[1]}T235959" if is_day else f"{local(datetime.fromisoformat(until[1])):%Y%m%dT%H%M%S}"
        rule = UNTIL.sub(f"UNTIL={last}", rule)
    for step, moment in enumerate(rrulestr(rule, dtstart=base)):
        if moment > end:
            return
        if step >= STEPS_LIMIT:
            raise ValueError("it repeats too often")
        yield moment


ENTRIES = {"VEVENT": "event", "VTODO": "task", "VJOURNAL": "journal"}
APART = frozenset({*ENTRIES, "VTIMEZONE"})
TABLES = table("calendar")
OTHERS = re.compile("|".join(TABLES["others"]["names"].split()))
UNREAD = ("VFREEBUSY", "VAVAILABILITY")
STAMPS = ("LAST-MODIFIED", "DTSTAMP", "CREATED")
PERSON_PARAMS = {"role": "ROLE", "status": "PARTSTAT", "kind": "CUTYPE"}
WHOLE_DAY = re.compile(r"\d{8}|\d{4}-\d\d-\d\d")
DURATION = re.compile(
    r"(?P<sign>[-+]?)P(?:(?P<weeks>\d+)W)?(?:(?P<days>\d+)D)?"
    r"(?:T(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+)S)?)?$"
)
ANSWERS = ("REPLY", "COUNTER", "REFRESH", "DECLINECOUNTER")
"""Methods of calendars that say what one person answers, and do not change the entry (RFC 5546, 3.2)."""
OF_ANSWERS = ("UID", "RECURRENCE-ID", "SUMMARY", "ATTENDEE", "DTSTAMP")
"""What of an answer is read: not the times, which the organizer may have changed since."""
LATER = "THISANDFUTURE"  # the range of a change of an instance and all later ones
MAILTO = re.compile(r"\s*mailto:\s*", re.IGNORECASE)


def parse(builder: Builder, data: bytes, name: str) -> None:
    text, _, warnings = decoded(data)
    builder.warn(*warnings)
    if not add_entries(builder, text):
        raise ParseFailed("The file has no entry of a calendar.", "damaged")


def add_entries(builder: Builder, text: str) -> bool:
    """Add the entries of the calendars of a text; return whether it has any calendar."""
    every = [*_all_blocks(blocks(text, builder, APART))]
    zones = Zones({line.value: each for each in every for line in each.named("TZID")[:1]}, builder)
    entries: list[_Entry] = []
    for block in every:
        if block.name == "VCALENDAR":
            _describe(builder, block)
        if block.is_cut:
            is_lost, sentence = block.name in ENTRIES, f"{block.place} has no end"
            builder.drop(f"{sentence}: it is left out.") if is_lost else builder.warn(f"{sentence}.")
        elif block.name in UNREAD:
            builder.left_out(block.name, sum(len(line.value) for line in block.lines))
        elif block.name in ENTRIES:
            entry = _Entry(block, zones, builder)
            # Without its time a changed instance would be taken for its series.
            entries += [entry] if entry.times("RECURRENCE-ID") or not block.named("RECURRENCE-ID") else []
    entries = _newest(entries, builder)
    reference = max((entry.state[1] for entry in entries), default="")
    changes: dict[str, list[_Entry]] = {}
    series: dict[str, _Entry] = {}
    for entry in entries:
        if entry.block.named("RECURRENCE-ID"):
            changes.setdefault(entry.text("UID"), []).append(entry)
        else:
            series.setdefault(entry.text("UID"), entry)
    for entry in entries:
        uid = entry.text("UID")
        _add(builder, entry, (series.get(uid, entry), changes.get(uid, [])), reference)
    return bool(every)


def _all_blocks(outer: Iterable[Block]) -> Iterator[Block]:
    for block in outer:
        yield block
        yield from _all_blocks(block.inner)


def _describe(builder: Builder, calendar: Block) -> None:
    names = {"X-WR-CALNAME": "name", "X-WR-TIMEZONE": "timezone", "PRODID": "program"}
    for line in calendar.lines:
        if line.name in names:
            builder.metadata[names[line.name]] = line.texts()[0]
        method = line.value.strip().upper() if line.name == "METHOD" else ""
        for entry in calendar.inner:
            if method == "CANCEL":
                entry.lines.insert(0, ContentLine("STATUS", {}, "CANCELLED"))
            elif method in ANSWERS:
                entry.lines = [line, *(each for each in entry.lines if each.name in OF_ANSWERS)]
    builder.title = builder.title or builder.metadata.get("name")


class _Entry:
    def __init__(self, block: Block, zones: Zones, builder: Builder) -> None:
        self.block = block
        self._zones = zones
        self._builder = builder

    def text(self, name: str) -> str:
        return next((line.texts()[0] for line in self.block.named(name)), "")

    def times(self, *names: str) -> list[Moment]:
        """Return the times of some names; of a period its start. A warning tells what is none."""
        moments: list[Moment] = []
        for line in (line for name in names for line in self.block.named(name)):
            for text in line.value.split(","):
                try:
                    moments.append(self._moment(text.partition("/")[0].strip().upper(), line))
                except ValueError:
                    sentence = f"{line.name} cannot be read, it is left out: {text[:50]}"
                    self._builder.drop(f"{self.block.place}: {sentence}")
        return moments

    def _moment(self, text: str, line: ContentLine) -> Moment:
        if WHOLE_DAY.fullmatch(text):
            return date.fromisoformat(text)
        moment = datetime.fromisoformat(text)
        if not 1 < moment.year < 9999:
            raise ValueError(text)
        if moment.tzinfo is None and "TZID" in line.params:
            moment = moment.replace(tzinfo=self._zones.get(line.params["TZID"]))
        elif moment.tzinfo is None:
            self.warn("A time has no zone: it is kept without an offset.")
        return moment

    def warn(self, sentence: str) -> None:
        self._builder.warn(f"{self.block.place}: {sentence}")

    @property
    def state(self) -> tuple[int, str]:
        """What is greater in a newer state of the same entry."""
        sequence = self.text("SEQUENCE")
        stamps = (_iso(moment, in_utc=True) for moment in self.times(*STAMPS))
        return int(sequence[:9]) if sequence.isdecimal() else 0, max(stamps, default="")

    def span(self) -> tuple[Moment | None, Moment | None]:
        """Return the start and the end; of whole days the end is the last one."""
        start, end = (next(iter(self.times(name)), None) for name in ("DTSTART", "DTEND"))
        if start is not None and end is None and self.text("DURATION"):
            end = self._after(start)
        if self.text("X-MICROSOFT-CDO-ALLDAYEVENT").upper() == "TRUE":
            start, end = (
                each.date() if isinstance(each, datetime) and each.time() == time() else each
                for each in (start, end)
            )
        if start is not None and end is not None and not isinstance(start, datetime):
            end = end if isinstance(end, datetime) else max(start, end - timedelta(days=1))
        return start, end

    def _after(self, start: Moment) -> Moment | None:
        match = DURATION.match(self.text("DURATION"))
        try:
            units = match.groupdict(default="0") if match is not None else {}
            sign = -1 if units.pop("sign") == "-" else 1
            return start + sign * timedelta(**{unit: int(amount) for unit, amount in units.items()})
        except (KeyError, OverflowError):
            self.warn(f"DURATION cannot be read: {self.text('DURATION')[:50]}")
            return None

    @property
    def range(self) -> str:
        """Which instances a change is of beside its own: `THISANDFUTURE`, or none."""
        return next((line.params.get("RANGE", "") for line in self.block.named("RECURRENCE-ID")), "").upper()

    def instances(
        self, start: Moment, series: _Entry, changes: list[_Entry], reference: str
    ) -> tuple[Moment | None, list[Moment]]:
        """Return the first instance and those within the horizon; ``changes`` are entries of some of them."""
        rules = [line.value for line in series.block.named("RRULE")]
        added = series.times("RDATE")
        own = next(iter(self.times("RECURRENCE-ID")), None)
        if (own is not None and (self.range != LATER or series is self)) or not (rules or added):
            return start, []
        replaced = [moment for each in changes for moment in each.times("RECURRENCE-ID")]
        try:
            if any(each.range not in ("", LATER) for each in changes):
                raise ValueError("a change is one of all earlier instances")
            first, later = instances(
                next(iter(series.times("DTSTART")), start),
                rules,
                added,
                [*series.times("EXDATE"), *replaced],
                [line.value for line in series.block.named("EXRULE")],
                None if own is None else (own, start),
                [each.times("RECURRENCE-ID")[0] for each in changes if each.range == LATER],
                reference,
            )
            return (first, later) if own is None else (start, later)
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError) as exc:
            self.warn(f"its instances are not listed: {str(exc)[:100]}.")
            return start, []


def _newest(entries: list[_Entry], builder: Builder) -> list[_Entry]:
    newest: dict[tuple[object, ...], _Entry] = {}
    for entry in entries:
        uid = entry.text("UID")
        moved = [_iso(moment, in_utc=True) for moment in entry.times("RECURRENCE-ID")[:1]]
        key = (entry.block.name, uid, *moved) if uid else (entry,)
        known = newest.setdefault(key, entry)
        if known is not entry:
            newest[key] = max(known, entry, key=lambda each: each.state)
            builder.warn(
                f"{entry.block.place} is another state of {known.block.place}: the newer one is read."
            )
    return [*newest.values()]


def _add(builder: Builder, entry: _Entry, of: tuple[_Entry, list[_Entry]], reference: str) -> None:
    """Add an entry; ``of`` are its series, and the changes of single instances of that."""
    begin, line = builder.position, builder.line
    fields: list[PartField] = []

    def add(label: str, name: str, texts: Iterable[str], value: Any = None) -> None:
        spans = []
        for text in texts:
            spans.append(builder.add_line(label, text))
            value = normal(text) if value is None else value
        if spans:
            fields.append(PartField(name, value, widened(spans)))

    add("BEGIN", "component", [ENTRIES[entry.block.name]])
    for member, name in TABLES["texts"].items():
        add(member, name, filter(None, [entry.text(member)]))
    start, end = entry.span()
    instances: list[Moment] = []
    if start is not None and entry.text("STATUS").upper() != "CANCELLED":
        first, instances = entry.instances(start, *of, reference)
        if first is None:
            entry.warn("no instance of it is left.")
        elif first != start and end is not None and type(end) is type(start):
            end += first - start  # pyright: ignore[reportOperatorIssue]
        start, end = first, end if first is not None else None
    for member, name in TABLES["times"].items():
        moments = {"DTSTART": [start], "DTEND": [end]}.get(member) or entry.times(member)
        in_utc = member == "RECURRENCE-ID"
        add(member, name, [_iso(moment, in_utc=in_utc) for moment in moments[:1] if moment is not None])
    add(
        "TZID",
        "timezone",
        [each.params["TZID"] for each in entry.block.named("DTSTART")[:1] if "TZID" in each.params],
    )
    for member, name in TABLES["raw"].items():
        add(member, name, filter(None, [each.value for each in entry.block.named(member)[:1]]))
    add("RANGE", "range", filter(None, [entry.range]))
    instance_texts = [_iso(moment) for moment in instances if moment != start]
    add("INSTANCE", "instances", instance_texts, instance_texts)
    for member, name in TABLES["people"].items():
        people = list(filter(None, map(_person, entry.block.named(member))))
        builder.count_cells(len(people))
        texts = [" ".join(person.values()) for person in people]
        add(member, name, texts, people[0] if name == "organizer" and people else people)
    for each in _several(entry):
        add(*each)
    read = {name for names in ("texts", "times", "raw", "people", "several") for name in TABLES[names]}
    for each in entry.block.lines:
        if each.name not in read and OTHERS.fullmatch(each.name) is None:
            builder.left_out(f"{each.name} line", len(each.value))
    builder.add("", "\n")
    builder.count_cells(len(fields) + len(instances))
    last = max(field.span.end or begin for field in fields)
    builder.part("event", FileSpan(line=line, start=begin, end=last), fields)


def _several(entry: _Entry) -> Iterator[tuple[str, str, list[str], list[str] | None]]:
    """Yield the properties that may come again: their names, their texts, and the list where it is one."""
    for member, name in TABLES["several"].items():
        lines = [each for each in entry.block.named(member) if each.params.get("ENCODING") != "BASE64"]
        separator = "," if member == "CATEGORIES" else None
        texts = [text for each in lines for text in each.texts(separator) if text]
        is_list = len(texts) > 1 or member in ("ATTACH", "CATEGORIES")
        yield member, name, texts, texts if is_list else None


def _iso(moment: Moment, *, in_utc: bool = False) -> str:
    if in_utc and isinstance(moment, datetime) and moment.tzinfo is not None:
        moment = moment.astimezone(UTC)
    return moment.isoformat()


def _person(line: ContentLine) -> dict[str, str]:
    addresses = unquote(MAILTO.sub("", line.value, count=1)).strip(), line.params.get("EMAIL", "")
    person = {
        # Some programs escape a comma as in a text.
        "name": line.params.get("CN", "").replace("\\,", ",").strip(),
        "address": next(filter(ADDRESS.fullmatch, addresses), ""),
    }
    params = {key: line.params.get(name, "") for key, name in PERSON_PARAMS.items()}
    person = {name: normal(text) for name, text in {**person, **params}.items() if text}
    return person if "name" in person or "address" in person else {}
