// What decided by what rules merged entities at earlier times is found by keys that stay: entities of which observations were
// withdrawn are folded again, by the path of withdrawn observations, and get the keys that they had. When merges by rule held
// is stored no more: edges `ruled` of earlier versions are read by nothing. It has `$after`, so it runs in batches, by id.
MATCH (entity:Entity)
USING INDEX SEEK entity:Entity(id)
WHERE entity.id > $after
WITH entity ORDER BY entity.id LIMIT 2000
CALL (entity) {
  WITH entity WHERE entity.excluded
  MATCH (owner:Owner {id: entity.owner})
  SET entity.refold = coalesce(entity.refold, 0) + 1, owner.refolding = true
}
RETURN max(entity.id) AS after, count(entity) AS done;
