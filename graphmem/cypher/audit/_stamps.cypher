// The observations on which it is noted wrongly when they count, as `stamps`. Takes `observation`.
CALL (observation) {
  <exclusion._of_observation>
  MATCH (observation)<-[seen:OBSERVED]-(:History)
  WITH seen, excluded
  WHERE coalesce(observation.excluded, []) <> excluded OR coalesce(seen.excluded, []) <> excluded
  RETURN seen, excluded
}
WITH observation, seen, excluded LIMIT $limit
WITH collect([observation.id, seen.home, observation.excluded, seen.excluded, excluded]) AS stamps
OPTIONAL MATCH (stamped_owner:Owner {id: $owner})
RETURN stamps, coalesce(stamped_owner.unstamped, 0) AS unstamped
