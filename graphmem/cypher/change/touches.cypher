// change.touches: the newest moments at which transactions observed some entities or relationships, or changed which of
// their observations count, the newest first.
//
// params  subject_ids: LIST<STRING>, since: INTEGER, before: INTEGER, limit: INTEGER
// returns moments: LIST<INTEGER>
// mode    read
// index   observed_in_time (home, at)
// cost    light
CALL () {
  UNWIND $subject_ids AS subject_id
  MATCH ()-[seen:OBSERVED]->(observation:Observation)
  USING INDEX SEEK seen:OBSERVED(home, at)
  WHERE seen.home = subject_id AND seen.at IS NOT NULL AND observation.owner = $owner
  UNWIND [observation.recorded_at, seen.recorded_at] + coalesce(seen.excluded, []) AS moment
  WITH DISTINCT moment WHERE moment >= $since AND moment < $before
  RETURN moment ORDER BY moment DESC LIMIT $limit
}
RETURN collect(moment) AS moments
