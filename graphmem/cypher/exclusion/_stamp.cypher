// Note on the next observations of some subjects when they count. Takes `owner`, `subject_ids`, `after` (the id of the last
// observation that is noted) and `$limit`. Gives `last`, the id of the last observation that is noted now, and
// `unstamped`, how many are left.
// `excluded` is a list of times: when an observation stopped to count, counted again, and so on. `excluded_learned` of a
// subject and of an edge is the same by the clock of this copy, where it differs: it learned of some of that later.
CALL (subject_ids, after) {
  UNWIND subject_ids AS subject_id
  <exclusion._observations>
  WITH DISTINCT observation WHERE observation.id > after
  RETURN count(observation) AS total
}
CALL (subject_ids, after) {
  UNWIND subject_ids AS subject_id
  <exclusion._observations>
  WITH DISTINCT observation WHERE observation.id > after
  WITH observation ORDER BY observation.id LIMIT $limit
  <exclusion._of_observation>
  RETURN collect([observation, excluded, excluded_learned, learned_at]) AS stamps, max(observation.id) AS last
}
CALL (stamps) {
  UNWIND stamps AS stamp
  WITH stamp[0] AS observation, stamp[1] AS excluded, stamp[2] AS excluded_learned,
    stamp[3] AS learned_at
  <exclusion._note>
}
<exclusion._mark>
WITH owner, subject_ids, last, total - size(stamps) AS unstamped
SET owner.stamping = CASE WHEN unstamped > 0 THEN subject_ids END,
  owner.stamped = CASE WHEN unstamped > 0 THEN last END,
  owner.unstamped = CASE WHEN unstamped > 0 THEN unstamped END
