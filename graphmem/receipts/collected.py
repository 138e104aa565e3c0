"""What an answer tells: each value with the observations behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from graphmem.model import canonical

VALUE_CHARACTERS: Final = 300  # characters of a value that a receipt keeps to compare; a longer one is cut
PASSAGE: Final = "passage"  # the field of a fact that is a passage of a file


class Fact(NamedTuple):
    """A value (JSON) that an answer tells of an entity, a file or a relationship, which has no ``field`` as a
    whole. ``part`` tells an earlier value from others. ``set_by`` are the observations that set it,
    ``beside`` those of contesting and earlier values that are told with it."""

    subject: str
    field: str
    part: str
    value: str
    set_by: list[str]
    beside: list[str]

    @property
    def behind(self) -> list[str]:
        """What is behind it: of a passage the file, of a relationship that names none its observations."""
        return [*self.set_by, *self.beside] or [self.subject]


def cut(text: str) -> str:
    return text if len(text) <= VALUE_CHARACTERS else canonical.encode(text[:VALUE_CHARACTERS])


def of_passages(passages: Iterable[Mapping[str, Any]]) -> list[Fact]:
    return [Fact(each["source_id"], PASSAGE, each["quote"][:50], "", [], []) for each in passages]


@dataclass(slots=True)
class Collected:
    """What the answer under way may tell: the rows that it is made of, by id or key; and ``read_facts``
    works out what it tells, where its members do not name the rows."""

    rows: dict[str, Any] = field(default_factory=dict[str, Any])
    read_facts: Callable[[Collected], Iterable[Fact]] | None = None

    def facts(self, answer: Mapping[str, Any]) -> list[Fact]:
        facts = [*(self._shown(answer) if self.read_facts is None else self.read_facts(self))]
        facts += of_passages(answer.get("passages", ()))
        return list({each[:3]: each for each in facts}.values())

    def _shown(self, answer: Any) -> Iterable[Fact]:
        """Return what the members of an answer show of the rows, whatever level of provenance they have."""
        for part in canonical.objects(answer):
            subject = part.get("relationship_key") or part.get("entity_id")
            if isinstance(subject, str) and subject in self.rows:
                yield from self.of(subject, part.get("snapshot", {}), part.get("canonical_name"), part)

    def of(self, subject: str, shown: Any, name: str | None, part: Mapping[str, Any]) -> list[Fact]:
        """Return the facts of a row: the fields that are shown, and the name; ``part`` has earlier values."""
        row, facts = self.rows[subject], list[Fact]()
        for each, value, winner in zip(row.fields, row.values, row.winners, strict=True):
            if each in shown or (name is not None and value == canonical.encode(name)):
                text = cut(canonical.encode(shown[each]) if each in shown else value)
                beside = [earlier["observation_id"] for earlier in part.get("earlier", {}).get(each, ())]
                facts.append(Fact(subject, each, "", text, winner.split(","), beside))
        if ":" in subject:
            # Its ends and its type are told too.
            facts.append(Fact(subject, "", "", "", sorted({*row.winners}), []))
        return facts


COLLECTED: Final[ContextVar[Collected | None]] = ContextVar("collected", default=None)
"""What the call under way collects; ``None`` where it leaves no receipt."""
BY_HOOK: Final[ContextVar[bool]] = ContextVar("by_hook", default=False)  # whether a hook of an agent asks


def note(key: str, row: Any) -> None:
    if (collected := COLLECTED.get()) is not None:
        collected.rows[key] = row


def tell(read_facts: Callable[[Collected], Iterable[Fact]]) -> None:
    """Say how the answer under way tells what it does; called again, it replaces what was said before."""
    if (collected := COLLECTED.get()) is not None:
        collected.read_facts = read_facts
