// exclusion.waiting: some entities and relationships that wait to be folded again because other observations count.
//
// params  limit: INTEGER
// returns entities: LIST<STRING>, relationships: LIST<STRING>
// mode    read
// index   entity_refold (owner, refold, id), relationship_refold (owner, refold, id)
// cost    light
CALL () {
  MATCH (entity:Entity)
  USING INDEX SEEK entity:Entity(owner, refold, id)
  WHERE entity.owner = $owner AND entity.refold > 0 AND entity.id IS NOT NULL
  WITH entity LIMIT $limit
  RETURN collect(entity.id) AS entities
}
CALL () {
  MATCH (relationship:Relationship)
  USING INDEX SEEK relationship:Relationship(owner, refold, id)
  WHERE relationship.owner = $owner AND relationship.refold > 0 AND relationship.id IS NOT NULL
  WITH relationship LIMIT $limit
  RETURN collect(relationship.key) AS relationships
}
RETURN entities, relationships[..$limit - size(entities)] AS relationships
