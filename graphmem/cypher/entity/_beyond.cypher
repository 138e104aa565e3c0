// How many entities of some types exist, as `counted`. They are counted one by one, and only if no counter covers the
// request (`total` is -1) and `$counted` asks for it.
CALL (types, total) {
  UNWIND CASE WHEN total < 0 AND $counted THEN types ELSE [] END AS type
  CALL (type) {
    MATCH (entity:Entity)
    USING INDEX SEEK entity:Entity(owner, listed, id)
    WHERE entity.owner = $owner AND entity.listed = type AND entity.id IS NOT NULL
    RETURN count(entity) AS entities
    UNION ALL
    MATCH (entity:Entity)
    USING INDEX SEEK entity:Entity(owner, unlisted, id)
    WHERE entity.owner = $owner AND entity.unlisted = type AND entity.id IS NOT NULL AND <entity._included>
    RETURN count(entity) AS entities
  }
  RETURN sum(entities) AS counted
}
