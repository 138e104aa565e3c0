"""Merges by rule: what they come to, in whatever order the facts arrive."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping

import pytest

from graphmem.model import identity, identity_rules, ids, person_names, rule_merges
from tests.support.people import (
    ADA,
    ADA_BY_BIRTHDAY,
    ADA_BY_EMAIL,
    ALTERNATIVES,
    OTHER_ADA,
    OWNER,
    People,
    entity_id,
    random_fields,
    random_kind,
)
from tests.support.walks import walk_over

JOINING = identity_rules.JOINING_LEVEL
ROBERT = {"name": "Robert Miller"}
ROBERT_BY_EMAIL = {**ROBERT, "email": "robert@example.org"}


@walk_over(
    "name",
    [
        "Bob Miller", "Miller, Robert", "Miller, Rob", "miller, robert", "R. Miller", "R Miller",
        "Miller, R.",
        "Robert Miler", "Robert Milller", "Robetr Miller", "Roberd Miller", "Robert James Miller",
        "Bob Miler",
    ],
)  # fmt: skip
def test_somebody_with_a_name_near_it_may_be_meant(name: str) -> None:
    for order in itertools.permutations([ROBERT, ROBERT_BY_EMAIL, {"name": name, "email": "b@example.com"}]):
        people = People()
        for fields in order:
            people.store(fields)
        assert people.shown() == {}
        people.withdraw(entity_id({"email": "b@example.com"}))
        assert people.shown() == {entity_id(ROBERT): entity_id(ROBERT_BY_EMAIL)}


@pytest.mark.parametrize(
    "others",
    [
        [{"name": "Bob Miller"}],
        [{"name": "Bob Miller", "email": "robert@example.org"}],
        [{"name": "Bill Miller", "email": "bill@example.org"}],
        [{"name": "Miller Robert", "email": "other@example.org"}],
        [{"name": "R. Miler", "email": "other@example.org"}],
        [{"name": "Robert Miler"}, {"name": "R. Miller"}],
        [{"name": "Robert Mills", "email": "other@example.org"}],
        [{"name": name, "email": "other@example.org"} for name in ("R. Miller", "Rose Miller")],
    ],
)
def test_who_is_nobody_else_or_has_another_name_is_not_meant(others: list[dict[str, object]]) -> None:
    for order in itertools.permutations([ROBERT, ROBERT_BY_EMAIL, *others]):
        people = People()
        for fields in order:
            people.store(fields)
        assert people.shown()[entity_id(ROBERT)] == entity_id(ROBERT_BY_EMAIL)


@walk_over(
    "name, other, is_near",
    [
        ("ada king", "king, ada", True), ("ada king", "ada king", False), ("tim king", "timothy king", True),
        ("tim", "timothy", True), ("tim", "tom", False), ("ada", "ada king", False),
        ("ada king", "a. king", True), ("ada king", "a. kin", False), ("ada king", "e. king", False),
        ("bill king", "w. king", True), ("ada king", "ada b. king", True),
        ("ada b king", "ada c king", False),
        ("ada b king", "ada beth king", True), ("ada beth king", "ada b c king", False),
        ("ada king", "ada kign", True), ("ada king", "ada kigns", False), ("ada king", "adda king", True),
        ("ada king", "adda kign", False), ("jo li", "jo lu", False), ("jo li", "jo lin", True),
        ("王 伟", "王 伟明", False), ("王 伟", "王 芳", False),
        ("ada king 2", "ada king", False), ("king, ada, countess", "ada king", False), ("", "", False),
        (", ", "ada king", False), ("a b c d e", "a b c d f", False), ("ada " + 100 * "k", "ada k", False),
    ],
)  # fmt: skip
def test_names_near_each_other(name: str, other: str, is_near: bool) -> None:
    assert person_names.are_near(name, other) is person_names.are_near(other, name) is is_near
    assert not is_near or set(person_names.groups(name)) & set(person_names.groups(other))


def test_a_name_alone_is_merged_into_the_one_entity_of_this_name_with_an_email():
    people = People()
    people.store(ADA)
    people.store(ADA_BY_EMAIL)
    assert people.shown() == {entity_id(ADA): entity_id(ADA_BY_EMAIL)}


def test_two_that_fit_leave_a_name_alone_apart():
    people = People()
    for fields in (ADA, ADA_BY_EMAIL, OTHER_ADA):
        people.store(fields)
    assert people.shown() == {}


def test_two_that_fit_and_are_merged_by_hand_count_as_one():
    people = People()
    for fields in (ADA, ADA_BY_EMAIL, OTHER_ADA):
        people.store(fields)
    people.merge_by_hand(entity_id(OTHER_ADA), entity_id(ADA_BY_EMAIL))
    assert people.survivor(entity_id(ADA)) == entity_id(ADA_BY_EMAIL)


def test_a_chain_of_levels_ends_at_the_strongest():
    people = People()
    for fields in (ADA, ADA_BY_BIRTHDAY, {**ADA_BY_EMAIL, **ADA_BY_BIRTHDAY}):
        people.store(fields)
    assert people.shown() == dict.fromkeys(
        (entity_id(ADA), entity_id(ADA_BY_BIRTHDAY)), entity_id(ADA_BY_EMAIL)
    )


@pytest.mark.parametrize(("name", "is_merged"), [
    ("S. Grant", False), ("Grant, S", False), ("J. R. R. Tolkien", False), ("S-J Grant", False),
    ("Adam K. Jones", True), ("Cher", True), ("王 伟", True), ("Agent 7", True),
])  # fmt: skip
def test_a_person_whose_name_has_initials_is_not_merged_by_it(name, is_merged):
    people = People()
    subject_id = people.store({"name": name})
    people.store({"name": name, "email": "grant@example.org"})
    assert bool(people.shown()) is is_merged
    with_birthday = people.store({"name": name, "birthday": "1990-01-01"})
    people.store({"name": name, "birthday": "1990-01-01", "email": "grant@example.org"})
    assert with_birthday in people.shown()
    project = identity_rules.own_rule(OWNER, "project", (("number",), ("name",)))
    evidence = frozenset({("name", identity.fold_text(name))})
    entity_id = ids.entity_id(OWNER, "project", "name", [identity.fold_text(name)])
    assert project
    assert not project.identified(entity_id, evidence).is_off
    assert subject_id != with_birthday


def test_a_conflict_of_an_identifying_field_keeps_two_apart():
    people = People()
    people.store(ADA)
    people.store({"birthday": "1990-01-01"}, entity_id(ADA))
    people.store({**ADA_BY_EMAIL, **ADA_BY_BIRTHDAY})
    assert people.shown() == {}


def test_a_value_that_was_corrected_is_evidence_still():
    people = People()
    people.store(ADA)
    target = people.store(ADA_BY_EMAIL)
    people.store({"name": "Augusta"}, target)
    assert people.shown() == {entity_id(ADA): target}
    people.store({"name": "Augusta"})
    assert people.shown() == {entity_id(ADA): target, entity_id({"name": "Augusta"}): target}


def test_an_entity_that_no_alternative_made_is_another_candidate_and_no_target():
    people = People()
    people.store(ADA)
    people.store(ADA, "ent_new")
    assert people.shown() == {}
    people.store(ADA_BY_EMAIL)
    assert people.shown() == {}
    people.merge_by_hand("ent_new", entity_id(ADA_BY_EMAIL))
    assert people.shown() == {entity_id(ADA): entity_id(ADA_BY_EMAIL)}


def test_a_contact_joins_the_person_that_its_values_identify_today():
    """Stored before its type was another name of person; so does a person that its content made."""
    fitting = (
        (ADA, [ADA], ADA),
        (ADA_BY_EMAIL, [ADA_BY_EMAIL], ADA_BY_EMAIL),
        (ADA, [ADA, ADA_BY_EMAIL, OTHER_ADA], ADA),
        (ROBERT, [ROBERT_BY_EMAIL], ROBERT_BY_EMAIL),
        (ROBERT, [ROBERT_BY_EMAIL, {**ROBERT, "email": "r@example.com"}], None),
        (ROBERT_BY_EMAIL, [ROBERT], None),
        (ADA_BY_EMAIL, [OTHER_ADA], None),
    )
    for contact, persons, into in fitting:
        for stored in itertools.permutations([(contact, "contact"), *((each, "person") for each in persons)]):
            people = People()
            for fields, kind in stored:
                people.store(fields, kind=kind)
            expected = entity_id(into) if into else None
            assert people.shown().get(entity_id(contact, "contact")) == expected, (contact, persons)
            if expected:
                people.merge_by_hand(entity_id(contact, "contact"), expected)
                people.merge_by_hand(entity_id(contact, "contact"), None)
                assert entity_id(contact, "contact") not in people.shown()
    for kinds in itertools.permutations(("person", "content")):
        people = People()
        for kind in kinds:
            people.store(ADA, kind=kind)
        assert people.shown() == {entity_id(ADA, "content"): entity_id(ADA)}
        people.withdraw(entity_id(ADA))
        assert people.shown() == {}


def test_an_entity_whose_observations_are_withdrawn_is_no_candidate():
    people = People()
    for fields in (ADA, ADA_BY_EMAIL, OTHER_ADA):
        people.store(fields)
    people.withdraw(entity_id(OTHER_ADA))
    assert people.shown() == {entity_id(ADA): entity_id(ADA_BY_EMAIL)}
    people.withdraw(entity_id(ADA_BY_EMAIL))
    assert people.shown() == {}


def test_an_entity_of_which_the_observation_that_made_it_is_withdrawn_is_merged_no_more():
    people = People()
    by_email, by_name = people.store(ADA_BY_EMAIL), people.store(ADA)
    people.store({"name": "Ada King"}, by_name)
    assert people.shown() == {by_name: by_email}
    people.evidence[by_name] = identity_rules.evidence("person", {"name": "Ada King"}, ALTERNATIVES)
    people.settle([by_name])
    assert people.shown() == people.again() == {}


def test_what_was_separated_from_an_entity_that_is_withdrawn_is_merged_again():
    people = People()
    by_email, by_name = people.store(ADA_BY_EMAIL), people.store(ADA)
    another = people.store({"name": "Augusta"})
    people.store({"name": "Augusta"}, by_email)
    assert people.shown() == {by_name: by_email, another: by_email}
    people.pairs = {(by_name, another)}
    people.settle([by_name, another])
    assert people.shown() == {}
    people.withdraw(another)
    assert people.shown() == people.again() == {by_name: by_email}


def test_an_entity_that_was_unmerged_is_merged_no_more():
    people = People()
    people.store(ADA)
    people.store(ADA_BY_EMAIL)
    people.rule_merges.clear()
    people.pairs.add((entity_id(ADA), entity_id(ADA_BY_EMAIL)))
    people.settle([entity_id(ADA)])
    assert people.shown() == {}


AUGUSTA, COUNTESS = {"name": "Augusta King"}, {"name": "Countess"}
BY_BOTH = {**ADA_BY_EMAIL, **ADA_BY_BIRTHDAY}
PATHS = {
    "itself": (ADA, ADA_BY_EMAIL),
    "a member of the target": (ADA, AUGUSTA),
    "a member of its own": (COUNTESS, ADA_BY_EMAIL),
    "members of both": (COUNTESS, AUGUSTA),
}
"""By what two that were separated would meet; the pair is separated."""


def join(people: People, part: str) -> None:
    """Store the target with a member, or a name alone with a member, or what stands between them."""
    if part == "target":
        people.store(BY_BOTH)
        people.merge_by_hand(entity_id(AUGUSTA), entity_id(BY_BOTH))
    elif part == "own":
        people.store(ADA)
        people.merge_by_hand(entity_id(COUNTESS), entity_id(ADA))
    else:
        people.store(ADA_BY_BIRTHDAY)


@pytest.mark.parametrize("pair", PATHS.values(), ids=PATHS)
@pytest.mark.parametrize("parts", [("target", "own"), ("target", "own", "chain")])
def test_two_that_were_separated_meet_by_no_path(pair: tuple[dict[str, str], ...], parts: tuple[str, ...]):
    for order in itertools.permutations(parts):
        people = People()
        people.store(AUGUSTA)
        people.store(COUNTESS)
        people.pairs = {(entity_id(pair[0]), entity_id(pair[1]))}
        for part in order:
            join(people, part)
            assert people.shown() == people.again()
            assert people.met_by_rule() == []
        chain = {entity_id(ADA_BY_BIRTHDAY): entity_id(BY_BOTH)} if "chain" in parts else {}
        assert people.shown() == chain
        people.pairs = set()
        people.settle(sorted(people.evidence))
        assert people.survivor(entity_id(ADA)) == entity_id(BY_BOTH)


def test_of_those_that_fit_alike_the_one_with_the_smallest_id_is_taken():
    pair = [entity_id(ADA_BY_EMAIL), entity_id(OTHER_ADA)]
    for source, target in itertools.permutations(pair):
        for order in itertools.permutations([ADA, ADA_BY_EMAIL, OTHER_ADA]):
            people = People()
            for fields in order:
                people.store(fields)
            people.merge_by_hand(source, target)
            assert people.shown() == {entity_id(ADA): min(pair)}
            assert people.survivor(entity_id(ADA)) == target


def test_one_that_fits_by_a_stronger_alternative_is_taken_before_a_smaller_id():
    by_birthday, by_email = ADA_BY_BIRTHDAY, {**ADA_BY_EMAIL, **ADA_BY_BIRTHDAY}
    for number in range(4):
        people = People()
        fields = {**by_email, "email": f"{number}@example.org"}
        people.store(ADA)
        people.store(by_birthday)
        target = people.store(fields)
        assert people.shown() == {entity_id(ADA): target, entity_id(by_birthday): target}


def test_two_that_were_separated_do_not_meet_in_a_third():
    people = People()
    augusta = {"name": "Augusta"}
    target = people.store({**ADA_BY_EMAIL})
    people.store(augusta, target)
    people.pairs.add((entity_id(ADA), entity_id(augusta)))
    people.store(ADA)
    assert people.shown() == {entity_id(ADA): target}
    people.store(augusta)
    assert people.shown() == {}


def test_nothing_is_merged_into_a_survivor_that_its_own_level_may_move():
    people = People()
    augusta = {"name": "Augusta"}
    by_email = people.store(ADA_BY_EMAIL)
    people.store(augusta, by_email)
    people.store(ADA)
    people.merge_by_hand(by_email, people.store({"name": "Countess"}))
    people.store(augusta)
    assert people.shown() == {}


def test_a_merge_that_ends_is_felt_by_those_that_relied_on_it():
    people = People()
    augusta = {"name": "Augusta"}
    by_birthday = people.store(ADA_BY_BIRTHDAY)
    people.store(augusta, by_birthday)
    by_email = people.store({**ADA_BY_EMAIL, **ADA_BY_BIRTHDAY})
    people.merge_by_hand(people.store({**augusta, "email": "countess@example.org"}), by_email)
    people.store(augusta)
    assert people.survivor(entity_id(augusta)) == people.survivor(by_birthday) == by_email
    people.store({**OTHER_ADA, **ADA_BY_BIRTHDAY})
    assert people.shown() == {}


def test_an_alternative_that_is_off_merges_nothing():
    people = People()
    people.disabled = (2,)
    for fields in (ADA, ADA_BY_BIRTHDAY, {**ADA_BY_EMAIL, **ADA_BY_BIRTHDAY}):
        people.store(fields)
    assert people.shown() == {entity_id(ADA_BY_BIRTHDAY): entity_id(ADA_BY_EMAIL)}


def test_an_id_with_too_many_bearers_is_merged_into_none():
    people = People()
    people.store(ADA)
    people.evidence |= {
        f"ent_{number}": frozenset({("name", "ada"), ("email", str(number))}) for number in range(200)
    }
    assert len(people.bearers(entity_id(ADA))) == rule_merges.BEARERS_LIMIT
    people.store({"email": "ada@example.org"}, entity_id(ADA))
    target = people.store(ADA_BY_EMAIL)
    assert people.shown() == {}
    del people.evidence["ent_0"]
    people.settle([entity_id(ADA)])
    assert people.shown() == {entity_id(ADA): target}


def test_a_field_with_too_many_values_identifies_nothing():
    values = [frozenset({("name", f"{number:02}")}) for number in range(30)]
    forwards = backwards = frozenset[tuple[str, str]]()
    for value in values:
        forwards = identity_rules.joined(forwards, value)
    for value in reversed(values):
        backwards = identity_rules.joined(backwards, value)
    assert forwards == backwards
    assert len(forwards) == identity_rules.VALUES_LIMIT + 1
    assert identity_rules.borne(OWNER, "person", forwards, ALTERNATIVES) == {}
    assert identity_rules.in_conflict(forwards, values[0])


def test_too_many_combinations_of_values_identify_nothing():
    evidence = frozenset((field, str(number)) for field in ("name", "birthday") for number in range(8))
    borne = identity_rules.borne(OWNER, "person", evidence, ALTERNATIVES)
    assert sorted(set(borne.values())) == [2, JOINING + 2]
    assert len(borne) == 16


@pytest.mark.parametrize(
    ("entity_type", "registered", "expected"),
    [
        ("event", None, (("title", "date_start"), ("title", identity_rules.INSTANT), ("title",))),
        ("recipe", None, ()),
        ("recipe", (("isbn",), ("name",)), (("isbn",), ("name",))),
        ("person", identity.GENERAL[:-1], ()),
    ],
)
def test_the_own_rule_of_a_type_has_no_general_order(entity_type, registered, expected):
    assert identity_rules.alternatives(entity_type, registered) == expected


def test_both_names_of_a_field_are_evidence():
    alternatives = identity.own_rule("invoice")
    assert identity_rules.evidence("invoice", {"vendor": " ACME", "invoice_number": 7}, alternatives) == {
        ("vendor", "acme"), ("number", "7"),
    }  # fmt: skip


def test_an_id_that_is_borne_is_the_id_of_what_is_stored_by_these_values():
    evidence = identity_rules.evidence("person", {**ADA_BY_EMAIL, **ADA_BY_BIRTHDAY}, ALTERNATIVES)
    assert identity_rules.borne(OWNER, "person", evidence, ALTERNATIVES) == {
        entity_id(ADA_BY_EMAIL): 0, entity_id(ADA_BY_BIRTHDAY): 1, entity_id(ADA): 2,
        entity_id(ADA_BY_EMAIL, "contact"): JOINING, entity_id(ADA_BY_BIRTHDAY, "contact"): JOINING + 1,
        entity_id(ADA, "contact"): JOINING + 2,
    }  # fmt: skip
    assert ids.ENTITY_ID.fullmatch(entity_id(ADA))


class Events(People):
    """Events in memory."""

    def rule(self, entity_id: str) -> identity_rules.OwnRule:
        rule = identity_rules.own_rule(OWNER, "event", None)
        assert rule is not None
        return rule

    def store(self, fields: Mapping[str, object], target: str | None = None, *, kind: str = "event") -> str:
        subject_id = target or identity.identify(OWNER, kind, fields).entity_id
        more = self.rule(subject_id).evidence(fields)
        self.evidence[subject_id] = identity_rules.joined(self.evidence.get(subject_id, frozenset()), more)
        self.settle([subject_id])
        return subject_id


def starting(*starts: str | None) -> list[Mapping[str, object]]:
    return [{"title": "Standup"} | ({"date_start": start} if start else {}) for start in starts]


def test_events_of_one_title_and_instant_are_one_in_every_zone():
    zoned = starting("2026-03-01T09:30+01:00", "2026-03-01T08:30Z", "2026-03-01 08:30:00 +0000")
    others = starting("2026-03-01", "2026-03-01T08:30", "2026-03-01T08:31Z")
    others.append({"title": "Retro", "date_start": "2026-03-01T08:30Z"})
    for order in (zoned + others, others + zoned[::-1]):
        people = Events()
        stored = [people.store(fields) for fields in order]
        twins = sorted(each for each, fields in zip(stored, order, strict=True) if fields in zoned)
        assert people.shown() == dict.fromkeys(twins[1:], twins[0])
        people.merge_by_hand(twins[1], twins[0])
        people.merge_by_hand(twins[1], None)
        assert twins[1] not in people.shown()
    # Who gives the title alone means the one meeting that has it, however it was written.
    people = Events()
    meeting = min(people.store(fields) for fields in zoned)
    title = people.store({"title": "Standup"})
    assert people.survivor(title) == meeting


@walk_over("seed", range(40), one_of=2)
def test_events_that_are_decided_one_by_one_are_those_that_are_decided_at_once(seed):
    rng, people = random.Random(seed), Events()
    starts = ("2026-03-01T09:30+01:00", "2026-03-01T08:30Z", "2026-03-01T08:30:00Z", "2026-03-01", None)
    for number in range(25):
        known, fields = sorted(people.evidence), rng.choice(starting(*starts, "2026-03-01T09:30Z"))
        step = rng.choice(STEPS) if known else "store"
        target = {"new": f"ent_new{number}", "extend": rng.choice(known or [""])}.get(step)
        if step in ("store", "new", "extend"):
            people.store(fields, target)
        elif step == "merge":
            people.merge_by_hand(rng.choice(known), rng.choice(known))
        elif step == "unmerge":
            people.merge_by_hand(rng.choice(known), None)
        elif step == "separate":
            people.separate(rng.choice(known), rng.choice(known))
        elif not {known[0]} & {*people.merged, *people.merged.values()}:
            people.withdraw(known[0])
        assert people.shown() == people.again(), (number, step)
        assert people.met_by_rule() == []


STEPS = (
    "store", "store", "store", "store", "extend", "new", "merge", "merge", "unmerge", "withdraw", "separate",
)  # fmt: skip


def random_step(people: People, rng: random.Random, number: int) -> None:
    """Change the facts at random."""
    step, fields, known = rng.choice(STEPS), random_fields(rng), sorted(people.evidence)
    if step == "store" or not known:
        people.store(fields, kind=random_kind(rng))
        return
    subject_id = rng.choice(known)
    if step == "new":
        people.store(fields, f"ent_new{number}")
    elif step == "extend":
        people.store(fields, subject_id)
    elif step == "merge":
        people.merge_by_hand(subject_id, rng.choice(known))
    elif step == "unmerge":
        people.merge_by_hand(subject_id, None)
    elif step == "separate":
        people.separate(subject_id, rng.choice(known))
    elif not {subject_id} & {*people.merged, *people.merged.values()}:
        people.withdraw(subject_id)


@walk_over("seed", range(100), one_of=4)
def test_deciding_after_each_change_comes_to_what_deciding_at_once_does(seed):
    rng, people = random.Random(seed), People()
    people.disabled = rng.choice([(), (), (), (1,), (2,)])
    for number in range(30):
        random_step(people, rng, number)
        assert people.shown() == people.again()
        assert people.met_by_rule() == []
