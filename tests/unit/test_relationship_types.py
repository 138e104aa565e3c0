"""The vocabulary of relationships: names, inverses, and what registering a type comes to."""

from __future__ import annotations

import re
import tomllib
from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem import cypher
from graphmem.model import ids, relationship
from graphmem.model.items import ItemReader
from graphmem.model.relationship import BUILTIN, INTERNAL, RegistrationRefused, registered
from graphmem.model.relationship import RelationshipKind as Type
from graphmem.model.shipped_relationships import MEANINGS
from graphmem.text.spelling import nearest_type
from tests.support.walks import walk_over

EDGE_TYPES = re.compile(r"\[\s*\w*\s*:\s*([A-Z][A-Z_|]*)")
"""The types of an edge in a pattern of one of our queries."""
PLACEHOLDER = "RELATIONSHIP_TYPES"


def edge_types() -> set[str]:
    """Return every type of edge that a .cypher file names, fragments and migrations included."""
    folders = [folder for folder in resources.files(cypher).iterdir() if folder.is_dir()]
    files = [file for folder in folders for file in folder.iterdir() if file.name.endswith(".cypher")]
    assert len(files) > 20
    matches = [match for file in files for match in EDGE_TYPES.findall(file.read_text(encoding="utf-8"))]
    return {name for types in matches for name in types.split("|")} - {PLACEHOLDER, ""}


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
    'X"', "$(X)", "$x", "X\x00", "X\\u0060", "😀", "兄:弟", "兄`弟", "9é",
    "X‿Y", "X//", "X/*", "X{}", "X;", "*", "X*1..",
)  # fmt: skip


@walk_over("text", NO_NAMES)
def test_what_is_no_name_is_refused(text: str) -> None:
    assert not relationship.is_name(relationship.spell(text))
    with pytest.raises(RegistrationRefused, match="not a name") as refused:
        registered(BUILTIN, Type(relationship.spell(text)))
    assert refused.value.argument == "relationship_type"
    with pytest.raises(RegistrationRefused, match="not a name") as refused:
        registered(BUILTIN, Type("FINE", relationship.spell(text)))
    assert refused.value.argument == "inverse"


@walk_over("name", sorted(INTERNAL))
def test_an_internal_name_is_refused_in_any_spelling(name: str) -> None:
    for spelling in (name, name.lower(), name.replace("_", " "), f" {name.title().replace('_', '-')}\n"):
        with pytest.raises(RegistrationRefused, match="the graph's own"):
            registered(BUILTIN, Type(relationship.spell(spelling)))
        with pytest.raises(RegistrationRefused, match="the graph's own"):
            registered(BUILTIN, Type("FINE", relationship.spell(spelling)))


@given(st.text(max_size=80))
def test_a_name_is_letters_digits_and_underscores_and_a_registered_one_of_ascii(text: str) -> None:
    spelled = relationship.spell(text)
    if relationship.is_name(spelled):
        key = f"{spelled}:ent_{'0' * 24}:ent_{'0' * 24}"
        assert re.fullmatch(ids.RELATIONSHIP_KEY, key)
        assert key.count(":") == 2
        if spelled.isascii():
            assert set(spelled) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
        else:
            with pytest.raises(RegistrationRefused, match="not a name"):
                registered(BUILTIN, Type(spelled))
        assert spelled[0] not in "0123456789_"
        assert len(spelled) <= 64
        assert relationship.spell(spelled) == spelled


def having(*kinds: Type) -> dict[str, Type]:
    return {kind.name: kind for kind in kinds}


JUDGES = Type("JUDGES", "JUDGED_BY", "d")


@walk_over(
    "before, new_type, after",
    [
        ((), Type("JUDGES"), Type("JUDGES")),
        ((), JUDGES, JUDGES),
        ((JUDGES,), Type("JUDGES"), JUDGES),
        ((JUDGES,), JUDGES, JUDGES),
        ((JUDGES,), Type("JUDGES", None, "e"), Type("JUDGES", "JUDGED_BY", "e")),
        ((Type("JUDGES"),), JUDGES, JUDGES),
        # What is an inverse already has its own.
        ((JUDGES,), Type("JUDGED_BY"), Type("JUDGED_BY", "JUDGES")),
        ((JUDGES,), Type("JUDGED_BY", "JUDGES"), Type("JUDGED_BY", "JUDGES")),
        # A type without an inverse may become one.
        ((Type("JUDGED_BY"),), JUDGES, JUDGES),
        ((Type("JUDGED_BY"), JUDGES), Type("JUDGED_BY", "JUDGES"), Type("JUDGED_BY", "JUDGES")),
        ((), Type("TWIN_OF", "TWIN_OF"), Type("TWIN_OF", "TWIN_OF")),
        (tuple(BUILTIN.values()), Type("EMPLOYS"), Type("EMPLOYS", "WORKS_AT")),
        (tuple(BUILTIN.values()), Type("WORKS_AT", "EMPLOYS"), BUILTIN["WORKS_AT"]),
        (tuple(BUILTIN.values()), BUILTIN["WORKS_AT"], BUILTIN["WORKS_AT"]),
    ],
)
def test_registering_a_type_results_in(before: tuple[Type, ...], new_type: Type, after: Type) -> None:
    assert registered(having(*before), new_type) == after


@walk_over(
    "before, new_type, argument, message",
    [
        ((JUDGES,), Type("JUDGES", "RATED_BY"), "inverse", "inverse of JUDGES is JUDGED_BY"),
        ((JUDGES,), Type("JUDGED_BY", "RATES"), "inverse", "inverse of JUDGED_BY is JUDGES"),
        ((JUDGES,), Type("JUDGED_BY", "JUDGED_BY"), "inverse", "inverse of JUDGED_BY is JUDGES"),
        ((JUDGES,), Type("RATES", "JUDGED_BY"), "inverse", "JUDGED_BY is the inverse of JUDGES"),
        ((JUDGES,), Type("RATED_BY", "JUDGES"), "inverse", "JUDGES is the inverse of JUDGED_BY"),
        (
            (JUDGES, Type("RATES")), Type("RATES", "JUDGED_BY"), "inverse", "is the inverse of JUDGES"
        ),
        ((Type("A", "A"),), Type("B", "A"), "inverse", "A is the inverse of A"),
        (tuple(BUILTIN.values()), Type("WORKS_AT", "HIRES"), "inverse", "inverse of WORKS_AT is EMPLOYS"),
        (tuple(BUILTIN.values()), Type("HIRED_BY", "EMPLOYS"), "inverse", "the inverse of WORKS_AT"),
        (tuple(BUILTIN.values()), Type("WORKS_AT", None, "x"), "description", "built in"),
    ],
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


def said(name: str, known: dict[str, Type] | None = None) -> tuple[str, bool, dict[str, str]]:
    meaning = relationship.meaning_of(name, BUILTIN if known is None else known, nearest_type)
    return meaning.name, meaning.is_swapped, dict(meaning.metadata)


def test_a_registered_name_is_known_in_any_spelling() -> None:
    known = {**BUILTIN, "JUDGES_AT": Type("JUDGES_AT", "JUDGED_AT")}
    assert said(" judges  at\n", known) == ("JUDGES_AT", False, {})
    assert said("judgesAt", known) == ("JUDGES_AT", False, {})
    assert said("judged at", known) == ("JUDGES_AT", True, {})
    with pytest.raises(relationship.UnknownRelationshipType):
        relationship.meaning_of("judges_at", BUILTIN)
    with pytest.raises(relationship.UnknownRelationshipType) as unknown:
        relationship.meaning_of("judges_", known, nearest_type)
    # What somebody registered is not proposed to everybody; a type of the owner's own is.
    assert unknown.value.nearest is None
    own = {**BUILTIN, "JUDGES_AT": Type("JUDGES_AT", is_own=True)}
    with pytest.raises(relationship.UnknownRelationshipType) as unknown:
        relationship.meaning_of("judges_", own, nearest_type)
    assert unknown.value.nearest == "JUDGES_AT"


def test_a_registered_type_keeps_its_name_and_its_inverse_beside_shipped_names() -> None:
    known = {**BUILTIN, "BROTHER_OF": Type("BROTHER_OF", "SISTER_OF"), "HIRES": Type("HIRES", "EMPLOYED_BY")}
    assert said("is brother of", known) == ("BROTHER_OF", False, {})
    assert said("SISTER_OF", known) == ("BROTHER_OF", True, {})
    assert said("EMPLOYED_BY", known) == ("HIRES", True, {})
    others = {**known, "HEAD_OF": Type("HEAD_OF"), "AUDITED_BY": Type("AUDITED_BY")}
    assert said("was head of", others) == ("HEAD_OF", False, {"current": "false"})
    assert said("was audited by", others) == ("AUDITED_BY", False, {})


PAST = {"current": "false"}


@walk_over(
    "name, meaning",
    [
        # Names of types, in any spelling.
        ("married to", ("MARRIED_TO", False, {})),
        ("is married to", ("MARRIED_TO", False, {})),
        ("livesIn", ("LIVES_IN", False, {})),
        ("is the owner of", ("OWNS", False, {})),
        ("EMPLOYED_BY", ("WORKS_AT", False, {})),
        ("friends with", ("FRIEND_OF", False, {})),
        # Inverses and their other names.
        ("CHILD_OF", ("PARENT_OF", True, {})),
        ("EMPLOYS", ("WORKS_AT", True, {})),
        ("has member", ("MEMBER_OF", True, {})),
        ("belongs to", ("OWNS", True, {})),
        ("is a customer of", ("SUPPLIES_TO", True, {})),
        # What a name says beside the type is metadata of the end that it is said of.
        ("is brother of", ("SIBLING_OF", False, {"source_role": '"brother"'})),
        ("HAS_SISTER", ("SIBLING_OF", False, {"target_role": '"sister"'})),
        ("mother of", ("PARENT_OF", False, {"source_role": '"mother"'})),
        ("has a mother", ("PARENT_OF", True, {"source_role": '"mother"'})),
        ("SON_OF", ("PARENT_OF", True, {"target_role": '"son"'})),
        ("has_daughter", ("PARENT_OF", False, {"target_role": '"daughter"'})),
        ("is the wife of", ("MARRIED_TO", False, {"source_role": '"wife"'})),
        ("is mother-in-law of", ("RELATIVE_OF", False, {"source_role": '"mother in law"'})),
        ("has a doctor", ("TREATS", True, {"source_role": '"doctor"'})),
        # What was has ended, where it can end.
        ("WORKED_AT", ("WORKS_AT", False, PAST)),
        ("was a member of", ("MEMBER_OF", False, PAST)),
        ("was employed by", ("WORKS_AT", False, PAST)),
        ("was managed by", ("MANAGES", True, PAST)),
        ("was born in", ("BORN_IN", False, {})),
        ("was founded by", ("FOUNDED", True, {})),
        ("was the mother of", ("PARENT_OF", False, {"source_role": '"mother"'})),
        ("is in", ("LOCATED_AT", False, {})),
    ],
)
def test_a_name_says_a_type_and_its_direction(name: str, meaning: tuple[str, bool, dict[str, str]]) -> None:
    assert said(name) == meaning


def test_every_shipped_name_is_one_and_says_one_type() -> None:
    data = tomllib.loads(resources.files("graphmem.model").joinpath("relationship_types.toml").read_text())
    names: dict[str, str] = {}
    for kind, entry in data.items():
        listed = [kind, *{entry["inverse"]}, *entry.get("past", "").split()]
        listed += [*entry.get("names", "").split(), *entry.get("inverse_names", "").split()]
        for name in listed:
            assert relationship.is_name(name)
            assert names.setdefault(name, kind) == kind, f"{name} is a name of {names[name]} and of {kind}"
            assert MEANINGS[name].name == kind
    assert list(data) == sorted(data)


@pytest.mark.parametrize(
    ("unknown", "proposal"),
    [
        ("WORK_AT", {"nearest": "WORKS_AT"}),
        ("located-inn", {"nearest": "LOCATED_AT"}),
        ("EMPLOYES", {"nearest": "EMPLOYS", "inverse_of": "WORKS_AT"}),
        ("brothr of", {"nearest": "BROTHER_OF"}),
        ("ADORES", {}),
        ("A" * 300, {}),
        ("is a", {"nearest": "IS_AT"}),
    ],
)
def test_an_unknown_type_proposes_a_near_spelling_or_an_inverse(unknown: str, proposal: dict) -> None:
    with pytest.raises(relationship.UnknownRelationshipType) as refused:
        relationship.meaning_of(unknown, BUILTIN, nearest_type)
    assert refused.value.proposal == proposal
    assert ("GET /relationship_types" in str(refused.value)) == (not proposal)


def test_the_nearest_is_told_for_the_first_unknown_types_of_a_request() -> None:
    reader = ItemReader("owner", "txn_" + "0" * 32, nearest_type=nearest_type)
    for i in range(30):
        reader.link(i, {"relationship_type": f"work_at_{'abcdefghij'[i % 10] * (i + 1)}x"}, 0)
        reader.link(i, {"relationship_type": "located_inn" + "n" * i}, 0)
    assert len(reader.new_types) == 60
    assert (
        sum("nearest" in warning for warning in reader.new_types.values()) <= relationship.SUGGESTIONS_LIMIT
    )
    assert reader.new_types["LOCATED_INN"]["nearest"] == "LOCATED_AT"


@pytest.mark.parametrize(
    ("name", "spelled", "metadata"),
    [
        ("walks dog of", "WALKS_DOG_OF", {}),
        ("is afraid of", "AFRAID_OF", {}),
        ("walksDogOf", "WALKS_DOG_OF", {}),
        ("was afraid of", "AFRAID_OF", {"current": "false"}),
        ("was audited by", "AUDITED_BY", {}),
        ("is a", "IS_A", {}),
    ],
)
def test_any_other_name_is_a_type_of_the_owners_own(
    name: str, spelled: str, metadata: dict[str, str]
) -> None:
    meaning = relationship.own_meaning(name)
    assert meaning is not None
    assert (meaning.name, dict(meaning.metadata)) == (spelled, metadata)


@walk_over("text", [*NO_NAMES, *sorted(INTERNAL), "is observed"])
def test_what_is_no_name_is_no_type_of_the_owners_own(text: str) -> None:
    assert relationship.own_meaning(text) is None
