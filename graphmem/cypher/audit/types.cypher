// audit.types: the types of all entities and relationships of an owner, and how many there are in total.
//
// params  none
// returns entities: LIST<STRING>, relationships: LIST<STRING>, total: INTEGER
// mode    read
// index   entity_by_state (owner, type, live, id), relationship_by_type (owner, type, last_observation_at, id)
// cost    heavy
// The types are read from the entities and relationships: the counters are what the audit checks.
CALL () {
  MATCH (entity:Entity)
  USING INDEX SEEK entity:Entity(owner, type, live, id)
  WHERE entity.owner = $owner AND entity.type IS NOT NULL AND entity.live IS NOT NULL AND entity.id IS NOT NULL
  RETURN collect(DISTINCT entity.type) AS entities, count(entity) AS known
}
CALL () {
  MATCH (relationship:Relationship)
  USING INDEX SEEK relationship:Relationship(owner, type, last_observation_at, id)
  WHERE relationship.owner = $owner AND relationship.type IS NOT NULL
    AND relationship.last_observation_at IS NOT NULL AND relationship.id IS NOT NULL
  RETURN collect(DISTINCT relationship.type) AS relationships, count(relationship) AS related
}
RETURN entities, relationships, known + related AS total
