"""Which entity an item is about: the same for the same thing, and never the same for another."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from graphmem.model import canonical, identity, ids
from tests.support.walks import walk_over

OWNER = "00000000-0000-0000-0000-000000000000"
ENTITY = "ent_0123456789abcdef01234567"
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
FIELDS = st.dictionaries(
    st.sampled_from([*identity.NAMING, "town", "age"]),
    TEXTS | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.none() | st.booleans(),
    min_size=1,
    max_size=6,
)
TYPES = [*identity.SHIPPED, "recipe"]


def entity_id(entity_type: str, **fields) -> str:
    """Return the id of the entity that these fields are about."""
    return identity.identify(OWNER, entity_type, fields).entity_id


def basis(entity_type: str, **fields) -> str:
    """Return by what these fields are identified."""
    return identity.identify(OWNER, entity_type, fields).basis


def test_two_invoices_of_one_vendor_are_two():
    assert entity_id("invoice", vendor="Acme", number=17) != entity_id("invoice", vendor="Acme", number=18)
    assert entity_id("invoice", vendor="Acme", number=17) == entity_id(
        "invoice", vendor=" ACME ", number="17", total=5
    )


def test_a_vendor_alone_does_not_identify_an_invoice():
    assert basis("invoice", vendor="Acme", name="Acme", email="a@acme.example", total=1) == "content"
    assert entity_id("invoice", vendor="Acme", total=1) != entity_id("invoice", vendor="Acme", total=2)


@pytest.mark.parametrize("entity_type", ["invoice", "transaction", "note", "message"])
def test_an_explicit_id_identifies_what_else_falls_to_its_content(entity_type):
    for name in ("id", "uuid", "external_id", "message_id"):
        assert basis(entity_type, **{name: "7"}, canonical_name="c", total=1) == name
        assert entity_id(entity_type, **{name: "7"}, total=1) == entity_id(
            entity_type, **{name: " 7 "}, total=2
        )
    assert basis(entity_type, canonical_name="c", title="t", total=1) == "canonical_name"
    assert basis(entity_type, title="t", name="n", email="e", url="u", phone="p") == "content"


def test_events_of_one_title_on_two_dates_are_two():
    assert entity_id("event", title="Standup", date_start="2026-01-30") != entity_id(
        "event", title="Standup", date_start="2026-01-31"
    )


def test_two_companies_that_differ_in_their_form_are_two():
    assert entity_id("company", name="Acme Inc") != entity_id("company", name="Acme Ltd")
    assert entity_id("company", name="Acme Inc") != entity_id("company", name="Acme Inc.")


def test_a_name_is_compared_without_case_width_or_white_space():
    assert entity_id("person", name="Ada Lovelace") == entity_id("person", name=" ａｄａ\u3000\tLOVELACE\n")


def test_the_same_fields_of_another_type_or_owner_are_another_thing():
    assert entity_id("person", name="Ada") != entity_id("contact", name="Ada")
    assert identity.identify("another", "person", {"name": "Ada"}).entity_id != entity_id(
        "person", name="Ada"
    )


def test_the_same_value_in_another_field_is_another_thing():
    assert entity_id("recipe", name="42") != entity_id("recipe", id="42")


@walk_over("nothing", ["", "  ", "\t\n\u00a0", None, True, False, [], ["a"], {}, {"a": 1}])
def test_what_identifies_nothing_falls_to_the_next_alternative(nothing):
    assert basis("person", email=nothing, name="Ada") == "name"
    assert basis("invoice", vendor="Acme", number=nothing, invoice_number="7") == "vendor+number"
    assert basis("recipe", serves=nothing) == "content"


@pytest.mark.parametrize(
    ("left", "right", "are_one"),
    [(42, "42", True), (42, 42.0, False), (0, False, False), (2**53, 2**53 + 1, False), (0.1, "0.1", True)],
)
def test_a_number_is_compared_by_its_digits(left, right, are_one):
    assert (identity.identity_value(left) == identity.identity_value(right)) == are_one


def test_the_whole_content_identifies_what_nothing_else_does():
    assert entity_id("recipe", serves=4, sweet=True) == entity_id("recipe", sweet=True, serves=4)
    assert entity_id("recipe", serves=4, sweet=True) != entity_id("recipe", serves=4)
    assert entity_id("recipe", serves=4) != entity_id("recipe", serves=4.0)
    assert entity_id("recipe", method="Stir") != entity_id("recipe", method="stir")


@walk_over("entity_type", TYPES)
def test_each_alternative_decides_before_those_that_follow_it(entity_type):
    rule = identity.alternatives(entity_type)
    for position, names in enumerate(rule):
        later = {name for names in rule[position:] for name in names}
        earlier = {names for names in rule[:position] if set(names) <= later}
        expected = min(earlier, key=rule.index) if earlier else names
        # A number without its vendor has a digit.
        assert basis(entity_type, **dict.fromkeys(later, "x1")) == "+".join(expected)


def identifying(entity_type, fields, name):
    """Return what identifies by a field; the number of an invoice may be called invoice_number."""
    value = identity.identity_value(fields.get(name))
    if value is None and (entity_type, name) == ("invoice", "number"):
        return identity.identity_value(fields.get("invoice_number"))
    return value


def is_complete(entity_type, fields, names):
    """Return whether an alternative is all there; a number without its vendor has a digit."""
    values = [identifying(entity_type, fields, name) for name in names]
    has_number = {"number", "vat_number"} & {*names} and "vendor" not in names
    return None not in values and (not has_number or any(map(str.isdigit, values[-1] or "")))


@pytest.mark.parametrize("entity_type", TYPES)
@given(FIELDS)
def test_the_basis_is_the_first_alternative_that_is_all_there(entity_type, fields):
    complete = [
        names for names in identity.alternatives(entity_type) if is_complete(entity_type, fields, names)
    ]
    expected = "+".join(complete[0]) if complete else "content"
    entity = identity.identify(OWNER, entity_type, fields)
    assert entity.basis == expected
    assert ids.ENTITY_ID.fullmatch(entity.entity_id)


@pytest.mark.parametrize("entity_type", TYPES)
@given(fields=FIELDS, random=st.randoms(use_true_random=False))
def test_neither_the_order_of_fields_nor_other_fields_matter(entity_type, fields, random):
    entity = identity.identify(OWNER, entity_type, fields)
    shuffled = dict(random.sample(list(fields.items()), len(fields)))
    assert identity.identify(OWNER, entity_type, shuffled) == entity
    if entity.basis != "content":
        assert identity.identify(OWNER, entity_type, {**fields, "mood": random.random()}) == entity


@given(TEXTS, TEXTS)
def test_different_normalised_values_are_different_things(text, other_text):
    left, right = identity.identity_value(text), identity.identity_value(other_text)
    assume(left is not None and right is not None)
    assert (entity_id("recipe", name=text) == entity_id("recipe", name=other_text)) == (left == right)


@given(st.lists(TEXTS, min_size=2, max_size=2), st.lists(TEXTS, min_size=2, max_size=2))
def test_the_parts_of_an_identity_do_not_run_together(first, second):
    left, right = ([identity.identity_value(text) for text in texts] for texts in (first, second))
    assume(None not in (*left, *right))
    same = entity_id("event", title=first[0], date_start=first[1]) == entity_id(
        "event", title=second[0], date_start=second[1]
    )
    assert same == (left == right)


@given(FIELDS, FIELDS)
def test_different_contents_never_collapse(fields, other_fields):
    def content(values):
        entity = identity.identify(OWNER, "note", {f"x_{name}": value for name, value in values.items()})
        assert entity.basis == "content"
        return entity.entity_id

    assert (content(fields) == content(other_fields)) == (
        canonical.encode(fields) == canonical.encode(other_fields)
    )


@given(TEXTS)
def test_folding_a_text_twice_is_folding_it_once(text):
    folded = identity.fold_text(text)
    assert identity.fold_text(folded) == folded
    assert folded == identity.fold_text(f" {text}\n")
    assert folded == identity.fold_text(unicodedata.normalize("NFD", text))


@given(st.text(min_size=190, max_size=420), st.text(min_size=190, max_size=420))
def test_an_index_key_is_short_and_tells_texts_apart(text, other_text):
    left, right = identity.index_key(text), identity.index_key(other_text)
    assert len(left) <= 217
    assert (left == right) == (text == other_text)


@given(st.text(max_size=70))
def test_a_normalised_type_stays_as_it_is(text):
    try:
        spelled = identity.normalise_type(text)
    except ValueError:
        return
    assert identity.TYPE_SHAPE.fullmatch(spelled)
    assert identity.normalise_type(spelled) == spelled


@walk_over(
    "entity_type, snapshot, shown",
    [
        ("person", {"canonical_name": "  Ada\n L. ", "name": "Ada"}, "Ada L."),
        ("person", {"canonical_name": " ", "name": "Ada", "email": "ada@example.org"}, "Ada"),
        ("person", {"email": "Ada@Example.org"}, "Ada@Example.org"),
        ("invoice", {"vendor": "Acme", "number": 17}, "Acme 17"),
        ("invoice", {"vendor": "Acme", "invoice_number": "INV-1", "total": 5}, "Acme INV-1"),
        ("invoice", {"vendor": "Acme", "phone": "+1 555", "id": "7"}, "+1 555"),
        ("note", {"uuid": "u-1"}, "u-1"),
        ("invoice", {"vendor": "Acme", "number": 17, "email": "a@acme.example", "id": "7"}, "Acme 17"),
        ("transaction", {"external_id": "TX-1", "email": "a@acme.example", "id": "7"}, "TX-1"),
        ("transaction", {"id": "7", "url": "u"}, "u"),
        ("note", {"message_id": "M-1", "phone": "+1 555"}, "M-1"),
        ("note", {"uuid": "u-1", "phone": "+1 555"}, "+1 555"),
        ("person", {"full_name": "Ada L.", "email": "ada@example.org"}, "Ada L."),
        ("recipe", {"message_id": "M-1", "external_id": "E-1"}, "E-1"),
        ("recipe", {"id": 0}, "0"),
        ("event", {"title": "Launch", "date_start": "2026-01-31"}, "Launch"),
        ("recipe", {"serves": 4}, "recipe 01234567"),
        ("person", {"name": None, "email": True, "phone": []}, "person 01234567"),
        ("person", {}, "person 01234567"),
    ],
)
def test_the_display_name_of_an_entity(entity_type, snapshot, shown):
    assert identity.display_name(entity_type, ENTITY, snapshot) == shown


def test_an_entity_is_called_by_a_contact_point_rather_than_by_an_explicit_id():
    assert (
        identity.display_name("company", ENTITY, {"id": "42", "email": "mail@acme.example"})
        == "mail@acme.example"
    )


def test_a_field_called_content_is_not_what_an_entity_is_called():
    assert identity.display_name("note", ENTITY, {"content": "a long text", "url": "u"}) == "u"
    for entity_type in TYPES:
        shown = identity.display_name(entity_type, ENTITY, {"content": "a long text"})
        assert shown == f"{entity_type} 01234567"


@pytest.mark.parametrize("entity_type", TYPES)
@given(FIELDS)
def test_an_entity_is_always_called_something(entity_type, snapshot):
    texts = {name: canonical.encode(value) for name, value in snapshot.items()}
    for shown in (
        identity.display_name(entity_type, ENTITY, snapshot),
        identity.name_of(entity_type, ENTITY, texts),
    ):
        assert shown.strip()
        assert shown == " ".join(shown.split())


def test_an_entity_is_looked_up_by_what_identifies_it():
    snapshot = {
        "name": "Ada  Lovelace",
        "email": "ADA@example.org",
        "number": 17,
        "town": "London",
        "phone": None,
    }
    assert identity.identifiers(snapshot, "Countess") == {
        ("name", "countess"), ("name", "ada lovelace"), ("email", "ada@example.org"), ("external_id", "17"),
        ("tokens", "ada lovelace"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "other_text"),
    [
        ("John Smith", " SMITH,  john"),
        ("Conan O'Brien", "o’brien (Conan)"),
        ("Иван Петров", "Петров Иван"),
        ("हिन्दी भाषा", "भाषा, हिन्दी"),
        ("山田　太郎", "太郎・山田"),
    ],
)
def test_names_of_the_same_words_have_the_same_tokens(text, other_text):
    tokens, same = (sorted(identity.words(identity.fold_text(name))) for name in (text, other_text))
    assert tokens == same
    assert len(tokens) == 2
    assert ("tokens", " ".join(tokens)) in identity.identifiers({}, text)


def test_a_name_of_one_word_has_no_tokens_of_its_own():
    assert identity.identifiers({"title": "東京大学"}, " Acme! ") == {("name", "acme!"), ("name", "東京大学")}


def test_the_tokens_of_a_long_name_are_cut_for_their_index():
    keys = dict(identity.identifiers({}, "b " + "a" * 300))
    assert keys["tokens"] == identity.index_key("a" * 300 + " b")


def test_a_long_identifier_is_cut_for_its_index():
    ((kind, key),) = identity.identifiers({}, "x" * 300)
    assert (kind, key) == ("name", identity.index_key("x" * 300))
    assert len(key) == 217


def test_every_field_that_a_rule_asks_for_is_read_when_a_name_is_made():
    rule_fields = {name for rule in identity.SHIPPED.values() for names in rule for name in names} - {
        "content"
    }
    assert rule_fields | set(identity.IDENTIFIER_KINDS) == set(identity.NAMING)
