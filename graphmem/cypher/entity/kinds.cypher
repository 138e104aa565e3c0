// entity.kinds: the types of some entities of the owner, deleted ones included, and of all that are merged with them.
//
// params  entity_ids: LIST<STRING>
// returns id: STRING, types: LIST<STRING>
// mode    read
// index   entity_id
// cost    light
UNWIND $entity_ids AS id
MATCH (entity:Entity {id: id})
WHERE entity.owner = $owner
MATCH (entity)-[:MERGED_INTO*0..]-(other:Entity)
RETURN id, collect(DISTINCT other.type) AS types
