// entity.recompute: snapshots of entities from their observations, as of two clocks.
// No row for an entity that is not the owner's; counts of 0 where nothing is visible.
//
// params  entity_ids: LIST<STRING>, at: INTEGER, at_ingested: INTEGER
// returns snapshots: LIST<LIST>
// mode    read
// index   owner_id, entity_id, observed_in_time (home, at)
// cost    light
// What is committed while this runs is left out of all of it: the owner's last recorded_at is read first.
OPTIONAL MATCH (writer:Owner {id: $owner})
WITH CASE WHEN writer.recorded_at < $at_ingested THEN writer.recorded_at ELSE $at_ingested END AS known LIMIT 1
UNWIND $entity_ids AS id
MATCH (entity:Entity {id: id})
WHERE entity.owner = $owner
CALL (id, known) {
  MATCH ()-[seen:OBSERVED]->()
  WHERE seen.home = id AND seen.at <= $at AND seen.recorded_at <= known
  // No two transactions of an owner share a recorded_at: as many transactions touched the entity.
  RETURN count(seen) AS observations, count(DISTINCT seen.recorded_at) AS version,
    min(seen.recorded_at) AS created_at, max(seen.at) AS last_observation_at,
    max(CASE WHEN seen.kind IN ['delete', 'restore'] THEN [seen.at, seen.observation_id, seen.kind] END) AS turn
}
CALL (id, known) {
  MATCH ()-[seen:OBSERVED]->(observation:Observation)
  WHERE seen.home = id AND seen.at <= $at AND seen.recorded_at <= known
    AND seen.kind IN ['value', 'correction', 'create']
  WITH observation.fields AS fields, observation.values AS values, observation.id AS observation_id,
    observation.observed_at AS observed_at, CASE observation.kind WHEN 'correction' THEN 1 ELSE 0 END AS correction
  UNWIND range(0, size(fields) - 1) AS i
  WITH fields[i] AS field, max([correction, observed_at, observation_id, values[i]]) AS winner
  RETURN collect(field) AS fields, collect(winner[3]) AS values, collect(winner[2]) AS winners
}
RETURN collect([entity.id, entity.type, version, observations, created_at, last_observation_at,
  fields, values, winners, coalesce(turn[2] <> 'delete', true), null]) AS snapshots
