// entity.get: one entity with its current snapshot, or the survivor that it is merged into; no row if it is not the
// owner's, or is deleted.
//
// params  entity_id: STRING, include_deleted: BOOLEAN
// returns entity: LIST
// mode    read
// index   entity_id, schema_head
// cost    light
// Of an address that several people share, `parted_into` are their ids; it is there although nothing may be left of it.
MATCH (requested_entity:Entity {id: $entity_id})
WHERE requested_entity.owner = $owner
MATCH (requested_entity)-[:MERGED_INTO*0..]->(entity:Entity)
WHERE entity.merged_into IS NULL AND (entity.live OR $include_deleted)
  OR entity.merged_into = '' AND entity.parted_into IS NOT NULL
RETURN <entity._row> + [null, requested_entity.parted_into] AS entity
