// event.entities: the ids of an owner's entities, of all types or of one, or of those that a source says something of,
// live or not; at most one more than `limit`.
//
// params  entity_type: STRING, source_id: STRING, limit: INTEGER
// returns entities: LIST<STRING>
// mode    read
// index   entity_by_state (owner, type, live, id), source_id
// cost    light
CALL () {
  WITH $entity_type AS requested_type WHERE requested_type IS NOT NULL AND $source_id IS NULL
  MATCH (entity:Entity)
  USING INDEX SEEK entity:Entity(owner, type, live, id)
  WHERE entity.owner = $owner AND entity.type = requested_type AND entity.live IS NOT NULL AND entity.id IS NOT NULL
  RETURN entity.id AS id LIMIT $limit + 1
  UNION ALL
  WITH $entity_type AS requested_type WHERE requested_type IS NULL AND $source_id IS NULL
  MATCH (entity:Entity)
  USING INDEX SEEK entity:Entity(owner, type, live, id)
  WHERE entity.owner = $owner AND entity.type IS NOT NULL AND entity.live IS NOT NULL AND entity.id IS NOT NULL
  RETURN entity.id AS id LIMIT $limit + 1
  UNION ALL
  WITH $source_id AS requested_source WHERE requested_source IS NOT NULL
  MATCH (source:Source {id: requested_source})
  WHERE source.owner = $owner
  MATCH (source)<-[:FROM_SOURCE]-(:Observation)<-[seen:OBSERVED]-(:History)
  WITH DISTINCT seen.home AS id WHERE id STARTS WITH 'ent_'
  RETURN id LIMIT $limit + 1
}
RETURN collect(id) AS entities
