// Events of one title and instant are one, in whatever zone their start is written: events whose start has a time are
// folded again, by the path of withdrawn observations; when merges held is then worked out again. It has `$after`, so it
// runs in batches, by id.
MATCH (entity:Entity)
USING INDEX SEEK entity:Entity(id)
WHERE entity.id > $after
WITH entity ORDER BY entity.id LIMIT 2000
CALL (entity) {
  WITH entity
  WHERE entity.type = 'event' AND any(i IN range(0, size(entity.fields) - 1) WHERE entity.values[i] CONTAINS ':'
    AND toLower(replace(replace(replace(entity.fields[i], ' ', ''), '-', ''), '_', '')) = 'datestart')
  MATCH (owner:Owner {id: entity.owner})
  SET entity.refold = coalesce(entity.refold, 0) + 1, owner.refolding = true,
    owner.undated = coalesce(owner.revision, 0)
}
RETURN max(entity.id) AS after, count(entity) AS done;
