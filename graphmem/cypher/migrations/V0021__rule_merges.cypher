// Merges by rule: entities of types that have an identity rule of several alternatives are folded again, by the path of
// withdrawn observations. That notes under which identities each is found, and merges what the rule merges. Entities
// of registered types follow as they are written, and with `graphmem rebuild`. It has `$after`, so it runs in batches,
// by id.
MATCH (entity:Entity)
USING INDEX SEEK entity:Entity(id)
WHERE entity.id > $after
WITH entity ORDER BY entity.id LIMIT 2000
CALL (entity) {
  WITH entity
  WHERE entity.type IN ['contact', 'conversation', 'document', 'event', 'message', 'note', 'person', 'task']
  MATCH (owner:Owner {id: entity.owner})
  SET entity.refold = coalesce(entity.refold, 0) + 1, owner.refolding = true
}
RETURN max(entity.id) AS after, count(entity) AS done;
