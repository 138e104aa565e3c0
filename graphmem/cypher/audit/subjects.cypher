// audit.subjects: a stretch of the subjects (entities or relationships) of one type, live or not, by id.
//
// params  entities: BOOLEAN, type: STRING, live: BOOLEAN, after: STRING, since: INTEGER, limit: INTEGER
// returns subject_ids: LIST<STRING>, last: LIST
// mode    read
// index   entity_by_state (owner, type, live, id), relationship_by_type (owner, type, last_observation_at, id)
// cost    heavy
// Entities come in the order of ids; `after` is the last id of the previous stretch. Relationships come in the order
// of their last observation, then of ids; `since` and `after` are where the previous stretch ended. `last` is the
// place at which the next stretch begins, null at the end.
CALL () {
  WITH $entities AS entities WHERE entities
  MATCH (entity:Entity)
  USING INDEX SEEK entity:Entity(owner, type, live, id)
  WHERE entity.owner = $owner AND entity.type = $type AND entity.live = $live AND entity.id > $after
  WITH entity ORDER BY entity.owner, entity.type, entity.live, entity.id LIMIT $limit
  RETURN entity.id AS subject_id, [0, entity.id] AS place
  UNION ALL
  WITH $entities AS entities WHERE NOT entities
  MATCH (relationship:Relationship)
  USING INDEX SEEK relationship:Relationship(owner, type, last_observation_at, id)
  WHERE relationship.owner = $owner AND relationship.type = $type AND relationship.last_observation_at >= $since
    AND relationship.id IS NOT NULL
    AND CASE relationship.last_observation_at WHEN $since THEN relationship.id > $after ELSE true END
  WITH relationship
  ORDER BY relationship.owner, relationship.type, relationship.last_observation_at, relationship.id LIMIT $limit
  RETURN relationship.key AS subject_id, [relationship.last_observation_at, relationship.id] AS place
}
WITH collect(subject_id) AS subject_ids, collect(place) AS places
RETURN subject_ids, CASE size(places) WHEN $limit THEN last(places) END AS last
