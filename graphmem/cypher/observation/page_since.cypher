// observation.page_since: one page of the observations of entities recorded since some time, newest first.
//
// params  recorded_since: INTEGER, types: LIST<STRING>, at: INTEGER, include_deleted: BOOLEAN, offset: INTEGER,
//         limit: INTEGER
// returns page: LIST<LIST>, truncated: BOOLEAN
// mode    read
// index   observation_by_recorded (owner, recorded_at, id, entity_id), entity_id
// cost    light
// It reads what was recorded since then, and sorts that by when it was so. No types means any.
MATCH (observation:Observation)
WHERE observation.owner = $owner AND observation.recorded_at >= $recorded_since AND observation.id IS NOT NULL
  AND observation.entity_id IS NOT NULL AND observation.observed_at <= $at
  AND (size($types) = 0 OR observation.entity_type IN $types)
CALL (observation) {
  MATCH (entity:Entity {id: observation.entity_id})
  WHERE entity.live OR $include_deleted
  RETURN entity
}
WITH observation ORDER BY observation.observed_at DESC, observation.id DESC SKIP $offset LIMIT $limit
WITH collect(observation) AS found
WITH found, [one IN found | one.size] AS sizes
WITH found, <entity._fitting> AS fitting
CALL (found, fitting) {
  UNWIND found[..fitting] AS observation
  MATCH (observation)-[:IN_TRANSACTION]->(transaction:Transaction)
  RETURN collect(<observation._row>) AS page
}
RETURN page, size(found) > fitting AS truncated
