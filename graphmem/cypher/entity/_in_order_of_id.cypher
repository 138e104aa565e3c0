// The entities of some types in the order of ids, after `$after`, at most `$reach`. Takes `types`.
UNWIND types AS type
CALL (type) {
  MATCH (entity:Entity)
  USING INDEX SEEK entity:Entity(owner, listed, id)
  WHERE entity.owner = $owner AND entity.listed = type AND entity.id BEYOND $after
  RETURN entity ORDER BY entity.owner WAY, entity.listed WAY, entity.id WAY LIMIT $reach
  UNION ALL
  WITH type WHERE $include_deleted OR $include_merged
  MATCH (entity:Entity)
  USING INDEX SEEK entity:Entity(owner, unlisted, id)
  WHERE entity.owner = $owner AND entity.unlisted = type AND entity.id BEYOND $after AND <entity._included>
  RETURN entity ORDER BY entity.owner WAY, entity.unlisted WAY, entity.id WAY LIMIT $reach
}
WITH entity ORDER BY entity.id WAY LIMIT $reach
