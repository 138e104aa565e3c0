"""Schema documents for tests: one that is written out, and any."""

from __future__ import annotations

from hypothesis import strategies as st

from graphmem.model import schema
from graphmem.model.schema import SchemaDocument

WINE = {
    "fields": {
        "name": {"type": "string", "required": True},
        "year": {"type": "number", "constraints": {"min": 1800, "max": 2100}},
        "grapes": {"type": "array", "merge": "merge_array"},
        "price": {"type": "number", "merge": "highest_priority", "converters": ["string_to_number"]},
        "bottled": {"type": "date", "mismatch": "show"},
    },
    "canonical_name_fields": ["name", "year"],
}


def wine(**more: object) -> SchemaDocument:
    return schema.parse("wine", {**WINE, **more})


NAMES = st.sampled_from(["a", "b", "é", "z z", "$", "0"])
SCALARS = st.one_of(
    st.text(st.characters(codec="utf-8"), max_size=5), st.integers(), st.floats(-9, 9), st.booleans()
)
FIELDS = st.fixed_dictionaries(
    {"type": st.sampled_from(["string", "number", "date", "boolean", "array", "object"])},
    optional={
        "required": st.booleans(),
        "filterable": st.booleans(),
        "description": st.text(st.characters(codec="utf-8"), max_size=5),
        "merge": st.sampled_from(["last_write", "highest_priority", "most_specific"]),
        "converters": st.lists(st.sampled_from(["number_to_string", "timestamp_s_to_iso"]), max_size=3),
        "constraints": st.fixed_dictionaries(
            {}, optional={"enum": st.lists(SCALARS, min_size=1), "banned": st.lists(SCALARS, min_size=1)}
        ),
        "mismatch": st.sampled_from(["hide", "show"]),
    },
)
DOCUMENTS = st.fixed_dictionaries(
    {"fields": st.dictionaries(NAMES, FIELDS)},
    optional={
        "additional_fields": st.sampled_from(["hide", "show"]),
        "mismatch": st.sampled_from(["hide", "show"]),
        "hidden_fields": st.lists(st.sampled_from("xyz"), unique=True),
        "canonical_name_strict": st.booleans(),
        "constraint_violation_policy": st.sampled_from(["warn", "reject"]),
        "aliases": st.lists(st.sampled_from(["vin", "Vino", "wine"])),
        "observation_source_priority": st.permutations(["human", "sync", "sensor"]),
    },
)
