// The edges of an observation on which something else is noted than its withdrawals and splits come to, as `seen`. Takes
// `observation`, `excluded`, the times at which withdrawals let it stop and begin again to count, and `excluded_learned`
// and `learned_at`, the same and its own time by the clock of this copy.
// For each edge: `since` is when the observation became one of the edge's subject, `toggles` are the times at which it
// stopped and began again to count for this subject. `since_learned` and `toggles_learned` are the same by the clock of this
// copy, null where they are no others. `moved_to` is the subject that it counts for now if that is not its
// own, and `moved_by` the split that says so. `part` of an observation is what it counts for unless a split moves it.
// Of the splits that are not withdrawn the newest decides; see graphmem.model.membership.
CALL (observation, excluded, excluded_learned, learned_at) {
  WITH coalesce(observation.part, observation.entity_id, observation.relationship_key) AS home, COLLECT {
    MATCH (observation)-[move:split_by]->(split:Split)
    OPTIONAL MATCH (split)-[:IN_TRANSACTION]->(taken:Transaction)
    WITH move, split, taken ORDER BY split.recorded_at, split.id
    RETURN [[split.recorded_at, coalesce(taken.learned_at, split.recorded_at)],
      [coalesce(split.excluded, []), coalesce(split.excluded_learned, split.excluded, [])], [move.subject, split.id]]
  } AS splits, [[observation.recorded_at, learned_at], [excluded, excluded_learned]] AS own
  UNWIND CASE WHEN any(pair IN reduce(pairs = own, split IN splits | pairs + split[..2]) WHERE pair[0] <> pair[1])
    THEN [0, 1] ELSE [0] END AS clock
  WITH clock, home, own[0][clock] AS since, own[1][clock] AS times,
    [split IN splits | [split[0][clock], split[1][clock], split[2]]] AS splits
  UNWIND reduce(moments = [since] + times, split IN splits | moments + split[0] + split[1]) AS moment
  WITH DISTINCT clock, moment, home, since, times, splits WHERE moment >= since
  WITH * ORDER BY clock, moment
  WITH clock, collect([moment, size([each IN times WHERE each <= moment]) % 2 = 0, coalesce(
    last([split IN splits WHERE split[0] <= moment AND size([each IN split[1] WHERE each <= moment]) % 2 = 0 | split[2]]),
    [home])]) AS states
  WITH states ORDER BY clock
  WITH collect(states) AS by_clock
  MATCH (observation)<-[seen:OBSERVED]-(:History)
  WITH seen, by_clock, last(by_clock[0])[2] AS held,
    coalesce(head([state IN by_clock[0] WHERE state[2][0] = seen.home | state[0]]), seen.recorded_at) AS since
  // What was one of the subject by no clock of this copy is known from the first moment on, as excluded.
  WITH *, coalesce(head([state IN by_clock[1] WHERE state[2][0] = seen.home | state[0]]),
    head([state IN by_clock[1] WHERE state[0] >= since | state[0]])) AS learned
  WITH seen, since, CASE WHEN size(held) > 1 OR observation.part IS NOT NULL THEN held[0] END AS moved_to, held[1] AS moved_by,
    CASE WHEN learned > since THEN learned END AS since_learned,
    [states IN [i IN range(0, size(by_clock) - 1) | [state IN by_clock[i] WHERE state[0] >= [since, learned][i] |
      [state[0], NOT state[1] OR state[2][0] <> seen.home]]] | <exclusion._turns>] AS turns, learned
  WITH seen, since, moved_to, moved_by, since_learned, turns[0] AS toggles, CASE WHEN any(moment IN learned + turns[0] + turns[1]
    WHERE moment >= learned AND size([each IN turns[0] WHERE each <= moment]) % 2
      <> size([each IN turns[1] WHERE each <= moment]) % 2) THEN turns[1] END AS toggles_learned
  WHERE coalesce(seen.excluded, []) <> toggles OR seen.recorded_at <> since
    OR coalesce(seen.learned_at, 0) <> coalesce(since_learned, 0)
    OR coalesce(seen.excluded_learned, [0]) <> coalesce(toggles_learned, [0])
    OR coalesce(observation.moved_to, '') <> coalesce(moved_to, '')
    OR coalesce(observation.moved_by, '') <> coalesce(moved_by, '') OR coalesce(observation.excluded, []) <> excluded
  RETURN seen, moved_to, moved_by, since, toggles, since_learned, toggles_learned
}
