// observation.of_entity: one page of an entity's observations and of those merged into it, newest first; no row if it
// is not the owner's. An entity that is merged itself is what it is merged into.
//
// params  entity_id: STRING, at: INTEGER, recorded_since: INTEGER, recorded_until: INTEGER,
//         homes: LIST<STRING>, include_deleted: BOOLEAN, offset: INTEGER, limit: INTEGER, reach: INTEGER
// returns page: LIST<LIST>, truncated: BOOLEAN, total: INTEGER, version: INTEGER, type: STRING
// mode    read
// index   entity_id, observed_in_time (home, at), read backwards
// cost    light
// `homes` are those that it showed at some time, instead of those of now. `reach` is offset + limit: no member's history is read further than that.
MATCH (given:Entity {id: $entity_id})
WHERE given.owner = $owner
MATCH (given)-[:MERGED_INTO*0..]->(entity:Entity)
WHERE entity.merged_into IS NULL AND (entity.live OR $include_deleted)
CALL (entity) {
  CALL (entity) {
    WITH entity WHERE $homes IS NULL
    MATCH (entity)<-[:MERGED_INTO*0..]-(member:Entity)
    RETURN member
    UNION ALL
    UNWIND coalesce($homes, []) AS id
    MATCH (member:Entity {id: id})
    WHERE member.owner = $owner
    RETURN member
  }
  CALL (member) {
    MATCH ()-[seen:OBSERVED]->(observation:Observation)
    WHERE seen.home = member.id AND seen.at <= $at AND seen.recorded_at >= $recorded_since
      AND seen.recorded_at <= $recorded_until
    RETURN observation ORDER BY seen.home DESC, seen.at DESC, seen.observation_id DESC LIMIT $reach
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
}
RETURN page, truncated, entity.observation_count AS total, entity.version AS version,
  entity.type AS type
