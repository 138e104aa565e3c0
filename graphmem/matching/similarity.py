"""Similarity: how likely two entities of one type are duplicates. It proposes, and never decides identity.

The score is deterministic and symmetric. :mod:`graphmem.matching.blocking` chooses the pairs to compare.

The score combines evidence as ``1 - (1 - a)(1 - b)…``: similar names (:mod:`graphmem.matching.names`) and
equal contact points and ids, which weigh less where the names disagree. Some values cannot differ between
duplicates (an event's day, an invoice's number, a person's e-mail). If they do, the score is at most
``CONFLICT``, which is below every threshold; see :data:`RULES`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from graphmem.matching import names
from graphmem.matching.names import Kind, Name
from graphmem.model import canonical, times
from graphmem.model.identity import fold_text, identity_value
from graphmem.text import identifiers, phones, urls

LOWEST_THRESHOLD = 0.5
CONFLICT = 0.3
DOUBT = 0.84
"""The highest score of companies with different web addresses: below the default threshold."""
NAMED_ALIKE = 0.6
"""Names with at least this similarity are evidence."""

COMPARED: dict[str, str] = {
    **{field: kind for field, kind in identifiers.FIELDS.items() if kind != "alias"},
    **dict.fromkeys(("aliases", "alias"), "name"),
    **dict.fromkeys(("number", "invoice_number"), "number"),
    **dict.fromkeys(("date", "date_start", "start_date", "start_time", "due_date", "invoice_date"), "date"),
    **dict.fromkeys(("birth_date", "date_of_birth", "birthday", "born"), "born"),
    "vendor": "vendor",
}
"""The fields that are compared, and the kind of value that each holds: those of look-up, and some besides.

Of the names by which an entity is also known, only the explicit aliases are compared: people share nicknames.
"""


class Weight(NamedTuple):
    """The weight of an equal value: where the names agree or one has none, and where they disagree."""

    agreeing: float
    disagreeing: float


WEIGHTS = {
    "email": Weight(0.98, 0.88),
    "external_id": Weight(0.97, 0.8),
    "url": Weight(0.95, 0.8),
    "phone": Weight(0.95, 0.7),
    "number": Weight(0.6, 0.3),
    "domain": Weight(0.6, 0.3),
}
"""Below 1, because people share switchboards, mailboxes and web sites."""
PROVING = frozenset({"email", "external_id", "url", "phone"})


class Rule(NamedTuple):
    """What things of a type cannot, or can hardly, differ in.

    ``hard``: differing, they are two things. ``soft``: the same, unless something of ``PROVING`` is equal.
    ``doubt``: at most ``DOUBT``. ``needed``: where only one of them has it, at most ``names.LEFT_OUT``.
    """

    kind: Kind = "other"
    hard: frozenset[str] = frozenset({"date", "number"})
    soft: frozenset[str] = frozenset()
    doubt: frozenset[str] = frozenset()
    needed: frozenset[str] = frozenset()


_PERSON = Rule("person", frozenset({"born"}), soft=frozenset({"email"}))
_COMPANY = Rule("company", frozenset({"number"}), doubt=frozenset({"url", "domain"}))
RULES: dict[str, Rule] = {
    **dict.fromkeys(("person", "contact", "employee", "user", "author"), _PERSON),
    **dict.fromkeys(("company", "organization", "organisation", "vendor", "supplier"), _COMPANY),
    "event": Rule(hard=frozenset({"date"}), needed=frozenset({"date"})),
    "task": Rule(hard=frozenset({"date"}), needed=frozenset({"date"})),
    "invoice": Rule(hard=frozenset({"number", "vendor", "date"}), needed=frozenset({"number", "vendor"})),
    "transaction": Rule(hard=frozenset({"external_id", "date"}), needed=frozenset({"external_id", "date"})),
    "message": Rule(hard=frozenset({"external_id", "date"}), needed=frozenset({"date"})),
}
PLAIN = Rule()


class Reason(NamedTuple):
    """One comparison: the values as they were given, and how alike they are."""

    field: str
    a: str
    b: str
    similarity: float


class Score(NamedTuple):
    """How likely two entities are one, 0 to 1, and why, the strongest reason first."""

    score: float
    reasons: tuple[Reason, ...]

    @property
    def matched_fields(self) -> list[str]:
        """The fields that speak for it."""
        return [reason.field for reason in self.reasons if reason.similarity >= names.WORD]


@dataclass(frozen=True)
class Profile:
    """What of an entity is compared: its type, and canonical JSON of fields of ``COMPARED``."""

    entity_id: str
    entity_type: str
    shown: str
    texts: Mapping[str, str]
    weight: tuple[int, int] = (0, 0)
    """By which the survivor of a merge would be chosen: observations, and minus the time of creation."""

    @cached_property
    def rule(self) -> Rule:
        """What decides among entities of its type."""
        return RULES.get(self.entity_type, PLAIN)

    @cached_property
    def values(self) -> dict[str, dict[str, tuple[str, str]]]:
        """The values by what they are compared as, then in comparable form: the field, the value as given."""
        found: dict[str, dict[str, tuple[str, str]]] = {}
        for field in sorted(self.texts):
            kind = COMPARED.get(field)
            if kind is None:
                continue
            for given in _given(canonical.decode(self.texts[field])):
                comparable = _READ[kind](given)
                if comparable:
                    found.setdefault(kind, {}).setdefault(comparable, (field, given))
        return found

    @cached_property
    def keys(self) -> frozenset[tuple[str, str]]:
        """What is evidence by itself where another entity has it as well."""
        return frozenset((kind, value) for kind in WEIGHTS for value in self.values.get(kind, ()))

    @cached_property
    def names(self) -> list[tuple[Name, str]]:
        """Its names, taken apart, and as they were given."""
        given = self.values.get("name", {})
        if not self.texts and not self.shown.startswith(f"{self.entity_type} {self.entity_id[4:12]}"):
            given = {fold_text(self.shown): ("name", self.shown)}
        parts = ((names.parse(folded, self.rule.kind), text) for folded, (_, text) in given.items())
        return [(name, text) for name, text in parts if name is not None]


def score(a: Profile, b: Profile) -> Score:
    """Return how likely two entities of one type are duplicates; symmetric in the two."""
    rule = a.rule
    reasons: list[Reason] = []
    called = _names_alike(a, b, reasons)
    disagreeing = called is not None and called < NAMED_ALIKE
    doubts = [1.0 - called] if called is not None and not disagreeing else []
    proven = False
    limit = 1.0
    for kind, weight in WEIGHTS.items():
        equal = _equal(kind, a, b)
        if equal:
            reasons.append(equal)
            doubts.append(1.0 - (weight.disagreeing if disagreeing else weight.agreeing))
            proven = proven or kind in PROVING
    if "vendor" in rule.hard:
        _vendors(a, b, reasons, doubts)
    for kind in sorted(rule.hard | rule.soft | rule.doubt | rule.needed):
        limit = min(limit, _limit(kind, rule, a, b, proven, reasons))
    likely = 1.0
    for doubt in doubts:
        likely *= doubt
    found = min(1.0 - likely, limit) if doubts else 0.0
    reasons.sort(key=lambda reason: (-reason.similarity, reason.field, sorted((reason.a, reason.b))))
    return Score(round(found, 4), tuple(reasons))


def _names_alike(a: Profile, b: Profile, reasons: list[Reason]) -> float | None:
    """Return the similarity of the most similar names, ``None`` where an entity has none."""
    found = [
        (names.similarity(one, other), sorted((given, said)), given, said)
        for one, given in a.names
        for other, said in b.names
    ]
    if not found:
        return None
    best, _, given, said = max(found)
    if best >= NAMED_ALIKE:
        reasons.append(Reason("name", given, said, best))
    # Equal names are no proof: people share them.
    return min(best, 0.97)


def _equal(kind: str, a: Profile, b: Profile) -> Reason | None:
    one, other = a.values.get(kind), b.values.get(kind)
    common = one.keys() & other.keys() if one and other else ()
    if not common:
        return None
    assert one
    assert other
    value = min(common)
    return _reason(one[value], other[value], 1.0)


def _reason(one: tuple[str, str], other: tuple[str, str], alike: float) -> Reason:
    """Return how alike two values are, each with its field: ``invoice_number/number`` where these differ."""
    return Reason("/".join(sorted({one[0], other[0]})), one[1], other[1], alike)


def _vendors(a: Profile, b: Profile, reasons: list[Reason], doubts: list[float]) -> None:
    """Take who sent two invoices as evidence: with the number it identifies them."""
    alike = _companies(a, b)
    if alike is not None and alike[0] >= names.WORD:
        reasons.append(Reason("vendor", *alike[1], alike[0]))
        if _equal("number", a, b):
            doubts.append(1.0 - 0.85 * alike[0])


def _companies(a: Profile, b: Profile) -> tuple[float, tuple[str, str]] | None:
    one, other = a.values.get("vendor"), b.values.get("vendor")
    if not one or not other:
        return None
    (_, given), (_, said) = min(one.items())[1], min(other.items())[1]
    left, right = names.parse(given, "company"), names.parse(said, "company")
    alike = names.similarity(left, right) if left and right else float(given == said)
    return alike, (given, said)


def _limit(kind: str, rule: Rule, a: Profile, b: Profile, proven: bool, reasons: list[Reason]) -> float:
    """Return how high the score can be by what two entities have, or lack, of one kind."""
    one, other = a.values.get(kind), b.values.get(kind)
    if not one or not other:
        return names.LEFT_OUT if kind in rule.needed and (one or other) else 1.0
    if kind == "vendor":
        alike = _companies(a, b)
        return CONFLICT if alike is not None and alike[0] < names.WORD else 1.0
    if kind in ("date", "born"):
        return _dates(one, other)
    if one.keys() & other.keys():
        return 1.0
    reasons.append(_reason(min(one.items())[1], min(other.items())[1], 0.0))
    if kind in rule.hard or (kind in rule.soft and not proven):
        return CONFLICT
    return 0.95 if kind in rule.soft else 1.0 if proven else DOUBT


def _dates(one: Mapping[str, tuple[str, str]], other: Mapping[str, tuple[str, str]]) -> float:
    """Return the limit by two sets of times: other days are other things, other hours are a doubt.

    The day counts as it is written and as it is in UTC, so that one moment in two zones is one day; a year
    or a month holds its days.
    """
    days = [{day for text in found for day in text.split(" ")[:2]} for found in (one, other)]
    if not any(day.startswith(said) or said.startswith(day) for day in days[0] for said in days[1]):
        return CONFLICT
    hours = [{text.split(" ")[2] for text in found if text.count(" ") == 2} for found in (one, other)]
    return names.LEFT_OUT if all(hours) and not hours[0] & hours[1] else 1.0


def _given(value: Any) -> Iterable[str]:
    """Yield the texts of a value: itself, or the members of a list."""
    for one in value[:20] if isinstance(value, list) else (value,):
        if isinstance(one, str):
            if not one.isspace() and one:
                yield one
        elif (text := identity_value(one)) is not None:
            yield text


def _date(text: str) -> str:
    """Return the day as it is written, the day in UTC, and the moment where there is one."""
    text = text.strip()
    try:
        moment = times.parse(text)
    except ValueError:
        return fold_text(text).replace(" ", "_")
    rendered = times.render(moment)
    return f"{text[:10]} {rendered[:10]}" + (f" {rendered}" if len(text) > 10 else "")


_READ: dict[str, Callable[[str], str]] = {
    "name": fold_text, "external_id": fold_text, "number": fold_text, "vendor": fold_text,
    "email": lambda text: identifiers.normalise_email(fold_text(text)),
    "phone": lambda text: phones.significant_digits(fold_text(text)),
    "url": lambda text: urls.comparable(fold_text(text)),
    "domain": lambda text: urls.comparable_host(fold_text(text)),
    "date": _date, "born": _date,
}  # fmt: skip


def survivor(a: Profile, b: Profile) -> Profile:
    """Return the proposed survivor: the entity with more observations, then the older, then by id."""
    return min(a, b, key=lambda one: (-one.weight[0], -one.weight[1], one.entity_id))
