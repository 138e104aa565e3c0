// When an observation stopped and began again to count, as `excluded`; in Python: graphmem.model.membership.toggles.
// `excluded_learned` is the same by when this copy learned of each fact, `learned_at` when it had the observation first.
// Takes `observation`. What others recorded too stays: of its transactions all have to be excluded. Merges are undone by unmerges: they stay.
CALL (observation) {
  // Each list of times is a pair: by the clocks of the writers, and by that of this copy.
  WITH observation, COLLECT {
    MATCH (observation)-[:FROM_SOURCE]->(subject:Source)
    WHERE subject.excluded IS NOT NULL
    RETURN [subject.excluded, coalesce(subject.excluded_learned, subject.excluded)]
    UNION ALL
    MATCH (observation)-[:BY_INTERPRETATION]->(subject:Interpretation)
    WHERE subject.excluded IS NOT NULL
    RETURN [subject.excluded, coalesce(subject.excluded_learned, subject.excluded)]
  } AS groups, COLLECT {
    MATCH (observation)-[:IN_TRANSACTION|also_in]->(transaction:Transaction)
    RETURN [[[transaction.recorded_at], [coalesce(transaction.learned_at, transaction.recorded_at)]],
      [coalesce(transaction.excluded, []), coalesce(transaction.excluded_learned, transaction.excluded, [])]] + COLLECT {
      MATCH (transaction)-[:BY_AGENT]->(agent:Agent)
      UNWIND agent.writers AS writer
      MATCH (writing:Writing)
      USING INDEX SEEK writing:Writing(owner, writer)
      WHERE writing.owner = $owner AND writing.writer = writer AND writing.excluded IS NOT NULL
        AND writing.since <= transaction.recorded_at AND transaction.recorded_at < writing.until
      RETURN [writing.excluded, coalesce(writing.excluded_learned, writing.excluded)]
    }
  } AS written
  WITH observation, groups, written, [observation.recorded_at, reduce(first = null, each IN written |
    CASE WHEN first <= each[0][1][0] THEN first ELSE each[0][1][0] END)] AS since
  UNWIND CASE WHEN any(pair IN reduce(pairs = groups, each IN written | pairs + each) WHERE pair[0] <> pair[1])
    THEN [0, 1] ELSE [0] END AS clock
  WITH observation.kind IN <fact._merge_kinds> AS merges, since, clock, [pair IN groups | pair[clock]] AS groups,
    [each IN written | [pair IN each | pair[clock]]] AS written
  UNWIND [since[clock]] + reduce(moments = [], group IN groups + reduce(all = [], each IN written | all + each) |
    moments + [moment IN group WHERE moment > since[clock]]) AS moment
  WITH DISTINCT merges, since, clock, moment, groups, written ORDER BY clock, moment
  WITH merges, since, clock, moment, groups, [each IN written WHERE each[0][0] <= moment | each[1..]] AS known
  WITH since, clock, collect([moment, any(group IN groups WHERE size([each IN group WHERE each <= moment]) % 2 = 1)
    OR NOT merges AND size(known) > 0 AND all(of_one IN known WHERE
      any(group IN of_one WHERE size([each IN group WHERE each <= moment]) % 2 = 1))]) AS states
  WITH since, clock, <exclusion._turns> AS turns ORDER BY clock
  WITH coalesce(since[1], since[0]) AS learned_at, collect(turns) AS by_clock
  RETURN by_clock[0] AS excluded, coalesce(by_clock[1], by_clock[0]) AS excluded_learned, learned_at
}
