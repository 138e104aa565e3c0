"""How many examples Hypothesis tries a property with: few with ``make test``, all with ``make test-long``."""

from __future__ import annotations

import os

from hypothesis import settings

LONG = os.environ.get("GRAPHMEM_TEST_PROFILE") == "long"


def examples(quick: int, whole: int | None = None) -> settings:
    """Return settings with ``quick`` examples, in a long run with ``whole``, or those of the profile.

    For properties whose examples each take a tenth of a second or more.
    """
    return settings(max_examples=(whole or settings().max_examples) if LONG else quick)
