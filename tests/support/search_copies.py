"""Services whose searches are answered by the indexes of the database."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graphmem.registry import Services
from graphmem.search.search_copies import SearchCopies


def without_copies(services: Services) -> Services:
    """Return services that have no memory for copies of owners' entities; a sealed instance refuses that."""
    if services.database.is_sealed:
        pytest.skip("a sealed instance has no index of words")
    return replace(services, search_copies=SearchCopies(services.database, 0))
