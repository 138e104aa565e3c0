"""The labels by which the Neo4j Browser colours entities: a pinned table that nothing depends on."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path

from graphmem import cypher
from graphmem.database import migrations
from graphmem.model import schema
from graphmem.model.display_labels import DISPLAY_LABELS

LABEL = re.compile(r":\s*(?:[A-Z]\w*\|)*([A-Z]\w*)")


def test_every_shipped_type_has_a_label_of_its_own_and_no_other_type_has_one() -> None:
    assert sorted(DISPLAY_LABELS) == list(schema.shipped_types())
    assert len(set(DISPLAY_LABELS.values())) == len(DISPLAY_LABELS)
    assert DISPLAY_LABELS["person"] == "Person"


def test_no_query_index_or_constraint_uses_a_display_label() -> None:
    folder = Path(str(resources.files(cypher)))
    texts = {path.name: path.read_text(encoding="utf-8") for path in folder.rglob("*.cypher")}
    texts.pop("V0011__display.cypher")
    used = {label for text in texts.values() for label in LABEL.findall(text)}
    assert {"Entity", "Transaction", "TimelineEvent"} <= used
    assert used.isdisjoint(DISPLAY_LABELS.values())


def test_the_migration_labels_older_entities_by_the_same_table() -> None:
    (migration,) = (each for each in migrations.shipped() if each.version == 11)
    (statement,) = migration.statements
    assert dict(re.findall(r"(\w+): '(\w+)'", statement)) == dict(DISPLAY_LABELS)
