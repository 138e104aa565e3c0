// event.entities: the ids of an owner's entities, of all types or of one, live or not; at most one more than `limit`.
//
// params  entity_type: STRING, limit: INTEGER
// returns entities: LIST<STRING>
// mode    read
// index   entity_by_state (owner, type, live, id)
// cost    light
CALL () {
  WITH $entity_type AS requested_type WHERE requested_type IS NOT NULL
  MATCH (entity:Entity)
  USING INDEX SEEK entity:Entity(owner, type, live, id)
  WHERE entity.owner = $owner AND entity.type = requested_type AND entity.live IS NOT NULL AND entity.id IS NOT NULL
  RETURN entity.id AS id LIMIT $limit + 1
  UNION ALL
  WITH $entity_type AS requested_type WHERE requested_type IS NULL
  MATCH (entity:Entity)
  USING INDEX SEEK entity:Entity(owner, type, live, id)
  WHERE entity.owner = $owner AND entity.type IS NOT NULL AND entity.live IS NOT NULL AND entity.id IS NOT NULL
  RETURN entity.id AS id LIMIT $limit + 1
}
RETURN collect(id) AS entities
