"""Chats that WhatsApp exports as text: messages with sender and time; lines of the app are left out.

The file says neither the order of day and month nor the time zone. The order is the one in which all dates
exist and follow each other; times are read as UTC. The language of the telephone says what stands between
date and time: a comma, nothing, or a word. It is the same in all lines.
"""

from __future__ import annotations

import re
from datetime import datetime
from itertools import pairwise

from graphmem.ingest.archives import exported
from graphmem.ingest.building import Builder
from graphmem.ingest.decoding import decoded, unended
from graphmem.ingest.document import FileSpan, ParseFailed, PartField

HALVES = {
    **dict.fromkeys(("a", "上午", "凌晨", "早上", "오전", "午前", "ص", "π"), 0),
    **dict.fromkeys(("p", "下午", "中午", "晚上", "오후", "午後", "م", "μ"), 12),
}
"""What names the half of a day, and the hours before it."""
_HALF = "|".join(HALVES)
LINE = re.compile(
    r"^[\u200e\u200f]*(?P<bracket>\[(?=[^\]\n]*\] ))?"
    r"(?P<first>\d{1,4})\u200f?[./-] ?(?P<second>\d{1,2})\u200f?[./-] ?(?P<third>\d{1,4})"
    r"(?P<between>\.? г\.,? |[,،.]? (?:(?:à|às|klo|kl\.?|um) )?)"
    rf"(?P<half_before>{_HALF})? ?(?P<hour>\d{{1,2}})[:.](?P<minute>\d\d)(?:[:.](?P<seconds>\d\d))?"
    rf"(?:[ \u202f\u00a0]?(?P<half_behind>{_HALF})(?:\.?[ \u202f\u00a0]?[mμ]\.?)?)?(?:\] | - )"
    r"\u200e?(?:(?P<sender>[^:\n]{1,100}): \u200e?)?",
    re.MULTILINE | re.IGNORECASE,
)
TIME = "first", "second", "third", "hour", "minute", "seconds", "half_before", "half_behind"
"""The groups that say a time."""
FORM = "bracket", "between"
"""The groups that are the same in all lines."""
MARKS = dict.fromkeys(map(ord, "\u200e\u200f\u202a\u202c\u202f~"))
SENDERS_SHOWN = 5
ORDERS = {"day first": (2, 1, 0), "month first": (2, 0, 1)}
NAMELESS = re.compile(r"_chat( ?\(\d+\))?|.{0,2}")


def parse(builder: Builder, data: bytes, name: str) -> None:
    place, start, line, number = builder.reserve(), 0, 1, 0
    senders: dict[str, None] = {}
    for file in exported(data, builder):
        text, _, warnings = decoded(file)
        builder.warn(*warnings, *unended(text))
        begun, first_line = builder.position, builder.line
        builder.add(text, "\n")
        lines = lines_of(text)
        times = _times([match.group(*TIME) for match in lines], builder)
        for index, match in enumerate(lines):
            line, start = first_line + text.count("\n", 0, match.start()), begun + match.start()
            end = lines[index + 1].start() if index + 1 < len(lines) else len(text)
            body = text[match.end() : end].strip()
            if match["sender"] is None or not body:
                continue
            number += 1
            sender = " ".join(match["sender"].translate(MARKS).split())
            senders[sender] = None
            stop = begun + match.end() + len(text[match.end() : end].rstrip())
            fields = [
                PartField("role", sender, _span(line, number, *(begun + at for at in match.span("sender")))),
                PartField("text", body, _span(line, number, stop - len(body), stop)),
                PartField("sent_at", times[index], _span(line, number, start, begun + match.end())),
            ]
            builder.count_cells(len(fields))
            builder.part("message", _span(line, number, start, stop), fields)
    if not number:
        raise ParseFailed("The chat has no message.", "empty")
    stem = name.replace("\\", "/").rpartition("/")[2].rpartition(".")[0]
    names = ", ".join(list(senders)[:SENDERS_SHOWN]) + (" …" if len(senders) > SENDERS_SHOWN else "")
    title = f"WhatsApp chat of {names}" if NAMELESS.fullmatch(stem) else stem
    builder.title = title
    builder.metadata |= {"conversations": 1, "messages": number}
    span = FileSpan(line=1, start=0, end=builder.position)
    builder.part("conversation", span, [PartField("title", title, FileSpan())], place=place)
    builder.warn("WhatsApp says no time zone: the times are read as UTC.")


def lines_of(text: str) -> list[re.Match[str]]:
    """Return the beginnings of the lines of a chat, all in the form of the first one."""
    lines = list(LINE.finditer(text))
    return [match for match in lines if match.group(*FORM) == lines[0].group(*FORM)]


def _span(line: int, message: int, start: int, end: int) -> FileSpan:
    return FileSpan(line=line, message=message, start=start, end=end)


def _times(written: list[tuple[str | None, ...]], builder: Builder) -> list[str]:
    """Return the times of all lines in ISO 8601, in the order of day and month that fits them best."""
    read = {order: [_time(parts, places) for parts in written] for order, places in ORDERS.items()}
    fitting = {
        order: sum(later < earlier for earlier, later in pairwise(times))
        for order, times in read.items()
        if all(times)
    }
    if not fitting:
        raise ParseFailed("The chat has dates that do not exist.", "damaged")
    best = min(fitting, key=lambda order: fitting[order])
    if len(set(fitting.values())) < len(fitting) == 2 and read["day first"] != read["month first"]:
        # The United States write AM and PM, other countries with halves of a day `am` or `a. m.`.
        best = "month first" if any((parts[-1] or "").isupper() for parts in written) else "day first"
        builder.warn(f"The order of day and month is a guess: {best}.")
    return [f"{time}Z" for time in read[best]]


def _time(parts: tuple[str | None, ...], places: tuple[int, int, int]) -> str:
    """Return a time in ISO 8601, an empty text where there is no such day."""
    first, second, third, hour, minute, seconds, *halves = (part or "" for part in parts)
    half = "".join(halves).lower()
    date = [int(each) for each in (first, second, third)]
    year, month, day = date if len(first) == 4 else (date[place] for place in places)
    # Noon (中午) is from eleven to one.
    hours = int(hour) % 12 + HALVES[half] if half and (half, hour) != ("中午", "11") else int(hour)
    try:
        return datetime(
            year + 2000 * (year < 100), month, day, hours, int(minute), int(seconds or 0)
        ).isoformat()
    except ValueError:
        return ""
