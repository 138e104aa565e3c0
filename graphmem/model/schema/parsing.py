"""Read a schema document as clients write it: every fault is named by its place, nothing is passed over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from pydantic_core import SchemaError

from graphmem.model import canonical, identity, items
from graphmem.model.rules import Converter, Policy
from graphmem.model.schema.document import OPT_OUT, Document, of_json
from graphmem.model.schema.fields import compiled
from graphmem.model.schema.shapes import (
    FIELDS_LIMIT,
    TEXT_LIMIT,
    FieldShape,
    Issue,
    Issues,
    Shape,
    members,
    validated,
)

_SPELLED = {"field_type": "type", "reducer_strategy": "merge"}
_CONVERTS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "number_to_string": ("number", ("string",)),
    "string_to_number": ("string", ("number",)),
    "boolean_to_string": ("boolean", ("string",)),
    "string_to_boolean": ("string", ("boolean",)),
    "string_to_array": ("string", ("array",)),
    "timestamp_s_to_iso": ("number", ("date", "string")),
    "timestamp_ms_to_iso": ("number", ("date", "string")),
    "timestamp_nanos_to_iso": ("number", ("date", "string")),
}
_IDENTIFYING = ("string", "number", "date")


def parse(
    entity_type: str,
    raw: object,
    reducer_config: object = None,
    *,
    path: str = "$.schema",
    reducer_path: str = "$.reducer_config",
) -> Document:
    """Return the document that a client wrote, in its normal form.

    Args:
        entity_type: in its canonical spelling.
        raw: the document; its own ``entity_type``, where it has one, must be the same.
        reducer_config: merge policies and the order of writers, where they stand apart.
        path, reducer_path: where the two stand in the request, for issues.

    Raises:
        SchemaInvalid: it is not valid; every fault is named by path.
    """
    issues = Issues()
    given = members(raw, path, issues)
    issues.settle()
    policies, order = _reducer(reducer_config, reducer_path, issues)
    fields = fields_of(given.pop("fields", {}), f"{path}.fields", issues)
    for name, policy in policies.items():
        if name not in fields:
            issues.add(f"{reducer_path}.merge_policies.{name}", "there is no such field", "ERR_NO_SUCH_FIELD")
        elif fields[name].setdefault("merge", policy) != policy:
            message = f"another policy than the field's own, {fields[name]['merge']}"
            issues.add(f"{reducer_path}.merge_policies.{name}", message, "ERR_GIVEN_TWICE")
    settings = settings_of(entity_type, given, path, issues)
    if order is not None and settings.setdefault("observation_source_priority", order) != order:
        message = "another order than that of the document"
        issues.add(f"{reducer_path}.observation_source_priority", message, "ERR_GIVEN_TWICE")
    issues.settle()
    settings.setdefault("additional_fields", "hide")
    settings.setdefault("mismatch", "hide")
    document = of_json({**settings, "entity_type": entity_type, "fields": fields})
    check(document, path, issues)
    issues.settle()
    return document


def settings_of(entity_type: str, given: Mapping[str, Any], path: str, issues: Issues) -> dict[str, Any]:
    """Return everything of a document but its fields, as it is written there, in its normal form."""
    found = validated(Shape, given, path, issues)
    named = found.pop("entity_type", None)
    if named is not None and canonical_type(named, f"{path}.entity_type", issues) not in (None, entity_type):
        issues.add(f"{path}.entity_type", f"another type than {entity_type}", "ERR_GIVEN_TWICE")
    alternatives = found.pop("canonical_name_fields", None)
    if alternatives is not None:
        found["canonical_name_fields"] = [
            {"composite": names}
            for names in _alternatives(alternatives, f"{path}.canonical_name_fields", issues)
        ]
    if "aliases" in found:
        spelled = [
            canonical_type(name, f"{path}.aliases[{i}]", issues) for i, name in enumerate(found["aliases"])
        ]
        found["aliases"] = sorted({name for name in spelled if name} - {entity_type})
    for name in ("hidden_fields", "observation_source_priority"):
        if len(set(found.get(name, ()))) != len(found.get(name, ())):
            issues.add(f"{path}.{name}", "a name stands there twice", "ERR_GIVEN_TWICE")
    if "hidden_fields" in found:
        found["hidden_fields"] = sorted(found["hidden_fields"], key=canonical.name_order)
    return found


def canonical_type(name: str, path: str, issues: Issues) -> str | None:
    """Return the canonical spelling of a type, ``None`` (and an issue) where it is none."""
    try:
        return identity.normalise_type(name)
    except ValueError as exc:
        issues.add(path, str(exc), "ERR_ENTITY_TYPE")
        return None


def fields_of(raw: object, path: str, issues: Issues) -> dict[str, dict[str, Any]]:
    """Return fields in their normal form, by name; each holds what was given of it, and no more.

    Args:
        raw: ``{name: type}``, ``{name: {type, …}}``, or a list of ``{field_name, field_type, …}``.
    """
    if not isinstance(raw, Mapping | list):
        issues.add(path, "an object of fields by name, or a list of {field_name, field_type}")
        return {}
    if len(raw) > FIELDS_LIMIT:
        issues.add(path, f"more than {FIELDS_LIMIT} fields", "ERR_TOO_LARGE")
        return {}
    found: dict[str, dict[str, Any]] = {}
    if isinstance(raw, Mapping):
        placed = [(name, spec, f"{path}.{str(name)[: identity.NAME_LIMIT]}") for name, spec in raw.items()]
    else:
        placed = [_listed(spec, f"{path}[{i}]", issues) for i, spec in enumerate(raw)]
    for name, spec, where in placed:
        if not field_name(name, where, issues):
            continue
        if name in found:
            issues.add(where, f"{name} is given twice", "ERR_GIVEN_TWICE")
        found[name] = _field({"type": spec} if isinstance(spec, str) else spec, where, issues)
    return found


def field_name(name: object, path: str, issues: Issues) -> bool:
    """Return whether a field may have a name; an issue says why not."""
    if (
        not isinstance(name, str)
        or not 0 < len(name) <= identity.NAME_LIMIT
        or name.encode(errors="replace").decode() != name
    ):
        issues.add(path, f"a field name has 1 to {identity.NAME_LIMIT} characters", "ERR_FIELD_NAME")
    elif name == identity.CANONICAL_NAME:
        issues.add(path, "canonical_name is what an entity is called, and no field", "ERR_FIELD_NAME")
    elif name in items.RESERVED:
        issues.add(path, f"{name} is a key of every item, and no field", "ERR_FIELD_NAME")
    else:
        return True
    return False


def _listed(spec: object, path: str, issues: Issues) -> tuple[Any, Any, str]:
    if not isinstance(spec, Mapping):
        issues.add(path, "an object with field_name and field_type")
        return "-", "string", path
    return spec.get("field_name"), {n: v for n, v in spec.items() if n != "field_name"}, path


def _field(spec: object, path: str, issues: Issues) -> dict[str, Any]:
    before = len(issues)
    given = members(spec, path, issues)
    if len(issues) > before:
        return {"type": "string"}
    for spelling, name in _SPELLED.items():
        if spelling in given:
            value = given.pop(spelling)
            if given.setdefault(name, value) != value:
                issues.add(f"{path}.{spelling}", f"another one than {name}", "ERR_GIVEN_TWICE")
    if isinstance(given.get("constraints"), Mapping):
        given["constraints"] = {n: v for n, v in given["constraints"].items() if v is not None}
    found = validated(FieldShape, given, path, issues)
    found.setdefault("type", "string")
    if "converters" in found:
        found["converters"] = _converters(found["converters"], f"{path}.converters", issues)
    if not found.get("constraints", True):
        del found["constraints"]
    pattern = found.get("constraints", {}).get("pattern")
    if pattern is not None:
        try:
            compiled(pattern)
        except SchemaError as exc:
            reason = str(exc).rpartition("error: ")[2].strip()[:200]
            message = f"not a regular expression of linear time: {reason}"
            issues.add(f"{path}.constraints.pattern", message, "ERR_PATTERN")
    return found


def _converters(raw: list[Any], path: str, issues: Issues) -> list[str]:
    found: list[str] = []
    for index, one in enumerate(raw):
        where = f"{path}[{index}]"
        given = {"function": one} if isinstance(one, str) else one
        if not isinstance(given, Mapping) or str(given.get("function")) not in get_args(Converter):
            known = ", ".join(get_args(Converter))
            issues.add(where, f"a converter is one of {known}", "ERR_CONVERTER")
            continue
        function = str(given["function"])
        takes, gives = _CONVERTS[function]
        for name, fine in (("from", (takes,)), ("to", gives), ("deterministic", (True,))):
            if given.get(name) is not None and given[name] not in fine:
                message = f"{function} has {fine[0] if name != 'deterministic' else 'true'} there"
                issues.add(f"{where}.{name}", message, "ERR_CONVERTER")
        for name in sorted(set(given) - {"function", "from", "to", "deterministic"}, key=str):
            issues.add(f"{where}.{str(name)[:200]}", "no such key", "ERR_UNKNOWN_KEY")
        found.append(function)
    return list(dict.fromkeys(found))


def _alternatives(raw: list[Any], path: str, issues: Issues) -> list[list[str]]:
    """Return alternatives in order: a flat list of names is one, of all of them."""
    if raw and all(isinstance(one, str) for one in raw):
        raw = [{"composite": raw}]
    found: list[list[str]] = []
    for index, one in enumerate(raw[:20]):
        where = f"{path}[{index}]"
        names: Any = one.get("composite") if isinstance(one, Mapping) and len(one) == 1 else one
        names = [names] if isinstance(names, str) else names
        fine = isinstance(names, list) and 0 < len(names) <= 10 and len(set(map(str, names))) == len(names)
        if not fine or not all(isinstance(name, str) and name for name in names):
            issues.add(where, "a field name, or {composite: [1 to 10 different field names]}", "ERR_IDENTITY")
        elif names in found:
            issues.add(where, "stands there twice", "ERR_GIVEN_TWICE")
        else:
            found.append(names)
    if len(raw) > 20:
        issues.add(path, "more than 20 alternatives", "ERR_TOO_LARGE")
    return found


def _reducer(raw: object, path: str, issues: Issues) -> tuple[dict[str, str], list[str] | None]:
    """Return the merge policy of each field and the order of writers, as ``reducer_config`` has them."""
    given = members({} if raw is None else raw, path, issues)
    order = given.pop("observation_source_priority", None)
    if order is not None:
        found = validated(Shape, {"observation_source_priority": order}, path, issues)
        order = found.get("observation_source_priority")
    policies: dict[str, str] = {}
    all_ = members(given.pop("merge_policies", {}), f"{path}.merge_policies", issues)
    for name, one in all_.items():
        where = f"{path}.merge_policies.{str(name)[: identity.NAME_LIMIT]}"
        strategy = one.get("strategy") if isinstance(one, Mapping) else one
        if not isinstance(strategy, str) or strategy not in get_args(Policy):
            issues.add(where, f"a strategy is one of {', '.join(get_args(Policy))}", "ERR_MERGE_POLICY")
            continue
        policies[name] = strategy
        if isinstance(one, Mapping):
            _tie_breaker(one, where, issues)
    for name in given:
        issues.add(f"{path}.{name[:200]}", "no such key", "ERR_UNKNOWN_KEY")
    return policies, order


def _tie_breaker(policy: Mapping[str, Any], path: str, issues: Issues) -> None:
    for name in sorted(set(policy) - {"strategy", "tie_breaker"}):
        issues.add(f"{path}.{name[:200]}", "no such key", "ERR_UNKNOWN_KEY")
    if policy.get("tie_breaker") not in (None, "observed_at"):
        message = (
            "only observed_at breaks ties: what was observed later wins, and among equal times the greater "
            "observation id, so that the order of arrival never matters"
        )
        issues.add(f"{path}.tie_breaker", message, "ERR_MERGE_POLICY")


def check(document: Document, path: str, issues: Issues) -> None:
    """Note what of a document does not go together."""
    fields = document.fields
    for name, one in fields.items():
        where = f"{path}.fields.{name}"
        if one.is_union and one.type != "array":
            issues.add(
                f"{where}.merge", "merge_array makes a list: declare the field as array", "ERR_MERGE_POLICY"
            )
        asked = one.constraints
        if asked and (asked.min is not None or asked.max is not None) and one.type != "number":
            issues.add(f"{where}.constraints", "min and max are bounds of a number", "ERR_CONSTRAINTS")
        if asked and asked.pattern is not None and one.type not in ("string", "date"):
            issues.add(f"{where}.constraints.pattern", "a pattern is of a string", "ERR_CONSTRAINTS")
        if asked and asked.min is not None and asked.max is not None and asked.min > asked.max:
            issues.add(f"{where}.constraints.min", "greater than max", "ERR_CONSTRAINTS")
    for name in document.hidden_fields:
        if name in fields:
            issues.add(f"{path}.hidden_fields", f"{name} is declared, so it is not hidden", "ERR_GIVEN_TWICE")
    for names in document.canonical_name_fields:
        if names in ((identity.CONTENT,), (identity.NEW,)):
            # These words say in an answer that the whole content, or nothing, identified an item.
            where, message = (
                f"{path}.canonical_name_fields",
                f"{names[0]} alone cannot identify: add another field",
            )
            issues.add(where, message, "ERR_IDENTITY")
        _check_alternative(document, names, f"{path}.canonical_name_fields", issues)
    if document.opted_out and document.canonical_name_fields:
        message = f"canonical_name_fields and identity_opt_out {OPT_OUT} exclude each other"
        issues.add(f"{path}.identity_opt_out", message, "ERR_IDENTITY")
    for index, temporal in enumerate(document.temporal_fields):
        if temporal.field not in fields:
            where = f"{path}.temporal_fields[{index}].field"
            issues.add(where, "there is no such field", "ERR_NO_SUCH_FIELD")
    for what, count in (("fields", len(fields)), ("hidden_fields", len(document.hidden_fields))):
        if count > FIELDS_LIMIT:
            issues.add(f"{path}.{what}", f"more than {FIELDS_LIMIT}", "ERR_TOO_LARGE")
    if len(document.text) > TEXT_LIMIT:
        issues.add(path, f"more than {TEXT_LIMIT:,} characters", "ERR_TOO_LARGE")


def _check_alternative(document: Document, names: tuple[str, ...], path: str, issues: Issues) -> None:
    for name in names:
        if name == identity.CANONICAL_NAME:
            continue
        declared = document.fields.get(name)
        if declared is None:
            issues.add(path, f"{name[:64]} is no field of the schema: declare it", "ERR_NO_SUCH_FIELD")
        elif declared.type not in _IDENTIFYING:
            message = f"{name} is of type {declared.type}: strings, numbers and dates identify"
            issues.add(path, message, "ERR_IDENTITY")


def warnings_of(document: Document) -> list[Issue]:
    """Return what of a document is kept without effect, and what its parts take from each other."""
    found = Issues()
    for name in document.kept:
        found.add(f"$.{name}", "is kept and has no effect here yet", "NO_EFFECT")
    for name, one in document.fields.items():
        for key in canonical.decode(one.kept) if one.kept else ():
            found.add(f"$.fields.{name}.{key}", "is kept and has no effect here yet", "NO_EFFECT")
        if one.converters and (document.mismatch_of(name) == "show" or one.is_union):
            message = "no value of this field is converted: give it mismatch hide, or leave them out"
            found.add(f"$.fields.{name}.converters", message, "NO_EFFECT")
    return list(found)
