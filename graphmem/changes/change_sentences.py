"""Changes in words, for people: what happened to what. Commands import it, so it imports little."""

from collections.abc import Callable, Mapping
from typing import Any

from graphmem.model import canonical


def sentence(change: Mapping[str, Any], value: Callable[[Any], str] = canonical.encode) -> str:
    """Return a change as a person reads it: what happened to what; ``value`` writes a value."""
    action = str(change["action"])
    if "relationship_key" in change and change["event_type"].startswith("relationship"):
        ends = [change.get(f"{side}_name") or change[f"{side}_entity_id"] for side in ("source", "target")]
        what = f"{ends[0]} {change['relationship_type']} {ends[1]}"
    elif change["event_type"].startswith("writing"):
        subject = str(change["subject"])
        what = f"what {subject[44:].replace(':', ' ', 1)} wrote" if subject.startswith("wrt_") else subject
    else:
        named = next(filter(None, map(change.get, ("name", "entity_id", "source_id", "subject"))), "")
        what = f"{change.get('entity_type', change['event_type'].partition('.')[0])} {named}".strip()
    changed = [_field(name, sides, value) for name, sides in change.get("fields", {}).items()]
    rest = f": {', '.join(changed)}" if changed else ""
    return f"{what} {action}{rest}"


def _field(name: str, sides: Mapping[str, Any], value: Callable[[Any], str]) -> str:
    after, before = sides.get("after"), sides.get("before")
    if after is None:
        return f"{name} cleared"
    if "value" not in after:
        return name
    was = f" (was {value(before['value'])})" if before else ""
    return f"{name} {value(after['value'])}{was}"
