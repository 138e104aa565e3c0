// How many entities of some types exist, as `counted`: those that counters do not cover (deleted or merged ones) are
// counted one by one.
CALL (types, total) {
  UNWIND CASE WHEN total < 0 AND $counted THEN types ELSE [] END AS type
  CALL (type) {
    MATCH (entity:Entity)
    USING INDEX SEEK entity:Entity(owner, listed, id)
    WHERE entity.owner = $owner AND entity.listed = type AND entity.id IS NOT NULL
    RETURN count(entity) AS one
    UNION ALL
    MATCH (entity:Entity)
    USING INDEX SEEK entity:Entity(owner, unlisted, id)
    WHERE entity.owner = $owner AND entity.unlisted = type AND entity.id IS NOT NULL AND <entity._wanted>
    RETURN count(entity) AS one
  }
  RETURN sum(one) AS counted
}
