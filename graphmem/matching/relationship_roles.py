"""What people call the entity at the other end of a relationship: the boss, the employer, the owner.

A question has such a word where the relationship has another: "Tom's boss" is whom Tom reports to.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_TABLE: Final = """
    REPORTS_TO outgoing boss manager supervisor superior lead
    REPORTS_TO incoming report subordinate team
    MANAGES incoming boss manager supervisor superior lead head
    MANAGES outgoing report subordinate responsibility
    WORKS_AT outgoing employer company job workplace work
    WORKS_AT incoming employee staff people worker
    OWNS incoming owner proprietor holder
    OWNS outgoing property possession belonging
    CREATED_BY outgoing author creator maker writer designer
    MEMBER_OF outgoing team group club organisation organization
    MEMBER_OF incoming member people
    LOCATED_AT outgoing location place address where
    PART_OF outgoing whole parent
    PART_OF incoming part component
    SUBSIDIARY_OF outgoing parent owner
    SUBSIDIARY_OF incoming subsidiary daughter
    ACQUIRED_BY outgoing acquirer buyer owner
    ACQUIRED_BY incoming acquisition purchase bought
    FUNDED_BY outgoing funder sponsor donor money
    INVESTED_IN incoming investor shareholder
    INVESTED_IN outgoing investment share
    SUPPLIES_TO incoming supplier vendor
    SUPPLIES_TO outgoing customer client buyer
    DEPENDS_ON outgoing dependency requirement need prerequisite
    COMPETITOR_OF outgoing competitor rival
    COMPETITOR_OF incoming competitor rival
    PARTNER_OF outgoing partner
    PARTNER_OF incoming partner
    MARRIED_TO outgoing spouse husband wife
    MARRIED_TO incoming spouse husband wife
    SPOUSE_OF outgoing spouse husband wife
    SPOUSE_OF incoming spouse husband wife
    CHILD_OF outgoing parent mother father
    CHILD_OF incoming child son daughter
    PARENT_OF incoming parent mother father
    PARENT_OF outgoing child son daughter
"""
ROLES: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    (name, direction): tuple(roles) for name, direction, *roles in map(str.split, _TABLE.split("\n")[1:-1])
}
"""For a relationship type and a direction, the words for the entity at the other end."""


def roles(relationship_type: str, direction: str) -> tuple[str, ...]:
    """Return the words for the entity at the other end of a relationship; there may be none."""
    return ROLES.get((relationship_type, direction), ())
