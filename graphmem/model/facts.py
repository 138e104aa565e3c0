"""The kinds of facts: what an observation of each kind says about its subject.

This is the only list of kinds. The writer, the readers, the audit, the dump and the queries (fragments
``<fact._value_kinds>`` and the like) take theirs from here. A stored kind never changes its meaning; a new
kind is a new row.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from graphmem.model import canonical, ids, ranks

SEALED_MARK: Final = "🔒"
"""Begins every sealed text in the database of a sealed instance (:mod:`graphmem.sealing.sealed_rows`)."""

Kind = Literal["value", "correction", "create", "delete", "restore", "merge", "unmerge"]


@dataclass(frozen=True, slots=True)
class FactKind:
    """What an observation of one kind says."""

    name: Kind  # the kind as it is stored
    has_values: bool = False  # its fields are values of its subject; the fields of other kinds say why
    live: bool | None = None  # whether its subject lives after it; ``None`` where it leaves that alone
    merges: bool = False  # it decides whether its subject is merged, and into which entity
    target_field: str | None = None  # the field that names the other entity that it needs


TABLE: Final = (
    FactKind("value", has_values=True),
    FactKind("correction", has_values=True),
    FactKind("create", has_values=True, live=True),
    FactKind("delete", live=False),
    FactKind("restore", live=True),
    FactKind("merge", merges=True, target_field="into"),
    FactKind("unmerge", merges=True),
)

VALUE_KINDS: Final = tuple(kind.name for kind in TABLE if kind.has_values)
"""Their fields are values of the subject."""
LIFECYCLE_KINDS: Final = tuple(kind.name for kind in TABLE if kind.live is not None)
"""The newest of these decides whether the subject lives."""
MERGE_KINDS: Final = tuple(kind.name for kind in TABLE if kind.merges)
"""The newest of these decides whether the subject is merged."""
STATE_KINDS: Final = tuple(kind.name for kind in TABLE if not kind.has_values and kind.target_field is None)
"""They change the state of a subject that other observations made, and need no other entity."""

_LIVE: Final = {kind.name: kind.live for kind in TABLE}
_TARGET_FIELDS: Final = {kind.name: kind.target_field for kind in TABLE}


SEPARATED: Final = "separated"
"""The field of an unmerge that names the members that its subject was separated from."""


RULE_VERSION: Final = "rule_version"
"""The field of a merge with the version of the rule by which it folds; the first where it has none."""
NAME_FROM: Final = "name_from"
"""The field of a merge that says whose name is shown: ``source`` means the merged entity, else the target."""
RENAMED: Final = "2-renamed"  # in place of the version, where a rule merged a company that was renamed


def separated(fields: Mapping[str, str]) -> list[str]:
    """Return the members that an unmerge separated its subject from."""
    named = canonical.decode(fields[SEPARATED]) if SEPARATED in fields else []
    return [each for each in named if isinstance(each, str)] if isinstance(named, list) else []


def merge_rule(kind: str, fields: Mapping[str, str], at: int) -> str | None:
    """Return how a merge at a time (microseconds) folds its source into its target, if not by version 1.
    Rules sort: those that keep the name of the target, then those that take that of the source, by time."""
    if kind != "merge" or canonical.decode(fields.get(RULE_VERSION, "1")) != 2:
        return None
    return f"2.{ranks.time_rank(at)}" if fields.get(NAME_FROM) == '"source"' else "2"


def is_live(kind: str | None) -> bool:
    """Whether a subject lives whose newest lifecycle observation, if any, is of this kind."""
    return kind is None or _LIVE[kind] is not False


def target(kind: str, fields: Mapping[str, str]) -> str | None:
    """Return the other entity that an observation (canonical JSON by field) names, if it does."""
    text = fields.get(_TARGET_FIELDS[kind] or "")
    entity_id = canonical.decode(text) if text is not None else None
    return entity_id if isinstance(entity_id, str) and ids.ENTITY_ID.fullmatch(entity_id) else None
