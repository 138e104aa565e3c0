// The entities of some types in the order of a property, then of ids: those after `$key` and `$after`, at most
// `$reach`. Takes `types`; `$least` is the least value of the property. Each type takes two seeks, one for the rest of
// the same key and one for greater keys: a single condition would read every entity of the same key. Unlisted entities
// (deleted or merged) are sorted here.
UNWIND types AS type
CALL (type) {
  MATCH (entity:Entity)
  USING INDEX SEEK entity:Entity(owner, listed, KEY, id)
  WHERE entity.owner = $owner AND entity.listed = type AND entity.KEY = $key AND entity.id BEYOND $after
  RETURN entity ORDER BY entity.owner WAY, entity.listed WAY, entity.KEY WAY, entity.id WAY LIMIT $reach
  UNION ALL
  MATCH (entity:Entity)
  USING INDEX SEEK entity:Entity(owner, listed, KEY, id)
  WHERE entity.owner = $owner AND entity.listed = type AND entity.KEY BEYOND $key AND entity.KEY >= $least
    AND entity.id IS NOT NULL
  RETURN entity ORDER BY entity.owner WAY, entity.listed WAY, entity.KEY WAY, entity.id WAY LIMIT $reach
  UNION ALL
  WITH type WHERE $include_deleted OR $include_merged
  MATCH (entity:Entity)
  USING INDEX SEEK entity:Entity(owner, unlisted, id)
  WHERE entity.owner = $owner AND entity.unlisted = type AND entity.id IS NOT NULL AND <entity._included>
    AND entity.KEY >= $least AND (entity.KEY BEYOND $key OR entity.KEY = $key AND entity.id BEYOND $after)
  RETURN entity ORDER BY entity.KEY WAY, entity.id WAY LIMIT $reach
}
WITH entity ORDER BY entity.KEY WAY, entity.id WAY LIMIT $reach
