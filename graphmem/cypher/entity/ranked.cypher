// entity.ranked: some listed entities by their ids, in the given order, with the values of some fields.
//
// params  entity_ids: LIST<STRING>, fields: LIST<STRING>, cut: INTEGER
// returns candidates: LIST<LIST>, keys: LIST, heads: LIST<LIST>
// mode    read
// index   entity_id, schema_head (owner, head)
// cost    heavy
UNWIND $entity_ids AS id
MATCH (entity:Entity {id: id})
WHERE entity.owner = $owner AND entity.listed IS NOT NULL
WITH collect(<entity._candidate>) AS candidates, collect(DISTINCT entity.type) AS types
RETURN candidates, [] AS keys, <entity._heads>
