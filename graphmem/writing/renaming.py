"""Giving a relationship type of the owner's own another name: one fact, which changes nothing stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from graphmem.model import ids
from graphmem.model.fact_records import Renaming
from graphmem.writing.draft import Draft
from graphmem.writing.receipt import Receipt
from graphmem.writing.transaction import TransactionRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class RenamingRequest(TransactionRequest):
    """A relationship type has another name as well."""

    relationship_type: str
    name: str

    @property
    def content(self) -> dict[str, Any]:
        return {"renaming": [self.relationship_type, self.name]}

    def apply(self, draft: Draft) -> Receipt:
        fact = Renaming.model_construct(
            id=ids.renaming_id(self.transaction_id), relationship_type=self.relationship_type, name=self.name
        )
        draft.add(fact, self.transaction_id)
        return Receipt(self.transaction_id, draft.recorded_at)
