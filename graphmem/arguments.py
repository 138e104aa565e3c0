"""Arguments of operations: their models, their spellings, and the errors of arguments that do not fit.

Descriptions show the interface's spelling of an argument; :class:`Spelled` lists the others that are taken.
A query operation takes its filters inside ``filters`` or beside it.
"""

import contextlib
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from types import NoneType
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic.fields import FieldInfo

from graphmem import tables
from graphmem.errors import InvalidInput, UnknownField, validation_message
from graphmem.model import canonical, identity, times
from graphmem.text import spelling

BODY_METHODS = frozenset({"POST", "PUT", "PATCH"})
"""HTTP methods whose arguments are in a JSON body; those of every other method are in the query string.

The server, the client and the API description all ask this set.
"""

TYPE_PATTERN = r"^ *[A-Za-z][A-Za-z0-9_ -]{0,63} *$"
"""Entity types as callers may spell them: :func:`graphmem.model.identity.normalise_type` reads them."""
PAGE_LIMIT = 500
PAGE_DEFAULT = 100
OFFSET_LIMIT = 100_000
ISSUES_LIMIT = 100
PROPOSALS_LIMIT = 5  # known names that an answer proposes for an unknown one


class Spelled:
    """Further spellings of an argument, in use by existing clients.

    ``option`` is the one that the command line takes as an option; without the option, the argument is
    positional. So an argument is positional that names what a command works on, though it is not required.
    ``shown`` is the one that REST and the command line describe, while MCP tools describe the field's name.
    """

    def __init__(self, *names: str, option: str = "", shown: str = "") -> None:
        self.names = (*names, shown) if shown else names
        self.option = option
        self.shown = shown


class ReadAs:
    """How the command line reads an argument; the other faces take its value as it is.

    ``kind`` is ``entity`` for the id of an entity, which a person may name in place of the id, and ``words``
    for a text that needs no quotes. ``since`` and ``until`` are times that may be given in words: of a day, a
    week, a month or a year they mean the first or the last moment.
    """

    def __init__(self, kind: Literal["entity", "words", "since", "until"]) -> None:
        self.kind = kind


class Arguments(BaseModel):
    """The arguments of an operation. Unknown names are refused, so that none is ignored silently.

    ``arguments.toml`` describes the fields of each class.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, defer_build=True)

    filters_in: ClassVar[str] = "filters"
    described_last: ClassVar[tuple[str, ...]] = ()
    """The arguments of a base class that are described last: pydantic puts its fields first."""
    instead: ClassVar[Mapping[str, str]] = {}
    """What to do instead, by the name of an argument that other services take."""

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        fields = cls.__pydantic_fields__
        for name, text in tables.read("arguments").get(cls.__name__, {}).items():
            fields[name].description = text
        for name in [name for base in cls.__mro__ for name in vars(base).get("described_last", ())]:
            fields[name] = fields.pop(name)
        cls.model_rebuild()

    @model_validator(mode="before")
    @classmethod
    def _refuse_many_members(cls, raw: Any) -> Any:
        if isinstance(raw, Mapping) and len(raw) > ISSUES_LIMIT:
            raise ValueError(f"{len(raw)} members; no such object has more than {ISSUES_LIMIT}")
        return raw

    def sent(self) -> dict[str, Any]:
        """Return the arguments of the call in their canonical spelling, without those that are null."""
        values = {name: getattr(self, name) for name in self.model_fields_set}
        return {name: value for name, value in values.items() if value is not None}


class Nothing(Arguments):
    """No arguments."""


def _no_bool(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("a whole number, not a boolean")
    return value


def _moment(value: Any) -> int:
    if not isinstance(value, str):
        raise ValueError("a time is a string such as 2026-01-31T09:00:00Z")
    return times.parse(value)


def _of_day(after: int) -> BeforeValidator:
    """Read a time; a date is so many microseconds after its first moment."""
    return BeforeValidator(lambda value: _moment(value) if (day := _day(value)) is None else day + after)


def _day(value: Any) -> int | None:
    """Return the first moment of a date in UTC, or of today or yesterday in the time zone of the request."""
    text = value.strip().lower() if isinstance(value, str) else ""
    if text not in ("today", "yesterday"):
        return times.parse(text) if len(text) == len("2026-01-31") else None
    return times.from_clocks(times.midnight(times.now()) - times.DAY * (text == "yesterday"))


def _offset(value: int) -> int:
    if value > OFFSET_LIMIT:
        raise ValueError(
            f"at most {OFFSET_LIMIT:,}: to go further, give `next_cursor` of the page before as `cursor`"
        )
    return value


def _not_blank(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError("a lone surrogate is not text") from None
    if not value.strip().strip("\x00").strip():
        raise ValueError("blank: nothing can be looked up by it")
    return value


def opened(value: Any, kind: type = dict) -> Any:
    """Return the object or the list that a JSON text is, else the value: some hosts send them as texts."""
    if isinstance(value, str):
        with contextlib.suppress(ValueError):
            read_value = canonical.decode(value)
            return read_value if isinstance(read_value, kind) else value
    return value


NoBool = BeforeValidator(_no_bool)
"""Refuses ``true``, which pydantic reads as 1. Stands after the bounds: the JSON Schema then has them."""
OBJECT_OR_TEXT: dict[str, Any] = {
    "anyOf": [{"type": "object", "additionalProperties": True}, {"type": "string"}]
}
"""The schema of an object with members of any name, or its JSON text.

Hosts with strict schemas close each object, and send such an object as a text.
"""
FreeObject = Annotated[
    dict[str, Any] | None,
    BeforeValidator(opened),
    WithJsonSchema({"anyOf": [*OBJECT_OR_TEXT["anyOf"], {"type": "null"}]}),
]
Limit = Annotated[int, Field(ge=1, le=PAGE_LIMIT, description="Page size."), NoBool]
Offset = Annotated[
    int,
    Field(ge=0, description="Items to skip.", json_schema_extra={"maximum": OFFSET_LIMIT}),
    AfterValidator(_offset),
    NoBool,
]
Total = Annotated[bool, Field(description="Whether to count all.")]
_MOMENT_SCHEMA = WithJsonSchema({"type": "string", "format": "date-time"})
Moment = Annotated[int, BeforeValidator(_moment), _MOMENT_SCHEMA, ReadAs("since")]
"""A time: ISO 8601 for callers, microseconds since 1970 in the code. A date is its first moment in UTC."""
MomentFrom = Annotated[int, _of_day(0), _MOMENT_SCHEMA, ReadAs("since")]
"""The first moment of a range. Its date may be ``today`` or ``yesterday``."""
MomentUntil = Annotated[int, _of_day(times.DAY - 1), _MOMENT_SCHEMA, ReadAs("until")]
"""The last moment of a range. A date is the last moment of its day: a range until January 31 has that day."""
MomentBefore = Annotated[int, _of_day(times.DAY), _MOMENT_SCHEMA, ReadAs("until")]
"""The first moment after a range. A date is the first moment after its day."""
EntityId = Annotated[
    str, Field(min_length=1, max_length=200, description="Id of the entity."), ReadAs("entity")
]
NotBlank = AfterValidator(_not_blank)
Text = Annotated[str, Field(min_length=1, max_length=10_000), NotBlank]
"""A text that something is looked up by: never blank."""
EntityType = Annotated[
    str,
    AfterValidator(identity.normalise_type),
    Field(
        max_length=200,
        description="Such as person, event or task.",
        json_schema_extra={"pattern": TYPE_PATTERN},
    ),
]
At = Annotated[
    Moment | None, Field(description="The state at this time, by `observed_at` and `since`."), ReadAs("until")
]
AtIngested = Annotated[
    Moment | None, Field(description="The state as recorded by this time."), ReadAs("until")
]
IncludeDeleted = Annotated[bool, Field(description="Also what is deleted.")]
Current = Annotated[bool, Field(description="Leave out relationships that ended.")]
IncludeExcluded = Annotated[bool, Field(description="Whether to include observations that do not count.")]


class DryRun(Arguments):
    """The arguments of an operation that can say what it would do."""

    dry_run: bool = False

    @property
    def is_preview(self) -> bool:
        return self.dry_run


class Previewed(DryRun):
    """The same choice in two spellings."""

    commit: bool = True

    @model_validator(mode="after")
    def _refuse_contradiction(self) -> Self:
        if {"dry_run", "commit"} <= self.model_fields_set and self.dry_run == self.commit:
            raise ValueError("dry_run and commit contradict each other: give one of them")
        return self

    @property
    def is_preview(self) -> bool:
        return self.dry_run or not self.commit


class TypeFilters(Arguments):
    """Filters by entity type."""

    entity_type: Annotated[EntityType | None, Spelled("type")] = None
    entity_types: list[EntityType] = Field(default=[], max_length=100)

    @property
    def types(self) -> list[str]:
        """The types to filter by, sorted. No types means every type."""
        return sorted({*self.entity_types, *([self.entity_type] if self.entity_type else [])})


A = TypeVar("A", bound=Arguments)


def read(model: type[A], operation: str, raw: Mapping[str, Any]) -> A:
    """Return the arguments of one call.

    Raises InvalidInput: some do not fit; ``details.issues`` names the path of each. Raises UnknownField: a
    name is unknown; ``details.allowed_fields`` lists the known ones of its place.
    """
    issues: list[dict[str, Any]] = []
    _refuse_many_names(model, operation, raw)
    folded = _fold(model, raw, "$", issues)
    never_null = _never_null(model)
    folded = {name: value for name, value in folded.items() if value is not None or name not in never_null}
    try:
        arguments = model.model_validate(folded)
    except ValidationError as exc:
        errors = exc.errors(include_url=False, include_context=False, include_input=False)[:ISSUES_LIMIT]
        unknown = [e["loc"] for e in errors if e["type"] == "extra_forbidden"]
        proposals = {loc: _instead(model, loc) for loc in unknown}
        issues += [
            {
                "path": path(e["loc"]),
                "message": proposals.get(e["loc"]) or validation_message(e["msg"]),
                "type": e["type"],
            }
            for e in errors
        ]
        if unknown:
            proposed = [f"{path(loc)}: {proposal}" for loc, proposal in proposals.items() if proposal]
            raise UnknownField(
                proposed[0] if proposed else "",
                operation=operation,
                unknown_fields=[str(loc[-1])[:200] for loc in unknown],
                json_paths=[path(loc) for loc in unknown],
                allowed_fields=sorted({name for loc in unknown for name in _allowed(model, loc)}),
                issues=issues,
            ) from None
        raise invalid(issues, operation=operation) from None
    if issues:
        raise invalid(issues, operation=operation)
    return arguments


def _allowed(model: type[Arguments], loc: Sequence[int | str]) -> Collection[str]:
    """Return the names that are known where an unknown name stands; ``loc`` is the place of that name."""
    place: type[BaseModel] = model
    for part in loc[:-1]:
        info = place.model_fields.get(str(part))
        place = (_model_in(info.annotation) if info else None) or place
    return spellings(model) if place in (model, nested_filters(model)) else place.model_fields


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """Return the model of an annotation such as ``list[Model]``, ``None`` if it has none."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((model for model in map(_model_in, get_args(annotation)) if model is not None), None)


def _instead(model: type[Arguments], loc: Sequence[int | str]) -> str | None:
    """Return a message with what to send in place of an unknown name, ``None`` if nothing is like it.

    ``source`` may stand for ``source_index`` or ``source_entity_id``.
    """
    name, allowed = str(loc[-1]), _allowed(model, loc)
    if name == "user_id":
        return "there is no user_id of another: leave it out, the credential says whose data it is"
    if len(loc) == 1 and name in model.instead:
        return f"there is no {name}: {model.instead[name]}"
    longer = [known for known in sorted(allowed) if name and known.startswith(f"{name}_")]
    if longer:
        return f"there is no {name}: give {' or '.join(longer[:PROPOSALS_LIMIT])}"
    near = spelling.nearest(name, allowed)
    return f"there is no {name[:200]}: did you mean {near}?" if near else None


_TYPES = ("entity_type", "entity_types")


def named_types(arguments: Arguments) -> set[str]:
    """Return the entity types that arguments name, in ``filters`` or beside it."""
    if not _may_name_types(type(arguments)):
        return set()
    types: set[str] = set()
    for name in _TYPES:
        value = getattr(arguments, name, None)
        types.update([value] if isinstance(value, str) else value or ())
    inner = getattr(arguments, arguments.filters_in, None)
    return types | (named_types(inner) if isinstance(inner, Arguments) else set())


@cache
def _may_name_types(model: type[Arguments]) -> bool:
    inner = nested_filters(model)
    return not model.model_fields.keys().isdisjoint(_TYPES) or (inner is not None and _may_name_types(inner))


@cache
def _never_null(model: type[Arguments]) -> frozenset[str]:
    """Return the arguments that may be absent and cannot be null: some hosts send null for what is unset."""
    return frozenset(
        name
        for name, info in model.model_fields.items()
        if not info.is_required() and info.annotation is not Any and NoneType not in get_args(info.annotation)
    )


def with_types(arguments: A, aliases: Mapping[str, str]) -> A:
    """Return arguments with each alias of an entity type replaced by the name of the type."""
    named: dict[str, Any] = {}
    for name in _TYPES:
        value = getattr(arguments, name, None)
        if isinstance(value, str):
            named[name] = aliases.get(value, value)
        elif value:
            named[name] = [aliases.get(entity_type, entity_type) for entity_type in value]
    inner = getattr(arguments, arguments.filters_in, None)
    if isinstance(inner, Arguments):
        named[arguments.filters_in] = with_types(inner, aliases)
    changed = {name: value for name, value in named.items() if value != getattr(arguments, name)}
    return arguments.model_copy(update=changed) if changed else arguments


def invalid(issues: list[dict[str, Any]], **details: Any) -> InvalidInput:
    """Return the error of arguments that do not fit; each issue has a ``path`` and a ``message``."""
    more = f" (and {len(issues) - 1} more)" if len(issues) > 1 else ""
    return InvalidInput(f"{issues[0]['path']}: {issues[0]['message']}{more}", **details, issues=issues)


def _refuse_many_names(model: type[Arguments], operation: str, raw: Mapping[str, Any]) -> None:
    """Refuse a request with very many names before they are validated one by one."""
    if len(raw) <= ISSUES_LIMIT:
        return
    allowed = spellings(model)
    unknown = [str(name)[:200] for name in raw if name not in allowed][:ISSUES_LIMIT]
    raise UnknownField(
        operation=operation,
        unknown_fields=unknown,
        json_paths=[path((name,)) for name in unknown],
        allowed_fields=sorted(allowed),
        issues=[{"path": "$", "message": f"{len(raw)} arguments are more than any operation takes"}],
    )


@cache
def nested_filters(model: type[Arguments]) -> type[Arguments] | None:
    field = model.model_fields.get(model.filters_in)
    kind = field.annotation if field else None
    return kind if isinstance(kind, type) and issubclass(kind, Arguments) else None


@cache
def spellings(model: type[Arguments]) -> Mapping[str, str]:
    """Return the argument that each accepted name stands for; a filter is named ``filters.x``."""
    arguments = {
        spelling: name for name, info in model.model_fields.items() for spelling in _names(name, info)
    }
    inner = nested_filters(model)
    if inner is not None:
        for name, argument in spellings(inner).items():
            arguments.setdefault(name, f"{model.filters_in}.{argument}")
    return arguments


def from_query(model: type[Arguments], pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return the arguments of a query string. A list is given by repeated names or by commas."""
    raw: dict[str, Any] = {}
    lists = _lists(model)
    for name, text in pairs:
        if name in lists:
            raw.setdefault(name, []).extend(part.strip() for part in text.split(",") if part.strip())
        elif name in raw and raw[name] != text:
            raise InvalidInput.at(f"$.{name}", f"{name} is given twice, with different values")
        else:
            raw[name] = text
    return raw


@cache
def _lists(model: type[Arguments]) -> frozenset[str]:
    inner = nested_filters(model)
    own = frozenset(
        spelling
        for name, info in model.model_fields.items()
        if get_origin(info.annotation) is list
        for spelling in _names(name, info)
    )
    return own | (_lists(inner) if inner else frozenset())


@cache
def holding_json(model: type[Arguments]) -> frozenset[str]:
    """Return the names of the arguments that hold a list or an object, in every spelling."""
    return frozenset(
        spelling
        for name, info in model.model_fields.items()
        if any(
            kind in (Any, list, dict) or _model_in(kind) is not None
            for annotation in (info.annotation, *get_args(info.annotation))
            for kind in (annotation, get_origin(annotation))
        )
        for spelling in _names(name, info)
    )


def path(loc: Sequence[int | str]) -> str:
    """Return a JSON path such as ``$.entities[0].name``."""
    return "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{str(part)[:200]}" for part in loc)


def shown_names(model: type[Arguments]) -> dict[str, str]:
    """Return the names that REST and the command line describe, by the fields whose own names differ."""
    marks = (
        (name, mark)
        for name, info in model.model_fields.items()
        for mark in info.metadata
        if isinstance(mark, Spelled)
    )
    return {name: mark.shown for name, mark in marks if mark.shown}


def _names(name: str, info: FieldInfo) -> tuple[str, ...]:
    more = (spelling for mark in info.metadata if isinstance(mark, Spelled) for spelling in mark.names)
    return (name, *more)


def _fold(
    model: type[Arguments], raw: Mapping[str, Any], where: str, issues: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return the arguments in their canonical spelling; one that is given twice must have one value."""
    inner = nested_filters(model)
    meant = spellings(model)
    folded: dict[str, Any] = {}
    filters: dict[str, Any] = {}
    lists = _lists(model)
    for name, value in raw.items():
        if name in lists:
            value = opened(value, list)
        target = meant.get(name, name)
        place, key = folded, target
        if inner is not None and name == model.filters_in and isinstance(value, Mapping):
            for deeper, more in _fold(inner, value, f"{where}.{name}", issues).items():
                _put(filters, deeper, more, f"{where}.{name}.{deeper}", issues)
            continue
        if name in meant and target.startswith(f"{model.filters_in}."):
            place, key = filters, target.partition(".")[2]
        _put(place, key, value, f"{where}.{name}", issues)
    if filters or model.filters_in in raw:
        folded.setdefault(model.filters_in, filters)
    return folded


def _put(place: dict[str, Any], key: str, value: Any, where: str, issues: list[dict[str, Any]]) -> None:
    if key in place and place[key] != value:
        issues.append({"path": where, "message": f"{key} is given twice, with different values"})
    place[key] = value
