// observation.page_since: one page of the observations of entities that were recorded since some time, newest first.
//
// params  recorded_since: INTEGER, types: LIST<STRING>, observed_since: INTEGER, at: INTEGER, after: STRING,
//         include_deleted: BOOLEAN, include_excluded: BOOLEAN, offset: INTEGER, limit: INTEGER, writers: LIST<STRING>
// returns page: LIST<LIST>, truncated: BOOLEAN, more: BOOLEAN
// mode    read
// index   observation_by_recorded (owner, recorded_at, id, entity_id), entity_id
// cost    light
// forms   written
// Every observation that was recorded since then is read, and sorted by observed_at. No types means every type.
MATCH (observation:Observation)
USING INDEX SEEK observation:Observation(owner, recorded_at, id, entity_id)
WHERE observation.owner = $owner AND observation.recorded_at >= $recorded_since AND observation.id IS NOT NULL
  AND observation.entity_id IS NOT NULL AND (size($types) = 0 OR observation.entity_type IN $types)
  AND observation.observed_at >= $observed_since
  AND CASE observation.observed_at WHEN $at THEN observation.id < $after ELSE observation.observed_at < $at END
CALL (observation) {
  <observation._live>
  RETURN entity
}
WITH observation ORDER BY observation.observed_at DESC, observation.id DESC SKIP $offset LIMIT $limit + 1
WITH collect(observation) AS observations
<observation._page>
