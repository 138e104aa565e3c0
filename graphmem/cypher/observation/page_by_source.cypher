// observation.page_by_source: one page of the observations of entities that were stored with a source, newest first,
// with the total on request.
//
// params  source_id: STRING, entity_id: STRING, entity_type: STRING, recorded_since: INTEGER, observed_since: INTEGER,
//         observed_until: INTEGER, at: INTEGER, after: STRING, include_deleted: BOOLEAN, include_excluded: BOOLEAN,
//         offset: INTEGER, limit: INTEGER, counted: BOOLEAN, writers: LIST<STRING>
// returns page: LIST<LIST>, truncated: BOOLEAN, more: BOOLEAN, total: INTEGER
// mode    read
// index   observation_by_source (owner, source_id, observed_at, id), read backwards
// cost    heavy
// forms   written
// The page begins after the observation `after` of the time `at`. `entity_id` and `entity_type` are null for every
// entity.
CALL () {
  MATCH (observation:Observation)
  USING INDEX SEEK observation:Observation(owner, source_id, observed_at, id)
  WHERE observation.owner = $owner AND observation.source_id = $source_id AND observation.observed_at <= $at
    AND observation.observed_at >= $observed_since AND observation.id IS NOT NULL
    AND (observation.observed_at < $at OR observation.id < $after)
    <observation._of_source>
  <observation._live>
  WITH observation
  ORDER BY observation.owner DESC, observation.source_id DESC, observation.observed_at DESC, observation.id DESC
  SKIP $offset LIMIT $limit + 1
  WITH collect(observation) AS observations
  <observation._page>
}
CALL () {
  WITH $counted AS counted WHERE counted
  MATCH (observation:Observation)
  USING INDEX SEEK observation:Observation(owner, source_id, observed_at, id)
  WHERE observation.owner = $owner AND observation.source_id = $source_id
    AND observation.observed_at >= $observed_since AND observation.observed_at <= $observed_until
    AND observation.id IS NOT NULL
    <observation._of_source>
  <observation._live>
  RETURN count(observation) AS total
}
RETURN page, truncated, more, total
