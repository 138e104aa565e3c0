// exclusion.waiting: some entities and relationships that wait to be folded again because other observations count, and
// on how many observations it is not noted yet when they count.
//
// params  limit: INTEGER
// returns entities: LIST<STRING>, relationships: LIST<STRING>, unstamped: INTEGER
// mode    read
// index   owner_id, entity_refold (owner, refold, id), relationship_refold (owner, refold, id)
// cost    light
CALL () {
  OPTIONAL MATCH (owner:Owner {id: $owner})
  RETURN coalesce(max(owner.unstamped), 0) AS unstamped
}
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
RETURN entities, relationships[..$limit - size(entities)] AS relationships, unstamped
