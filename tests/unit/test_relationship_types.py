"""The vocabulary of relationships: names, inverses, and what registering a type comes to."""

from __future__ import annotations

import re
from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem import cypher
from graphmem.model import relationship
from graphmem.model.items import ItemReader
from graphmem.model.relationship import BUILTIN, INTERNAL, RegistrationRefused, registered
from graphmem.model.relationship import RelationshipKind as Type
from graphmem.text.spelling import nearest_type

EDGE_TYPES = re.compile(r"\[\s*\w*\s*:\s*([A-Z][A-Z_|]*)")
"""The types of an edge in a pattern of one of our queries."""
PLACEHOLDER = "RELATIONSHIP_TYPES"


def edge_types() -> set[str]:
    """Return every type of edge that a .cypher file names, fragments and migrations included."""
    folders = [folder for folder in resources.files(cypher).iterdir() if folder.is_dir()]
    files = [file for folder in folders for file in folder.iterdir() if file.name.endswith(".cypher")]
    assert len(files) > 20
    matches = [match for file in files for match in EDGE_TYPES.findall(file.read_text(encoding="utf-8"))]
    return {name for types in matches for name in types.split("|")} - {PLACEHOLDER}


def test_every_edge_of_the_graph_itself_is_internal() -> None:
    edges = edge_types()
    assert edges >= {"HAS_HISTORY", "OBSERVED", "IN_TRANSACTION", "BY_AGENT", "IDENTIFIES"}
    assert edges <= INTERNAL, "say in graphmem/model/relationship.py that these are no relationship types"


def test_no_built_in_type_or_inverse_is_internal() -> None:
    for kind in BUILTIN.values():
        assert relationship.is_name(kind.name)
        assert kind.inverse is not None
        assert relationship.is_name(kind.inverse)
        assert kind.description


def test_the_built_in_types_agree_with_each_other() -> None:
    kinds: dict[str, Type] = {}
    for kind in BUILTIN.values():
        kinds[kind.name] = registered(kinds, kind)
    assert kinds == BUILTIN


NO_NAMES = (
    "", " ", "_X", "9X", "A" * 65, "X]->() DETACH DELETE n //", "X|OBSERVED", "X`", "`X`", "X:Y", "X.Y", "X'",
    'X"', "$(X)", "$x", "X\x00", "X\\u0060", "É", "Ⅷ", "Ｗ", "X‿Y", "X//", "X/*", "X{}", "X;", "*", "X*1..",
)  # fmt: skip


@pytest.mark.parametrize("text", NO_NAMES)
def test_what_is_no_name_is_refused(text: str) -> None:
    assert not relationship.is_name(relationship.spell(text))
    with pytest.raises(RegistrationRefused, match="not a name") as refused:
        registered(BUILTIN, Type(relationship.spell(text)))
    assert refused.value.argument == "relationship_type"
    with pytest.raises(RegistrationRefused, match="not a name") as refused:
        registered(BUILTIN, Type("FINE", relationship.spell(text)))
    assert refused.value.argument == "inverse"


@pytest.mark.parametrize("name", sorted(INTERNAL))
def test_an_internal_name_is_refused_in_any_spelling(name: str) -> None:
    for spelling in (name, name.lower(), name.replace("_", " "), f" {name.title().replace('_', '-')}\n"):
        with pytest.raises(RegistrationRefused, match="the graph's own"):
            registered(BUILTIN, Type(relationship.spell(spelling)))
        with pytest.raises(RegistrationRefused, match="the graph's own"):
            registered(BUILTIN, Type("FINE", relationship.spell(spelling)))


@given(st.text(max_size=80))
def test_a_name_is_ascii_letters_digits_and_underscores(text: str) -> None:
    spelled = relationship.spell(text)
    if relationship.is_name(spelled):
        assert set(spelled) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
        assert spelled[0] not in "0123456789_"
        assert len(spelled) <= 64
        assert relationship.spell(spelled) == spelled


def having(*kinds: Type) -> dict[str, Type]:
    return {kind.name: kind for kind in kinds}


MENTORS = Type("MENTORS", "MENTORED_BY", "d")


@pytest.mark.parametrize(
    ("before", "new_type", "after"),
    [
        ((), Type("MENTORS"), Type("MENTORS")),
        ((), MENTORS, MENTORS),
        ((MENTORS,), Type("MENTORS"), MENTORS),
        ((MENTORS,), MENTORS, MENTORS),
        ((MENTORS,), Type("MENTORS", None, "e"), Type("MENTORS", "MENTORED_BY", "e")),
        ((Type("MENTORS"),), MENTORS, MENTORS),
        # What is an inverse already has its own.
        ((MENTORS,), Type("MENTORED_BY"), Type("MENTORED_BY", "MENTORS")),
        ((MENTORS,), Type("MENTORED_BY", "MENTORS"), Type("MENTORED_BY", "MENTORS")),
        # A type without an inverse may become one.
        ((Type("MENTORED_BY"),), MENTORS, MENTORS),
        ((Type("MENTORED_BY"), MENTORS), Type("MENTORED_BY", "MENTORS"), Type("MENTORED_BY", "MENTORS")),
        ((), Type("SIBLING_OF", "SIBLING_OF"), Type("SIBLING_OF", "SIBLING_OF")),
        (tuple(BUILTIN.values()), Type("EMPLOYS"), Type("EMPLOYS", "WORKS_AT")),
        (tuple(BUILTIN.values()), Type("WORKS_AT", "EMPLOYS"), BUILTIN["WORKS_AT"]),
        (tuple(BUILTIN.values()), BUILTIN["WORKS_AT"], BUILTIN["WORKS_AT"]),
    ],
    ids=range(14),
)
def test_registering_a_type_results_in(before: tuple[Type, ...], new_type: Type, after: Type) -> None:
    assert registered(having(*before), new_type) == after


@pytest.mark.parametrize(
    ("before", "new_type", "argument", "message"),
    [
        ((MENTORS,), Type("MENTORS", "TAUGHT_BY"), "inverse", "inverse of MENTORS is MENTORED_BY"),
        ((MENTORS,), Type("MENTORED_BY", "TEACHES"), "inverse", "inverse of MENTORED_BY is MENTORS"),
        ((MENTORS,), Type("MENTORED_BY", "MENTORED_BY"), "inverse", "inverse of MENTORED_BY is MENTORS"),
        ((MENTORS,), Type("TEACHES", "MENTORED_BY"), "inverse", "MENTORED_BY is the inverse of MENTORS"),
        ((MENTORS,), Type("TAUGHT_BY", "MENTORS"), "inverse", "MENTORS is the inverse of MENTORED_BY"),
        (
            (MENTORS, Type("TEACHES")), Type("TEACHES", "MENTORED_BY"), "inverse", "is the inverse of MENTORS"
        ),
        ((Type("A", "A"),), Type("B", "A"), "inverse", "A is the inverse of A"),
        (tuple(BUILTIN.values()), Type("WORKS_AT", "HIRES"), "inverse", "inverse of WORKS_AT is EMPLOYS"),
        (tuple(BUILTIN.values()), Type("HIRED_BY", "EMPLOYS"), "inverse", "the inverse of WORKS_AT"),
        (tuple(BUILTIN.values()), Type("WORKS_AT", None, "x"), "description", "built in"),
    ],
    ids=range(10),
)  # fmt: skip
def test_a_name_keeps_its_one_meaning(
    before: tuple[Type, ...], new_type: Type, argument: str, message: str
) -> None:
    with pytest.raises(RegistrationRefused, match=message) as refused:
        registered(having(*before), new_type)
    assert refused.value.argument == argument


NAMES = st.sampled_from(["A", "B", "C", "D", "OWNS", "OWNED_BY", "RELATED_TO"])


@given(st.lists(st.builds(Type, NAMES, st.none() | NAMES)))
def test_reading_backwards_twice_is_reading_forwards(new_types: list[Type]) -> None:
    kinds = dict(BUILTIN)
    for new_type in new_types:
        before = {name: relationship.inverse_of(kinds, name) for name in kinds}
        try:
            kind = registered(kinds, new_type)
        except RegistrationRefused:
            continue
        kinds[kind.name] = kind
        backwards = [kind.inverse for kind in kinds.values() if kind.inverse]
        assert len(backwards) == len(set(backwards))
        for name in kinds:
            inverse = relationship.inverse_of(kinds, name)
            assert before.get(name) in (None, inverse)
            if inverse in kinds:
                assert relationship.inverse_of(kinds, inverse) == name


def test_a_registered_name_is_known_in_any_spelling() -> None:
    known = {**BUILTIN, "MENTORS_AT": relationship.RelationshipKind("MENTORS_AT", "MENTORED_AT")}
    assert relationship.normalise(" mentors  at\n", known) == "MENTORS_AT"
    with pytest.raises(relationship.UnknownRelationshipType):
        relationship.normalise("mentors_at", BUILTIN)
    with pytest.raises(relationship.UnknownRelationshipType) as unknown:
        relationship.normalise("mentors_", known, nearest_type)
    assert unknown.value.nearest == "MENTORS_AT"
    with pytest.raises(relationship.UnknownRelationshipType, match="the inverse of MENTORS_AT"):
        relationship.normalise("mentored at", known)


@pytest.mark.parametrize(
    ("unknown", "proposal"),
    [
        ("WORK_AT", {"nearest": "WORKS_AT"}),
        ("located-in", {"nearest": "LOCATED_AT"}),
        ("EMPLOYS", {"inverse_of": "WORKS_AT"}),
        ("EMPLOYES", {"inverse_of": "WORKS_AT"}),
        ("has member", {"inverse_of": "MEMBER_OF"}),
        ("LIKES", {}),
        ("HAS_CHILD", {}),
        ("KNOWS", {}),
        ("A" * 300, {}),
    ],
)
def test_an_unknown_type_proposes_a_near_spelling_or_an_inverse(unknown: str, proposal: dict) -> None:
    with pytest.raises(relationship.UnknownRelationshipType) as refused:
        relationship.normalise(unknown, BUILTIN, nearest_type)
    assert refused.value.proposal == proposal
    assert ("POST /relationship_types" in str(refused.value)) == (not proposal)


def test_the_nearest_is_told_for_the_first_unknown_types_of_a_request() -> None:
    reader = ItemReader("owner", "txn_" + "0" * 32, nearest_type=nearest_type)
    for i in range(30):
        reader.link(i, {"relationship_type": "works_for"}, 0)
    proposals = [issue.get("nearest") for issue in reader.issues if issue["code"] == "ERR_RELATIONSHIP_TYPE"]
    assert proposals == ["WORKS_AT"] * relationship.SUGGESTIONS_LIMIT + [None] * (
        30 - relationship.SUGGESTIONS_LIMIT
    )
