"""How many examples Hypothesis tries a property with: few with ``make test``, all with ``make test-long``."""

from __future__ import annotations

import os

from hypothesis import settings

LONG = os.environ.get("GRAPHMEM_TEST_PROFILE") == "long"


def examples(quick: int) -> settings:
    """Return settings with ``quick`` examples, with those of the profile in a long run.

    For properties whose examples each take a tenth of a second or more on the database.
    """
    return settings(max_examples=settings().max_examples if LONG else quick)
