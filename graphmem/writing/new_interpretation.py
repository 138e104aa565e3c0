"""The interpretation of a request, as its transaction writes it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice
from typing import Any, Final

from graphmem.model import canonical, fact_records, ids
from graphmem.model.schema.fields import SHOWN

PRIORITY: Final = 0.0  # ``source_priority`` of what an interpretation observes: less than what callers store
SPECIFICITY: Final = 0.5  # ``specificity_score`` of what an interpretation observes
WARNED: Final = 5  # warnings of one code that an interpretation shows
ADVICE: Final = frozenset([
    "CONTENT_IDENTITY", "NEW_FIELD", "NEW_TYPE", "RELATIONSHIP_STORED_AS", "SAME_NAME", "SAME_NAME_NEAR_DATE",
    "SOURCE_WITHDRAWN",
])  # fmt: skip
"""Warnings that ask the caller of a store for another request: who uploads a file can make none."""
ENDED: Final = "ERR_INTERPRETATION_ENDED"
"""The code of the issue that refuses an interpretation that has ended already."""


_RECORDED: Final = (
    "id", "source_id", "interpreter", "version", "config", "run", "model", "parser", "created_at",
    "started_at", "error",
)  # fmt: skip
"""The members of an interpretation that its record has as they are."""


class Status(StrEnum):
    """How far an interpretation is. Once it is completed or failed, it never changes."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpretation:
    """One run of one interpreter over one source."""

    owner: str
    source_id: str
    interpreter: str
    version: str  # of the interpreter; another version may read the same bytes otherwise
    config: str = "{}"  # canonical JSON, what the interpreter was told
    run: int = 0  # 0, and one more for each repeat that was asked for
    model: str | None = None  # the language model, if there was one
    parser: str = ""  # its name and version, if one made text of the bytes
    started_at: int
    created_at: int | None = None  # when it was asked for, if that was before it began; microseconds
    error: str | None = None  # why it failed; None if it is completed
    warnings: tuple[str, ...] = ()
    made: Mapping[str, int] | None = None  # what its transactions made, if they are several
    replaces: tuple[str, ...] = ()  # ids of interpretations that are withdrawn when it is completed
    request: tuple[Any, ...] = ()  # what a caller asked for, if an idempotency key stands for that

    @property
    def config_hash(self) -> str:
        return canonical.digest(canonical.decode(self.config))

    @property
    def key(self) -> tuple[str, str, str]:
        return self.interpreter, self.version, self.config_hash

    @property
    def id(self) -> str:
        """The same run of the same interpreter over the same bytes is one interpretation."""
        return ids.interpretation_id(
            self.source_id, self.interpreter, self.version, self.config_hash, self.run
        )

    @property
    def content(self) -> list[Any]:
        if self.request:
            return list(self.request)
        reader = [self.interpreter, self.version, self.config_hash, self.model]
        return [self.source_id, *reader, self.error]

    @property
    def status(self) -> Status:
        return Status.COMPLETED if self.error is None else Status.FAILED

    @property
    def has_made_something(self) -> bool:
        """Whether transactions before its last one made observations."""
        return bool(self.made and self.made["observations"])

    def warned(self, warnings: Iterable[Mapping[str, Any]]) -> Interpretation:
        """Return it with the warnings of its own writes: the first ones of each code, and how many more."""
        messages: dict[str, dict[str, None]] = {}
        for each in warnings:
            if each["code"] not in ADVICE and SHOWN not in each["message"]:
                messages.setdefault(each["code"], {})[each["message"]] = None
        sentences: list[str] = []
        for code, of in messages.items():
            sentences += [f"{code}: {message}." for message in islice(of, WARNED)]
            sentences += [f"{code}: {len(of) - WARNED:,} more."] if len(of) > WARNED else []
        return replace(self, warnings=(*self.warnings, *sentences))

    def fact(self, counts: Mapping[str, int]) -> fact_records.InterpretationRecord:
        """Return the fact that it has ended; ``counts`` say what its last transaction made."""
        members = {name: getattr(self, name) for name in _RECORDED}
        if self.created_at is None:
            del members["created_at"]
        made = counts if self.made is None else self.made
        return fact_records.InterpretationRecord.model_construct(
            **{**members, "warnings": list(self.warnings), **made}
        )

    @property
    def identity(self) -> dict[str, Any]:
        names = ("owner", "source_id", "interpreter", "version", "config", "config_hash", "run")
        return {**{name: getattr(self, name) for name in names}, "replaces": list(self.replaces) or None}
