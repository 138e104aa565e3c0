// When an observation stopped and began again to count, as `excluded`; in Python: graphmem.model.membership.toggles.
// Takes `observation`. What others recorded too stays: of its transactions all have to be excluded. Merges are undone by unmerges: they stay.
CALL (observation) {
  WITH observation, observation.recorded_at AS recorded_at, COLLECT {
    MATCH (observation)-[:FROM_SOURCE]->(subject:Source)
    WHERE subject.excluded IS NOT NULL
    RETURN subject.excluded
    UNION ALL
    MATCH (observation)-[:BY_INTERPRETATION]->(subject:Interpretation)
    WHERE subject.excluded IS NOT NULL
    RETURN subject.excluded
  } AS groups, COLLECT {
    MATCH (observation)-[:IN_TRANSACTION|also_in]->(transaction:Transaction)
    WHERE NOT observation.kind IN <fact._merge_kinds>
    RETURN [[transaction.recorded_at], coalesce(transaction.excluded, [])] + COLLECT {
      MATCH (transaction)-[:BY_AGENT]->(agent:Agent)
      UNWIND agent.writers AS writer
      MATCH (writing:Writing)
      USING INDEX SEEK writing:Writing(owner, writer)
      WHERE writing.owner = $owner AND writing.writer = writer AND writing.excluded IS NOT NULL
        AND writing.since <= transaction.recorded_at AND transaction.recorded_at < writing.until
      RETURN writing.excluded
    }
  } AS written
  UNWIND [recorded_at] + reduce(moments = [], group IN groups + reduce(all = [], each IN written | all + each) |
    moments + [moment IN group WHERE moment > recorded_at]) AS moment
  WITH DISTINCT moment, groups, written ORDER BY moment
  WITH moment, groups, [each IN written WHERE each[0][0] <= moment | each[1..]] AS known
  WITH collect([moment, any(group IN groups WHERE size([each IN group WHERE each <= moment]) % 2 = 1)
    OR size(known) > 0 AND all(of_one IN known WHERE
      any(group IN of_one WHERE size([each IN group WHERE each <= moment]) % 2 = 1))]) AS states
  RETURN [i IN range(0, size(states) - 1)
    WHERE states[i][1] <> CASE i WHEN 0 THEN false ELSE states[i - 1][1] END | states[i][0]] AS excluded
}
