"""The entity that a person names on the command line: by an identifier, or by a name that only it has."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from graphmem.errors import EntityAmbiguous, NotFound

if TYPE_CHECKING:
    from graphmem.cli.commands import Listed
    from graphmem.cli.session import Session

CANDIDATES_LIMIT: Final = 20
_ID: Final = re.compile(r"(?:ent|src|rel|obs)_\w*", re.ASCII | re.IGNORECASE)
"""What is meant as an id, right or wrong: the operation answers for it."""
_OF_UNLISTED: Final = {"entities.restore": "deleted", "entities.unmerge": "merged"}
"""Operations on entities that no look-up finds, with the state of these."""
_UNLISTED_PARTS: Final = frozenset({"entity_id", "source_entity_id"})
"""The arguments of these operations that name such an entity."""
STATES_LIMIT: Final = 100  # entities of one name, in any state, of which those in the sought state are taken
_WHOLE: Final = frozenset({"id", "identifier", "name"})
"""The steps of a look-up of which the whole text is what an entity has."""


def with_ids(session: Session, entry: Listed, raw: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call with the ids of the entities that names stand for.

    Of a command that changes something, the entity is told on stderr.

    Raises:
        EntityAmbiguous: several entities have a name; ``details.candidates`` lists them.
        NotFound: none has it, and ``details.candidates`` lists those that resemble it.
    """
    from graphmem.cli.commands import ValueKind
    from graphmem.cli.session import tell_progress

    names = {part.shown for part in entry.parameters if part.value is ValueKind.ENTITY}
    for argument in sorted(names & raw.keys()):
        name = raw[argument]
        if not isinstance(name, str) or not name.strip() or _ID.fullmatch(name.strip()):
            continue
        # The type of a command that changes one entity is that of this entity, not a filter.
        entity_type = raw.get("entity_type") if not entry.reads else None
        state = _OF_UNLISTED.get(entry.name) if argument in _UNLISTED_PARTS else None
        if state is not None:
            entity = _unlisted(session, name, entity_type, state)
        else:
            entity = _named(session, name, entity_type, is_exact=not entry.reads)
        if entity is None:
            continue
        raw = {**raw, argument: entity["entity_id"]}
        if not entry.reads:
            known = f"{entity['canonical_name']} ({entity['entity_type']}, {entity['entity_id']})"
            tell_progress(f"{argument}: {known}")
    return raw


def _candidate(row: Mapping[str, Any]) -> Mapping[str, Any]:
    return {part: row[part] for part in ("entity_id", "entity_type", "canonical_name")}


def _unlisted(session: Session, name: str, entity_type: Any, state: str) -> Mapping[str, Any]:
    filters = {"name": name, f"include_{state}": True}
    filters |= {"entity_type": entity_type} if entity_type else {}
    query: dict[str, Any] = {"filters": filters, "include_snapshots": False, "limit": STATES_LIMIT}
    page = session.ask("entities.query", query)
    candidates = [_candidate(row) for row in page["entities"] if row["state"] == state]
    if not candidates and "next_cursor" not in page:
        raise NotFound(f"no {state} entity has the name {name!r:.100}")
    if len(candidates) != 1 or "next_cursor" in page:
        raise EntityAmbiguous(candidates=candidates[:CANDIDATES_LIMIT])
    return candidates[0]


def _named(session: Session, name: str, entity_type: Any, *, is_exact: bool) -> Mapping[str, Any] | None:
    """Return the entity with a name; None where nothing resembles it, so that the operation answers.

    ``is_exact``: a part of a name, such as a first name, does not do.
    """
    sought = {"identifier": name, "limit": CANDIDATES_LIMIT, "provenance": "none", "fields": ["name"]}
    typed = {"entity_type": entity_type} if entity_type else {}
    answer = session.ask("entities.find", sought | typed)
    candidates = list(map(_candidate, answer["entities"]))
    if not candidates:
        return None
    is_whole = all(row.get("matched_by", name).strip() == name.strip() for row in answer["entities"])
    named = is_whole and "match" not in answer and answer["match_mode"] in {*_WHOLE, "name_part"}
    if not named:
        raise NotFound(f"no entity has the name {name!r:.100}", candidates=candidates)
    if answer["total"] > 1:
        raise EntityAmbiguous(candidates=candidates)
    if is_exact and answer["match_mode"] not in _WHOLE:
        message = f"a change needs the whole name or the id, and {name!r:.100} is a part of a name"
        raise EntityAmbiguous(message, candidates=candidates)
    return candidates[0]
