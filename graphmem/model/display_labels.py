"""The second label of an entity's node in Neo4j, by which the Neo4j Browser colours it.

The label is for display only: no query, index or constraint uses it. A label is seen across owners, so it is
taken from this table alone and never from a name that somebody stored. No label is one that a node of another
kind has: ``Transaction`` is the label of a write.
"""

from typing import Final

from graphmem.model import identity

DISPLAY_LABELS: Final = {name: name.capitalize() for name in identity.SHIPPED} | {
    "transaction": "BankTransaction"
}
"""The label of each shipped type. The migration that labels older entities holds the same table."""
