// entity.get: one entity with its current snapshot; no row if it is not the owner's, or deleted.
//
// params  entity_id: STRING, include_deleted: BOOLEAN
// returns entity: LIST
// mode    read
// index   entity_id
// cost    light
MATCH (entity:Entity {id: $entity_id})
WHERE entity.owner = $owner AND (entity.live OR $include_deleted)
RETURN <entity._row> AS entity
