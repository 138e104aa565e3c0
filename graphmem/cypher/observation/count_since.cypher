// observation.count_since: the number of observations of entities that were recorded since some time, of some types
// or of all.
//
// params  recorded_since: INTEGER, observed_since: INTEGER, observed_until: INTEGER, types: LIST<STRING>,
//         include_deleted: BOOLEAN, include_excluded: BOOLEAN, writers: LIST<STRING>
// returns total: INTEGER
// mode    read
// index   observation_by_recorded (owner, recorded_at, id, entity_id), entity_id
// cost    heavy
// forms   written
// No types means every type.
MATCH (observation:Observation)
USING INDEX SEEK observation:Observation(owner, recorded_at, id, entity_id)
WHERE observation.owner = $owner AND observation.recorded_at >= $recorded_since AND observation.id IS NOT NULL
  AND observation.entity_id IS NOT NULL AND (size($types) = 0 OR observation.entity_type IN $types)
  AND observation.observed_at >= $observed_since AND observation.observed_at <= $observed_until
<observation._live>
RETURN count(observation) AS total
