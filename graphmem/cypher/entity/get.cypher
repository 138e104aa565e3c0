// entity.get: one entity with its current snapshot, or the survivor that it is merged into; no row if it is not the
// owner's, or is deleted.
//
// params  entity_id: STRING, include_deleted: BOOLEAN
// returns entity: LIST
// mode    read
// index   entity_id, schema_head
// cost    light
MATCH (given:Entity {id: $entity_id})
WHERE given.owner = $owner
MATCH (given)-[:MERGED_INTO*0..]->(entity:Entity)
WHERE entity.merged_into IS NULL AND (entity.live OR $include_deleted)
RETURN <entity._row> AS entity
