"""Reduction: from observations to a snapshot.

For each field, the winner is the observation with the greatest (rank, id); see :mod:`graphmem.model.ranks`,
where a correction outranks every other observation. A winning null clears the field: it stays in the fold,
so that an older value cannot come back, and is absent from the snapshot. The
:class:`~graphmem.model.rules.Rules` of the type set the order of each field, which fields a snapshot has,
and how values convert.

Each member of a merge is folded by itself. :func:`merged_state` puts together what the survivor shows.

Values do not decide whether an entity or a relationship lives. Its newest lifecycle observation does
(:data:`~graphmem.model.facts.LIFECYCLE_KINDS`): no value revives what was deleted.

The current snapshot is folded forward from the one before it (:func:`fold`), so that a write does not
pay for history. The snapshot of another time is reduced in the database from the observations
themselves (``cypher/entity/recompute.cypher``). Both give the same.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from graphmem.model import canonical, facts, membership, merged_arrays, numbers, ranks
from graphmem.model.identity import CANONICAL_NAME, NAME_FIELDS, company_names, identity_value
from graphmem.model.rules import PLAIN, Rules


class Winner(NamedTuple):
    """The winner of one field. Winners compare in the order of their parts."""

    rank: str
    observation_id: str
    value: str

    @property
    def corrected_at(self) -> int | None:
        """The time of the correction that won (microseconds), if one did."""
        if merged_arrays.is_union(self.rank):
            return merged_arrays.corrected_at(self.rank)
        return ranks.corrected_at(self.rank)


Fold = Mapping[str, Winner]  # the winner of each field, by field name


class Lifecycle(NamedTuple):
    """The lifecycle observation that decides: the greatest by time and id, whatever arrived when. It is
    stored as ``turn`` on entities and relationships."""

    rank: str
    observation_id: str
    kind: facts.Kind

    @property
    def is_live(self) -> bool:
        return facts.is_live(self.kind)


class OwnState(NamedTuple):
    """What the own observations of one entity or relationship come to; times are microseconds."""

    observation_count: int = 0
    created_at: int | None = None  # when it was recorded first
    last_observation_at: int | None = None
    lifecycle: Lifecycle | None = None
    fold: Fold = MappingProxyType({})

    @classmethod
    def reduced(
        cls, observation_count: int, created_at: int | None, last_observation_at: int | None,
        lifecycle: list[Any] | None, fold: Fold = MappingProxyType({}),
    ) -> OwnState:  # fmt: skip
        return cls(
            observation_count, created_at, last_observation_at,
            Lifecycle(ranks.time_rank(lifecycle[0]), *lifecycle[1:]) if lifecycle else None, fold,
        )  # fmt: skip

    @property
    def is_live(self) -> bool:
        return self.lifecycle is None or self.lifecycle.is_live


@dataclass(frozen=True, slots=True)
class Observation:
    """One immutable fact about one subject, an entity or a relationship, at one time."""

    id: str
    subject_id: str
    entity_type: str
    kind: facts.Kind
    observed_at: int  # microseconds
    recorded_at: int  # microseconds
    fields: Mapping[str, str]  # canonical JSON by field name
    transaction_id: str
    priority: float = 100.0
    specificity: float = 1.0
    observation_source: str = "llm_summary"
    agent: str = "anonymous"
    basis: str | None = None
    shapes: Mapping[str, str | None] = field(default_factory=dict)
    source_id: str | None = None  # the file that it was stored with, or that was read
    interpretation_id: str | None = None
    places: str | None = None  # canonical JSON: where in the file it stands, and its fields
    excluded: tuple[int, ...] = ()  # its toggles; see :mod:`graphmem.model.membership`
    home: str | None = None  # what it was stored for, where it counts for a part of that

    @property
    def counts(self) -> bool:
        return membership.counts(self.excluded)

    @property
    def turned(self) -> bool:
        """Whether it was withdrawn or reinstated since it was recorded."""
        return bool(self.excluded) and self.excluded[-1] > self.recorded_at

    def claim(self, name: str, value: str, rules: Rules) -> Winner:
        policy, correction = rules.policy(name), self.kind == "correction"
        if policy == "merge_array":
            parts = merged_arrays.claim(
                self.id, value, correction=correction, observed_at=self.observed_at, priority=self.priority
            )
            return Winner(*parts)
        rank = ranks.rank(
            policy, correction=correction, observed_at=self.observed_at, priority=self.priority,
            specificity=self.specificity, observation_source=self.observation_source, sources=rules.sources,
        )  # fmt: skip
        return Winner(rank, self.id, value)


def fold(known: Fold, observation: Observation, rules: Rules = PLAIN) -> dict[str, Winner]:
    """Return the fold of everything in ``known`` and one observation more, in any order of arrival."""
    folded = dict(known)
    if observation.kind not in facts.VALUE_KINDS:
        return folded
    for name, observed in observation.fields.items():
        value = rules.value(name, observed) if rules.shows(name) else None
        if value is not None:
            folded[name] = greatest(folded.get(name), observation.claim(name, value, rules))
    return folded


def greatest(holder: Winner | None, challenger: Winner) -> Winner:
    """Return which of two winners a field has, or their union where its policy is ``merge_array``."""
    if holder is None:
        return challenger
    if merged_arrays.is_union(holder.rank):
        return Winner(*merged_arrays.union(holder, challenger))
    return max(holder, challenger)


def merge_rule_of(entity_type: str, *, by_rule: bool) -> str | None:
    """Return the version by which a merge by rule folds: a renamed company shows its new name."""
    return facts.RENAMED if by_rule and entity_type in numbers.COMPANIES else None


def merged_fold(
    survivor_id: str, folds: Mapping[str, Fold], into: Mapping[str, str], merge_rules: Mapping[str, str]
) -> Fold:
    """Return the fold that a survivor shows, if some of its members were merged by rule version 2.

    By version 2, the null of an entity does not clear the value of another, and the name of the target stays,
    or that of the source where the merge says so. Of companies that a rule merged, the name of the one that
    says a former name stays. By version 1 the greatest winner decides.

    Args:
        folds: by entity, made under the same rules.
        into, merge_rules: by merged entity, what it was merged into, and ``facts.merge_rule``.
    """
    sources: dict[str, list[str]] = {}
    for source_id, target_id in into.items():
        sources.setdefault(target_id, []).append(source_id)

    def folded(entity_id: str) -> Fold:
        fold = dict(folds.get(entity_id, {}))
        for source_id in sorted(
            sources.get(entity_id, ()), key=lambda each: (merge_rules.get(each, ""), each)
        ):
            more, rule = folded(source_id), merge_rules.get(source_id)
            if rule is None:
                fold |= {name: greatest(fold.get(name), winner) for name, winner in more.items()}
            else:
                stays = _says_former(fold) or not _says_former(more) if rule == facts.RENAMED else rule == "2"
                fold = _joined(fold, more) if stays else _joined(more, fold)
        return fold

    return folded(survivor_id)


def _says_former(fold: Fold) -> bool:
    """Return whether a company says what it was called before."""
    return bool(company_names({name: canonical.decode(winner.value) for name, winner in fold.items()})[1])


def _joined(named: Fold, other: Fold) -> dict[str, Winner]:
    """Return two folds put together: ``named`` gives the name, and a null clears no value of the other."""
    naming = [
        name
        for name in NAME_FIELDS
        if name in named and identity_value(canonical.decode(named[name].value)) is not None
    ]
    kept = NAME_FIELDS[: NAME_FIELDS.index(naming[0]) + 1] if naming else ()
    joined = dict(named)
    for name, winner in other.items():
        known = joined.get(name)
        if name in kept:
            continue
        if known is None or _is_clear(known) is _is_clear(winner):
            joined[name] = greatest(known, winner)
        elif _is_clear(known):
            joined[name] = winner
    return joined


def _is_clear(winner: Winner) -> bool:
    """Return whether a winner clears its field."""
    return winner.value == ("[]" if merged_arrays.is_union(winner.rank) else "null")


def merged_state(
    members: Sequence[OwnState], *, is_relationship: bool, merged: Fold | None = None
) -> OwnState:
    """Return what a survivor (the first member) shows: the states of its members, put together.

    Each field goes to the greatest winner, unless a member was merged by rule version 2: then ``merged`` is
    :func:`merged_fold`. A merged entity lives if its survivor does, a relationship while one of its members
    does.
    """
    observed = [member for member in members if member.observation_count]
    created = [member.created_at for member in observed if member.created_at is not None]
    latest = [member.last_observation_at for member in observed if member.last_observation_at is not None]
    lifecycles = [member.lifecycle for member in observed if member.lifecycle]
    fold: dict[str, Winner] = {}
    for member in observed if merged is None else ():
        for name, winner in member.fold.items():
            fold[name] = greatest(fold.get(name), winner)
    return OwnState(
        observation_count=sum(member.observation_count for member in observed),
        created_at=min(created, default=None),
        last_observation_at=max(latest, default=None),
        lifecycle=max(lifecycles, key=lambda turn: (turn.is_live, turn))
        if is_relationship and lifecycles
        else members[0].lifecycle,
        fold=fold if merged is None else merged,
    )


def newest_lifecycle(known: Lifecycle | None, observation: Observation) -> Lifecycle | None:
    if observation.kind not in facts.LIFECYCLE_KINDS:
        return known
    lifecycle = Lifecycle(ranks.time_rank(observation.observed_at), observation.id, observation.kind)
    return lifecycle if known is None or lifecycle > known else known


class Stale(Exception):
    """Some things must be folded again, then read again: their rules or their observations have changed."""

    def __init__(self, entity_ids: list[str], relationship_keys: list[str] | None = None) -> None:
        super().__init__()
        self.entity_ids = entity_ids
        self.relationship_keys = relationship_keys or []


class Torn(Exception):
    """A commit fell into a read: parts of the node that it names are of two moments. Read again.

    ``parts`` are what was read of the node: where another read finds the same, the node is damaged.
    """

    def __init__(self, subject_id: str, *parts: Any) -> None:
        super().__init__(subject_id)
        self.parts = subject_id, parts


def checksum(
    version: int, fields: list[str], values: list[str], winners: list[str], own: str | None = None,
    name: str | None = None,
) -> int:  # fmt: skip
    """Return the checksum (CRC-32) over the version and the snapshot of a node, which the node stores.

    The database reads a node's properties one by one, and a commit may fall between two. ``own`` is the own
    state of what is merged, ``name`` the canonical name of an entity.
    """
    joined = "\x1e".join
    text = f"{version}\x1f{joined(fields)}\x1f{joined(values)}\x1f{joined(winners)}"
    text = f"{text}\x1f{own}" if own else text
    return zlib.crc32((text if name is None else f"{text}\x1d{name}").encode())


def is_whole(
    check: int | None, version: int, fields: list[str], values: list[str], winners: list[str],
    own: str | None, name: str | None,
) -> bool:  # fmt: skip
    """Return whether what was read of a node fits its checksum, which once was without the name."""
    parts = version, fields, values, winners, own
    return check is None or check == checksum(*parts, name) or check == checksum(*parts)


def paired(thing: str, names: list[str], values: list[str]) -> list[tuple[str, str]]:
    """Return names with their values, two properties of a node; ``Torn`` where a commit fell between."""
    if len(names) != len(values):
        raise Torn(thing, names, values)
    return list(zip(names, values, strict=True))


def snapshot_fields(folded: Fold, without: str | None = CANONICAL_NAME) -> list[tuple[str, Winner]]:
    """Return the fields of a snapshot in canonical order, without nulls and the canonical name."""
    return [
        (name, folded[name])
        for name in sorted(folded, key=canonical.name_order)
        if name != without and folded[name].value != "null"
    ]
