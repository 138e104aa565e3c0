"""People whom a file names by their e-mail address: one person for each address and name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from graphmem.ingest.content_lines import ADDRESS
from graphmem.ingest.document import FileSpan, PartField
from graphmem.ingest.interpreters.proposal_draft import ProposalDraft
from graphmem.ingest.interpreters.text_places import Cursor, widen
from graphmem.model import identity

REACH = 1_000  # how many characters may stand between two people in the text


class Mention(NamedTuple):
    """A person as a header or a property names one."""

    label: str  # the address, else the name; ``label_span`` is its place
    label_span: FileSpan
    name: str | None
    name_span: FileSpan
    address: str | None  # an e-mail address
    statement: dict[str, Any]  # all that the file says of the person there

    @property
    def span(self) -> FileSpan:
        return widen(self.name_span, self.label_span) if self.name is not None else self.label_span


def mentions(text: str, field: PartField | None) -> Iterator[Mention]:
    """Yield the people of a field: one object or a list. The text has the name of each before the address."""
    if field is None:
        return
    cursor = Cursor(text, field.span, REACH)
    for statement in field.value if isinstance(field.value, list) else [field.value]:
        if not isinstance(statement, dict):
            continue
        texts = (statement.get(key) for key in ("name", "address"))
        name, address = (text if isinstance(text, str) and text.strip() else None for text in texts)
        name = person_name(name)
        label = address or name
        if label is None:
            continue
        own_name = name if name != label else None
        name_span = cursor.find(own_name) if own_name is not None else None
        label_span = cursor.find(label)
        is_address = address is not None and ADDRESS.fullmatch(address) is not None
        yield Mention(
            label, label_span, name if name != address else None, name_span or label_span,
            address if is_address else None, statement,
        )  # fmt: skip


def person_name(text: str | None) -> str | None:
    """Return the name of a person without quotes around it, ``None`` if a text is no name but an address."""
    name = (text or "").strip().removeprefix("mailto:")
    for quote in "'\"":
        if len(name) > 1 and name[0] == name[-1] == quote:
            name = name[1:-1].strip()
    return name if name and ADDRESS.fullmatch(name) is None else None


class People:
    """The people of a draft. One without an address is none: a name alone may be anybody's."""

    def __init__(self, draft: ProposalDraft) -> None:
        self._draft = draft
        self._names: set[tuple[str, str | None]] = set()
        self._by_address: dict[str, int | None] = {}

    def add(self, person: Mention, observed_at: str | None) -> int | None:
        """Return the entity of an address; each name of it is one item, at the place that has it first."""
        if person.address is None:
            return None
        address = identity.fold_text(person.address)
        if (address, person.name) not in self._names:
            self._names.add((address, person.name))
            members = [
                PartField("name", person.name, person.name_span),
                PartField("email", person.address, person.label_span),
            ]
            index = self._draft.entity("person", members, person.span, observed_at=observed_at)
            self._by_address.setdefault(address, index)
        return self._by_address[address]
