// audit.subjects: a stretch of the subjects (entities or relationships) of some kinds, in the order of the kinds.
//
// params  kinds: LIST<LIST>, limit: INTEGER
// returns subjects: LIST<LIST>
// mode    read
// index   entity_by_state (owner, type, live, id), relationship_by_type (owner, type, last_observation_at, id)
// cost    heavy
// A kind is [whether it is of entities, type, live, since, after]: entities of a type that are live or not, in the order
// of ids, or relationships of a type in the order of their last observation, then of ids. `since` and `after` are where
// the previous stretch ended. A row is [place of its kind in the list, id, its own since, its own after].
UNWIND range(0, size($kinds) - 1) AS place
WITH place, $kinds[place][0] AS entities, $kinds[place][1] AS kind, $kinds[place][2] AS live, $kinds[place][3] AS since,
  $kinds[place][4] AS after
CALL (entities, kind, live, since, after) {
  WITH entities, kind, live, after WHERE entities
  MATCH (entity:Entity)
  USING INDEX SEEK entity:Entity(owner, type, live, id)
  WHERE entity.owner = $owner AND entity.type = kind AND entity.live = live AND entity.id > after
  WITH entity ORDER BY entity.owner, entity.type, entity.live, entity.id LIMIT $limit
  RETURN entity.id AS subject_id, 0 AS observed_at, entity.id AS id
  UNION ALL
  WITH entities, kind, since, after WHERE NOT entities
  MATCH (relationship:Relationship)
  USING INDEX SEEK relationship:Relationship(owner, type, last_observation_at, id)
  WHERE relationship.owner = $owner AND relationship.type = kind AND relationship.last_observation_at >= since
    AND relationship.id IS NOT NULL
    AND CASE relationship.last_observation_at WHEN since THEN relationship.id > after ELSE true END
  WITH relationship
  ORDER BY relationship.owner, relationship.type, relationship.last_observation_at, relationship.id LIMIT $limit
  RETURN relationship.key AS subject_id, relationship.last_observation_at AS observed_at, relationship.id AS id
}
WITH place, subject_id, observed_at, id LIMIT $limit
RETURN collect([place, subject_id, observed_at, id]) AS subjects
