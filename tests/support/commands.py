"""The ``graphmem`` command on the database of this run, with an owner of its own.

Run as a module (``python -m tests.support.commands OWNER serve …``) this file is the command with another
default owner, so that tests that share a database see nothing of each other. With ``OWNER_BY_TOKEN`` in place
of the owner, the bearer token of each call names the owner.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from graphmem import settings as graphmem_settings
from graphmem.settings import Settings, variable
from tests.support import reached_outcomes

LOCAL_SERVICE = "local-service"
"""In place of a command: be the local service of the environment's settings."""
OWNER_BY_TOKEN = "each"
"""Instead of an owner: the bearer token names it, call by call."""
UNLIMITED = {name: "off" for name in Settings.model_fields if name.startswith("limit_")}
"""Settings without rate limits: tests send more than any caller. tests/access/limits has limits."""


def environment(settings: Settings, folder: Path, **more: str) -> dict[str, str]:
    """Return the environment in which a command reaches the database of this run."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name == reached_outcomes.VARIABLE or not name.startswith(("GRAPHMEM_", "NEO4J_"))
    }
    where = {
        "NEO4J_USERNAME": settings.neo4j_username,
        "NEO4J_PASSWORD": settings.neo4j_password.get_secret_value(),
    }
    if settings.neo4j_uri:
        where["NEO4J_URI"] = settings.neo4j_uri
    else:
        # An embedded Neo4j of this folder.
        own = ("neo4j_heap", "neo4j_page_cache", "neo4j_fast_start", "neo4j_start_timeout", "cache_dir")
        embedded = {f"GRAPHMEM_{name.upper()}": getattr(settings, name) for name in own}
        where = {name: str(value) for name, value in embedded.items() if value is not None}
    if settings.key_file is not None and settings.root_key is not None:
        # A run over a sealed instance.
        where |= {
            "GRAPHMEM_KEY_FILE": str(settings.key_file),
            "GRAPHMEM_ROOT_KEY": settings.root_key.get_secret_value(),
        }
    unlimited = {variable(name): value for name, value in UNLIMITED.items()}
    own_process = unlimited | {
        "GRAPHMEM_DATA_DIR": str(folder),
        "GRAPHMEM_ENV": "test",
        "GRAPHMEM_OFFLINE": "1",
    }
    return {**kept, **where, **own_process, **more}


def command(owner: str, *words: str) -> list[str]:
    """Return the command line of ``graphmem`` for an owner of its own."""
    return [sys.executable, "-m", "tests.support.commands", owner, *words]


async def owner_by_token(authenticator: Any, caller: Any) -> Any:
    """Return the actor of a request: its bearer token is the owner."""
    from tests.support.actors import full_actor

    return full_actor(caller.headers.get("authorization", "").removeprefix("Bearer "))


async def no_work(services: Any) -> None:
    """Do none of the worker's work."""


if __name__ == "__main__":
    owner = sys.argv.pop(1)
    if owner == OWNER_BY_TOKEN:
        from graphmem.auth.authenticator import Authenticator

        Authenticator.actor = owner_by_token  # pyright: ignore[reportAttributeAccessIssue]
    else:
        graphmem_settings.DEFAULT_OWNER = graphmem_settings.LOCAL_ACCOUNT = owner
        # Its worker would do the work that other tests leave in the database for a process that they kill.
        from graphmem import worker

        worker.work = no_work
        # A local service that this process starts is the same owner's.
        from graphmem.service import calling

        calling.COMMAND = command(owner, LOCAL_SERVICE)
    from tests.support import open_services

    open_services.leave_open()
    # The default owner is read when the package is imported.
    reached_outcomes.install_if_wanted()
    if "GRAPHMEM_FAILPOINTS" in os.environ:
        from tests.support.failpoints import arm_from_environment

        arm_from_environment()
    if sys.argv[1:] == [LOCAL_SERVICE]:
        from graphmem.service.process import main
    else:
        from graphmem.cli.main import main

    main()
