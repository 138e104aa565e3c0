// relationship.get: one relationship by its key or its id, or the survivor that it is merged into; no row if it is not
// the owner's, or is deleted. A key with merged entities is answered as the key of their survivors.
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
  UNION
  WITH split($key, ':') AS parts WHERE size(parts) = 3
  MATCH (source:Entity {id: parts[1]})
  MATCH (target:Entity {id: parts[2]})
  WITH parts, source, target WHERE source.merged_into IS NOT NULL OR target.merged_into IS NOT NULL
  MATCH (source)-[:MERGED_INTO*0..]->(from:Entity)
  WHERE from.merged_into IS NULL
  MATCH (target)-[:MERGED_INTO*0..]->(to:Entity)
  WHERE to.merged_into IS NULL
  MATCH (relationship:Relationship {key: parts[0] + ':' + from.id + ':' + to.id})
  RETURN relationship
}
OPTIONAL MATCH (relationship)-[:SHOWN_AS]->(above:Relationship)
WITH DISTINCT coalesce(above, relationship) AS relationship
WHERE relationship.owner = $owner AND relationship.shown_as IS NULL AND (relationship.live OR $include_deleted)
MATCH (source:Entity {id: relationship.source})
WHERE source.live OR $include_deleted
MATCH (target:Entity {id: relationship.target})
WHERE target.live OR $include_deleted
RETURN <relationship._row> AS relationship
