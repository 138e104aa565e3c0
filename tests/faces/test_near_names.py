"""Nobody is merged by a name alone of which somebody else has a near one, whichever was stored first."""

from __future__ import annotations

import base64
import itertools
from string import ascii_lowercase
from typing import Any

import pytest

from graphmem.model import person_names
from tests.support.faces import Call
from tests.support.long_cases import mostly_long
from tests.support.rule_merging import Audited

SURNAMES = ("Lovelace", "Grimshaw", "Oakridge", "Hazelwood", "Pemberton", "Quartermain")


def person(name: str, email: str | None = None) -> dict[str, Any]:
    """Return an item."""
    return {"entity_type": "person", "name": name} | ({"email": f"{email}@example.org"} if email else {})


def of_file(run: Call, item: dict[str, Any]) -> tuple[str, str]:
    """Store an item with a file of its own; return the entity that it is about, and the file."""
    more = {
        "file_content": base64.b64encode(str(item).encode()).decode(),
        "mime_type": "text/plain",
        "find_duplicates": False,
    }
    answer = run("store", entities=[item], **more)
    (entity,) = answer["entities"]
    return entity.get("home_entity_id", entity["entity_id"]), answer["source_id"]


def are_one(run: Call, *entity_ids: str) -> bool:
    """Return whether ids lead to one entity."""
    return len({run("entities.get", entity_id=entity_id)["entity_id"] for entity_id in entity_ids}) == 1


@pytest.mark.parametrize("near", mostly_long(["A. {}", "Ada {}s", "Ada Byron {}"], "A. {}"))
def test_a_near_name_of_somebody_else_ends_a_merge_until_it_is_withdrawn(
    run: Call, audited: Audited, near: str
) -> None:
    for surname, order in zip(SURNAMES, itertools.permutations(range(3)), strict=True):
        name, other = f"Ada {surname}", near.format(surname)
        items = [person(name), person(name, surname), person(other, f"other.{surname}")]
        stored = {place: of_file(run, items[place]) for place in order}
        (alone, _), (known, _), (_, file) = (stored[place] for place in range(3))
        assert not are_one(run, alone, known)
        run("sources.withdraw", source_id=file)
        assert are_one(run, alone, known)
        run("sources.reinstate", source_id=file)
        assert not are_one(run, alone, known)
    assert audited(True) == {}


def test_who_is_known_by_a_near_name_is_counted_when_another_is_known_by_it_too(
    run: Call, audited: Audited
) -> None:
    of_file(run, person("Tom King", "tom"))
    known, _ = of_file(run, person("King, Thomas", "thomas"))
    alone, _ = of_file(run, person("King, Thomas"))
    assert not are_one(run, alone, known)
    # Nobody is known as Tom King alone: whoever bears the name has to be read all the same.
    of_file(run, person("Tom King", "thomas"))
    assert not are_one(run, alone, known)
    assert audited(True) == {}


def test_who_is_found_by_another_name_is_compared_by_its_own_name_in_the_same_turn(
    run: Call, audited: Audited
) -> None:
    born = {"birthday": "1815-12-10"}
    tom, _ = of_file(run, person("Tom King"))
    run("store", entities=[{"target_id": tom, "name": "Ada Lovelace", **born}])
    ada, _ = of_file(run, person("Ada Lovelace") | born)
    items = [person("Ada Lovelace", "both") | born, person("Tom Kign", "both")]
    (known, _) = (entity["entity_id"] for entity in run("store", entities=items)["entities"])
    # Tom has Ada's name and birthday too, and is known by a weaker alternative than these.
    assert [are_one(run, known, each) for each in (ada, tom)] == [True, False]
    assert audited(True) == {}


def test_initials_stand_for_the_other_name_of_who_has_them(run: Call) -> None:
    (alone, _), (known, _) = (of_file(run, person("Ada Lovelace", email)) for email in (None, "ada"))
    of_file(run, person("A. Lovelace", "other"))
    assert not are_one(run, alone, known)
    of_file(run, person("Anna Lovelace", "other"))
    assert are_one(run, alone, known)


@pytest.mark.parametrize("is_last", mostly_long([False, True], True))
def test_too_many_names_of_one_group_merge_nothing(run: Call, audited: Audited, is_last: bool) -> None:
    """The worker of any process may fold what is withdrawn: so the limit is the one of all processes."""
    crowd = ["".join(letters) for letters in itertools.product("L", "aeiou", ascii_lowercase, "rt")]
    crowd = crowd[: person_names.LIMIT - 6]
    run("store", entities=[person(f"Ada {name}", name) for name in crowd], find_duplicates=False)
    ada = [person("Ada Lovelace"), person("Ada Lovelace", "ada")]
    others = [person(f"Ada {surname}", surname) for surname in ("Lang", "Lowe", "Lucas", "Long")]
    stored = [of_file(run, item) for item in (others + ada if is_last else ada + others)]
    (alone, _), (known, _) = stored[-2:] if is_last else stored[:2]
    files = [file for _, file in (stored[:-2] if is_last else stored[2:])]
    assert are_one(run, alone, known)
    for name in ("Lamb", "Lee"):
        files.append(of_file(run, person(f"Ada {name}", name))[1])
        assert not are_one(run, alone, known)
    assert audited(True) == {}
    for file, is_one in zip(files, [False, True], strict=False):
        run("sources.withdraw", source_id=file)
        assert are_one(run, alone, known) is is_one
    assert audited(True) == {}
