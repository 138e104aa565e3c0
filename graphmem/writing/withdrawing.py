"""Taking back what a source said, and undoing that: each is one fact, from which all that is shown follows.

No observation is changed. Each that is touched notes when it stopped to count, or counts again; what it made
is folded again from those that count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from graphmem.model import ids, membership
from graphmem.model.membership import Exclusion, SubjectKind
from graphmem.writing.draft import Draft
from graphmem.writing.receipt import Receipt
from graphmem.writing.transaction import TransactionRequest
from graphmem.writing.write_requests import Touched


@dataclass(frozen=True, slots=True, kw_only=True)
class ExclusionRequest(TransactionRequest):
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
        (touched.sources if self.subject_kind == "source" else touched.interpretations).add(self.subject)

    def apply(self, draft: Draft) -> Receipt:
        """Exclude the observations of the subject, or include them again."""
        state = draft.state
        known = state.source_ids if self.subject_kind == "source" else state.ended_interpretations
        observations = known.get(self.subject)
        excluded = not membership.counts(state.toggles.get(self.subject))
        path = f"$.{self.subject_kind}_id"
        if observations is None:
            draft.refuse("ERR_TARGET_NOT_FOUND", path, f"there is no {self.subject_kind} {self.subject}")
        elif excluded is (self.kind == "exclude"):
            message = "is withdrawn already" if excluded else "is not withdrawn"
            draft.refuse("ERR_NOTHING_TO_TURN", path, f"{self.subject} {message}")
        exclusion = Exclusion(
            ids.exclusion_id(self.transaction_id, 0),
            self.kind,
            self.subject_kind,
            self.subject,
            draft.recorded_at,
            self.transaction_id,
            self.reason,
        )
        draft.exclusions.append(exclusion)
        result = {"exclusion_id": exclusion.id, "observations": observations or 0}
        return Receipt(self.transaction_id, draft.recorded_at, result=result)


def warning(draft: Draft, source_id: str | None) -> dict[str, Any] | None:
    """Return the warning for what is stored with a withdrawn source; ``None`` where it counts."""
    if source_id is None or membership.counts(draft.state.toggles.get(source_id)):
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
