"""Ids: pure functions of what they name, so that the same thing has the same id on every machine.

================  ==========================================================================
entity            ``ent_`` + 24 hex of SHA-256 over ``[owner, type, basis, values]``
observation       ``obs_`` + 32 hex; see :func:`observation_id`, :func:`unplaced_observation_id` and
                  :func:`placed_observation_id`
relationship      key ``TYPE:source:target``; id ``rel_`` + 24 hex of SHA-256 over ``[key]``
transaction       ``txn_`` + 32 hex, drawn at random by the process that writes
source            ``src_`` + 24 hex of SHA-256 over ``[owner, content hash]``
interpretation    ``int_`` + 24 hex of SHA-256 over source id, interpreter, version, configuration hash, run
withdrawal        ``exc_`` + 24 hex of SHA-256 over ``[transaction, index]``
dismissal         ``dis_`` + 24 hex of SHA-256 over ``[transaction, index]``
schema, agent     ``sch_`` / ``agt_`` + 24 hex of SHA-256 over owner and name
timeline event    ``evt_`` + 24 hex of SHA-256 over ``[owner, entity, field, text]``
================  ==========================================================================

All hashes are over canonical JSON (:mod:`graphmem.model.canonical`).
"""

import re
import uuid
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from graphmem.model import canonical

ENTITY_ID = re.compile(r"ent_[0-9a-f]{24}", re.ASCII)
RELATIONSHIP_TYPE = r"[^\x00-@\[-\x7f\s][^\x00-/:-@\[-^`a-\x7f\s]{0,63}"
"""What the name of a relationship type looks like; :func:`graphmem.model.relationship.is_name` says more."""
RELATIONSHIP_KEY = re.compile(RELATIONSHIP_TYPE + r":ent_[0-9a-f]{24}:ent_[0-9a-f]{24}")
SOURCE_ID = re.compile(r"src_[0-9a-f]{24}", re.ASCII)
INTERPRETATION_ID = re.compile(r"int_[0-9a-f]{24}", re.ASCII)
WRITING = "wrt_"  # how the id of a writing begins (:func:`writing_id`)
WRITER_AT = 44  # where the key of the writer begins in the id of a writing
WRITING_ID = re.compile(WRITING + r"[0-9]{40}.+", re.ASCII | re.DOTALL)
WITHDRAWAL_ID = re.compile(r"exc_[0-9a-f]{24}", re.ASCII)
DISMISSAL_ID = re.compile(r"dis_[0-9a-f]{24}", re.ASCII)
SPLIT_ID = re.compile(r"spl_[0-9a-f]{24}", re.ASCII)
RENAMING_ID = re.compile(r"ren_[0-9a-f]{24}", re.ASCII)
OBSERVATION_ID = re.compile(r"obs_[0-9a-f]{32}", re.ASCII)


def entity_id(owner: str, entity_type: str, basis: str, values: Sequence[Any]) -> str:
    return "ent_" + canonical.digest([owner, entity_type, basis, list(values)])[:24]


def observation_id(
    *, subject_id: str, observed_at: int, fields: Mapping[str, str], kind: str, priority: float,
    specificity: float, observation_source: str, agent: str, source_id: str | None = None,
    interpretation_id: str | None = None,
) -> str:  # fmt: skip
    """Return the id of an observation whose time (microseconds) was given: what it says, whoever brings it
    and when.

    Args:
        subject_id: id of the entity, or key of the relationship, that it is about.
        fields: canonical JSON by field name.
        agent: thumbprint of the writer's key, ``anonymous`` without one.
        source_id, interpretation_id: the file that it was stored with, and the interpretation that made it.
    """
    content = canonical.assemble(fields.items())
    rest = [kind, priority, specificity, observation_source, agent, source_id, interpretation_id]
    return "obs_" + canonical.digest([subject_id, observed_at, content, *rest])[:32]


def unplaced_observation_id(transaction_id: str, index: int) -> str:
    """Return the id of an observation that took its time from its transaction.

    A hash of the transaction, then the index in eight hexadecimal digits: at equal times the later
    item of a request has the greater id and wins.
    """
    return f"obs_{_hash_of(transaction_id)}{index:08x}"


@lru_cache(maxsize=8)
def _hash_of(transaction_id: str) -> str:
    return canonical.digest([transaction_id])[:24]


def placed_observation_id(unplaced: str, earlier: str) -> str:
    """Return the id of an observation that its place in the request puts after another of the same time.

    Its first 13 digits are the next after those of ``earlier``, the greatest id of the items before it that
    it contradicts, so that against the observations of other requests it stands where ``earlier`` does. The
    other digits are a hash of both.
    """
    prefix = min(int(earlier[4:17], 16) + 1, 16**13 - 1)
    return f"obs_{prefix:013x}{canonical.digest([earlier, unplaced])[:19]}"


def relationship_key(relationship_type: str, source: str, target: str) -> str:
    return f"{relationship_type}:{source}:{target}"


def ends(key: str) -> tuple[str, str]:
    """Return the source and the target of a relationship's key."""
    _, source, target = key.split(":")
    return source, target


def is_loop(key: str) -> bool:
    """Return whether both ends of a relationship are one entity: it is then not shown."""
    source, target = ends(key)
    return source == target


def relationship_id(key: str) -> str:
    """Return the short id of a relationship: what indexes hold instead of its long key."""
    return "rel_" + canonical.digest([key])[:24]


def transaction_id() -> str:
    return f"txn_{uuid.uuid4().hex}"


def source_id(owner: str, content_hash: str) -> str:
    return "src_" + canonical.digest([owner, content_hash])[:24]


def interpretation_id(source_id: str, interpreter: str, version: str, config_hash: str, run: int) -> str:
    return "int_" + canonical.digest([source_id, interpreter, version, config_hash, run])[:24]


def withdrawal_id(transaction_id: str, index: int) -> str:
    return "exc_" + canonical.digest([transaction_id, index])[:24]


def writing_id(writer: str, since: int, until: int) -> str:
    """Return the id of what a writer wrote in a span of time (microseconds as recorded), as the subject of
    withdrawals.

    It says what it is, so that a query finds the transactions by it: ``wrt_``, since (inclusive, not before
    1970) and until (exclusive) in 20 digits each, and the key of the writer.
    """
    return f"{WRITING}{max(since, 0):020d}{max(until, 0):020d}{writer}"


def writing(writing_id: str) -> tuple[str, int, int]:
    """Return the key of the writer, and the first and the last time, that the id of a writing says."""
    return writing_id[WRITER_AT:], int(writing_id[4:24]), int(writing_id[24:WRITER_AT])


def dismissal_id(transaction_id: str, index: int) -> str:
    return "dis_" + canonical.digest([transaction_id, index])[:24]


def split_id(transaction_id: str) -> str:
    return "spl_" + canonical.digest([transaction_id, 0])[:24]


def renaming_id(transaction_id: str) -> str:
    return "ren_" + canonical.digest([transaction_id, 0])[:24]


def schema_id(owner: str, entity_type: str, version: str | None) -> str:
    return "sch_" + canonical.digest([owner, entity_type, version])[:24]


def agent_id(owner: str, thumbprint: str) -> str:
    """Nothing is shared between owners."""
    return "agt_" + canonical.digest([owner, thumbprint])[:24]


def event_id(owner: str, entity_id: str, field: str, text: str) -> str:
    return "evt_" + canonical.digest([owner, entity_id, field, text])[:24]


def request_hash(operation: str, arguments: Mapping[str, Any]) -> str:
    """Return what an idempotency key stands for: SHA-256 over the operation and its canonical arguments."""
    return canonical.digest([operation, dict(arguments)])
