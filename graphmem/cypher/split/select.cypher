// split.select: the observations of an entity that a split selects, of those that give it values and count, and the
// observations of the relationships that it names.
//
// params  entity_ids: LIST<STRING>, observation_ids: LIST<STRING>, since: INTEGER, source_ids: LIST<STRING>,
//         keys: LIST<STRING>, limit: INTEGER
// returns total: INTEGER, matched: INTEGER, selected: LIST<STRING>, linked: LIST<LIST>
// mode    read
// index   observed_in_time (home, at)
// cost    heavy
// `entity_ids` are the entity and its members, `keys` the relationships with theirs. A condition that is null is not
// asked; of several, all must hold. A row of `linked` is an observation and the key of its
// relationship.
CALL () {
  UNWIND $entity_ids AS subject_id
  MATCH ()-[seen:OBSERVED]->(observation:Observation)
  USING INDEX SEEK seen:OBSERVED(home, at)
  WHERE seen.home = subject_id AND seen.at IS NOT NULL AND <observation._seen_now>
    AND seen.kind IN <fact._value_kinds> AND observation.owner = $owner
  WITH observation, ($observation_ids IS NULL OR observation.id IN $observation_ids)
    AND ($since IS NULL OR observation.observed_at >= $since)
    AND ($source_ids IS NULL OR coalesce(observation.source_id IN $source_ids, false)) AS matches
  WITH count(*) AS total, collect(CASE WHEN matches THEN observation.id END) AS ids
  RETURN total, size(ids) AS matched, ids[..$limit] AS selected
}
CALL () {
  UNWIND $keys AS key
  MATCH ()-[seen:OBSERVED]->(observation:Observation)
  USING INDEX SEEK seen:OBSERVED(home, at)
  WHERE seen.home = key AND seen.at IS NOT NULL AND <observation._seen_now> AND observation.owner = $owner
  WITH observation, key LIMIT $limit
  RETURN collect([observation.id, key]) AS linked
}
RETURN total, matched, selected, linked
