// How many entities and relationships of the owner wait to be folded again, and on how many observations it is not
// noted yet when they count, as `pending`.
CALL () {
  OPTIONAL MATCH (folded_owner:Owner {id: $owner})
  WITH folded_owner.refolding AS refolding, coalesce(folded_owner.unstamped, 0) AS unstamped
  CALL (refolding) {
    WITH refolding WHERE refolding
    MATCH (entity:Entity)
    USING INDEX SEEK entity:Entity(owner, refold, id)
    WHERE entity.owner = $owner AND entity.refold > 0 AND entity.id IS NOT NULL
    RETURN count(entity) AS waiting
    UNION ALL
    WITH refolding WHERE refolding
    MATCH (relationship:Relationship)
    USING INDEX SEEK relationship:Relationship(owner, refold, id)
    WHERE relationship.owner = $owner AND relationship.refold > 0 AND relationship.id IS NOT NULL
    RETURN count(relationship) AS waiting
  }
  RETURN coalesce(max(unstamped), 0) + sum(waiting) AS pending
}
