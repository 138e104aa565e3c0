// search.me: which of some entities that are marked as who asks was marked last.
//
// params  entity_ids: LIST<STRING>
// returns id: STRING
// mode    read
// index   entity_id
// cost    light
// The rank of a value ends with the time of its observation.
UNWIND $entity_ids AS id
MATCH (entity:Entity {id: id})
WHERE entity.owner = $owner AND entity.listed IS NOT NULL
WITH entity, [i IN range(0, size(entity.fields) - 1) WHERE entity.fields[i] = 'self'
  | split(entity.ranks[i], '.')[-1]][0] AS at
RETURN entity.id AS id ORDER BY at DESC, entity.id LIMIT 1
