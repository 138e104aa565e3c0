// observation.of_entity: one page of an entity's observations, newest first; no row if it is not the owner's.
//
// params  entity_id: STRING, at: INTEGER, recorded_since: INTEGER, recorded_until: INTEGER,
//         include_deleted: BOOLEAN, offset: INTEGER, limit: INTEGER
// returns page: LIST<LIST>, truncated: BOOLEAN, total: INTEGER, version: INTEGER, type: STRING
// mode    read
// index   entity_id, observed_in_time (home, at), read backwards
// cost    light
MATCH (entity:Entity {id: $entity_id})
WHERE entity.owner = $owner AND (entity.live OR $include_deleted)
CALL () {
  MATCH ()-[seen:OBSERVED]->(observation:Observation)
  WHERE seen.home = $entity_id AND seen.at <= $at AND seen.recorded_at >= $recorded_since
    AND seen.recorded_at <= $recorded_until
  WITH seen, observation
  ORDER BY seen.home DESC, seen.at DESC, seen.observation_id DESC SKIP $offset LIMIT $limit
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
RETURN page, truncated, entity.observation_count AS total, entity.version AS version,
  entity.type AS type
