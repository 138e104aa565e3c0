"""Withdrawing and reinstating what was stored with a source, by an interpretation, or by a writer."""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from graphmem.model import ids, membership, times
from graphmem.model.fact_records import Withdrawal
from graphmem.model.fact_table import BY_NAME, SUBJECTS, WITHDRAWAL
from graphmem.model.membership import SubjectKind
from graphmem.writing.draft import Draft
from graphmem.writing.transaction import TransactionRequest
from graphmem.writing.write_requests import Receipt, Touched


class SubjectChange(NamedTuple):
    """A subject whose observations do not count any more (``exclude``), or count again (``include``)."""

    kind: Literal["exclude", "include"]
    subject_kind: SubjectKind
    subject: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WithdrawalRequest(TransactionRequest):
    """The observations of some subjects do not count any more, or count again."""

    shares_turn = False

    changes: tuple[SubjectChange, ...]
    reason: str | None = None

    @property
    def content(self) -> dict[str, Any]:
        if len(self.changes) == 1:
            return {"exclusion": [*self.changes[0], self.reason]}
        return {"exclusions": [list(each) for each in self.changes], "reason": self.reason}

    def touch(self, touched: Touched) -> None:
        TransactionRequest.touch(self, touched)
        for change in self.changes:
            kind = BY_NAME.get(change.subject_kind)
            name = kind.plural if kind is not None and kind.plural in SUBJECTS else "subjects"
            getattr(touched, name).add(change.subject)

    @property
    def is_reinstating(self) -> bool:
        """Whether all that it changes counts again."""
        return all(each.kind == "include" for each in self.changes)

    def apply(self, draft: Draft) -> Receipt:
        state, total, withdrawal_ids = draft.state, 0, list[str]()
        for change in self.changes:
            observations = state.known.get(change.subject)
            is_withdrawn = not membership.counts(state.read.toggles.get(change.subject))
            path = "$" if change.subject_kind == "writing" else f"$.{change.subject_kind}_id"
            if observations is None:
                message = f"there is no {change.subject_kind} {change.subject}"
                draft.refuse("ERR_TARGET_NOT_FOUND", path, message)
            elif is_withdrawn is (change.kind == "exclude"):
                message = "is withdrawn already" if is_withdrawn else "is not withdrawn"
                draft.refuse("ERR_NOTHING_TO_TURN", path, f"{_named(change)} {message}")
            withdrawal_ids.append(withdraw(draft, *change, self.reason))
            total += observations or 0
        result: dict[str, Any] = {"exclusion_id": withdrawal_ids[0], "observations": total}
        return Receipt(self.transaction_id, draft.recorded_at, result=result)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantineRequest(WithdrawalRequest):
    """What a writer writes from now on does not count, or (``is_released``) counts again.

    ``writer`` is the key of the writer (:func:`graphmem.model.attribution.writer_key`). ``made`` are those of
    the API keys and connections that it made: the same holds for them.
    """

    changes: tuple[SubjectChange, ...] = ()
    writer: str
    made: tuple[str, ...] = ()
    is_released: bool = False

    @property
    def is_reinstating(self) -> bool:
        return self.is_released

    @property
    def content(self) -> dict[str, Any]:
        return {"quarantine": [self.writer, self.is_released, self.reason]}

    def touch(self, touched: Touched) -> None:
        TransactionRequest.touch(self, touched)
        touched.writers.update((self.writer, *self.made))

    def apply(self, draft: Draft) -> Receipt:
        """Withdraw what the writer writes from now on, or reinstate what was withdrawn so."""
        kind, _, name = self.writer.partition(":")
        if bool(self._quarantined(draft, self.writer)) is not self.is_released:
            message = "is not in quarantine" if self.is_released else "is in quarantine already"
            draft.stop("ERR_NOTHING_TO_TURN", f"$.by_{kind}", f"the {kind} {name} {message}")
        turned = "include" if self.is_released else "exclude"
        withdrawal_ids: list[str] = []
        for writer in (self.writer, *self.made):
            quarantined = self._quarantined(draft, writer)
            if bool(quarantined) is self.is_released:
                writings = quarantined or [ids.writing_id(writer, draft.recorded_at + 1, times.LATEST)]
                withdrawal_ids += [withdraw(draft, turned, "writing", each, self.reason) for each in writings]
        result = {"exclusion_id": withdrawal_ids[0], "observations": 0}
        return Receipt(self.transaction_id, draft.recorded_at, result=result)

    def _quarantined(self, draft: Draft, writer: str) -> list[str]:
        """Return the ids of the writings without an end of a writer that do not count."""
        return [
            each.id
            for each in draft.state.read.writings
            if ids.writing(each.id)[::2] == (writer, times.LATEST) and not membership.counts(each.toggles)
        ]


def _named(change: SubjectChange) -> str:
    if change.subject_kind != "writing":
        return change.subject
    kind, _, name = ids.writing(change.subject)[0].partition(":")
    return f"what the {kind} {name} wrote in this span of time"


def withdraw(
    draft: Draft,
    kind: Literal["exclude", "include"],
    subject_kind: SubjectKind,
    subject: str,
    reason: str | None,
) -> str:
    """Withdraw the observations of a subject, or reinstate them; return the id of the fact."""
    transaction_id = draft.request.transaction_id
    withdrawal_id = ids.withdrawal_id(transaction_id, len(draft.added(WITHDRAWAL)))
    fact = Withdrawal.model_construct(
        id=withdrawal_id, kind=kind, subject_kind=subject_kind, subject=subject, reason=reason
    )
    draft.add(fact, transaction_id)
    return withdrawal_id


def warn(draft: Draft, source_id: str | None) -> None:
    """Warn of what is stored with a withdrawn source."""
    if source_id is not None and not membership.counts(draft.state.read.toggles.get(source_id)):
        draft.warn("SOURCE_WITHDRAWN", withdrawn_message(source_id), source_id=source_id)


def withdrawn_message(source_id: str) -> str:
    return (
        f"the source {source_id} is withdrawn: what is stored with it is kept, and does not count "
        "until POST /sources/{source_id}/reinstate"
    )
