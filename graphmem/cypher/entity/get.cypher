// entity.get: one entity with its current snapshot; no row if it is not the owner's.
//
// params  entity_id: STRING
// returns entity: LIST
// mode    read
// index   entity_id
// cost    light
MATCH (entity:Entity {id: $entity_id})
WHERE entity.owner = $owner
RETURN <entity._row> AS entity
