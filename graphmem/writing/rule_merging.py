"""Merges by rule in a draft: what the rule comes to after a request, or after other observations count.

The rule itself is :mod:`graphmem.model.rule_merges`. Here it reads the draft and the bearers that the look
read, and writes each merge as ``into`` and ``merged_by`` of the merged entity, with the time that it holds.
"""

from collections.abc import Collection, Iterable, Mapping
from contextlib import AbstractContextManager

from graphmem.model import identity_rules, person_names, rule_merges
from graphmem.model.identity_rules import Identified
from graphmem.model.person_names import NameGroup, NearNames
from graphmem.model.rule_merges import RuleMerge
from graphmem.writing.draft import Draft
from graphmem.writing.state import BearerRow, Read
from graphmem.writing.things import KEY_KIND, Thing, Things, note_bearers, note_names
from graphmem.writing.write_requests import LookAgain, Needs, Touched


def bearers_of(rule: identity_rules.OwnRule, basis: str, entity_id: str) -> Touched:
    borne = (KEY_KIND + basis, entity_id, rule.fields)
    return Touched(entities={entity_id}, borne={borne}, stored={entity_id})


def more_bearers(reads: Read, entity_id: str) -> Touched | None:
    """Return what to read for more bearers of an id; ``None`` where all are read."""
    limit = reads.looked.bearers_limit if reads.looked else 0
    return Touched(bearers_limit=2 * limit) if 0 < limit <= len(reads.bearers[entity_id]) else None


class KnownNames:
    """The names of persons in a draft, by groups."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._texts: dict[NameGroup, set[str]] = {}
        note_names(self._texts, map(draft.entities.__getitem__, draft.entities.changed()))

    def near(self, entity: Thing) -> NearNames:
        if entity.rule is None:
            return NearNames({}, {}, set())
        return entity.rule.near(entity.person_names, self.known)

    def known(self, group: NameGroup) -> Collection[str] | None:
        """Return the texts of a group; ``None`` for too many."""
        texts = self._now(group)
        return None if texts is None or len(texts) > person_names.LIMIT else texts

    def crossed(self, stored: Things, entity_ids: Iterable[str]) -> set[str]:
        """Return the entities named in groups that a change made too large, or small enough."""
        fresh: dict[NameGroup, set[str]] = {}
        lost: dict[NameGroup, set[str]] = {}
        rules: dict[NameGroup, identity_rules.OwnRule] = {}
        for entity_id in entity_ids:
            before, after = stored.get(entity_id), self._draft.entities[entity_id]
            if after.rule is None or (before is not None and before.person_names is after.person_names):
                continue
            now, was = dict[NameGroup, set[str]](), dict[NameGroup, set[str]]()
            note_names(now, [after])
            note_names(was, [before] if before else [])
            for group in {**now, **was}:
                rules[group] = after.rule
                fresh.setdefault(group, set()).update(now.get(group, set()))
                lost.setdefault(group, set()).update(was.get(group, set()) - now.get(group, set()))
        return {
            rule.id_of_name(rule.level(group.basis), name)
            for group, rule in rules.items()
            for name in self._names_if_crossed(group, fresh[group], lost[group])
        }

    def _names_if_crossed(self, group: NameGroup, fresh: set[str], lost: set[str]) -> list[str]:
        stored, new = self._stored(group, len(lost)), self._draft.state.new.near.get(group, ())
        if stored is not None and len(stored) + len(new) + len(fresh) + len(lost) <= person_names.LIMIT:
            return []
        texts = self._now(group, lost)
        if texts is None:
            return []
        before = (texts - (fresh - (self._stored(group) or frozenset()))) | lost
        if (len(before) > person_names.LIMIT) is (len(texts) > person_names.LIMIT):
            return []
        named = [person_names.name_in(group, text) for text in sorted(before | texts)]
        return [name for name, is_own in named if is_own]

    def _now(self, group: NameGroup, lost: Collection[str] = ()) -> set[str] | None:
        """Return the texts of a group without those that nobody bears any more; ``None`` for very many."""
        draft = self._draft
        stored = self._stored(group, len(lost))
        if stored is None:
            return None
        texts = {*stored, *draft.state.new.near.get(group, ()), *self._texts.get(group, ())}
        return texts - self._gone(group, texts) if len(texts) > person_names.LIMIT else texts

    def _gone(self, group: NameGroup, texts: set[str]) -> set[str]:
        entities, before = self._draft.entities, self._draft.state.entities_before
        lost: dict[NameGroup, set[str]] = {}
        borne: dict[NameGroup, set[str]] = {}
        note_names(lost, filter(None, map(before.get, entities)))
        note_names(borne, map(entities.__getitem__, entities))
        gone = (lost.get(group, set()) - borne.get(group, set())) & texts
        rules = [rule for each in entities if gone and (rule := entities[each].rule) and rule.has(group)]
        return {text for text in gone if not self._is_borne(rules[0], group, text)}

    def _is_borne(self, rule: identity_rules.OwnRule, group: NameGroup, text: str) -> bool:
        name, is_own = person_names.name_in(group, text)
        if is_own:
            return False
        name_id, bearers = (rule.id_of_name(rule.level(group.basis), name), self._draft.state.read.bearers)
        if name_id not in bearers:
            raise LookAgain(bearers_of(rule, group.basis, name_id))
        if any(self._draft.entities.get(row.entity_id) is None for row in bearers[name_id]):
            return True
        if further := more_bearers(self._draft.state.read, name_id):
            raise LookAgain(further)
        return False

    def _stored(self, group: NameGroup, more: int = 0) -> frozenset[str] | None:
        """Return the stored texts of a group; ``None`` for more than the limit and ``more``."""
        reads = self._draft.state.read
        if group not in reads.near:
            raise LookAgain(Touched(near={group}))
        limit = person_names.LIMIT + 1 + more
        if reads.near[group] is None and more and reads.looked and reads.looked.near_limit < limit:
            raise LookAgain(Touched(near_limit=limit))
        return reads.near[group]


def settle(draft: Draft) -> None:
    """Merge by rule, and end such merges, as the changes of a draft demand; may raise :class:`LookAgain`."""
    settle_from(draft, draft.state.entities, draft.entities.changed())


def settle_from(draft: Draft, stored: Things, entity_ids: Iterable[str]) -> None:
    """Merge by rule, where some entities changed; ``stored`` are all before that. See :func:`settle`."""
    entity_ids, names = list(entity_ids), KnownNames(draft)
    affected = names.crossed(stored, entity_ids)
    for entity_id in entity_ids:
        before, after = stored.get(entity_id), draft.entities[entity_id]
        if before is None:
            if not _is_apart(draft, after, names):
                affected.add(entity_id)
            continue
        was = (before.evidence, before.made, before.projection, before.refold)
        if was != (after.evidence, after.made, after.projection, after.refold):
            affected |= {entity_id, *before.borne, *names.near(before).weak}
        joined = (before.into, before.separated, before.distinct_from)
        if joined != (after.into, after.separated, after.distinct_from):
            affected.add(entity_id)
            affected |= {member.subject_id for member in stored.members(stored.root(entity_id))}
    # One of an unknown type may be the id of another.
    concerned = [each for each in affected if (known := draft.entities.get(each)) is None or known.has_rule]
    if concerned:
        rule_merges.settle(_DraftMerges(draft), sorted(concerned))


def _is_apart(draft: Draft, created: Thing, names: KnownNames) -> bool:
    """Return whether nothing can be merged by rule with a new entity, as with most of what is stored."""
    reads, new_bearers = draft.state.read, draft.state.new.bearers
    rule = created.rule
    if created.into is not None or not draft.entities.is_alone(created.subject_id):
        return False
    if rule is not None and rule.identified(created.subject_id, created.evidence).same:
        return False
    for borne_id, level in created.borne.items():
        is_read = borne_id in reads.bearers or borne_id in reads.unread
        if (
            rule
            and rule.is_weaker(level)
            and (not is_read or reads.bearers.get(borne_id) or new_bearers.get(borne_id))
        ):
            return False
        if borne_id != created.subject_id and draft.entities.get(borne_id) is not None:
            return False
    return not names.near(created).weak


class _DraftMerges(rule_merges.Merges):
    """The entities of a draft, as the rule reads and changes them."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._needs = Needs()
        self._rows: dict[str, BearerRow] = {}
        self._names = KnownNames(draft)
        self._near: dict[str, tuple[identity_rules.OwnRule, int]] = {}
        self._new_bearers: dict[str, set[str]] = {}
        note_bearers(self._new_bearers, map(draft.entities.__getitem__, draft.entities.changed()))

    def identified(self, entity_id: str) -> Identified | None:
        row = self._rows.get(entity_id)
        entity = self._draft.entities.get(entity_id)
        if entity is not None:
            if not entity.made:
                return None
            if entity.rule is None:
                return Identified(None, entity.evidence)
            identified = entity.rule.identified(entity_id, entity.evidence)
            self._note_names(entity.rule, identified)
            if identified.number is not None:
                self._near[identified.number] = entity.rule, identified.level_of_number
            if identified.same and identified.level and entity.rule.joins:
                basis, rule = (
                    entity.rule.basis(identified.level),
                    self._draft.state.own_rule(entity.rule.joins),
                )
                rule = rule if rule and basis in rule.bases else entity.rule
                self._near[identified.same] = rule, rule.level(basis)
            return identified
        if row is None:
            self._need_entity(entity_id)
            return None
        rule = self._rule_of_row(row)
        identified = rule.identified(entity_id, row.evidence_by(rule)) if rule else None
        if rule and identified:
            self._note_names(rule, identified)
        return identified

    def _note_names(self, rule: identity_rules.OwnRule, identified: Identified) -> None:
        for name in identified.called | identified.former:
            self._near[name] = rule, rule.level_of_names

    def borne(self, entity_id: str) -> Mapping[str, int]:
        entity = self._draft.entities.get(entity_id)
        if entity is not None:
            return entity.borne
        row = self._rows.get(entity_id)
        rule = self._rule_of_row(row) if row else None
        return rule.borne(row.evidence_by(rule)) if row and rule else {}

    def near(self, entity_id: str) -> NearNames:
        entity = self._draft.entities.get(entity_id)
        if entity is None or entity.rule is None:
            return NearNames({}, {}, set())
        near = self._names.near(entity)
        self._near.update((near_id, (entity.rule, level)) for near_id, (level, _) in near.known.items())
        return near

    def bearers(self, entity_id: str) -> Collection[str]:
        reads, new_bearers = self._draft.state.read, self._draft.state.new.bearers
        if entity_id not in reads.bearers:
            if entity_id in self._near:
                rule, level = self._near[entity_id]
            else:
                entity = self._draft.entities.get(entity_id)
                rule = entity.rule if entity is not None else self._rule_of_row(self._rows[entity_id])
                assert rule is not None
                level = self.borne(entity_id)[entity_id]
            raise LookAgain(bearers_of(rule, rule.basis(level), entity_id))
        bearers: set[str] = set()
        merged: set[str] = set()
        for row in reads.bearers[entity_id]:
            if self._draft.entities.get(row.entity_id) is not None:
                is_bearer = entity_id in self.borne(row.entity_id)
            elif row.is_alone:
                self._rows[row.entity_id] = row
                is_bearer = entity_id in self.borne(row.entity_id)
            else:
                # Its row shows the values of all members: its own evidence has to be read.
                merged.add(row.entity_id)
                is_bearer = True
            if is_bearer:
                bearers.add(row.entity_id)
        for bearer_id in (*new_bearers.get(entity_id, ()), *self._new_bearers.get(entity_id, ())):
            if entity_id in self._draft.entities[bearer_id].borne:
                bearers.add(bearer_id)
        bearers.discard(entity_id)
        if len(bearers) <= rule_merges.BEARERS_LIMIT:
            # Of those that were read, some bear the id no more: others may not be read yet.
            further = more_bearers(reads, entity_id)
            if merged or further is not None:
                raise LookAgain(further or Touched(entities=merged))
        return bearers

    def separated(self, entity_id: str) -> Iterable[str]:
        entity = self._draft.entities.get(entity_id)
        if entity is not None:
            return (*entity.separated, *entity.distinct_from)
        row = self._rows.get(entity_id)
        return (row.separated or ()) if row else ()

    def survivor(self, entity_id: str, level: int | None = None) -> str:
        if entity_id not in self._rows:
            self._need_entity(entity_id)
        *_, survivor_id = self._chain(entity_id, level)
        return survivor_id

    def members(self, entity_id: str, level: int | None = None) -> Iterable[str]:
        if self._draft.entities.get(entity_id) is None:
            return [entity_id]
        members = [member.subject_id for member in self._draft.entities.members(entity_id)]
        return [each for each in members if self.survivor(each, level) == entity_id]

    def merge(self, entity_id: str) -> RuleMerge | None:
        entity = self._draft.entities.get(entity_id)
        if entity is None or entity.merged_by is None or entity.into is None:
            return None
        return RuleMerge(entity.into, entity.rule.level(entity.merged_by) if entity.rule else -1)

    def put(self, entity_id: str, merge: RuleMerge | None) -> None:
        draft = self._draft
        entity = draft.entities.get(entity_id)
        if entity is None or (merge is not None and draft.entities.get(merge.into) is None):
            raise LookAgain(Touched(entities={entity_id, *([merge.into] if merge else [])}))
        before = draft.entities.root(entity_id)
        moved = draft.entities.members(entity_id)
        into = merge.into if merge else None
        survivor_id = draft.entities.root(into) if into else entity_id
        self._need_relationships(moved, entity_id, survivor_id if into else None)
        merged_by = entity.rule.basis(merge.level) if merge and entity.rule else None
        draft.place(entity, into, merged_by)
        for changed_id in (entity_id, before, survivor_id):
            draft.bump(draft.entities, changed_id)
        draft.regroup_moved(moved)

    def noting_needs(self) -> AbstractContextManager[object]:
        return self._needs

    def read_needs(self) -> None:
        self._needs.read()

    def _rule_of_row(self, row: BearerRow) -> identity_rules.OwnRule | None:
        entity = self._draft.entities.get(row.borne_id)
        if entity is not None:
            return entity.rule
        return self._near[row.borne_id][0] if row.borne_id in self._near else None

    def _chain(self, entity_id: str, level: int | None) -> list[str]:
        chained = self._draft.entities.chain(entity_id)
        if level is None:
            return chained
        for place, merged_id in enumerate(chained[:-1]):
            entity = self._draft.entities[merged_id]
            if entity.merged_by and entity.rule and entity.rule.level(entity.merged_by) >= level:
                return chained[: place + 1]
        return chained

    def _need_entity(self, entity_id: str) -> None:
        looked = self._draft.state.read.looked
        if (
            self._draft.entities.get(entity_id) is None
            and looked is not None
            and entity_id not in looked.entities
        ):
            raise LookAgain(Touched(entities={entity_id}))

    def _need_relationships(self, moved: list[Thing], entity_id: str, onto: str | None) -> None:
        """Have relationships read that were stored before the turn and move now."""
        state = self._draft.state
        looked = state.read.looked
        if looked is None or (entity_id, onto) in looked.moved:
            return
        if looked.merging is not None and (looked.merging.source, looked.merging.target) == (entity_id, onto):
            return
        if any(state.entities_before.get(member.subject_id) is not None for member in moved):
            raise LookAgain(Touched(moved={(entity_id, onto)}))
