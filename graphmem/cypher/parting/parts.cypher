// parting.parts: the parts of those of some addresses and numbers that are shared.
//
// params  entity_ids: LIST<STRING>
// returns parts: LIST<LIST>
// mode    read
// index   entity_id
// cost    light
UNWIND $entity_ids AS id
MATCH (entity:Entity {id: id})
WHERE entity.owner = $owner AND entity.parted_into IS NOT NULL
RETURN collect(entity.parted_into) AS parts
