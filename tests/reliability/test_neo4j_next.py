"""Data that the default Neo4j wrote is opened by the next one, and never the other way round."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from graphmem import neo4j_local
from graphmem.errors import DataDirectoryRefused
from graphmem.neo4j_local import jar_list
from graphmem.settings import Settings
from tests.support.embedded_neo4j import engine_settings, probe, query

DEFAULT = Settings().neo4j_version
(NEXT,) = (version for version in jar_list.versions() if version != DEFAULT)


@pytest.mark.long
def test_a_data_directory_goes_on_under_the_next_neo4j_and_not_back(tmp_path: Path) -> None:
    before = engine_settings(tmp_path)
    after = engine_settings(tmp_path, neo4j_version=NEXT)
    assert (before.neo4j_version, jar_list.read(NEXT).release.partition(".")[0]) == (DEFAULT, "2026")
    try:
        at = neo4j_local.ensure(before, probe)
        query(at, "CREATE CONSTRAINT kept IF NOT EXISTS FOR (n:Kept) REQUIRE n.id IS UNIQUE")
        query(at, "CREATE (:Kept {id: 'x', values: $values})", values=['"a"', "1.0"])
        assert neo4j_local.stop(before)
        at = neo4j_local.ensure(after, probe)
        (row,) = query(at, "MATCH (n:Kept {id: 'x'}) RETURN n.values AS values")
        assert row["values"] == ['"a"', "1.0"]
        assert query(at, "SHOW CONSTRAINTS YIELD name WHERE name = 'kept' RETURN name")
        assert neo4j_local.stop(after)
        with pytest.raises(
            DataDirectoryRefused, match=f"which {re.escape(jar_list.read(DEFAULT).release)} cannot read"
        ):
            neo4j_local.ensure(before, probe)
    finally:
        neo4j_local.stop(after)
