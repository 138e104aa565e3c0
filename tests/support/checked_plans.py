"""Which queries have a plan that was checked, by a digest of all that the plan follows from.

To plan every query takes a minute of CPU. An ordinary run plans those that are new or changed, and a tenth of
the others; all, once a migration, the version or the configuration of Neo4j has changed. A long run plans
all. After a run that planned all and passed, ``python -m tests.support.checked_plans`` writes the file anew:
what it does not have, or has by another digest, is planned in every run.
"""

from __future__ import annotations

import hashlib
import os
import random
from pathlib import Path
from typing import Final

from graphmem import cypher
from graphmem.database import migrations
from graphmem.model.relationship import BUILTIN
from graphmem.neo4j_local import config, jar_list
from graphmem.settings import Settings
from tests.support.database import VERSION
from tests.support.examples import LONG

FILE: Final = Path(__file__).parent.parent / "cypher" / "checked_plans.txt"
ONE_OF: Final = 10
"""An ordinary run plans one of so many queries whose plan was checked."""


def unchecked() -> list[str]:
    """Return the queries that this run plans, in order."""
    names = sorted(cypher.names())
    if LONG or os.environ.get(VERSION):
        return names
    known = set(FILE.read_text("utf-8").splitlines()) if FILE.exists() else set[str]()
    checked = [name for name in names if line(name) in known]
    again = random.Random(1).sample(checked, len(checked) // ONE_OF)
    return sorted({*names} - {*checked} | {*again})


def line(name: str) -> str:
    """Return the line of a query in the file."""
    query = cypher.query(name)
    text = cypher.with_types(name, frozenset(BUILTIN)) if query.takes_types else query.text
    source = Path(cypher.__file__).parent.joinpath(*name.partition("[")[0].split(".")).with_suffix(".cypher")
    content = "\0".join([text, source.read_text("utf-8"), str(sorted(query.params.items())), *_around()])
    return f"{hashlib.sha256(content.encode()).hexdigest()[:32]} {name}"


def _around() -> list[str]:
    """Return what all plans follow from: the indexes, the server and how it is configured."""
    release = jar_list.read(Settings.model_fields["neo4j_version"].default).release
    conf = Path(config.__file__).with_name("neo4j.conf").read_text("utf-8")
    return [*(each.checksum for each in migrations.shipped()), release, conf]


if __name__ == "__main__":
    FILE.write_text("".join(f"{line(name)}\n" for name in sorted(cypher.names())), "utf-8")
