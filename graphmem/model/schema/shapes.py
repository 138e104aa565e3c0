"""The parts of a schema document as clients write them, and the issues that name their faults."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import PydanticCustomError
from typing_extensions import TypedDict

from graphmem.model import canonical, identity
from graphmem.model.ranks import ObservationSource
from graphmem.model.rules import FieldType, Policy
from graphmem.model.schema.fields import PATTERN_LIMIT, Visibility

FIELDS_LIMIT: Final = 500  # most fields of one document, and most names in its ``hidden_fields``
TEXT_LIMIT: Final = 250_000  # longest document as canonical JSON, in characters
LISTED_LIMIT: Final = 500  # most values in ``enum`` or ``banned``
VALUE_LIMIT: Final = 1_000  # longest value in ``enum`` or ``banned``, in characters
ISSUES_LIMIT: Final = 100
_INSTEAD: Final = {
    "preserveCase": "leave it out, values keep their case",
    "validator": "use constraints",
    "sensitivity_class": "leave it out, nothing depends on it",
    "query_synonyms": "use aliases for other names of the type",
    "identity_search_fields": "leave it out, look-ups search every field",
    "store_warnings": "use required and constraints",
    "content_field": "use required",
    "agent_instructions": "use description",
    "primary_fields": "leave it out, answers show every declared field",
    "name_collision_policy": "use canonical_name_fields and canonical_name_strict",
}
"""Keys of other services, each with what to use. Documents that are stored may have them, without effect."""


class Issue(TypedDict):
    """One fault: its path in the request, a code for programs, a message for people."""

    path: str
    message: str
    code: str


class SchemaInvalid(ValueError):
    """A schema is not valid, or a change has no effect; ``issues`` names each fault by path."""

    def __init__(self, issues: list[Issue]) -> None:
        more = f" (and {len(issues) - 1} more)" if len(issues) > 1 else ""
        super().__init__(f"{issues[0]['path']}: {issues[0]['message']}{more}")
        self.issues = issues


class Issues(list[Issue]):
    """Collects the faults of one request."""

    def add(self, path: str, message: str, code: str = "ERR_FORMAT") -> None:
        """Add a fault; :data:`ISSUES_LIMIT` at most. Lone surrogates are replaced."""
        if len(self) < ISSUES_LIMIT:
            path, message = (text.encode(errors="replace").decode() for text in (path, message))
            self.append({"path": path, "message": message, "code": code})

    def settle(self) -> None:
        """Raise ``SchemaInvalid`` if there are any."""
        if self:
            raise SchemaInvalid(list(self))


def _number(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise PydanticCustomError("ERR_FORMAT", "a number")
    return value


def _scalar(value: Any) -> Any:
    if not isinstance(value, str | int | float) or (isinstance(value, str) and len(value) > VALUE_LIMIT):
        raise PydanticCustomError("ERR_FORMAT", "a string of 1,000 characters at most, a number or a boolean")
    return value


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, hide_input_in_errors=True)


_Listed = Annotated[
    list[Annotated[Any, BeforeValidator(_scalar)]], Field(min_length=1, max_length=LISTED_LIMIT)
]
_Name = Annotated[str, Field(min_length=1, max_length=identity.NAME_LIMIT)]


class _Constraints(_Strict):
    min: Annotated[Any, BeforeValidator(_number)] = None
    max: Annotated[Any, BeforeValidator(_number)] = None
    enum: _Listed | None = None
    pattern: Annotated[str, Field(min_length=1, max_length=PATTERN_LIMIT)] | None = None
    banned: _Listed | None = None


class FieldShape(_Strict):
    type: FieldType
    required: bool = False
    filterable: bool = False
    description: Annotated[str, Field(max_length=2_000)] | None = None
    merge: Policy = "last_write"
    converters: Annotated[list[Any], Field(max_length=10)] | None = None
    constraints: _Constraints | None = None
    mismatch: Visibility | None = None


class _Temporal(_Strict):
    field: _Name
    event_type: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,63}$")] | None = None


class _Reference(_Strict):
    field: _Name
    target_entity_type: Annotated[str, Field(max_length=200)]
    relationship_type: Annotated[str, Field(max_length=200)]


class Shape(_Strict):
    entity_type: str | None = None
    additional_fields: Visibility = "hide"
    mismatch: Visibility = "hide"
    hidden_fields: Annotated[list[_Name], Field(max_length=FIELDS_LIMIT)] = Field(default_factory=list)
    canonical_name_fields: list[Any] | None = None
    identity_opt_out: Literal["heuristic_canonical_name"] | None = None
    canonical_name_strict: bool = False
    constraint_violation_policy: Literal["warn", "reject"] = "warn"
    temporal_fields: Annotated[list[_Temporal], Field(max_length=50)] = Field(default_factory=list)
    reference_fields: Annotated[list[_Reference], Field(max_length=50)] = Field(default_factory=list)
    aliases: Annotated[list[str], Field(max_length=50)] = Field(default_factory=list)
    observation_source_priority: Annotated[list[ObservationSource], Field(max_length=6)] = Field(
        default_factory=list
    )
    description: Annotated[str, Field(max_length=10_000)] | None = None
    duplicate_detection_fields: Annotated[list[_Name], Field(max_length=20)] | None = None
    duplicate_detection_threshold: Annotated[float, Field(ge=0.5, le=1)] | None = None


def members(raw: object, path: str, issues: Issues) -> dict[str, Any]:
    """Return the members of an object that are not null; an issue says where it is none."""
    if not isinstance(raw, Mapping):
        issues.add(path, "an object")
        return {}
    try:
        size = len(canonical.encode(raw, path, canonical.VALUE_DEPTH))
    except canonical.NotCanonical as exc:
        issues.add(exc.path, exc.reason)
        return {}
    if size > TEXT_LIMIT:
        issues.add(path, f"more than {TEXT_LIMIT:,} characters", "ERR_TOO_LARGE")
        return {}
    return {name: value for name, value in raw.items() if value is not None}


def validated(model: type[BaseModel], raw: Mapping[str, Any], path: str, issues: Issues) -> dict[str, Any]:
    """Return the keys that are set, as the model reads them; issues say where they are not valid."""
    try:
        return model.model_validate(raw).model_dump(exclude_unset=True, exclude_none=True)
    except ValidationError as exc:
        faults = exc.errors(include_url=False, include_context=False, include_input=False)
    for fault in faults[:ISSUES_LIMIT]:
        where = path + "".join(f"[{p}]" if isinstance(p, int) else f".{str(p)[:200]}" for p in fault["loc"])
        code, message = fault["type"], fault["msg"]
        if code == "extra_forbidden":
            instead = _INSTEAD.get(str(fault["loc"][-1]))
            listed = ", ".join(sorted(model.model_fields))
            code, message = "ERR_UNKNOWN_KEY", f"no such key: {instead or f'the keys are {listed}'}"
        issues.add(where, message, code if code.startswith("ERR_") else "ERR_FORMAT")
    return {}
