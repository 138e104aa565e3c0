"""When rules merged entities: worked out from the evidence of those entities that decide it.

What is merged by rule now is stored. When it was is a function of facts: what each observation says of the
identity of its entity, when it counted, and what somebody merged, separated or dismissed. Versions and reads
as of a time ask it.

An entity is decided by what bears its id, by what has a name near its own, and by what was separated from it.
All that ever did is read, hop by hop: what bears a key no more is found by the edge ``identified``.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cache, partial
from typing import Final, NamedTuple, TypeVar

from graphmem.database.left_out import Json
from graphmem.database.queries import Queries
from graphmem.errors import InvalidInput
from graphmem.model import facts, identity, identity_rules, person_names, rule_history, times
from graphmem.model.fact_records import DatedDismissal
from graphmem.model.identity_rules import CONTENT_LEVEL, JOINING_LEVEL, Evidence, Identified, OwnRule
from graphmem.model.membership import Membership, MergeFact
from graphmem.model.person_names import PersonName
from graphmem.model.rule_history import RuleFacts, Statement
from graphmem.model.schema import SchemaDocument
from graphmem.writing.things import KEY_KIND, NEAR_KIND, evidence_of, keys_of

EVIDENCE_LIMIT: Final = 5_000  # pieces of evidence from which one page as of a time is worked out
_LOOP_WORK_LIMIT: Final = 200
"""Facts of merges, statements and touches that are computed on the event loop; more take a thread."""
_NAMED_LIMIT: Final = 10 * EVIDENCE_LIMIT  # entities named in one group that are read

_Result = TypeVar("_Result")
_Key = tuple[str, str]  # the kind and the value of an identifier


async def off_loop(work: int, compute: Callable[[], _Result]) -> _Result:
    """Compute something, in a thread where it would hold up the event loop."""
    return compute() if work <= _LOOP_WORK_LIMIT else await asyncio.to_thread(compute)


class _StatementRow(NamedTuple):
    recorded_at: int
    toggles: list[int]
    names: list[str]
    values: list[Json]
    basis: str | None


class _MergeFactRow(NamedTuple):
    """An observation of kind merge or unmerge; ``fields`` and ``values`` name the target of a merge."""

    observation_id: str
    subject_id: str
    at: int
    recorded_at: int
    kind: facts.Kind
    fields: list[str]
    values: list[Json]
    toggles: list[int]


class _EntityRow(NamedTuple):
    entity_id: str
    kind: str
    statements: list[_StatementRow]
    facts: list[_MergeFactRow]
    merged: list[str]
    dismissals: list[DatedDismissal]
    borne: list[str]


_Rows = tuple[list[_EntityRow], list[tuple[str, str, str]], list[str], list[tuple[str, Json]], bool]


class _Role(Enum):
    """What of an entity is asked; a page asks both, of what it names and of what that may be merged into."""

    INTO = "into"
    MEMBERS = "members"
    PAGE = "page"


@dataclass(slots=True)
class _Known:
    """An entity that was read; ``states`` are the evidences that it had one after another."""

    row: _EntityRow
    rule: OwnRule | None
    merges: list[MergeFact]
    states: list[Evidence]


@dataclass(slots=True)
class EvidenceReader:
    """Reads what decides on entities."""

    queries: Queries
    owner: str
    off: Mapping[str, frozenset[str]]  # the alternatives by type that merge nothing
    at_ingested: int = times.LATEST  # what was recorded later is left out (microseconds)
    limit: int | None = None  # so many pieces of evidence are read at most; ``None`` for all
    _fields: set[str] = field(default_factory=lambda: {*shipped()[0]})
    _joins: bool = False  # whether there are entities of types that join others
    _known: dict[str, _Known | None] = field(default_factory=dict)
    _statements: list[Statement] = field(default_factory=list)
    _bearers_of_keys: dict[_Key, set[str]] = field(default_factory=dict)
    """The entities that have or had a key."""
    _reached: set[str] = field(default_factory=set)
    """Ids of which the bearers of all shipped kinds of keys were read: most have none."""
    _bearers: dict[str, set[str]] = field(default_factory=dict)
    """What bears or bore an id, of what was read: what a turn folds again has no key of a new rule yet."""
    _asked: set[tuple[_Role, str]] = field(default_factory=set)
    _agenda: list[tuple[_Role, str]] = field(default_factory=list)
    _wanted: set[str] = field(default_factory=set)
    _wanted_keys: set[_Key] = field(default_factory=set)

    async def membership(self, entity_ids: Iterable[str]) -> Membership:
        """Return the membership of some entities, and of all that were ever merged with them."""
        for entity_id in sorted(set(entity_ids)):
            self._ask(_Role.PAGE, entity_id)
        while self._agenda:
            await off_loop(len(self._agenda), self._pursue)
            if self._agenda:
                await self._read()
                await asyncio.sleep(0)  # what was read may be much, and so may be what it asks for
        return await off_loop(len(self._statements), self._membership)

    def _pursue(self) -> None:
        """Answer what is asked by what was read. What has to be read for that stays on the agenda."""
        postponed: list[tuple[_Role, str]] = []
        while self._agenda:
            question = self._agenda.pop()
            if not self._go_on(*question):
                postponed.append(question)
        self._agenda = postponed

    def keys(self, entity_id: str) -> frozenset[_Key]:
        known = self._known.get(entity_id)
        rule = known.rule if known else None
        every = known.states if known and rule else ()
        return frozenset(key for evidence in every if rule for key in keys_of(rule, entity_id, evidence))

    def _ask(self, role: _Role, *entity_ids: str) -> None:
        new = {(role, each) for each in entity_ids} - self._asked
        self._asked |= new
        self._agenda += new

    def _go_on(self, role: _Role, entity_id: str) -> bool:
        """Ask for what decides on an entity; return false where something has to be read for that."""
        if entity_id not in self._known:
            self._wanted.add(entity_id)
            return False
        known, is_whole = self._known[entity_id], True
        if known is None:
            return True
        self._ask(role, *known.row.merged)
        for evidence, rule in ((each, known.rule) for each in known.states if known.rule):
            identified = rule.identified(entity_id, evidence)
            if role is not _Role.MEMBERS:
                is_whole &= self._ask_targets(role, entity_id, rule, identified)
            if role is not _Role.INTO:
                is_whole &= self._ask_members(entity_id, rule, identified)
        if role is not _Role.MEMBERS:
            for each in known.row.dismissals:
                self._ask(_Role.INTO, each.entity_a, each.entity_b)
            for fact in known.merges:
                self._ask(_Role.INTO, *fact.separated)
        return is_whole

    def _ask_targets(self, role: _Role, entity_id: str, rule: OwnRule, identified: Identified) -> bool:
        level, ends = identified.level, [entity_id]
        if identified.same is not None:
            self._ask(role, identified.same)
            ends.append(identified.same)
        if level == CONTENT_LEVEL and identified.number is not None:
            level, ends = identified.level_of_number, [identified.number]
        if identified.called and level:
            level, ends = rule.level_of_names, [*identified.called]
            self._ask(role, *ends)
        if not level or level in (CONTENT_LEVEL, JOINING_LEVEL):
            return True
        bearers = [self._look_up(KEY_KIND + rule.basis(level), each) for each in ends]
        for each in bearers:
            self._ask(role, *(each or ()))
        is_whole = None not in bearers
        if any(bearers):
            for name in rule.names(entity_id, identified.evidence):
                if name.is_own and name.level == level:
                    is_whole &= self._ask_near(name)
        return is_whole

    def _ask_near(self, name: PersonName) -> bool:
        every = [self._look_up(NEAR_KIND + group.basis, group.prefix) for group in name.groups]
        for other in {each for named in every for each in named or ()}:
            known = self._known.get(other)
            rule = known.rule if known else None
            for evidence in known.states if known and rule else ():
                level = rule.identified(other, evidence).level if rule else None
                names = rule.names(other, evidence) if rule and (level is None or level < name.level) else ()
                if any(person_names.are_near(name.name, each.name) for each in names):
                    self._ask(_Role.INTO, other)
        return None not in every

    def _ask_members(self, entity_id: str, rule: OwnRule, identified: Identified) -> bool:
        borne = rule.borne(identified.evidence).items()
        members = {
            each
            for each, level in borne
            if level and each != entity_id and (self._joins or rule.is_own(level))
        }
        level, bearers = identified.level, frozenset[str]()
        if identified.called:
            basis, names = rule.basis(rule.level_of_names), identified.called | identified.former
            every = [self._look_up(KEY_KIND + basis, each) for each in sorted(names)]
            members.update(*(each or () for each in every))
            bearers = None if None in every else bearers
        elif identified.number is not None:
            basis = rule.basis(identified.level_of_number)
            bearers = self._look_up(KEY_KIND + basis, identified.number)
            members.update(bearers or ())
        elif level and level < CONTENT_LEVEL:
            bearers = self._look_up(KEY_KIND + rule.basis(level), entity_id)
            for each in bearers or ():
                known = self._known.get(each)
                if known and any(evidence >= identity_rules.BY_CONTENT for evidence in known.states):
                    members.add(each)
        self._ask(_Role.INTO, *members)
        self._ask(_Role.MEMBERS, *members)
        return bearers is not None

    def _look_up(self, kind: str, value: str) -> frozenset[str] | None:
        """Return the entities that have or had a key; ``None`` where these have to be read."""
        bearers = self._bearers_of_keys.get((kind, value))
        if bearers is None and not (value in self._reached and kind in shipped()[1]):
            self._wanted_keys.add((kind, value))
            return None
        return frozenset(((bearers or set()) | self._bearers.get(value, set())) - {value})

    async def _read(self) -> None:
        wanted, keys, kinds = self._wanted, self._wanted_keys, shipped()[1]
        entities, bearers, reached, documents, joins = await self.queries.only(
            "entity.evidence", _Rows, entity_ids=sorted(wanted), known=sorted(self._known),
            kinds=sorted(kinds), joining=sorted(identity.SHIPPED_ALIASES),
            borne=sorted(list(each) for each in keys if not each[0].startswith(NEAR_KIND)),
            near=sorted(list(each) for each in keys if each[0].startswith(NEAR_KIND)),
            types=sorted(identity.TYPES_WITH_RULES), fields=sorted(self._fields),
            at_ingested=self.at_ingested, limit=_NAMED_LIMIT,
        )  # fmt: skip
        registered = {kind: SchemaDocument.read(document).alternatives() for kind, document in documents}
        rules = {
            kind: identity_rules.own_rule(
                self.owner, kind, registered.get(kind), self.off.get(kind, frozenset())
            )
            for kind in {row.kind for row in entities}
        }
        fields = {name for rule in rules.values() if rule is not None for name in rule.fields}
        if not fields <= self._fields:
            # A registered rule has fields of its own: what is asked for is read again, with these.
            self._fields |= fields
            return
        self._wanted, self._wanted_keys, self._joins = set(), set(), joins
        self._known |= dict.fromkeys(wanted - self._known.keys())
        self._bearers_of_keys |= {each: set() for each in keys}
        self._reached.update(reached)
        for kind, value, entity_id in bearers:
            self._bearers_of_keys.setdefault((kind, value), set()).add(entity_id)
        await off_loop(
            sum(1 + len(row.statements) for row in entities), partial(self._learn, entities, rules, wanted)
        )
        if self.limit is not None and len(self._statements) > self.limit:
            message = (
                f"as of a time, who was merged by rule is worked out from at most {self.limit:,} pieces of "
                "evidence, and this page needs more: give a smaller limit, or ask for single entities by id"
            )
            raise InvalidInput(message, issues=[{"path": "$", "message": message}])

    def _learn(self, rows: list[_EntityRow], rules: Mapping[str, OwnRule | None], wanted: set[str]) -> None:
        for row in rows:
            self._add(row, rules[row.kind])
        for each in (each for row in rows if row.entity_id in wanted for each in row.borne):
            self._known.setdefault(each, None)

    def _add(self, row: _EntityRow, rule: OwnRule | None) -> None:
        statements: list[Statement] = []
        for each in row.statements if rule else ():
            evidence = evidence_of(rule, dict(zip(each.names, each.values, strict=True)), each.basis)
            statements.append(Statement(row.entity_id, evidence, each.recorded_at, tuple(each.toggles)))
        states = rule_history.states(statements)
        merges: list[MergeFact] = []
        for each in row.facts:
            fields = dict(zip(each.fields, each.values, strict=True))
            into, separated = facts.target(each.kind, fields), tuple(facts.separated(fields))
            rule_of_fact = facts.merge_rule(each.kind, fields, each.at)
            known = each.subject_id, each.at, each.recorded_at, each.observation_id
            merges.append(MergeFact(*known, into, tuple(each.toggles), separated, rule_of_fact))
        self._known[row.entity_id] = _Known(row, rule, merges, states)
        self._statements += statements
        for borne_id, level in ((*each,) for every in states if rule for each in rule.borne(every).items()):
            if rule and rule.is_own(level):
                self._bearers.setdefault(borne_id, set()).add(row.entity_id)

    def _membership(self) -> Membership:
        every = {each: known for each, known in self._known.items() if known is not None}
        merges = {fact for known in every.values() for fact in known.merges}
        rules = {each: known.rule for each, known in every.items() if known.rule is not None}
        dismissals = {each for known in every.values() for each in known.row.dismissals}
        # Of the others it is not read what decides on them.
        decided = {each for role, each in self._asked if role is not _Role.MEMBERS}
        spans = rule_history.spans(RuleFacts(rules, self._statements, merges, dismissals))
        spans = [each for each in spans if each.subject_id in decided]
        ends = {each for span in spans for each in (span.subject_id, span.into)}
        ends |= {each for fact in merges for each in (fact.subject_id, fact.into) if each is not None}
        return Membership.of(merges, ends, spans)


@cache
def shipped() -> tuple[frozenset[str], frozenset[str]]:
    """Return the identifying fields of the shipped rules, and the kinds of their keys."""
    every = (identity_rules.own_rule("", each, None) for each in identity.TYPES_WITH_RULES)
    rules = [rule for rule in every if rule is not None]
    kinds = {KEY_KIND + basis for rule in rules for basis in rule.bases[1:]}
    return frozenset(name for rule in rules for name in rule.fields), frozenset(kinds)
