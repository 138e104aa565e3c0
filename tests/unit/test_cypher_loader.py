"""The loader of queries: a header that does not fit its text refuses to load."""

from __future__ import annotations

import re
from importlib import resources

import pytest
from neo4j import Query

from graphmem import cypher
from graphmem.model.relationship import BUILTIN
from tests.support.walks import walk_over

HEADER = """\
// thing.get: one thing,
// by its id.
//
// params  entity_id: STRING, limit: INTEGER
// returns thing: LIST, total: INTEGER
// mode    read
// index   entity_id
// cost    light
"""
TEXT = "MATCH (thing:Thing {owner: $owner, id: $entity_id})\nRETURN thing LIMIT $limit\n"
SENT = "MATCH (thing:Thing {owner: $owner, id: $args.entity_id})\nRETURN thing LIMIT $args.limit"


def parsed(source: str, name: str = "thing.get") -> cypher.Query:
    """Return the query that a file of that name holds."""
    return cypher.parse(name, source)


def test_a_header_is_what_the_query_is_for():
    query = parsed(HEADER + TEXT)
    assert query.name == "thing.get"
    assert query.doc == "one thing, by its id."
    assert query.params == {"entity_id": "STRING", "limit": "INTEGER"}
    assert query.returns == {"thing": "LIST", "total": "INTEGER"}
    assert (query.mode, query.cost, query.tenancy) == ("read", "light", None)
    assert query.text == SENT
    assert not query.takes_types


def test_parameters_may_go_on_in_the_next_line():
    query = parsed(HEADER.replace("STRING, limit", "STRING,\n//         limit") + TEXT)
    assert query.params == {"entity_id": "STRING", "limit": "INTEGER"}


@pytest.mark.parametrize("nothing", ["", "none"])
def test_a_query_may_take_nothing_but_its_owner(nothing):
    header = HEADER.replace("entity_id: STRING, limit: INTEGER", nothing)
    assert parsed(header + "RETURN $owner").params == {}


def test_comments_are_no_part_of_the_text():
    assert parsed(HEADER + "// Why: $nothing.\n" + TEXT).text == SENT


@pytest.mark.parametrize(
    ("params", "sealing", "fault"),
    [
        ("entity_id: STRING, motto: STRING", "", "motto"),
        ("entity_id: STRING, rows: LIST<MAP>", "", "rows"),
        ("entity_id: STRING, motto: LIST<MAP>", "motto: sealed at entity_id", "motto"),
        ("entity_id: STRING", "motto: clear", "motto"),
        ("entity_id: STRING, motto: STRING", "motto: hidden", "hidden"),
        ("entity_id: STRING, motto: STRING", "motto: sealed at", "sealed at"),
        ("entity_id: STRING, motto: STRING", "motto: sealed", "of which node"),
        ("entity_id: STRING, motto: STRING", "motto: sealed at place", "of which node"),
    ],
)
def test_a_query_that_does_not_say_how_a_parameter_is_sealed_does_not_load(params, sealing, fault):
    header = HEADER.replace("entity_id: STRING, limit: INTEGER", params)
    header += f"// sealing {sealing}\n" if sealing else ""
    with pytest.raises(ValueError, match=fault):
        parsed(header + "RETURN $owner" + re.sub(r"(\w+): [^,]+(, )?", r", $\1", params))


def test_a_column_that_may_be_sealed_says_so():
    header = HEADER.replace("total: INTEGER", "total: INTEGER, motto: STRING")
    with pytest.raises(ValueError, match="motto"):
        parsed(header + TEXT)
    query = parsed(header + "// sealing motto: equal motto, entity_id: equal entity\n" + TEXT)
    assert query.sealing.opened == {"thing", "motto"}
    assert query.sealing.params["entity_id"] == ("equal", "entity", None, None, None)
    assert query.sealing.params["limit"].kind == "clear"


FORMS = HEADER + "// forms   plain, linked\n"
PARTS = """\
MATCH (thing:Thing {id: $entity_id})
// only linked, whole
WITH thing SKIP 1
  // only whole
  LIMIT $limit
  // end
// end
RETURN $owner
"""


@pytest.mark.parametrize(
    ("name", "text", "params"),
    [
        ("thing.get[plain]", ["MATCH", "RETURN"], {"entity_id"}),
        ("thing.get[linked]", ["MATCH", "WITH", "RETURN"], {"entity_id"}),
        ("thing.get", ["MATCH", "WITH", "LIMIT", "RETURN"], {"entity_id", "limit"}),
    ],
)
def test_a_form_has_its_parts_and_takes_the_parameters_of_these(name, text, params):
    query = parsed(FORMS + PARTS, name)
    assert [line.split()[0] for line in query.text.splitlines()] == text
    assert query.params.keys() == params


@pytest.mark.parametrize("name", ["thing.get[other]", "thing.get[asc]", "thing.get[whole]"])
def test_a_form_that_the_header_does_not_list_is_refused(name):
    with pytest.raises(ValueError, match="no such form"):
        parsed(FORMS + PARTS, name)


@pytest.mark.parametrize("wrong", ["// end\n", "// only whole\n"])
def test_a_part_begins_and_ends(wrong):
    with pytest.raises(ValueError, match="part"):
        parsed(FORMS + PARTS + wrong)


def test_all_parameters_but_the_owner_are_bound_in_one_map():
    params = {"entity_ids": ["a"]}
    assert cypher.bind("entity.by_id", params, "me") == {"args": params, "owner": "me"}
    assert cypher.bind("entity.by_id", params, None) == {"args": params}
    for name in cypher.names():
        assert set(re.findall(r"\$(\w+)", cypher.query(name).text)) <= {"args", "owner"}


@pytest.mark.parametrize("wrong", [{}, {"entity_ids": [], "types": []}, {"entity_id": "a"}])
def test_a_parameter_that_is_forgotten_or_unknown_is_refused(wrong: dict[str, object]):
    with pytest.raises(ValueError, match="disagree on parameters: entity_id"):
        cypher.bind("entity.by_id", wrong | {"entity_id": 1}, "me")


def test_a_write_and_a_heavy_query_say_so():
    query = parsed(HEADER.replace("mode    read", "mode    write").replace("light", "heavy") + TEXT)
    assert (query.mode, query.cost) == ("write", "heavy")


def test_a_query_that_is_not_per_owner_says_why():
    source = HEADER + "// tenancy global: one server, whoever asks.\n" + TEXT.replace("owner: $owner, ", "")
    assert parsed(source).tenancy == "one server, whoever asks."


def test_a_query_that_is_not_per_owner_and_asks_for_one_is_refused():
    with pytest.raises(ValueError, match="disagree on parameters"):
        parsed(HEADER + "// tenancy global: no reason.\n" + TEXT)


def test_a_header_without_a_query_is_refused():
    with pytest.raises(ValueError, match="there is no query below the header"):
        parsed(HEADER + "// Why: nothing follows.\n")


@walk_over(
    "source",
    [
        "",
        TEXT,
        HEADER.replace("thing.get", "thing.put") + TEXT,
        HEADER.replace("thing.get: one", "thing.get one") + TEXT,
        *[HEADER.replace(re.findall(rf"// {key}.*\n", HEADER)[0], "") + TEXT
          for key in ("params", "returns", "mode", "index", "cost")],
        HEADER.replace("mode    read", "mode    delete") + TEXT,
        HEADER.replace("cost    light", "cost    cheap") + TEXT,
        HEADER.replace("mode    read\n// index   entity_id", "index   entity_id\n// mode    read") + TEXT,
        "\n" + HEADER + TEXT,
    ],
)  # fmt: skip
def test_an_incomplete_header_is_refused(source):
    with pytest.raises(ValueError, match="the header must say name, params, returns, mode, index and cost"):
        parsed(source)


@pytest.mark.parametrize(
    "text",
    [
        TEXT.replace("$limit", "$page"),
        TEXT.replace("LIMIT $limit", ""),
        TEXT + "SKIP $offset",
        TEXT.replace("owner: $owner, ", ""),
    ],
    ids=["another", "unused", "unknown", "without an owner"],
)
def test_a_header_that_names_other_parameters_than_the_text_is_refused(text):
    with pytest.raises(ValueError, match=r"thing\.get: header and text disagree on parameters"):
        parsed(HEADER + text)


def test_a_header_that_lists_the_owner_is_refused():
    with pytest.raises(ValueError, match="disagree on parameters"):
        parsed(HEADER.replace("entity_id: STRING", "owner: STRING, entity_id: STRING") + TEXT)


def test_a_fragment_stands_for_the_text_of_its_file():
    query = parsed(HEADER + TEXT.replace("RETURN thing", "RETURN [<entity._columns>] AS thing"))
    (root,) = [resources.files(cypher.__name__)]
    lines = root.joinpath("entity", "_columns.cypher").read_text(encoding="utf-8").splitlines()
    fragment = "\n".join(line for line in lines if not line.startswith("//")).strip()
    assert fragment in query.text
    assert "<entity." not in query.text


def test_a_fragment_that_is_not_there_is_refused():
    with pytest.raises(FileNotFoundError):
        parsed(HEADER + TEXT.replace("RETURN thing", "RETURN <entity._nothing> AS thing"))


@walk_over("name", list(cypher.names()))
def test_every_query_loads_under_its_own_name(name):
    query = cypher.query(name)
    assert query.name == name
    assert query.doc
    assert query.text
    assert not re.search(r"<\w+\._\w+>", query.text)
    assert query.returns


def test_names_are_sorted_and_hold_neither_fragments_nor_migrations():
    names = list(cypher.names())
    assert names == sorted(set(names))
    assert not [name for name in names if "._" in name or name.startswith("migrations.")]


def test_a_query_that_is_not_there_is_refused():
    with pytest.raises(FileNotFoundError):
        cypher.query("entity.nothing")


def with_a_place_for_types() -> str:
    """Return the name of a query that takes relationship types."""
    return next(name for name in cypher.names() if cypher.query(name).takes_types)


def test_types_are_filled_in_sorted():
    text = cypher.with_types(with_a_place_for_types(), frozenset({"WORKS_AT", "OWNS", "PART_OF"}))
    assert ":OWNS|PART_OF|WORKS_AT|related" in text
    assert ":related]" in cypher.with_types(with_a_place_for_types(), frozenset())
    assert "RELATIONSHIP_TYPES" not in text


def test_all_registered_types_may_be_asked_for_at_once():
    text = cypher.with_types(with_a_place_for_types(), frozenset(BUILTIN))
    assert "|".join(sorted(BUILTIN)) in text


@walk_over(
    "types",
    [
        {"owns"},
        {"OWNS", "K-NOWS"},
        {"OWNS|KNOWS"},
        {"OWNS]->() DETACH DELETE n //"},
        {""},
        {"OWNS\n"},
        {"`OWNS`"},
        {"ÖWNS"},
        {"_OWNS"},
        {"O" * 65},
        {"OBSERVED"},
        {"OWNS", "MERGED_INTO"},
    ],
)
def test_what_is_no_name_of_a_type_never_reaches_the_text(types):
    with pytest.raises(ValueError, match="not relationship types"):
        cypher.with_types(with_a_place_for_types(), frozenset(types))


def test_the_driver_does_not_format_texts() -> None:
    """It would for each query, for a log that nobody writes."""
    for text in (
        cypher.query("entity.get").text,
        cypher.with_types("relationship.around", frozenset(BUILTIN)),
    ):
        assert len(repr(str(Query(text)))) < 50
        assert f"{text}".startswith(("MATCH", "OPTIONAL MATCH"))
