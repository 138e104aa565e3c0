"""The grammar of what callers store: items (one observation each) and the relationships between them.

An item is an object. These keys are reserved, everything else is a field:

=====================  ====================================================================
``entity_type``        required, unless ``target_id`` names the entity
``canonical_name``     identity and display; no field
``target_id``          the id of the entity; its fields do not identify it then
``intent``             ``create_new``: a new entity, which only its id identifies
``observed_at``        when it was observed; default: the request's, else when it is stored
``source_priority``    a number; default: the request's, else 100
``observation_source`` sensor, workflow_state, llm_summary, human, import or sync; default:
                       the request's, else llm_summary
``specificity_score``  0 to 1; default 1
``supersedes_correction``  true: it ends the corrections that hold its fields
``expected_version``   the version that the entity must have; 0: there must be none yet
=====================  ====================================================================

Nothing here raises for bad input: each fault becomes an :class:`ItemIssue` with its path, so that a caller
gets all of them at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, NotRequired, TypedDict, cast, get_args

from graphmem.model import canonical, discovery, facts, identity, ids, ranks, relationship, times
from graphmem.model.links import Defaults, End, Link, Part

SUPERSEDES: Final = "supersedes_correction"
EXPECTED: Final = "expected_version"
RESERVED: Final = frozenset({
    "entity_type", identity.CANONICAL_NAME, "target_id", "intent", "observed_at", "source_priority",
    "observation_source", "specificity_score", SUPERSEDES, EXPECTED,
})  # fmt: skip
OBSERVATION_SOURCES: Final = get_args(ranks.ObservationSource)
PRIORITY_LIMIT: Final = 1e15
ISSUES_LIMIT: Final = 100  # faults of one request that an answer lists; the next attempt lists the others
WRAPPERS = frozenset({"attributes", "properties", "fields", "data", "snapshot"})


class ItemIssue(TypedDict):
    """Why one part of a request was refused: its path, a code for programs, a message for people."""

    code: str
    path: str
    message: str
    index: NotRequired[int]
    nearest: NotRequired[str]
    inverse_of: NotRequired[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Item(Part):
    """One observation of an entity to write, as far as the request alone determines it."""

    entity_type: str | None  # ``None`` where ``target_id`` alone names the entity
    entity_id: str
    basis: str
    shapes: Mapping[str, str | None]  # the discovered type of each value
    alternatives: identity.Alternatives | None = None  # those of the registered schema that identified it
    stated: str = ""  # its basis by the default alternatives, which does not change with a schema
    supersedes: bool = False  # whether it ends the corrections that hold its fields
    identifying: Mapping[str, str] | None = None  # what identifies it in place of its own fields
    home: str | None = None  # the entity that it is stored for, where it counts for a part of it

    def identified(
        self,
        owner: str,
        transaction_id: str,
        entity_type: str | None,
        alternatives: identity.Alternatives | None,
    ) -> Item:
        """Return the item identified by another type and other alternatives, unless by ``target_id``."""
        item = replace(self, entity_type=entity_type, alternatives=alternatives)
        if self.basis == "target_id":
            return item
        assert entity_type is not None
        if self.basis == identity.NEW:
            who = identity.identify_new(owner, entity_type, transaction_id, self.index)
        else:
            texts = self.fields if self.identifying is None else self.identifying
            fields = {name: canonical.decode(value) for name, value in texts.items()}
            who = identity.identify(owner, entity_type, fields, alternatives)
        return replace(item, entity_id=who.entity_id, basis=who.basis, home=None)


@dataclass(slots=True)
class ItemReader:
    """Reads the parts of one request and collects their faults in ``issues``."""

    owner: str
    transaction_id: str
    defaults: Defaults = field(default_factory=Defaults)
    alternatives: Callable[[str], identity.Alternatives | None] = lambda entity_type: None  # as last read
    vocabulary: Mapping[str, relationship.RelationshipKind] = field(
        default_factory=lambda: relationship.BUILTIN
    )
    nearest_type: relationship.Nearest = relationship.no_nearest  # proposes a name for an unknown one
    issues: list[ItemIssue] = field(default_factory=list)
    new_types: dict[str, dict[str, Any]] = field(default_factory=dict)  # warnings of the owner's own types
    _unknown_types: int = 0
    _refused: int = 0

    def refuse(self, code: str, path: str, message: str, index: int | None = None, **more: Any) -> None:
        """Add an issue; :data:`ISSUES_LIMIT` at most."""
        self._refused += 1
        if self._refused > ISSUES_LIMIT:
            return
        issue = cast("ItemIssue", {"code": code, "path": path, "message": message, **more})
        if index is not None:
            issue["index"] = index
        self.issues.append(issue)

    def item(self, index: int, raw: object) -> Item | None:
        """Return the observation of one element of ``entities``; issues say why it is refused."""
        path = f"$.entities[{index}]"
        if not isinstance(raw, Mapping):
            self.refuse("ERR_ITEM_NOT_OBJECT", path, "an item must be an object", index)
            return None
        fields = {n: v for n, v in raw.items() if n not in RESERVED or n == identity.CANONICAL_NAME}
        if len(fields) == 1 and (only := next(iter(fields))) in WRAPPERS and isinstance(raw[only], Mapping):
            message = f"fields are keys of the item itself: move those of {only} up one level"
            self.refuse("ERR_NESTED_FIELDS", f"{path}.{only}", message, index)
            return None
        return self.observation(index, path, path, raw, fields)

    def observation(
        self, index: int, path: str, fields_path: str, about: Mapping[str, Any],
        given_fields: Mapping[Any, Any], kind: facts.Kind = "value",
    ) -> Item | None:  # fmt: skip
        """Return one observation; issues say why it is refused, by the paths of ``about``, the reserved keys,
        and the fields. ``given_fields`` has ``canonical_name``."""
        before = self._refused
        fields, texts = self._fields(index, fields_path, given_fields, needed=kind in facts.VALUE_KINDS)
        entity_type = self._entity_type(index, path, about)
        target = self._target(index, path, about)
        observed_at = self._observed_at(index, path, about.get("observed_at"))
        priority = self._number(index, path, about, "source_priority", self.defaults.priority, PRIORITY_LIMIT)
        specificity = self._number(
            index, path, about, "specificity_score", self.defaults.specificity, 1.0, least=0.0
        )
        source = about.get("observation_source")
        source = self.defaults.observation_source if source is None else source
        if source not in OBSERVATION_SOURCES:
            allowed = ", ".join(OBSERVATION_SOURCES)
            self.refuse(
                "ERR_OBSERVATION_SOURCE", f"{path}.observation_source", f"must be one of {allowed}", index
            )
        if about.get(SUPERSEDES) not in (None, True, False):
            self.refuse("ERR_SUPERSEDES_CORRECTION", f"{path}.{SUPERSEDES}", "must be true or false", index)
        expected = about.get(EXPECTED)
        if expected is not None and not (type(expected) is int and expected >= 0):
            message = "must be the version of an entity, or 0 for one that must be new"
            self.refuse("ERR_EXPECTED_VERSION", f"{path}.{EXPECTED}", message, index)
        if self._refused > before:
            return None
        who = self._identify(index, about, entity_type, target, fields)
        item = Item(
            index=index,
            entity_type=entity_type,
            entity_id=who.entity_id,
            basis=who.basis,
            stated=who.basis,
            fields=texts,
            shapes={n: discovery.shape_of(v) for n, v in fields.items() if n != identity.CANONICAL_NAME}
            if kind in facts.VALUE_KINDS
            else {},
            observed_at=observed_at,
            priority=priority,
            specificity=specificity,
            observation_source=str(source),
            kind=kind,
            path=path,
            given_type=entity_type,
            supersedes=about.get(SUPERSEDES) is True,
            expected_version=expected,
        )
        registered = self.alternatives(entity_type) if entity_type else None
        if registered is None:
            return item
        return item.identified(self.owner, self.transaction_id, entity_type, registered)

    def link(
        self, index: int, raw: Mapping[str, Any], count: int, path: str | None = None,
        kind: facts.Kind = "create",
    ) -> Link | None:  # fmt: skip
        """Return one relationship of ``relationships`` between ``count`` items; issues say why not."""
        path = f"$.relationships[{index}]" if path is None else path
        before = self._refused
        type_name = raw["relationship_type"]
        meaning = self._meaning(index, f"{path}.relationship_type", type_name)
        source = self._end(index, path, raw, "source", count)
        target = self._end(index, path, raw, "target", count)
        metadata = raw.get("metadata") or {}
        fields = dict(meaning.metadata) if meaning else {}
        for field_name, value in metadata.items():
            if self._field_name(index, f"{path}.metadata", field_name):
                fields[field_name] = self._encoded(index, f"{path}.metadata.{field_name}", value)
        if self._refused > before or source is None or target is None or meaning is None:
            return None
        spelled = relationship.spell(type_name)
        is_other_name = spelled != meaning.name and spelled not in self.vocabulary
        ends = (target, source) if meaning.is_swapped else (source, target)
        return Link(
            index=index, relationship_type=meaning.name, source=ends[0], target=ends[1], fields=fields,
            kind=kind, path=path, given_type=type_name if is_other_name else None,
            is_swapped=meaning.is_swapped,
            is_symmetric=relationship.is_symmetric(self.vocabulary, meaning.name),
            expected_version=raw.get(EXPECTED), **asdict(self.defaults),
        )  # fmt: skip

    def _meaning(self, index: int, path: str, type_name: str) -> relationship.Meaning | None:
        try:
            suggests = self._unknown_types < relationship.SUGGESTIONS_LIMIT
            nearest = self.nearest_type if suggests else relationship.no_nearest
            return relationship.meaning_of(type_name, self.vocabulary, nearest)
        except relationship.UnknownRelationshipType as exc:
            self._unknown_types += 1
            unknown, meaning = exc, relationship.own_meaning(type_name)
        if meaning is None:
            message = f"{type_name[:80]!r} is no name of a relationship type: {relationship.NAME_RULE}"
            self.refuse("ERR_RELATIONSHIP_TYPE", path, message, index)
        elif meaning.name not in self.new_types:
            known = len(self.new_types) + sum(kind.is_own for kind in self.vocabulary.values())
            if known >= relationship.OWN_LIMIT:
                message = f"{meaning.name} is new, and you have {known} types of your own: use one of those"
                self.refuse("ERR_RELATIONSHIP_TYPE", path, message, index, **unknown.proposal)
            near = f"; did you mean {unknown.nearest}?" if unknown.nearest else ""
            self.new_types[meaning.name] = {
                "code": "NEW_RELATIONSHIP_TYPE", "index": index, "relationship_type": meaning.name,
                "message": f"{meaning.name} is a new relationship type of your own{near}", **unknown.proposal,
            }  # fmt: skip
        return meaning

    def _fields(
        self, index: int, path: str, raw: Mapping[Any, Any], *, needed: bool
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """Return the values by name, and their canonical JSON."""
        before = self._refused
        fields, texts = dict[str, Any](), dict[str, str]()
        for name, value in raw.items():
            if self._field_name(index, path, name):
                fields[name], texts[name] = value, self._encoded(index, f"{path}.{name}", value)
        name = fields.get(identity.CANONICAL_NAME)
        if name is not None and not (isinstance(name, str) and identity.fold_text(name)):
            message = "a canonical name is a string that is not blank, or null to retract it"
            self.refuse("ERR_CANONICAL_NAME", f"{path}.{identity.CANONICAL_NAME}", message, index)
        if needed and not fields and self._refused == before:
            message = "the item is empty: give at least one field or a canonical_name"
            self.refuse("ERR_EMPTY_ITEM", path, message, index)
        return fields, texts

    def _field_name(self, index: int, path: str, name: object) -> bool:
        if isinstance(name, str) and 0 < len(name) <= identity.NAME_LIMIT:
            try:
                return name.isascii() or bool(canonical.encode(name))
            except canonical.NotCanonical as exc:
                self.refuse("ERR_FIELD_NAME", path, f"a field name: {exc.reason}", index)
                return False
        printable = str(name)[: identity.NAME_LIMIT].encode(errors="replace").decode()
        message = f"a field name has 1 to {identity.NAME_LIMIT} characters"
        self.refuse("ERR_FIELD_NAME", f"{path}.{printable}", message, index)
        return False

    def _encoded(self, index: int, path: str, value: Any) -> str:
        try:
            return canonical.encode(value, path, canonical.VALUE_DEPTH)
        except canonical.NotCanonical as exc:
            self.refuse("ERR_VALUE", exc.path, exc.reason, index)
            return "null"

    def _entity_type(self, index: int, path: str, raw: Mapping[str, Any]) -> str | None:
        entity_type = raw.get("entity_type")
        if entity_type is None and raw.get("target_id") is not None:
            return None
        if not isinstance(entity_type, str):
            message = "every item needs an entity_type, such as person, event or task"
            self.refuse("ERR_ENTITY_TYPE", f"{path}.entity_type", message, index)
            return None
        try:
            return identity.normalise_type(entity_type)
        except ValueError as exc:
            self.refuse("ERR_ENTITY_TYPE", f"{path}.entity_type", str(exc), index)
            return None

    def _target(self, index: int, path: str, raw: Mapping[str, Any]) -> str | None:
        target, intent = raw.get("target_id"), raw.get("intent")
        if intent not in (None, "create_new"):
            self.refuse("ERR_INTENT", f"{path}.intent", "the only intent is create_new", index)
        elif intent and target is not None:
            self.refuse("ERR_INTENT", path, "create_new and target_id exclude each other", index)
        if target is None:
            return None
        if not isinstance(target, str) or not ids.ENTITY_ID.fullmatch(target):
            message = "an entity id is ent_ and 24 hexadecimal digits"
            # Operations on one entity take the id as the argument entity_id.
            name = "entity_id" if path == "$" else "target_id"
            self.refuse("ERR_ENTITY_ID_FORMAT", f"{path}.{name}", message, index)
            return None
        return target

    def _observed_at(self, index: int, path: str, text: object) -> int | None:
        default = self.defaults.observed_at
        if text is None:
            return default
        try:
            if not isinstance(text, str):
                raise ValueError("a time is a string")
            micros = times.parse(text)
            if micros > times.now() + times.FUTURE_LIMIT_MICROSECONDS:
                raise ValueError("more than 24 hours in the future")
        except ValueError as exc:
            self.refuse("ERR_OBSERVED_AT", f"{path}.observed_at", str(exc), index)
            return default
        return micros

    def _number(
        self, index: int, path: str, raw: Mapping[str, Any], name: str, default: float, most: float,
        least: float | None = None,
    ) -> float:  # fmt: skip
        value = raw.get(name)
        if value is None:
            return default
        lowest = -most if least is None else least
        fits = isinstance(value, int | float) and not isinstance(value, bool)
        if not fits or not lowest <= value <= most:
            message = f"must be a number from {lowest:g} to {most:g}"
            self.refuse("ERR_NUMBER", f"{path}.{name}", message, index)
            return default
        return float(value) + 0.0

    def _end(self, index: int, path: str, raw: Mapping[str, Any], side: str, count: int) -> End | None:
        position, entity = raw.get(f"{side}_index"), raw.get(f"{side}_entity_id")
        where = f"{path}.{side}_entity_id" if position is None else f"{path}.{side}_index"
        if (position is None) == (entity is None):
            message = f"give either {side}_index or {side}_entity_id"
            self.refuse("ERR_RELATIONSHIP_END", path, message, index)
        elif position is not None:
            if 0 <= position < count:
                return End(index=position)
            message = f"the request has {count} items: there is no item {position}"
            self.refuse("ERR_RELATIONSHIP_INDEX", where, message, index)
        elif isinstance(entity, str) and ids.ENTITY_ID.fullmatch(entity):
            return End(entity_id=entity)
        else:
            message = "an entity id is ent_ and 24 hexadecimal digits"
            self.refuse("ERR_RELATIONSHIP_ENTITY_ID_FORMAT", where, message, index)
        return None

    def _identify(
        self, index: int, raw: Mapping[str, Any], entity_type: str | None, target: str | None,
        fields: Mapping[str, Any],
    ) -> identity.Identity:  # fmt: skip
        if target is not None:
            return identity.Identity(target, "target_id")
        assert entity_type is not None
        if raw.get("intent") == "create_new":
            return identity.identify_new(self.owner, entity_type, self.transaction_id, index)
        return identity.identify(self.owner, entity_type, fields)
