"""The names of persons that a draft and its database have, as the merges by rule compare them."""

from collections.abc import Collection, Iterable

from graphmem.model import identity_rules, person_names
from graphmem.model.person_names import NameGroup, NearNames
from graphmem.writing.draft import Draft
from graphmem.writing.state import Read
from graphmem.writing.things import KEY_KIND, Thing, Things, note_names
from graphmem.writing.write_requests import LookAgain, Touched


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
