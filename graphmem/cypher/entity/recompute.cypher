// entity.recompute: what entities come to from their own observations, as of two clocks, under plain rules.
// No row for an entity that is not the owner's; counts of 0 where nothing is visible.
//
// params  entity_ids: LIST<STRING>, at: INTEGER, at_ingested: INTEGER
// returns snapshots: LIST<LIST>, known: INTEGER
// mode    read
// index   owner_id, entity_id, observed_in_time (home, at), schema_head
// cost    light
// What is committed while this runs is left out of all of it: the owner's last recorded_at is read first, and is
// `known`. The last parts say whether it was ever part of a merge, and the head of its type's schema: where that has
// rules of its own, its observations are folded by the caller.
OPTIONAL MATCH (writer:Owner {id: $owner})
WITH CASE WHEN writer.recorded_at < $at_ingested THEN writer.recorded_at ELSE $at_ingested END AS known LIMIT 1
CALL (known) {
  UNWIND $entity_ids AS id
  MATCH (entity:Entity {id: id})
  WHERE entity.owner = $owner
  CALL (entity) {
    OPTIONAL MATCH (head:Schema)
    WHERE head.owner = $owner AND head.head = entity.type
    RETURN head.projection AS projection, head.active_version AS active_version, head.document AS document
  }
  CALL (id, known) {
    MATCH ()-[seen:OBSERVED]->()
    WHERE seen.home = id AND seen.at <= $at AND seen.recorded_at <= known
    // No two transactions of an owner share a recorded_at: as many transactions touched the entity.
    RETURN count(seen) AS observations, count(DISTINCT seen.recorded_at) AS version,
      min(seen.recorded_at) AS created_at, max(seen.at) AS last_observation_at,
      max(CASE WHEN seen.kind IN ['delete', 'restore'] THEN [seen.at, seen.observation_id, seen.kind] END) AS turn
  }
  CALL (id, known, projection) {
    WITH id, known WHERE projection IS NULL
    MATCH ()-[seen:OBSERVED]->(observation:Observation)
    WHERE seen.home = id AND seen.at <= $at AND seen.recorded_at <= known
      AND seen.kind IN ['value', 'correction', 'create']
    WITH observation.fields AS fields, observation.values AS values, observation.id AS observation_id,
      observation.observed_at AS observed_at, CASE observation.kind WHEN 'correction' THEN 1 ELSE 0 END AS correction
    UNWIND range(0, size(fields) - 1) AS i
    WITH fields[i] AS field, max([correction, observed_at, observation_id, values[i]]) AS winner
    RETURN collect([field, winner[0], winner[1], winner[2], winner[3]]) AS fold
  }
  RETURN collect([entity.id, entity.type, version, observations, created_at, last_observation_at, turn, fold,
    EXISTS { (entity)-[:MERGED]-() }, active_version, document]) AS snapshots
}
RETURN snapshots, known
