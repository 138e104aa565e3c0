"""Which changes somebody wants, and how an answer has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, NotRequired

import orjson
from typing_extensions import TypedDict

from graphmem.changes.change import ON_REQUEST, Change, cursor_of
from graphmem.model import ids, times
from graphmem.reading import answers


class ChangedField(TypedDict):
    """A field whose value changed: what set it before and after, and on request the values."""

    before: NotRequired[Mapping[str, Any]]
    after: NotRequired[Mapping[str, Any]]


class ChangeAnswer(TypedDict):
    """A change.

    ``event_id`` is the same whenever the change is read, ``cursor`` is the place after it. ``fields_changed``
    are the names of ``fields``. A relationship has its ends in place of an entity. ``receipts`` counts those
    of answers with what a withdrawal or a correction takes back. ``timestamp`` is when it was recorded.
    """

    event_id: str
    event_type: str
    action: str
    cursor: str
    timestamp: str
    user_id: str
    entity_id: NotRequired[str]
    entity_type: NotRequired[str]
    name: NotRequired[str]
    merged_into: NotRequired[str]
    split_into: NotRequired[str]
    relationship_key: NotRequired[str]
    relationship_type: NotRequired[str]
    source_entity_id: NotRequired[str]
    source_name: NotRequired[str]
    target_entity_id: NotRequired[str]
    target_name: NotRequired[str]
    observation_id: NotRequired[str]
    source_id: NotRequired[str]
    interpretation_id: NotRequired[str]
    error: NotRequired[str]
    subject: NotRequired[str]
    subject_kind: NotRequired[str]
    version: NotRequired[str]
    receipts: NotRequired[int]
    fields_changed: list[str]
    fields: NotRequired[Mapping[str, ChangedField]]
    transaction_id: str
    operation: str
    agent_thumbprint: NotRequired[str]
    provenance: answers.Writer


@dataclass(frozen=True, slots=True)
class WantedChanges:
    """A filter of changes: what is empty is not filtered by.

    Attributes:
        kinds: of :data:`~graphmem.changes.change.KINDS`.
        writers: keys of writers; all must fit.
    """

    kinds: frozenset[str] = frozenset()
    entity_types: frozenset[str] = frozenset()
    entity_ids: frozenset[str] = frozenset()
    fields: frozenset[str] = frozenset()
    writers: frozenset[str] = frozenset()

    def encode(self) -> str:
        """Return it as JSON, with the names that callers know, for :meth:`decode`."""
        named = {
            "event_types" if name == "kinds" else name: sorted(v) for name, v in asdict(self).items() if v
        }
        return orjson.dumps(named).decode()

    @staticmethod
    def decode(text: str) -> WantedChanges:
        """Return the filter that :meth:`encode` made."""
        named = {name: frozenset[str](values) for name, values in orjson.loads(text).items()}
        return WantedChanges(kinds=named.pop("event_types", frozenset()), **named)

    def among(self, owner: str, changes: Iterable[Change]) -> list[Change]:
        return [change for change in changes if self.fits(owner, change)]

    def fits(self, owner: str, change: Change) -> bool:
        if change.kind not in self.kinds if self.kinds else change.kind in ON_REQUEST:
            return False
        if self.entity_types and not self.entity_types & {
            change.entity_type,
            *(end.type for end in change.ends),
        }:
            return False
        if self.entity_ids and self.entity_ids.isdisjoint(change.entity_ids):
            return False
        if self.fields and self.fields.isdisjoint(change.fields):
            return False
        return not self.writers or self.writers <= {*change.transaction.writers(owner)}


def answer(owner: str, node_key: str, change: Change, *, values: bool = False) -> ChangeAnswer:
    transaction, observation = change.transaction, change.observation
    members: dict[str, Any] = {
        "event_id": change.id,
        "event_type": change.kind,
        "action": change.kind.partition(".")[2],
        "cursor": cursor_of(node_key, change),
        "timestamp": times.render(transaction.recorded_at),
        "user_id": owner,
        **_subject(change),
        **{name: value for name, value in change.details.items() if value is not None},
    }
    if observation is not None:
        members["observation_id"] = observation.id
        if observation.source_id:
            members["source_id"] = observation.source_id
    if "receipts" in change.details:
        members["receipts"] = int(change.details["receipts"] or 0)
    members["fields_changed"] = change.fields
    if change.fields:
        members["fields"] = {
            name: {
                side: {
                    "observation_id": winner.observation_id,
                    **({"value": answers.stored_json(winner.value)} if values else {}),
                }
                for side, every in (("before", change.before), ("after", change.after))
                if (winner := every.get(name)) is not None
            }
            for name in change.fields
        }
    if not transaction.operation:
        # Time alone changed it.
        return members  # type: ignore[return-value]
    members |= {"transaction_id": transaction.id, "operation": transaction.operation}
    if transaction.agent != answers.ANONYMOUS:
        members["agent_thumbprint"] = transaction.agent
    members["provenance"] = answers.writer(transaction.agent, transaction.client, transaction.by)
    return members  # type: ignore[return-value]


def _subject(change: Change) -> dict[str, Any]:
    noun = change.kind.partition(".")[0]
    if noun == "receipt":
        noun = "relationship" if ":" in change.subject else "entity"
    if noun == "relationship":
        members: dict[str, Any] = {
            "relationship_key": change.subject, "relationship_type": change.subject.partition(":")[0]
        }  # fmt: skip
        for side, end in zip(("source", "target"), change.ends, strict=True):
            members[f"{side}_entity_id"] = end.id
            members |= {f"{side}_name": end.name} if end.name else {}
        return members
    if noun == "source":
        key = "source_id" if ids.SOURCE_ID.fullmatch(change.subject) else "interpretation_id"
        return {key: change.subject, **({"name": change.name} if change.name else {})}
    members = {"entity_type": change.entity_type} if change.entity_type else {}
    members |= {"name": change.name} if change.name else {}
    if noun in ("entity", "answer"):
        return {"entity_id": change.subject, **members}
    if noun == "observation" and change.observation is not None:
        subject = change.observation.subject_id
        return {"relationship_key" if ":" in subject else "entity_id": subject, **members}
    return members if noun == "schema" else {"subject": change.subject}
