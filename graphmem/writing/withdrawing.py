"""Taking back what a source said, and undoing that: each is one fact, from which all that is shown follows.

No observation is changed. Each that is touched notes when it stopped to count, or counts again; what it made
is folded again from those that count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from graphmem.model import ids, membership
from graphmem.model.fact_records import Withdrawal
from graphmem.model.fact_table import BY_NAME, WITHDRAWAL
from graphmem.model.membership import SubjectKind
from graphmem.writing.draft import Draft
from graphmem.writing.receipt import Receipt
from graphmem.writing.transaction import TransactionRequest
from graphmem.writing.write_requests import Touched


@dataclass(frozen=True, slots=True, kw_only=True)
class WithdrawalRequest(TransactionRequest):
    """The observations of a source or an interpretation do not count any more, or count again."""

    shares_turn = False

    kind: Literal["exclude", "include"]
    subject_kind: SubjectKind
    subject: str
    reason: str | None = None

    @property
    def content(self) -> dict[str, Any]:
        """What an idempotency key stands for."""
        return {"exclusion": [self.kind, self.subject_kind, self.subject, self.reason]}

    def touch(self, touched: Touched) -> None:
        """Add the subject."""
        TransactionRequest.touch(self, touched)
        getattr(touched, BY_NAME[self.subject_kind].plural).add(self.subject)

    def apply(self, draft: Draft) -> Receipt:
        """Withdraw the observations of the subject, or reinstate them."""
        state = draft.state
        observations = state.known.get(self.subject)
        is_withdrawn = not membership.counts(state.read.toggles.get(self.subject))
        path = f"$.{self.subject_kind}_id"
        if observations is None:
            draft.refuse("ERR_TARGET_NOT_FOUND", path, f"there is no {self.subject_kind} {self.subject}")
        elif is_withdrawn is (self.kind == "exclude"):
            message = "is withdrawn already" if is_withdrawn else "is not withdrawn"
            draft.refuse("ERR_NOTHING_TO_TURN", path, f"{self.subject} {message}")
        withdrawal_id = withdraw(draft, self.kind, self.subject_kind, self.subject, self.reason)
        result = {"exclusion_id": withdrawal_id, "observations": observations or 0}
        return Receipt(self.transaction_id, draft.recorded_at, result=result)


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


def warning(draft: Draft, source_id: str | None) -> dict[str, Any] | None:
    """Return the warning for what is stored with a withdrawn source; ``None`` where it counts."""
    if source_id is None or membership.counts(draft.state.read.toggles.get(source_id)):
        return None
    return {
        "code": "SOURCE_WITHDRAWN",
        "source_id": source_id,
        "message": withdrawn_message(source_id),
    }


def withdrawn_message(source_id: str) -> str:
    """Return the sentence for what is stored with a withdrawn source."""
    return (
        f"the source {source_id} is withdrawn: what is stored with it is kept, and does not count "
        "until POST /sources/{source_id}/reinstate"
    )
