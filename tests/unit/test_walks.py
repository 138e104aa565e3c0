"""What a walk over cases tells, and which cases of a test are left to long runs."""

from __future__ import annotations

import inspect
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support import walks
from tests.support.long_cases import FACES, leave_faces_to_long_runs, mostly_long
from tests.support.walks import walk_over


def test_a_walk_checks_every_case_and_names_all_that_failed() -> None:
    seen: list[tuple[int, str, str]] = []

    @walk_over("number", [1, 2, 3])
    @walk_over("letter, word", [("a", "one"), ("b", "two")])
    def walk(number: int, letter: str, word: str, fixture: str) -> None:
        seen.append((number, letter, fixture))
        assert (number, word) != (2, "two")
        with pytest.raises(ValueError):
            int("x" if number < 3 else "3")

    assert list(inspect.signature(walk).parameters) == ["fixture"]
    with pytest.raises(pytest.fail.Exception) as failed:
        walk(fixture="f")
    assert seen == [(number, letter, "f") for number in (1, 2, 3) for letter in "ab"]
    told = str(failed.value)
    assert told.startswith("2 of 3 cases failed: 2, 3\n")
    for words in ("1 of 2 cases failed: b-two", "2 of 2 cases failed: a-one, b-two", "DID NOT RAISE"):
        assert words in told


def test_an_ordinary_run_checks_a_part_of_the_cases_and_a_long_one_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def seen(cases: range, one_of: int) -> list[int]:
        checked: list[int] = []

        @walk_over("number", cases, one_of=one_of)
        def walk(number: int) -> None:
            checked.append(number)

        walk()
        return sorted(checked)

    monkeypatch.setattr(walks, "LONG", False)
    part = seen(range(41), 20)
    assert (len(part), part) == (3, seen(range(41), 20))
    assert set(part) < set(range(41))
    assert len(seen(range(3), 20)) == 1
    monkeypatch.setattr(walks, "LONG", True)
    assert seen(range(41), 20) == [*range(41)]


def test_a_walk_over_nothing_is_refused() -> None:
    with pytest.raises(AssertionError, match="no case of name"):
        walk_over("name", [])


def test_all_but_the_quick_cases_are_long() -> None:
    first, second = mostly_long([("a", 1), ("b", 2)], ("b", 2))
    assert (first.values, [mark.name for mark in first.marks]) == (("a", 1), ["long"])
    assert second == ("b", 2)
    with pytest.raises(AssertionError, match="are no cases"):
        mostly_long("ab", "c")


def test_each_test_by_call_keeps_a_face_and_each_face_has_some() -> None:
    def kept(number: int) -> str:
        marked: list[str] = []
        items: list[Any] = [
            SimpleNamespace(
                location=("tests/faces/test_x.py", 1, "x"),
                originalname=f"test_{number}",
                callspec=SimpleNamespace(params={"call": face}, indices={"call": index}),
                add_marker=lambda _, face=face: marked.append(face),
            )
            for index, face in enumerate(FACES)
        ]
        leave_faces_to_long_runs(items)
        (face,) = set(FACES) - set(marked)
        return face

    faces = [kept(number) for number in range(30)]
    assert faces == [kept(number) for number in range(30)]
    assert set(faces) == set(FACES)
