// observation.page_by_type: one page of an owner's observations of entities of one type, newest first.
//
// params  entity_type: STRING, observed_since: INTEGER, at: INTEGER, after: STRING, include_deleted: BOOLEAN,
//         include_excluded: BOOLEAN, offset: INTEGER, limit: INTEGER, reach: INTEGER, writers: LIST<STRING>
// returns page: LIST<LIST>, truncated: BOOLEAN, more: BOOLEAN, total: INTEGER
// mode    read
// index   observation_by_type (owner, entity_type, observed_at, id), read backwards
// cost    light
// forms   written
// The page begins after the observation `after` of the time `at`: one seek reads the observations of that time, a
// second one the earlier ones. `reach` is offset + limit + 1.
CALL () {
  CALL () {
    MATCH (observation:Observation)
    USING INDEX SEEK observation:Observation(owner, entity_type, observed_at, id)
    WHERE observation.owner = $owner AND observation.entity_type = $entity_type
      AND observation.observed_at = $at AND observation.id < $after
      AND observation.observed_at >= $observed_since
    <observation._live>
    RETURN observation
    ORDER BY observation.owner DESC, observation.entity_type DESC, observation.observed_at DESC, observation.id DESC
    LIMIT $reach
    UNION ALL
    MATCH (observation:Observation)
    USING INDEX SEEK observation:Observation(owner, entity_type, observed_at, id)
    WHERE observation.owner = $owner AND observation.entity_type = $entity_type
      AND observation.observed_at < $at AND observation.id IS NOT NULL
      AND observation.observed_at >= $observed_since
    <observation._live>
    RETURN observation
    ORDER BY observation.owner DESC, observation.entity_type DESC, observation.observed_at DESC, observation.id DESC
    LIMIT $reach
  }
  WITH observation ORDER BY observation.observed_at DESC, observation.id DESC SKIP $offset LIMIT $limit + 1
  WITH collect(observation) AS observations
  <observation._page>
}
CALL () {
  OPTIONAL MATCH (counted:Count {owner: $owner, kind: 'entity', type: $entity_type})
  RETURN coalesce(CASE WHEN $include_deleted THEN counted.recorded ELSE counted.observations END, 0) AS total
}
RETURN page, truncated, more, total
