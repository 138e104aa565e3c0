"""Parse a schema document that a client wrote. Every fault becomes an issue with its path."""

from collections.abc import Mapping
from typing import Any, get_args

from pydantic_core import SchemaError

from graphmem.model import canonical, identity, items, relationship
from graphmem.model.rules import CONVERSIONS, Policy
from graphmem.model.schema import schema_document, shapes
from graphmem.model.schema.fields import Constraints, compiled

_SPELLED = {"field_type": "type", "reducer_strategy": "merge"}
_IDENTIFYING = ("string", "number", "date")


def parse(
    entity_type: str, raw: object, reducer_config: object = None, *, path: str = "$.schema",
    reducer_path: str = "$.reducer_config",
) -> schema_document.SchemaDocument:  # fmt: skip
    """Return the document that a client wrote, in its normal form; SchemaInvalid names every fault by path.

    ``reducer_config`` has merge policies and the order of observation sources, if the document has none. The
    paths are those in the request.
    """
    issues = shapes.Issues()
    parts = shapes.members(raw, path, issues)
    issues.settle()
    policies, order = _reducer(reducer_config, reducer_path, issues)
    fields = fields_of(parts.pop("fields", {}), f"{path}.fields", issues)
    for name, policy in policies.items():
        if name not in fields:
            issues.add(
                f"{reducer_path}.merge_policies.{name}", "the schema has no such field", "ERR_NO_SUCH_FIELD"
            )
        elif fields[name].setdefault("merge", policy) != policy:
            message = f"the field itself has another policy, {fields[name]['merge']}"
            issues.add(f"{reducer_path}.merge_policies.{name}", message, "ERR_GIVEN_TWICE")
    settings = settings_of(entity_type, parts, path, issues)
    if order is not None and settings.setdefault("observation_source_priority", order) != order:
        message = "the document has another order"
        issues.add(f"{reducer_path}.observation_source_priority", message, "ERR_GIVEN_TWICE")
    issues.settle()
    settings.setdefault("additional_fields", "hide")
    settings.setdefault("mismatch", "hide")
    document = schema_document.of_json({**settings, "entity_type": entity_type, "fields": fields})
    check(document, path, issues)
    issues.settle()
    return document


def settings_of(entity_type: str, raw: Mapping[str, Any], path: str, issues: shapes.Issues) -> dict[str, Any]:
    """Return the keys of a document except ``fields`` in their normal form, without defaults."""
    settings = shapes.validated(shapes.Shape, raw, path, issues)
    named = settings.pop("entity_type", None)
    if named is not None and canonical_type(named, f"{path}.entity_type", issues) not in (None, entity_type):
        issues.add(f"{path}.entity_type", f"the type is not {entity_type}", "ERR_GIVEN_TWICE")
    alternatives = settings.pop("canonical_name_fields", None)
    if alternatives is not None:
        settings["canonical_name_fields"] = [
            {"composite": names}
            for names in _alternatives(alternatives, f"{path}.canonical_name_fields", issues)
        ]
    if "aliases" in settings:
        spelled = [
            canonical_type(name, f"{path}.aliases[{i}]", issues) for i, name in enumerate(settings["aliases"])
        ]
        settings["aliases"] = sorted({name for name in spelled if name} - {entity_type})
    for index, reference in enumerate(settings.get(schema_document.REFERENCE_FIELDS, ())):
        where = f"{path}.{schema_document.REFERENCE_FIELDS}[{index}]"
        named = canonical_type(reference["target_entity_type"], f"{where}.target_entity_type", issues)
        reference["target_entity_type"] = named
        if schema_document.meaning_of(reference["relationship_type"]) is None:
            message = f"no name of a relationship type: {relationship.NAME_RULE}"
            issues.add(f"{where}.relationship_type", message, "ERR_RELATIONSHIP_TYPE")
    for name in ("hidden_fields", "observation_source_priority", schema_document.DETECTION_FIELDS):
        if len(set(settings.get(name, ()))) != len(settings.get(name, ())):
            issues.add(f"{path}.{name}", "a name is listed twice", "ERR_GIVEN_TWICE")
    if "hidden_fields" in settings:
        settings["hidden_fields"] = sorted(settings["hidden_fields"], key=canonical.name_order)
    return settings


def canonical_type(name: str, path: str, issues: shapes.Issues) -> str | None:
    """Return the canonical spelling of a type; an issue says where it is none."""
    try:
        return identity.normalise_type(name)
    except ValueError as exc:
        issues.add(path, str(exc), "ERR_ENTITY_TYPE")
        return None


def fields_of(raw: object, path: str, issues: shapes.Issues) -> dict[str, dict[str, Any]]:
    """Return the declarations of fields in their normal form, by name, without defaults. ``raw`` is ``{name:
    type}``, ``{name: {type, …}}``, or a list of ``{field_name, field_type, …}``."""
    if not isinstance(raw, Mapping | list):
        issues.add(path, "an object of fields by name, or a list of {field_name, field_type}")
        return {}
    if len(raw) > shapes.FIELDS_LIMIT:
        issues.add(path, f"more than {shapes.FIELDS_LIMIT} fields", "ERR_TOO_LARGE")
        return {}
    fields: dict[str, dict[str, Any]] = {}
    if isinstance(raw, Mapping):
        specs = [(name, spec, f"{path}.{str(name)[: identity.NAME_LIMIT]}") for name, spec in raw.items()]
    else:
        specs = [_listed(spec, f"{path}[{i}]", issues) for i, spec in enumerate(raw)]
    for name, spec, where in specs:
        if not field_name(name, where, issues):
            continue
        if name in fields:
            issues.add(where, f"{name} is given twice", "ERR_GIVEN_TWICE")
        fields[name] = _field({"type": spec} if isinstance(spec, str) else spec, where, issues)
    return fields


def field_name(name: object, path: str, issues: shapes.Issues) -> bool:
    """Return whether a name is a valid field name; an issue gives the reason if not."""
    if (
        not isinstance(name, str)
        or not 0 < len(name) <= identity.NAME_LIMIT
        or name.encode(errors="replace").decode() != name
    ):
        issues.add(path, f"a field name has 1 to {identity.NAME_LIMIT} characters", "ERR_FIELD_NAME")
    elif name == identity.CANONICAL_NAME:
        issues.add(path, "canonical_name is the name of an entity, not a field", "ERR_FIELD_NAME")
    elif name in items.RESERVED:
        issues.add(path, f"{name} is a reserved key of items, not a field", "ERR_FIELD_NAME")
    else:
        return True
    return False


def _listed(spec: object, path: str, issues: shapes.Issues) -> tuple[Any, Any, str]:
    if not isinstance(spec, Mapping):
        issues.add(path, "an object with field_name and field_type")
        return "-", "string", path
    return spec.get("field_name"), {n: v for n, v in spec.items() if n != "field_name"}, path


def _field(spec: object, path: str, issues: shapes.Issues) -> dict[str, Any]:
    before = len(issues)
    parts = shapes.members(spec, path, issues)
    if len(issues) > before:
        return {"type": "string"}
    for spelling, name in _SPELLED.items():
        if spelling in parts:
            value = parts.pop(spelling)
            if parts.setdefault(name, value) != value:
                issues.add(
                    f"{path}.{spelling}", f"{name} is given too, with another value", "ERR_GIVEN_TWICE"
                )
    if isinstance(parts.get("constraints"), Mapping):
        parts["constraints"] = {n: v for n, v in parts["constraints"].items() if v is not None}
    declaration = shapes.validated(shapes.FieldShape, parts, path, issues)
    declaration.setdefault("type", "string")
    if "converters" in declaration:
        declaration["converters"] = _converters(declaration["converters"], f"{path}.converters", issues)
    if not declaration.get("constraints", True):
        del declaration["constraints"]
    pattern = declaration.get("constraints", {}).get("pattern")
    if pattern is not None:
        try:
            compiled(pattern)
        except SchemaError as exc:
            reason = str(exc).rpartition("error: ")[2].strip()[:200]
            message = f"not a regular expression of linear time: {reason}"
            issues.add(f"{path}.constraints.pattern", message, "ERR_PATTERN")
    return declaration


def _converters(raw: list[Any], path: str, issues: shapes.Issues) -> list[str]:
    functions: list[str] = []
    for index, item in enumerate(raw):
        where = f"{path}[{index}]"
        converter = {"function": item} if isinstance(item, str) else item
        if not isinstance(converter, Mapping) or str(converter.get("function")) not in CONVERSIONS:
            known = ", ".join(CONVERSIONS)
            issues.add(where, f"a converter is one of {known}", "ERR_CONVERTER")
            continue
        function = str(converter["function"])
        takes, gives, *_ = CONVERSIONS[function]
        for name, fine in (("from", (takes,)), ("to", gives), ("deterministic", (True,))):
            if converter.get(name) is not None and converter[name] not in fine:
                message = f"{function} needs {fine[0] if name != 'deterministic' else 'true'}"
                issues.add(f"{where}.{name}", message, "ERR_CONVERTER")
        for name in sorted(set(converter) - {"function", "from", "to", "deterministic"}, key=str):
            issues.add(f"{where}.{str(name)[:200]}", "no such key", "ERR_UNKNOWN_KEY")
        functions.append(function)
    return list(dict.fromkeys(functions))


def _alternatives(raw: list[Any], path: str, issues: shapes.Issues) -> list[list[str]]:
    """Return the identity alternatives in order; a flat list of names is one."""
    if raw and all(isinstance(item, str) for item in raw):
        raw = [{"composite": raw}]
    alternatives: list[list[str]] = []
    for index, item in enumerate(raw[:20]):
        where = f"{path}[{index}]"
        names: Any = item.get("composite") if isinstance(item, Mapping) and len(item) == 1 else item
        names = [names] if isinstance(names, str) else names
        fine = isinstance(names, list) and 0 < len(names) <= 10 and len(set(map(str, names))) == len(names)
        if not fine or not all(isinstance(name, str) and name for name in names):
            issues.add(where, "a field name, or {composite: [1 to 10 different field names]}", "ERR_IDENTITY")
        elif names in alternatives:
            issues.add(where, "this alternative is listed twice", "ERR_GIVEN_TWICE")
        else:
            alternatives.append(names)
    if len(raw) > 20:
        issues.add(path, "more than 20 alternatives", "ERR_TOO_LARGE")
    return alternatives


def _reducer(raw: object, path: str, issues: shapes.Issues) -> tuple[dict[str, str], list[str] | None]:
    config = shapes.members({} if raw is None else raw, path, issues)
    order = config.pop("observation_source_priority", None)
    if order is not None:
        valid = shapes.validated(shapes.Shape, {"observation_source_priority": order}, path, issues)
        order = valid.get("observation_source_priority")
    policies: dict[str, str] = {}
    by_field = shapes.members(config.pop("merge_policies", {}), f"{path}.merge_policies", issues)
    for name, item in by_field.items():
        where = f"{path}.merge_policies.{str(name)[: identity.NAME_LIMIT]}"
        strategy = item.get("strategy") if isinstance(item, Mapping) else item
        if not isinstance(strategy, str) or strategy not in get_args(Policy):
            issues.add(where, f"a strategy is one of {', '.join(get_args(Policy))}", "ERR_MERGE_POLICY")
            continue
        policies[name] = strategy
        if isinstance(item, Mapping):
            _tie_breaker(item, where, issues)
    for name in config:
        issues.add(f"{path}.{name[:200]}", "no such key", "ERR_UNKNOWN_KEY")
    return policies, order


def _tie_breaker(policy: Mapping[str, Any], path: str, issues: shapes.Issues) -> None:
    for name in sorted(set(policy) - {"strategy", "tie_breaker"}):
        issues.add(f"{path}.{name[:200]}", "no such key", "ERR_UNKNOWN_KEY")
    if policy.get("tie_breaker") not in (None, "observed_at"):
        message = (
            "the only tie_breaker is observed_at: the later observation wins, and among equal times "
            "the greater observation id, so that the order of arrival does not matter"
        )
        issues.add(f"{path}.tie_breaker", message, "ERR_MERGE_POLICY")


def check(document: schema_document.SchemaDocument, path: str, issues: shapes.Issues) -> None:
    fields = document.fields
    for name, declared in fields.items():
        where = f"{path}.fields.{name}"
        if declared.is_union and declared.type != "array":
            issues.add(
                f"{where}.merge", "merge_array builds a list: declare the field as array", "ERR_MERGE_POLICY"
            )
        limits = declared.constraints or Constraints()
        bounds = [bound for bound in (limits.min, limits.max) if bound is not None]
        if bounds and declared.type != "number":
            issues.add(f"{where}.constraints", "min and max apply to numbers only", "ERR_CONSTRAINTS")
        if limits.pattern is not None and declared.type not in ("string", "date"):
            message = "a pattern applies to strings and dates only"
            issues.add(f"{where}.constraints.pattern", message, "ERR_CONSTRAINTS")
        if bounds and bounds[0] > bounds[-1]:
            issues.add(f"{where}.constraints.min", "greater than max", "ERR_CONSTRAINTS")
    for name in document.hidden_fields:
        if name in fields:
            issues.add(
                f"{path}.hidden_fields", f"{name} is declared, so it cannot be hidden", "ERR_GIVEN_TWICE"
            )
    for names in document.canonical_name_fields:
        if names in ((identity.CONTENT,), (identity.NEW,)):
            # In answers these words mean that the whole content, or nothing, identified an item.
            message = f"{names[0]} alone cannot identify an entity: add another field"
            issues.add(f"{path}.canonical_name_fields", message, "ERR_IDENTITY")
        _check_alternative(document, names, f"{path}.canonical_name_fields", issues)
    if document.opted_out and document.canonical_name_fields:
        message = f"canonical_name_fields and identity_opt_out {schema_document.OPT_OUT} exclude each other"
        issues.add(f"{path}.identity_opt_out", message, "ERR_IDENTITY")
    references = [each["field"] for each in document.kept.get(schema_document.REFERENCE_FIELDS) or ()]
    for listed, names, end in (
        ("temporal_fields", [temporal.field for temporal in document.temporal_fields], ".field"),
        (schema_document.REFERENCE_FIELDS, references, ".field"),
        (schema_document.DETECTION_FIELDS, document.kept.get(schema_document.DETECTION_FIELDS) or (), ""),
    ):
        for index, name in enumerate(names):
            if name not in fields:
                where = f"{path}.{listed}[{index}]{end}"
                issues.add(where, "the schema has no such field", "ERR_NO_SUCH_FIELD")
    for what, count in (("fields", len(fields)), ("hidden_fields", len(document.hidden_fields))):
        if count > shapes.FIELDS_LIMIT:
            issues.add(f"{path}.{what}", f"more than {shapes.FIELDS_LIMIT}", "ERR_TOO_LARGE")
    if len(document.text) > shapes.TEXT_LIMIT:
        issues.add(path, f"more than {shapes.TEXT_LIMIT:,} characters", "ERR_TOO_LARGE")


def _check_alternative(
    document: schema_document.SchemaDocument, names: tuple[str, ...], path: str, issues: shapes.Issues
) -> None:
    for name in names:
        if name == identity.CANONICAL_NAME:
            continue
        declared = document.fields.get(name)
        if declared is None:
            issues.add(path, f"the schema has no field {name[:64]}: declare it", "ERR_NO_SUCH_FIELD")
        elif declared.type not in _IDENTIFYING:
            message = f"{name} is of type {declared.type}: only strings, numbers and dates can identify"
            issues.add(path, message, "ERR_IDENTITY")


def warnings_of(document: schema_document.SchemaDocument) -> list[shapes.Issue]:
    """List converters without effect."""
    warnings = shapes.Issues()
    for name, declared in document.fields.items():
        if declared.converters and (document.mismatch_of(name) == "show" or declared.is_union):
            message = "the converters have no effect: set mismatch to hide, or leave them out"
            warnings.add(f"$.fields.{name}.converters", message, "NO_EFFECT")
    return list(warnings)
