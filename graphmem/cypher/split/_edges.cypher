// The edges of an observation on which something else is noted than its withdrawals and splits come to, as `seen`. Takes
// `observation` and `excluded`, the times at which withdrawals let it stop and begin again to count.
// For each edge: `since` is when the observation became one of the edge's subject, `toggles` are the times at which it
// stopped and began again to count for this subject. `moved_to` is the subject that it counts for now if that is not its
// own, and `moved_by` the split that says so. `part` of an observation is what it counts for unless a split moves it.
// Of the splits that are not withdrawn the newest decides; see graphmem.model.membership.
CALL (observation, excluded) {
  WITH coalesce(observation.part, observation.entity_id, observation.relationship_key) AS home, COLLECT {
    MATCH (observation)-[move:split_by]->(split:Split)
    WITH move, split ORDER BY split.recorded_at, split.id
    RETURN [split.recorded_at, coalesce(split.excluded, []), [move.subject, split.id]]
  } AS splits
  UNWIND reduce(moments = [observation.recorded_at] + excluded, split IN splits | moments + split[0] + split[1])
    AS moment
  WITH DISTINCT moment, home, splits ORDER BY moment
  WITH home, collect([moment, size([each IN excluded WHERE each <= moment]) % 2 = 0, coalesce(
    last([split IN splits WHERE split[0] <= moment AND size([each IN split[1] WHERE each <= moment]) % 2 = 0 | split[2]]),
    [home])]) AS states
  MATCH (observation)<-[seen:OBSERVED]-(:History)
  WITH seen, states, last(states)[2] AS held,
    coalesce(head([state IN states WHERE state[2][0] = seen.home | state[0]]), seen.recorded_at) AS since
  WITH seen, since, CASE WHEN size(held) > 1 OR observation.part IS NOT NULL THEN held[0] END AS moved_to, held[1] AS moved_by,
    [state IN states WHERE state[0] >= since | [state[0], state[1] AND state[2][0] = seen.home]] AS states
  WITH seen, moved_to, moved_by, since, [i IN range(0, size(states) - 1)
    WHERE states[i][1] <> CASE i WHEN 0 THEN true ELSE states[i - 1][1] END | states[i][0]] AS toggles
  WHERE coalesce(seen.excluded, []) <> toggles OR seen.recorded_at <> since
    OR coalesce(observation.moved_to, '') <> coalesce(moved_to, '')
    OR coalesce(observation.moved_by, '') <> coalesce(moved_by, '') OR coalesce(observation.excluded, []) <> excluded
  RETURN seen, moved_to, moved_by, since, toggles
}
