// Parts of aliases: entities that have another name are folded again, by the path of withdrawn observations. Their text
// then says which of its values are other names. It has `$after`, so it runs in batches, by id.
MATCH (entity:Entity)
USING INDEX SEEK entity:Entity(id)
WHERE entity.id > $after
WITH entity ORDER BY entity.id LIMIT 2000
CALL (entity) {
  WITH entity
  WHERE entity.listed IS NOT NULL AND any(field IN entity.fields WHERE field IN ['aka', 'alias', 'aliases',
    'also_known_as', 'display_name', 'former_name', 'former_names', 'legal_name', 'maiden_name', 'nick', 'nickname',
    'nicknames', 'other_names', 'short_name'])
  MATCH (owner:Owner {id: entity.owner})
  SET entity.refold = coalesce(entity.refold, 0) + 1, owner.refolding = true
}
RETURN max(entity.id) AS after, count(entity) AS done;
