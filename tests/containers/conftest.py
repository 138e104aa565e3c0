"""The image, built once for all tests that run it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support import images
from tests.support.images import Image


@pytest.fixture(scope="session")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Image]:
    """The image of this checkout. The test is skipped where it cannot be built and run."""
    if why := images.lacking():
        pytest.skip(why)
    with images.built(tmp_path_factory.mktemp("image")) as built:
        yield built
