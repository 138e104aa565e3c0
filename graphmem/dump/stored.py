"""The transactions and observations of a dump as the database holds them."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from graphmem.dump.records import Observation


class StoredTransaction(NamedTuple):
    """A transaction as ``dump/_transaction.cypher`` reads it; a dump has the same names.

    ``by`` is canonical JSON, in a dump an object.
    """

    id: str
    recorded_at: int
    operation: str
    client: str | None
    agent: str | None
    by: str | None
    idempotency_key: str | None
    request_hash: str
    answer: str


class StoredObservation(NamedTuple):
    """An observation as ``dump/_observation.cypher`` reads it."""

    id: str
    subject_id: str
    kind: str
    entity_type: str | None
    identity_basis: str | None
    observed_at: int
    recorded_at: int
    fields: list[str]
    values: list[str]
    priority: float
    specificity: float
    observation_source: str
    agent: str | None
    source_id: str | None
    interpretation_id: str | None
    places: str | None


class StoredInterpretation(NamedTuple):
    """An interpretation as ``dump/_interpretation.cypher`` reads it; a dump has the same names."""

    id: str
    source_id: str
    interpreter: str
    version: str
    config: str
    run: int
    model: str | None
    parser: str
    created_at: int
    started_at: int
    error: str | None
    warnings: list[str]
    observations: int
    entities: int
    relationships: int


class StoredSource(NamedTuple):
    """A file of a transaction as ``dump/_source.cypher`` reads it; a dump has the same names."""

    id: str
    content_hash: str
    size: int
    mime_type: str
    name: str | None
    declared_type: str | None
    file_key: str | None


class StoredAccount(NamedTuple):
    """An account as ``account/_record.cypher`` reads it; a dump has the same names.

    ``password`` is a hash, None for an account without a password.
    """

    id: str
    name: str
    owner: str
    scopes: list[str]
    password: str | None
    disabled: bool


class StoredAccounts(NamedTuple):
    """The row of ``account.dumped``."""

    accounts: list[StoredAccount]


class StoredExclusion(NamedTuple):
    """An exclusion of a transaction as ``dump/_exclusion.cypher`` reads it; a dump has the same names."""

    id: str
    kind: str
    subject_kind: str
    subject: str
    reason: str | None


class StoredDismissal(NamedTuple):
    """A dismissal of a transaction as ``dump/_dismissal.cypher`` reads it; a dump has the same names."""

    id: str
    kind: str
    entity_a: str
    entity_b: str
    reason: str | None


OBSERVATION: Final = tuple("home" if name == "subject_id" else name for name in StoredObservation._fields)
"""The columns of an observation, as a dump names them."""

CONTENT: Final = (
    "home", "kind", "observed_at", "fields", "values", "priority", "specificity", "observation_source",
    "agent", "source_id", "interpretation_id",
)  # fmt: skip
"""The names of :func:`content`, as a dump has them."""


def content(observation: Observation | StoredObservation) -> tuple[Any, ...]:
    """Return the members that an observation's id is made of: they must be equal in the database and a dump.

    Its transaction and ``recorded_at`` are not among them.
    """
    return (
        observation.subject_id, observation.kind, observation.observed_at, tuple(observation.fields),
        tuple(observation.values), observation.priority, observation.specificity,
        observation.observation_source, observation.agent, observation.source_id,
        observation.interpretation_id,
    )  # fmt: skip
