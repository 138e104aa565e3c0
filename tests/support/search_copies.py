"""Services with other copies in memory of what owners stored."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from graphmem.context import Services
from graphmem.search.passage_copies import PassageCopies
from graphmem.search.search_copies import SearchCopies
from graphmem.settings import Limits


def with_copies(services: Services, *copies: Any, **others: Any) -> Services:
    """Return services with other copies, and with other values of some fields."""
    replaced = {type(each): each for each in copies}
    return replace(services, from_above={**services.from_above, **replaced}, **others)


def with_new_copies(services: Services) -> Services:
    """Return services that have read nothing yet, as those of a new process.

    An answer of a slow machine may lack what is not read into memory in time: here it waits for a minute.
    """
    database, memory = services.database, 100_000_000
    passages = PassageCopies(database, memory, services.embedder.model)
    limits = Limits(copy_wait_seconds=60.0, passages_wait_seconds=60.0)
    return with_copies(services, SearchCopies(database, memory), passages, limits=limits)
