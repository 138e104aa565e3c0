// The observations on which it is noted wrongly when they count, as `stamps`. Takes `observation`.
CALL (observation) {
  <exclusion._of_observation>
  <split._edges>
  RETURN seen, toggles, [since_learned, toggles_learned] AS learned
}
WITH observation, seen, toggles, learned LIMIT $limit
WITH collect([observation.id, seen.home, observation.excluded, seen.excluded, toggles,
  [seen.learned_at, seen.excluded_learned], learned]) AS stamps
OPTIONAL MATCH (stamped_owner:Owner {id: $owner})
RETURN stamps, coalesce(stamped_owner.unstamped, 0) AS unstamped
