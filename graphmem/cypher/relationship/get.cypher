// relationship.get: one relationship by its key or its id; no row if it is not the owner's, or deleted.
//
// params  key: STRING, include_deleted: BOOLEAN
// returns relationship: LIST
// mode    read
// index   relationship_key, relationship_id, entity_id
// cost    light
CALL () {
  MATCH (relationship:Relationship {key: $key})
  RETURN relationship
  UNION
  MATCH (relationship:Relationship {id: $key})
  RETURN relationship
}
WITH relationship WHERE relationship.owner = $owner AND (relationship.live OR $include_deleted)
MATCH (source:Entity {id: relationship.source})
WHERE source.live OR $include_deleted
MATCH (target:Entity {id: relationship.target})
WHERE target.live OR $include_deleted
RETURN <relationship._row> AS relationship
