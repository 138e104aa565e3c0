"""No function that takes a text of a caller takes more than twice as long for twice the text."""

from __future__ import annotations

import random
import re
from typing import Final

import pytest

from tests.support import long_texts
from tests.support.long_texts import SHAPES, Case
from tests.support.walks import walk_over

SIZE: Final = 1_500
LINES_RATIO: Final = 2.6
FEW_LINES: Final = 300
"""What each call runs besides its work on the text."""
CPU_RATIO: Final = 8.0
LEAST_SECONDS: Final = 0.02
SIZE_LIMIT: Final = 64_000
"""A text of so many characters that takes less than ``LEAST_SECONDS`` is fast enough."""
SHARE: Final = 20

CASES: Final = long_texts.cases()
WALK: Final = [(case, shape) for case in CASES for shape in SHAPES]
PART: Final = random.Random(7).sample(WALK, len(WALK) // SHARE)
CUT_BEFORE: Final = {
    "graphmem.duplicates.name_similarity.by_length": "it takes no time that can be measured",
    "graphmem.model.schema.fields.compiled": "a pattern has PATTERN_LIMIT characters at most",
    "graphmem.model.schema.fields.matches": "a pattern has PATTERN_LIMIT characters at most",
    "graphmem.duplicates.persons.compare_texts": "Profile.values cuts what is compared",
    "graphmem.duplicates.persons.compare_codes": "Profile.values cuts what is compared",
    "graphmem.duplicates.persons.compare_emails": "Profile.values cuts what is compared",
}
"""Functions whose callers cut the text, each with what does so."""


def test_the_walk_visits_the_functions_that_take_texts() -> None:
    functions = {case.name.partition("(")[0] for case in CASES}
    assert len(functions) >= 290
    assert functions >= CUT_BEFORE.keys()
    assert len(SHAPES) >= 10


@walk_over("case, shape", PART)
def test_twice_the_text_runs_twice_the_lines(case: Case, shape: str) -> None:
    check_lines(case, shape)


@pytest.mark.long
@walk_over("case, shape", WALK)
def test_twice_the_text_runs_twice_the_lines_everywhere(case: Case, shape: str) -> None:
    check_lines(case, shape)


def check_lines(case: Case, shape: str) -> None:
    if case.name.partition("(")[0] in CUT_BEFORE:
        return
    # An earlier call may have compiled a pattern of one of the texts, such as the boundary of a mail.
    re.purge()
    # The first call fills what does not hang on the text.
    long_texts.lines_run(case.call, SHAPES[shape](SIZE // 4))
    few, many = (long_texts.lines_run(case.call, SHAPES[shape](size)) for size in (SIZE, 2 * SIZE))
    if many > max(LINES_RATIO * few, FEW_LINES):
        # A limit may lie between the two, after which a text is read otherwise: then once more is no more.
        few, many = many, long_texts.lines_run(case.call, SHAPES[shape](4 * SIZE))
    assert many <= max(LINES_RATIO * few, FEW_LINES), f"{few:,} lines, and {many:,} of twice the text"


def test_a_pattern_that_was_compiled_before_does_not_change_the_lines() -> None:
    case = next(case for case in CASES if "boundary={0}" in case.name)
    case.call(SHAPES["emoji"](SIZE))
    check_lines(case, "emoji")


# Regular expressions and what is written in C run no lines. The collector looks at all that the run has.
@pytest.mark.long
@walk_over("case, shape", [(case, shape) for case, shape in WALK if not case.is_single])
def test_four_times_the_text_takes_four_times_the_cpu(case: Case, shape: str) -> None:
    if case.name.partition("(")[0] in CUT_BEFORE:
        return
    size = SIZE
    long_texts.cpu_seconds(case.call, SHAPES[shape](SIZE))
    while (once := long_texts.cpu_seconds(case.call, SHAPES[shape](size))) < LEAST_SECONDS:
        size *= 4
        if size > SIZE_LIMIT:
            return
    fourfold = long_texts.cpu_seconds(case.call, SHAPES[shape](4 * size))
    for _ in range(4):
        if fourfold <= CPU_RATIO * once:
            return
        once = max(LEAST_SECONDS, min(once, long_texts.cpu_seconds(case.call, SHAPES[shape](size))))
        fourfold = min(fourfold, long_texts.cpu_seconds(case.call, SHAPES[shape](4 * size)))
    assert fourfold <= CPU_RATIO * once, (
        f"{once:.3f} s for {size:,} characters, {fourfold:.3f} s for four times"
    )
