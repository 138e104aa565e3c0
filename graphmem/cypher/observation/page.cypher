// observation.page: one page of an owner's observations of entities, newest first, with the total.
//
// params  observed_since: INTEGER, at: INTEGER, after: STRING, include_deleted: BOOLEAN, include_excluded: BOOLEAN,
//         offset: INTEGER, limit: INTEGER, reach: INTEGER, writers: LIST<STRING>
// returns page: LIST<LIST>, truncated: BOOLEAN, more: BOOLEAN, total: INTEGER
// mode    read
// index   observation_by_owner (owner, observed_at, id, entity_id), read backwards
// cost    light
// forms   written
// The page begins after the observation `after` of the time `at`: one seek reads the observations of that time, a
// second one the earlier ones. `reach` is offset + limit + 1.
CALL () {
  CALL () {
    MATCH (observation:Observation)
    USING INDEX SEEK observation:Observation(owner, observed_at, id, entity_id)
    WHERE observation.owner = $owner AND observation.observed_at = $at AND observation.id < $after
      AND observation.observed_at >= $observed_since
      AND observation.entity_id IS NOT NULL
    <observation._live>
    RETURN observation
    ORDER BY observation.owner DESC, observation.observed_at DESC, observation.id DESC, observation.entity_id DESC
    LIMIT $reach
    UNION ALL
    MATCH (observation:Observation)
    USING INDEX SEEK observation:Observation(owner, observed_at, id, entity_id)
    WHERE observation.owner = $owner AND observation.observed_at < $at AND observation.id IS NOT NULL
      AND observation.observed_at >= $observed_since
      AND observation.entity_id IS NOT NULL
    <observation._live>
    RETURN observation
    ORDER BY observation.owner DESC, observation.observed_at DESC, observation.id DESC, observation.entity_id DESC
    LIMIT $reach
  }
  WITH observation ORDER BY observation.observed_at DESC, observation.id DESC SKIP $offset LIMIT $limit + 1
  WITH collect(observation) AS observations
  <observation._page>
}
CALL () {
  MATCH (counted:Count)
  USING INDEX SEEK counted:Count(owner, kind, type)
  WHERE counted.owner = $owner AND counted.kind = 'entity' AND counted.type IS NOT NULL
  RETURN sum(CASE WHEN $include_deleted THEN counted.recorded ELSE counted.observations END) AS total
}
RETURN page, truncated, more, total
