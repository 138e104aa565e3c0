// observation.page_by_type: one page of an owner's observations of entities of one type, newest first.
//
// params  entity_type: STRING, at: INTEGER, include_deleted: BOOLEAN, offset: INTEGER, limit: INTEGER
// returns page: LIST<LIST>, truncated: BOOLEAN, total: INTEGER
// mode    read
// index   observation_by_type (owner, entity_type, observed_at, id), read backwards
// cost    light
CALL () {
  MATCH (observation:Observation)
  WHERE observation.owner = $owner AND observation.entity_type = $entity_type AND observation.observed_at <= $at
    AND observation.id IS NOT NULL
  WITH observation
  ORDER BY observation.owner DESC, observation.entity_type DESC, observation.observed_at DESC, observation.id DESC
  MATCH (entity:Entity {id: observation.entity_id})
  WHERE entity.live OR $include_deleted
  WITH observation
  ORDER BY observation.owner DESC, observation.entity_type DESC, observation.observed_at DESC, observation.id DESC
  SKIP $offset LIMIT $limit
  WITH collect(observation) AS found
  WITH found, [one IN found | one.size] AS sizes
  WITH found, <entity._fitting> AS fitting
  CALL (found, fitting) {
    UNWIND found[..fitting] AS observation
    MATCH (observation)-[:IN_TRANSACTION]->(transaction:Transaction)
    RETURN collect(<observation._row>) AS page
  }
  RETURN page, size(found) > fitting AS truncated
}
CALL () {
  OPTIONAL MATCH (counted:Count {owner: $owner, kind: 'entity', type: $entity_type})
  RETURN coalesce(CASE WHEN $include_deleted THEN counted.recorded ELSE counted.observations END, 0) AS total
}
RETURN page, truncated, total
