"""The services of a sealed instance over the database of the run: other owners there are in clear."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from graphmem.auth.file_urls import FileUrls
from graphmem.context import Services
from graphmem.settings import Settings
from tests.support.event_loop import Loop
from tests.support.sealed_services import sealed_services_beside


@pytest.fixture(scope="session")
def sealed_services(
    services: Services, settings: Settings, loop: Loop, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Services]:
    """The services of a sealed instance. ``services``: the database has its schema.

    The secret of signed URLs belongs to the whole database: in clear, other tests can read it too.
    """
    loop.run(FileUrls(services.database).signed("an owner", "a source", 0))
    opened = sealed_services_beside(settings, tmp_path_factory.mktemp("sealed"))
    yield loop.run(opened.__aenter__())
    loop.run(opened.__aexit__(None, None, None))
