// audit.reduce: what the own observations of some homes come to, under plain rules.
//
// params  homes: LIST<STRING>
// returns reduced: LIST<LIST>
// mode    read
// index   observed_in_time (home, at)
// cost    light
UNWIND $homes AS home
CALL (home) {
  MATCH ()-[seen:OBSERVED]->(observation:Observation)
  WHERE seen.home = home AND seen.at IS NOT NULL AND observation.owner = $owner
  RETURN count(seen) AS observations, count(DISTINCT seen.recorded_at) AS version,
    min(seen.recorded_at) AS created_at, max(seen.at) AS last_observation_at,
    max(CASE WHEN seen.kind IN ['create', 'delete', 'restore'] THEN [seen.at, seen.observation_id, seen.kind] END) AS turn
}
CALL (home) {
  MATCH ()-[seen:OBSERVED]->(observation:Observation)
  WHERE seen.home = home AND seen.at IS NOT NULL AND seen.kind IN ['value', 'correction', 'create']
  WITH observation.fields AS fields, observation.values AS values, observation.id AS observation_id,
    observation.observed_at AS observed_at, CASE observation.kind WHEN 'correction' THEN 1 ELSE 0 END AS correction
  UNWIND range(0, size(fields) - 1) AS i
  WITH fields[i] AS field, max([correction, observed_at, observation_id, values[i]]) AS winner
  RETURN collect([field, winner[0], winner[1], winner[2], winner[3]]) AS fold
}
RETURN collect([home, version, observations, created_at, last_observation_at, turn, fold]) AS reduced
