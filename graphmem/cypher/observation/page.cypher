// observation.page: one page of an owner's observations of entities, newest first, with the total.
//
// params  at: INTEGER, include_deleted: BOOLEAN, offset: INTEGER, limit: INTEGER
// returns page: LIST<LIST>, truncated: BOOLEAN, total: INTEGER
// mode    read
// index   observation_by_owner (owner, observed_at, id, entity_id), read backwards
// cost    light
CALL () {
  MATCH (observation:Observation)
  WHERE observation.owner = $owner AND observation.observed_at <= $at AND observation.id IS NOT NULL
    AND observation.entity_id IS NOT NULL
  WITH observation
  ORDER BY observation.owner DESC, observation.observed_at DESC, observation.id DESC, observation.entity_id DESC
  MATCH (entity:Entity {id: observation.entity_id})
  WHERE entity.live OR $include_deleted
  WITH observation
  ORDER BY observation.owner DESC, observation.observed_at DESC, observation.id DESC, observation.entity_id DESC
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
  MATCH (counted:Count)
  WHERE counted.owner = $owner AND counted.kind = 'entity' AND counted.type IS NOT NULL
  RETURN sum(CASE WHEN $include_deleted THEN counted.recorded ELSE counted.observations END) AS total
}
RETURN page, truncated, total
