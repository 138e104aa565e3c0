"""Similarity of two entities of one type. It serves proposals of duplicates and never decides identity.

The score is deterministic and symmetric. :mod:`graphmem.duplicates.blocking` chooses the pairs to compare.

The score combines evidence as ``1 - (1 - a)(1 - b)…``: similar names
(:mod:`graphmem.duplicates.name_similarity`) and equal contact points and ids, which weigh less where the
names disagree. Some values cannot differ between
duplicates (an event's day, an invoice's number, a person's e-mail). If they do, the score is at most
``CONFLICT_LIMIT``, which is below every threshold; see :data:`RULES`. What else speaks for or against two
people is in :mod:`graphmem.duplicates.persons`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, NamedTuple

from graphmem.duplicates import TABLES, name_similarity, persons
from graphmem.duplicates.name_similarity import Kind, Name
from graphmem.duplicates.persons import DECLARED_TEXT, DECLARED_VALUE, Comparison, NameLevel, SimilarityReason
from graphmem.model import canonical, times
from graphmem.model.identity import PEOPLE, fold_text, identity_value, index_key
from graphmem.text import identifiers

LOWEST_THRESHOLD = 0.5
CONFLICT_LIMIT = 0.3
DOUBT_LIMIT = 0.84
"""The highest score of companies with different web addresses, and of a pair that differs in a field that a
schema declares: below the default threshold."""
SIMILAR_NAMES = 0.6  # names with at least this similarity are evidence

COMPARED_FIELDS: dict[str, str] = {
    **{field: kind for field, kind in identifiers.FIELDS.items() if kind != "alias"},
    **{field: kind for kind, fields in TABLES["fields"].items() for field in fields.split()},
}
"""The kind of value of each compared field: the fields of look-up, and some more."""


WEIGHTS: Mapping[str, tuple[float, float]] = TABLES["weights"]
"""The weights of an equal value: if the names agree or one is missing, and if they disagree."""
PROVING_KINDS = frozenset({"email", "external_id", "official_id", "url", "phone"})


BLOCKING_KINDS = frozenset({*WEIGHTS, "born", "address", "postcode"})
"""Entities with an equal value of one of these are compared."""
DECLARED_EVIDENCE: Mapping[str, Mapping[str, float]] = {
    DECLARED_TEXT: {"equal": 0.95, "near": 0.8}, DECLARED_VALUE: {"equal": 0.6},
}  # fmt: skip
"""The weight of a field that a schema declares, by the first character of its kind and by the agreement."""
_EXPLAINED = frozenset({"email", "phone", "city"})
"""Kinds of people's fields whose different values are no reason, or are explained elsewhere."""


class Rule(NamedTuple):
    """How differing values of two entities of one type limit their score.

    ``hard``: at most ``CONFLICT_LIMIT``. ``soft``: the same, unless a value of ``PROVING_KINDS`` is equal.
    ``doubt``: at most ``DOUBT_LIMIT``. ``needed``: at most ``names.OMISSION_LIMIT`` if only one has a value.
    """

    kind: Kind = "other"
    hard: frozenset[str] = frozenset({"date", "number"})
    soft: frozenset[str] = frozenset()
    doubt: frozenset[str] = frozenset()
    needed: frozenset[str] = frozenset()


COMPANIES = frozenset({"company", "customer", "client", "organization", "organisation", "vendor", "supplier"})
"""Types that are compared with each other: one company is stored as what it is to somebody."""
_PERSON = Rule("person", frozenset(), soft=frozenset({"email"}))
_COMPANY = Rule("company", frozenset({"number"}), doubt=frozenset({"url", "domain"}))
RULES: dict[str, Rule] = {
    **dict.fromkeys(sorted(PEOPLE), _PERSON),
    **dict.fromkeys(sorted(COMPANIES), _COMPANY),
    **{
        name: Rule("other", **{limit: frozenset(kinds.split()) for limit, kinds in rule.items()})
        for name, rule in TABLES["rules"].items()
    },
}
DEFAULT_RULE = Rule()


class Score(NamedTuple):
    """The probability that two entities are duplicates, 0 to 1, and the reasons, strongest first."""

    score: float
    reasons: tuple[SimilarityReason, ...]

    @property
    def matched_fields(self) -> list[str]:
        return [reason.field for reason in self.reasons if reason.similarity >= name_similarity.SAME_WORD]


@dataclass(frozen=True)
class Profile:
    """The compared parts of an entity; ``texts`` is canonical JSON by field of ``kinds``."""

    entity_id: str
    entity_type: str
    name: str
    texts: Mapping[str, str]
    weight: tuple[int, int] = (0, 0)
    """Sort key of :func:`survivor`: the number of observations, and the negated time of creation."""
    kinds: Mapping[str, str] = field(default_factory=lambda: COMPARED_FIELDS)

    @property
    def rule(self) -> Rule:
        return RULES.get(self.entity_type, DEFAULT_RULE)

    @cached_property
    def values(self) -> dict[str, dict[str, tuple[str, str]]]:
        """``(field, stored value)`` by kind, then by comparable form: cut, as an index holds it."""
        values: dict[str, dict[str, tuple[str, str]]] = {}
        for name in sorted(self.texts):
            kind = self.kinds.get(name)
            if kind is None or (kind in persons.ONLY and self.rule.kind != "person"):
                continue
            read = _READ.get(kind) or _READ[kind[0]]
            stored = self.texts[name]
            # A text without escapes is cut out, which is faster.
            is_plain = stored[:1] == '"' and "\\" not in stored
            for text in _texts(stored[1:-1] if is_plain else canonical.decode(stored)):
                comparable = index_key(read(text))
                if comparable:
                    values.setdefault(kind, {}).setdefault(comparable, (name, text))
        return values

    @cached_property
    def keys(self) -> frozenset[tuple[str, str]]:
        """The pairs ``(kind, comparable form)`` that are evidence if another entity has them too."""
        return frozenset(
            (kind, value)
            for kind in self.values
            if kind in BLOCKING_KINDS or kind[0] in DECLARED_EVIDENCE
            for value in self.values[kind]
            if kind != "born" or len(value) == persons.DAY_CHARACTERS
        )

    @cached_property
    def names(self) -> list[tuple[Name, str]]:
        """The entity's names, parsed and as stored."""
        values = self.values.get("name", {})
        is_bare = not self.texts and self.kinds is COMPARED_FIELDS
        if is_bare and not self.name.startswith(f"{self.entity_type} {self.entity_id[4:12]}"):
            values = {fold_text(self.name): ("name", self.name)}
        parts = (
            (name_similarity.name_of(folded, self.rule.kind), text) for folded, (_, text) in values.items()
        )
        return [(name, text) for name, text in parts if name is not None]


def may_reach(a: Profile, b: Profile, least: float) -> bool:
    """Return whether two entities of one type may have at least a score: a fast look before :func:`score`.

    Without an equal value of :data:`BLOCKING_KINDS` a score is no higher than the similarity of the names,
    and than what differing values allow. The comparisons that a schema declares are not foreseen.
    """
    if a.kinds is not COMPARED_FIELDS or not a.keys.isdisjoint(b.keys):
        return True
    rule = a.rule
    # Values are compared faster than names: most namesakes have other e-mail addresses.
    if any(_limit(kind, rule, a, b, proven=False) < least for kind in _limiting(rule)):
        return False
    return any(
        name_similarity.similarity(name, other) >= least for name, _ in a.names for other, _ in b.names
    )


def score(a: Profile, b: Profile) -> Score:
    """Return the probability that two entities of one type are duplicates; symmetric."""
    rule = a.rule
    reasons: list[SimilarityReason] = []
    names_score = _names_alike(a, b, reasons)
    common = a.values.keys() & b.values.keys()
    comparisons = persons.compared(common, a.values, b.values) if rule.kind == "person" else []
    alike = names_score is None or names_score >= name_similarity.SAME_WORD
    disagreeing = names_score is not None and names_score < SIMILAR_NAMES
    doubts = [1.0 - names_score] if names_score is not None and not disagreeing else []
    equal_kinds: set[str] = set()
    limit = 1.0
    for kind, weights in WEIGHTS.items():
        equal = _equal(kind, a, b) if kind in common else None
        if equal:
            reasons.append(equal)
            doubts.append(1.0 - weights[disagreeing])
            equal_kinds.add(kind)
    if a.kinds is not COMPARED_FIELDS:
        limit = _declared(common, a, b, reasons, doubts)
    if "vendor" in rule.hard and (vendors := _companies(a, b)) and vendors[0] >= name_similarity.SAME_WORD:
        reasons.append(SimilarityReason("vendor", *vendors[1], vendors[0]))
        # Vendor and number identify an invoice.
        doubts += [1.0 - 0.85 * vendors[0]] if _equal("number", a, b) else []
    proven = bool(equal_kinds & PROVING_KINDS) or (alike and persons.are_anchored(comparisons))
    for kind in _limiting(rule):
        limit = min(limit, _limit(kind, rule, a, b, proven, reasons))
    likely = 1.0
    for doubt in doubts:
        likely *= doubt
    combined = 1.0 - likely if doubts else 0.0
    if rule.kind == "person" and (comparisons or not alike):
        # What has a lower score without an equal value does not depend on the level.
        is_open = combined > persons.RELATIVES_LIMIT or persons.are_anchored(comparisons)
        level: NameLevel = "alike"
        if is_open and not alike:
            # Those names count that agree most.
            levels = {persons.name_level(name, other) for name, _ in a.names for other, _ in b.names}
            level = next(each for each in persons.NAME_LEVELS if each in levels)
        is_identified = bool(equal_kinds & persons.IDENTIFYING)
        combined = persons.combined(combined, level, comparisons, CONFLICT_LIMIT, is_identified=is_identified)
    combined = min(combined, limit)
    if combined >= LOWEST_THRESHOLD:
        _explain(comparisons, reasons)
    reasons.sort(key=lambda reason: (-reason.similarity, reason.field, sorted((reason.a, reason.b))))
    return Score(round(combined, 4), tuple(reasons))


@cache
def _limiting(rule: Rule) -> list[str]:
    """Return the kinds whose values limit scores, sorted."""
    return sorted(rule.hard | rule.soft | rule.doubt | rule.needed)


def _names_alike(a: Profile, b: Profile, reasons: list[SimilarityReason]) -> float | None:
    """Return the similarity of the most similar names; ``None`` if an entity has no name."""
    comparisons = [
        (name_similarity.similarity(name_a, name_b), sorted((text_a, text_b)), text_a, text_b)
        for name_a, text_a in a.names
        for name_b, text_b in b.names
    ]
    if not comparisons:
        return None
    best, _, text_a, text_b = max(comparisons)
    if best >= SIMILAR_NAMES:
        reasons.append(SimilarityReason("name", text_a, text_b, best))
    # Equal names prove nothing: people share names.
    return min(best, 0.97)


def _explain(comparisons: Iterable[Comparison], reasons: list[SimilarityReason]) -> None:
    """Add the comparisons of people's fields to the reasons, unless another comparison is there already."""
    fields = {reason.field for reason in reasons}
    for each in comparisons:
        reason = _reason(each.a, each.b, persons.SIMILARITIES[each.agreement])
        if reason.field not in fields and not (each.kind in _EXPLAINED and each.agreement == "different"):
            reasons.append(reason)


def _declared(
    common: Iterable[str], a: Profile, b: Profile, reasons: list[SimilarityReason], doubts: list[float]
) -> float:
    """Add the evidence of the fields that a schema declares; return the highest score that they allow."""
    limit = 1.0
    for kind in sorted(each for each in common if each[0] in DECLARED_EVIDENCE):
        comparison = persons.compare(kind, a.values[kind], b.values[kind])
        assert comparison is not None, "of these kinds any two values compare"
        reasons.append(_reason(comparison.a, comparison.b, persons.SIMILARITIES[comparison.agreement]))
        if comparison.agreement == "different":
            limit = DOUBT_LIMIT
        else:
            doubts.append(1.0 - DECLARED_EVIDENCE[kind[0]][comparison.agreement])
    return limit


def _equal(kind: str, a: Profile, b: Profile) -> SimilarityReason | None:
    values_a, values_b = a.values.get(kind, {}), b.values.get(kind, {})
    common = values_a.keys() & values_b.keys()
    return _reason(values_a[min(common)], values_b[min(common)], 1.0) if common else None


def _reason(first: tuple[str, str], second: tuple[str, str], alike: float) -> SimilarityReason:
    """Return a reason of two ``(field, value)``; different fields are joined: ``invoice_number/number``."""
    return SimilarityReason("/".join(sorted({first[0], second[0]})), first[1], second[1], alike)


def _companies(a: Profile, b: Profile) -> tuple[float, tuple[str, str]] | None:
    values_a, values_b = a.values.get("vendor"), b.values.get("vendor")
    if not values_a or not values_b:
        return None
    (_, vendor_a), (_, vendor_b) = min(values_a.items())[1], min(values_b.items())[1]
    left, right = (name_similarity.name_of(vendor, "company") for vendor in (vendor_a, vendor_b))
    alike = name_similarity.similarity(left, right) if left and right else float(vendor_a == vendor_b)
    return alike, (vendor_a, vendor_b)


def _limit(
    kind: str, rule: Rule, a: Profile, b: Profile, proven: bool, reasons: list[SimilarityReason] | None = None
) -> float:
    """Return the highest score that the values of one kind, or their absence, allow."""
    values_a, values_b = a.values.get(kind), b.values.get(kind)
    if not values_a or not values_b:
        return name_similarity.OMISSION_LIMIT if kind in rule.needed and (values_a or values_b) else 1.0
    if kind == "vendor":
        alike = _companies(a, b)
        return CONFLICT_LIMIT if alike is not None and alike[0] < name_similarity.SAME_WORD else 1.0
    if kind == "date":
        return _dates(values_a, values_b)
    if values_a.keys() & values_b.keys():
        return 1.0
    if kind == "email" and rule.kind == "person":
        comparison = persons.compare(kind, values_a, values_b)
        if comparison is not None and comparison.agreement == "near":
            return 1.0
    if reasons is not None:
        reasons.append(_reason(min(values_a.items())[1], min(values_b.items())[1], 0.0))
    if kind in rule.hard or (kind in rule.soft and not proven):
        return CONFLICT_LIMIT
    return 0.95 if kind in rule.soft else 1.0 if proven else DOUBT_LIMIT


def _dates(first: Mapping[str, tuple[str, str]], second: Mapping[str, tuple[str, str]]) -> float:
    """Return the highest score for two sets of times: different days conflict, different hours lower it.

    Days are compared as written and in UTC, so that one moment in two time zones is one day. A year or a
    month equals each of its days.
    """
    days = [{day for text in times_of for day in text.split(" ")[:2]} for times_of in (first, second)]
    if not any(a.startswith(b) or b.startswith(a) for a in days[0] for b in days[1]):
        return CONFLICT_LIMIT
    hours = [
        {text.split(" ")[2] for text in times_of if text.count(" ") == 2} for times_of in (first, second)
    ]
    return name_similarity.OMISSION_LIMIT if all(hours) and not hours[0] & hours[1] else 1.0


def _texts(value: Any) -> Iterable[str]:
    """Yield a value as text, or the elements of a list (20 at most)."""
    for element in value[:20] if isinstance(value, list) else (value,):
        if isinstance(element, str):
            if not element.isspace() and element:
                yield element
        elif (text := identity_value(element)) is not None:
            yield text


def _date(text: str) -> str:
    """Return the day as written, the day in UTC and, if the text has a time, the moment, joined by blanks."""
    text = text.strip()
    try:
        moment = times.parse(text)
    except ValueError:
        return fold_text(text).replace(" ", "_")
    rendered = times.render(moment)
    return f"{text[:10]} {rendered[:10]}" + (f" {rendered}" if len(text) > 10 else "")


_READ: dict[str, Callable[[str], str]] = {
    "name": fold_text, "external_id": fold_text, "number": fold_text, "vendor": fold_text,
    "email": lambda text: identifiers.address_of(fold_text(text)),
    "phone": lambda text: identifiers.significant_digits(fold_text(text)),
    "url": lambda text: identifiers.comparable_url(fold_text(text)),
    "domain": lambda text: identifiers.comparable_url(fold_text(text)).partition("/")[0],
    "date": _date, "born": persons.read_day, "official_id": persons.read_code, "postcode": persons.read_code,
    "address": persons.read_place, "city": persons.read_place,
    DECLARED_TEXT: persons.read_place, DECLARED_VALUE: fold_text,
}  # fmt: skip


def survivor(a: Profile, b: Profile) -> Profile:
    """Return the proposed survivor: the entity with more observations, else the older, else the lesser id."""
    return min(a, b, key=lambda profile: (-profile.weight[0], -profile.weight[1], profile.entity_id))
