// entity.get: one entity with its current snapshot, or the survivor that it is merged into; no row if it is not the
// owner's, or is deleted.
//
// params  entity_id: STRING, include_deleted: BOOLEAN
// returns entity: LIST
// mode    read
// index   entity_id, schema_head
// cost    light
MATCH (requested_entity:Entity {id: $entity_id})
WHERE requested_entity.owner = $owner
MATCH (requested_entity)-[:MERGED_INTO*0..]->(entity:Entity)
WHERE entity.merged_into IS NULL AND (entity.live OR $include_deleted)
RETURN <entity._row> AS entity
