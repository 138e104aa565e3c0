"""Deciding a request that writes a transaction of its own."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from graphmem.errors import IdempotencyMismatch, ReadingCopy, VersionConflict, WriterQuarantined
from graphmem.model import ids, membership
from graphmem.model.attribution import writers_of
from graphmem.writing.draft import Draft
from graphmem.writing.state import State
from graphmem.writing.write_requests import Receipt, Touched, WriteRequest

_WITHHELD: Final = "what this writer writes is kept, and does not count until POST /agents/release"


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionRequest(WriteRequest):
    """A request that writes one transaction, or refuses it."""

    operation: str
    agent: str  # the thumbprint of the writer's key, or ``anonymous``
    client: str  # the name that the writer gives itself
    by: str  # canonical JSON of an ``attribution.Attribution``
    idempotency_key: str | None = None
    expected: Mapping[str, int] = field(default_factory=dict)  # versions that entities must have, by id

    @property
    @abstractmethod
    def content(self) -> dict[str, Any]:
        """What an idempotency key stands for: its values, in whatever spelling of types and times."""

    @property
    def request_hash(self) -> str:
        """The hash of its operation and content. It is stored, so every request has the keys of a store."""
        expected = {"expected": dict(self.expected)} if self.expected else {}
        content = {"items": [], "links": [], "of_links": [], **self.content, **expected}
        return ids.request_hash(self.operation, content)

    def expectations(self) -> Iterator[tuple[str, int, dict[str, Any]]]:
        """Yield each entity or relationship with the version that it must have, and more details."""
        for entity_id, version in self.expected.items():
            yield entity_id, version, {}

    @property
    def can_be_withheld(self) -> bool:
        """Whether it only adds observations: they do not count while the writer is in quarantine."""
        return False

    @property
    def writers(self) -> list[str]:
        return writers_of(self.owner, self.agent, self.client, self.by)

    def touch(self, touched: Touched) -> None:
        touched.writers.update(self.writers)
        touched.transactions.add(self.transaction_id)
        if self.idempotency_key is not None:
            touched.keys.add(self.idempotency_key)

    @abstractmethod
    def apply(self, draft: Draft) -> Receipt:
        """Add to a draft what it writes, and what is wrong with it; return its answer."""

    def decide(self, state: State, clock: int) -> Receipt:
        earlier = self._earlier_answer(state)
        if earlier is not None:
            return earlier
        if state.read.reads_from:
            raise ReadingCopy(reads_from=state.read.reads_from)
        recorded_at = max(clock, state.read.recorded_at + 1) + len(state.new.transactions)
        draft = Draft.of(state, self, recorded_at, self.writers)
        if any(not membership.counts(toggles) for toggles in draft.writings):
            if not self.can_be_withheld:
                raise WriterQuarantined(operation=self.operation)
            draft.warn("WRITER_QUARANTINED", _WITHHELD, once=True)
        self._check_versions(draft)
        receipt = replace(self.apply(draft), warnings=draft.warnings)
        draft.raise_issues()
        # A rule may have merged an entity that an item creates with one that was there.
        self._check_versions(draft)
        if self.writes_facts and receipt.is_written:
            properties = {
                "id": self.transaction_id, "recorded_at": receipt.recorded_at, "operation": self.operation,
                "client": self.client, "by": self.by, "idempotency_key": self.idempotency_key,
                "request_hash": self.request_hash, "answer": receipt.encode(),
                "expected": [f"{id} {version}" for id, version, _ in self.expectations() if ":" not in id]
                or None,
            }  # fmt: skip
            draft.accept({"agent": self.agent, "properties": properties})
        return receipt

    def _check_versions(self, draft: Draft) -> None:
        for subject_id, expected, more in self.expectations():
            before = draft.before(subject_id)
            current = before.version if before else 0
            if current == expected or (before is None and not more):
                # An entity that must be there is refused as missing, unless an item may create it.
                continue
            subject_id = before.subject_id if before else subject_id
            has = f"{subject_id} has version {current}" if current else f"there is no {subject_id}"
            raise VersionConflict(
                f"{has}, and expected_version is {expected}: nothing was written. Read the entity again, and "
                "send the change with its version if it still applies",
                entity_id=subject_id, expected_version=expected, current_version=current, **more,
            )  # fmt: skip

    def _earlier_answer(self, state: State) -> Receipt | None:
        """Return the answer of the same transaction, or of another with the same key, written before."""
        written = state.read.transactions.get(self.transaction_id)
        if written is not None:
            # An earlier attempt wrote it, and its acknowledgement was lost: this is no replay.
            return Receipt.decode(written.transaction_id, written.recorded_at, written.answer, replayed=False)
        if self.idempotency_key is None or self.idempotency_key not in state.by_key:
            return None
        written = state.by_key[self.idempotency_key]
        if written.request_hash != self.request_hash:
            raise IdempotencyMismatch(idempotency_key=self.idempotency_key)
        return Receipt.decode(written.transaction_id, written.recorded_at, written.answer, replayed=True)
