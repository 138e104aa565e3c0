// The observations on which it is noted wrongly when they count, as `stamps`. Takes `observation`.
CALL (observation) {
  <exclusion._of_observation>
  <split._edges>
  RETURN seen, toggles
}
WITH observation, seen, toggles LIMIT $limit
WITH collect([observation.id, seen.home, observation.excluded, seen.excluded, toggles]) AS stamps
OPTIONAL MATCH (stamped_owner:Owner {id: $owner})
RETURN stamps, coalesce(stamped_owner.unstamped, 0) AS unstamped
