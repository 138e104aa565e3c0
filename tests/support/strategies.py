"""Hypothesis strategies of the state machine: few ids, fields, values and times, so that they collide."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

NAMES = ("Ada", " aDA", "Bo")
TYPES = ("thing", "gadget")
EDGES = ("WORKS_AT", "LEARNS_CHESS_FROM")
"""A type that is built in, and one of the owner's own."""
TIMES = (
    "1965-05-05T05:05:05.500000Z", "2026-01-01T00:00:00.000000Z", "2026-01-01T00:00:00.000001Z",
)  # fmt: skip
AHEAD = "an hour after the first transaction"
VALUES = st.sampled_from([
    None, 1, 2, 1.0, "1", " 2.50 ", True, "True", "x", [], ["x", 1], [1, None, "y"], '["y", 1]', {"k": [1]},
    "2026-01-01", 86400, "2026-01-01T05:00:00+05:00", ["2026-01-01", 7, "2025-12-31T23:00:00Z"],
])  # fmt: skip
NEW_NAMES = st.sampled_from([None, "Zed", "Ada"])
FIELDS = st.dictionaries(st.sampled_from(["a", "b", "c", "due"]), VALUES, max_size=3)
ENTITY_NUMBER = st.integers(0, 19)
WEIGHTS: dict[str, st.SearchStrategy[Any]] = {
    "observed_at": st.sampled_from([*TIMES, AHEAD]),
    "source_priority": st.sampled_from([100, 99.5, -1]),
    "observation_source": st.sampled_from(["sensor", "human", "sync"]),
}
OBSERVATION_OPTIONS = st.fixed_dictionaries({}, optional=WEIGHTS)
NAMED = st.builds(
    lambda kind, name, fields, more: {"entity_type": kind, "name": name, **fields, **more},
    st.sampled_from(TYPES), st.sampled_from(NAMES), FIELDS,
    st.fixed_dictionaries({}, optional={**WEIGHTS, "specificity_score": st.sampled_from([0.5, 0, 1])}),
)  # fmt: skip
TARGETED = st.builds(
    lambda who, value, fields, names, more: {"who": who, "a": value, **fields, **names, **more},
    ENTITY_NUMBER, VALUES, FIELDS,
    st.fixed_dictionaries({}, optional={"name": NEW_NAMES, "canonical_name": NEW_NAMES}),
    st.fixed_dictionaries({}, optional={**WEIGHTS, "entity_type": st.sampled_from(TYPES)}),
)  # fmt: skip
End = tuple[str, int]
ENDS = st.tuples(st.sampled_from(["index", "entity_id"]), ENTITY_NUMBER)
METADATA = st.none() | st.dictionaries(st.sampled_from(["role", "canonical_name"]), VALUES, max_size=2)
LINK = st.tuples(st.sampled_from(EDGES), ENDS, ENDS, METADATA)
KEYED = st.booleans()
VERSION_SHIFT = st.sampled_from([None, None, None, 0, -1, 1])
"""How far the version that a change expects is from the current one; ``None`` where it expects none."""
VISIBLE = st.sampled_from(["hide", "show"])
DECLARED = st.dictionaries(
    st.sampled_from(["a", "b", "due", "name"]),
    st.fixed_dictionaries(
        {"type": st.sampled_from(["string", "number", "boolean", "array", "object"])},
        optional={
            "merge": st.sampled_from(["last_write", "highest_priority", "most_specific", "merge_array"]),
            "mismatch": VISIBLE,
        },
    )
    | st.just({"type": "date", "converters": ["timestamp_s_to_iso"]})
    | st.just({"type": "array", "merge": "merge_array"}),
    max_size=3,
)
SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "additional_fields": VISIBLE,
        "mismatch": VISIBLE,
        "observation_source_priority": st.sampled_from([["human", "sensor"], ["sync"]]),
        "temporal_fields": st.sampled_from(
            [
                [{"field": "a", "event_type": "Arose"}],
                [{"field": "b", "event_type": "Began"}, {"field": "due", "event_type": "Due"}],
            ]
        ),
    },
)
MOSTLY_POSSIBLE = st.sampled_from([True, True, False])
"""Whether to choose among what can be acted on: most of what is there cannot."""
LIFECYCLE = st.sampled_from(["either", "delete", "restore"])
VIEWPOINT = st.tuples(
    ENTITY_NUMBER, ENTITY_NUMBER, st.integers(0, 99), st.integers(0, 99), st.integers(1, 3),
    st.sampled_from(["both", "outgoing", "incoming"]), st.booleans(),
)  # fmt: skip
"""Which entity and relationship, as of when, how deep, which way, and whether with what is deleted."""
