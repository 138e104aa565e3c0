"""The data format, pinned for ever by the vectors of golden.json.

What these functions return is stored: in ids, in hashes, in the order of winners. A changed vector is a
change of the data format: data that exists would be found no more, or won by another observation. So
nothing is ever edited or taken away there; only new vectors are added.

The expectations were written down before the code was asked. ``over`` is the canonical JSON, put together
by hand, of what an id is the hash of: the tests hash it on their own, so that another implementation can.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from graphmem.model import canonical, identity, ids, ranks, relationship, times
from graphmem.settings import DEFAULT_OWNER
from tests.support.walks import Walked, walk_over

GOLDEN: dict[str, Any] = json.loads(Path(__file__).with_name("golden.json").read_text(encoding="utf-8"))


def vectors(section: str) -> Walked:
    """Have a test walk over the vectors of one section."""
    section_vectors = GOLDEN[section]
    rows = list(section_vectors.items()) if isinstance(section_vectors, dict) else section_vectors
    return walk_over("vector", rows)


def hashed(over: str, length: int) -> str:
    """Return the beginning of the SHA-256 of a text, without the code under test."""
    return hashlib.sha256(over.encode()).hexdigest()[:length]


@vectors("canonical")
def test_canonical_json_is_this_text(vector):
    value, text = vector
    assert canonical.encode(value) == text
    assert canonical.digest(value) == hashed(text, 64)


@vectors("canonical")
def test_canonical_json_is_read_back_as_the_same_value(vector):
    value, text = vector
    read = canonical.decode(text)
    assert (repr(read), type(read)) == (repr(json.loads(text)), type(value))
    assert canonical.encode(read) == canonical.encode(json.loads(text)) == text


@pytest.mark.parametrize("sign", [1, -1])
def test_an_integer_has_4300_digits_at_most(sign):
    most, too_many = GOLDEN["integer_digits"]["accepted"], GOLDEN["integer_digits"]["refused"]
    text = canonical.encode(sign * (10**most - 1))
    assert text.lstrip("-") == "9" * most
    assert canonical.decode(text) == sign * (10**most - 1)
    with pytest.raises(canonical.NotCanonical):
        canonical.encode(sign * 10 ** (too_many - 1))


@pytest.mark.parametrize("wrap", [lambda value: [value], lambda value: {"a": value}], ids=["list", "object"])
def test_a_value_has_128_levels_at_most(wrap):
    value: Any = 1
    for _ in range(GOLDEN["levels"]["accepted"]):
        value = wrap(value)
    assert canonical.decode(canonical.encode(value)) == value
    with pytest.raises(canonical.NotCanonical):
        canonical.encode(wrap(value))


@vectors("types")
def test_a_type_is_spelled_in_one_way(vector):
    spelling, spelled = vector
    assert identity.normalise_type(spelling) == spelled
    assert identity.normalise_type(spelled) == spelled


@walk_over("spelling", GOLDEN["types_refused"])
def test_a_type_of_another_shape_is_refused(spelling):
    with pytest.raises(ValueError, match="a type is a letter"):
        identity.normalise_type(spelling)


@vectors("relationship_types")
def test_a_relationship_type_is_spelled_in_one_way(vector):
    spelling, spelled = vector
    assert relationship.meaning_of(spelling, relationship.BUILTIN).name == spelled


def test_the_vocabulary_of_relationships_has_these_types():
    assert sorted(relationship.BUILTIN) == GOLDEN["vocabulary"]
    assert len(GOLDEN["vocabulary"]) == 78


@vectors("identity_values")
def test_a_value_is_compared_in_this_form(vector):
    value, normalised = vector
    assert identity.identity_value(value) == normalised


def test_each_shipped_type_has_these_alternatives():
    shipped = {kind for kind in GOLDEN["rules"] if kind}
    assert set(identity.SHIPPED) == shipped


@vectors("rules")
def test_the_alternatives_of_a_type_are_asked_in_this_order(vector):
    kind, alternatives = vector
    assert [list(names) for names in identity.rule(kind or "recipe")] == alternatives


@vectors("identities")
def test_an_item_is_about_this_entity(vector):
    entity = identity.identify(DEFAULT_OWNER, vector["type"], vector["fields"])
    assert (entity.basis, entity.entity_id) == (vector["basis"], vector["id"])
    assert vector["id"] == "ent_" + hashed(vector["over"], 24)


def test_every_alternative_of_every_shipped_type_has_a_vector():
    pinned = {(vector["type"], vector["basis"]) for vector in GOLDEN["identities"]}
    general = identity.rule("recipe")
    for kind, rule in identity.SHIPPED.items():
        own = rule[: -len(general)] if rule[-len(general) :] == general else rule
        assert {(kind, "+".join(names)) for names in own} <= pinned
    assert {("recipe", "+".join(names)) for names in general} <= pinned


@vectors("new_identities")
def test_a_thing_that_is_always_new_has_this_id(vector):
    entity = identity.identify_new(DEFAULT_OWNER, vector["type"], vector["transaction_id"], vector["index"])
    assert (entity.basis, entity.entity_id) == ("new", vector["id"])
    assert vector["id"] == "ent_" + hashed(vector["over"], 24)


@vectors("observation_ids")
def test_an_observation_with_a_time_of_its_own_has_this_id(vector):
    parts = {name: value for name, value in vector.items() if name not in ("over", "id", "home")}
    assert ids.observation_id(subject_id=vector["home"], **parts) == vector["id"]
    assert vector["id"] == "obs_" + hashed(vector["over"], 32)


@vectors("unplaced_observation_ids")
def test_an_observation_without_a_time_has_this_id(vector):
    assert ids.unplaced_observation_id(vector["transaction_id"], vector["index"]) == vector["id"]
    assert vector["id"] == f"obs_{hashed(vector['over'], 24)}{vector['index']:08x}"


@vectors("placed_observation_ids")
def test_an_observation_that_contradicts_one_of_its_request_has_this_id(vector):
    assert ids.placed_observation_id(vector["unplaced"], vector["earlier"]) == vector["id"]
    assert vector["id"][17:] == hashed(vector["over"], 19)


@vectors("relationships")
def test_a_relationship_has_this_key_and_this_id(vector):
    key = ids.relationship_key(vector["type"], vector["source"], vector["target"])
    assert (key, ids.relationship_id(key)) == (vector["key"], vector["id"])
    assert vector["id"] == "rel_" + hashed(vector["over"], 24)


@vectors("schemas")
def test_a_schema_has_this_id(vector):
    assert ids.schema_id(DEFAULT_OWNER, vector["type"], vector["version"]) == vector["id"]
    assert vector["id"] == "sch_" + hashed(vector["over"], 24)


@vectors("sources")
def test_a_source_has_this_id(vector):
    assert ids.source_id(vector["owner"], vector["content_hash"]) == vector["id"]
    assert vector["id"] == "src_" + hashed(vector["over"], 24)


@vectors("exclusions")
def test_an_exclusion_has_this_id(vector):
    assert ids.withdrawal_id(vector["transaction"], vector["index"]) == vector["id"]
    assert vector["id"] == "exc_" + hashed(vector["over"], 24)


@vectors("dismissals")
def test_a_dismissal_has_this_id(vector):
    assert ids.dismissal_id(vector["transaction"], vector["index"]) == vector["id"]


@vectors("agents")
def test_an_agent_has_this_id(vector):
    assert ids.agent_id(DEFAULT_OWNER, vector["thumbprint"]) == vector["id"]
    assert vector["id"] == "agt_" + hashed(vector["over"], 24)


@vectors("request_hashes")
def test_an_idempotency_key_stands_for_this_hash(vector):
    assert ids.request_hash(vector["operation"], vector["arguments"]) == vector["hash"]
    assert vector["hash"] == hashed(vector["over"], 64)


@vectors("times")
def test_a_time_is_these_microseconds_and_this_text(vector):
    spelling, micros, text = vector
    assert times.parse(spelling) == micros
    assert times.render(micros) == text
    assert times.parse(text) == micros


@vectors("time_ranks")
def test_a_time_has_this_rank(vector):
    micros, rank = vector
    assert ranks.time_rank(micros) == rank


@vectors("number_ranks")
def test_a_number_has_this_rank(vector):
    number, rank = vector
    assert ranks.number_rank(number) == rank


def test_the_sources_of_observations_have_these_ranks():
    source_ranks = {source: ranks.source_rank(source) for source in GOLDEN["source_ranks"]}
    assert source_ranks == GOLDEN["source_ranks"]
    assert ranks.source_rank(None) == ranks.source_rank("rumour") == 0


@vectors("ranks")
def test_an_observation_has_this_rank_for_a_field(vector):
    assert ranks.rank(**{name: value for name, value in vector.items() if name != "rank"}) == vector["rank"]


@vectors("index_keys")
def test_an_index_holds_this_of_a_text(vector):
    text, key = vector
    assert identity.index_key(text) == key
    assert len(key) <= identity.KEY_LIMIT + 17


def test_the_default_owner_is_the_nil_uuid():
    assert DEFAULT_OWNER == "00000000-0000-0000-0000-000000000000"
