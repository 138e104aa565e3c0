"""``graphmem watch``: changes as they come, one a line."""

from __future__ import annotations

import json
import sys
import time
from typing import Any, Final

from graphmem.cli.commands import entry_of
from graphmem.cli.entity_names import with_ids
from graphmem.cli.session import Session, console, tell_progress
from graphmem.cli.tables import plain, short, time_text
from graphmem.errors import Unavailable
from graphmem.model import canonical

WAIT_SECONDS: Final = 20  # seconds that one call waits for a change
PAUSE_SECONDS: Final = 2.0  # seconds before a service that does not answer is asked again


def watch(
    session: Session, kind: list[str] | None = None, entity_type: list[str] | None = None,
    entity: str | None = None, field: list[str] | None = None, subscription: str | None = None,
    after: str | None = None,
) -> None:  # fmt: skip
    entry = entry_of("changes.list")
    filters: dict[str, Any] = {"event_types": kind, "entity_types": entity_type, "fields": field}
    filters["subscription_id"] = subscription
    filters = {name: value for name, value in filters.items() if value}
    if entity is not None:
        filters |= with_ids(session, entry, {"entity_id": entity})
    cursor, is_away = after, False
    while True:
        place = {"limit": 1} if cursor is None else {"after": cursor, "wait_seconds": WAIT_SECONDS}
        try:
            answer = canonical.decode(session.run(entry, {**filters, **place, "values": True}))
        except Unavailable as exc:
            if not is_away:
                tell_progress(f"waiting: {exc}")
            is_away = True
            time.sleep(PAUSE_SECONDS)
            continue
        if is_away or cursor is None:
            tell_progress("watching: Ctrl-C ends it")
        is_away = False
        for change in answer["changes"] if cursor is not None else ():
            _print(change, session.as_json)
        cursor = answer.get("resume_cursor", "")


def _print(change: dict[str, Any], as_json: bool) -> None:
    from graphmem.changes.change_sentences import sentence
    from graphmem.model import attribution

    if as_json:
        print(json.dumps(change, ensure_ascii=False))
    else:
        line = f"{time_text(change['timestamp'])}  {sentence(change, short)}"
        # What time alone changed has no writer.
        by = change.get("provenance")
        writer = f"by {attribution.described(by['by'], by['client'])}" if by else ""
        console.print(plain(line), plain(writer, "dim"), highlight=False, soft_wrap=True)
    sys.stdout.flush()
