// When an observation stopped and began again to count, as `excluded`. Takes `observation`.
CALL (observation) {
  WITH observation.recorded_at AS recorded_at, COLLECT {
    MATCH (observation)-[:FROM_SOURCE]->(subject:Source)
    WHERE subject.excluded IS NOT NULL
    RETURN subject.excluded
    UNION ALL
    MATCH (observation)-[:BY_INTERPRETATION]->(subject:Interpretation)
    WHERE subject.excluded IS NOT NULL
    RETURN subject.excluded
    UNION ALL
    MATCH (observation)-[:IN_TRANSACTION]->(subject:Transaction)
    WHERE subject.excluded IS NOT NULL
    RETURN subject.excluded
    UNION ALL
    MATCH (observation)-[:IN_TRANSACTION]->(:Transaction)-[:BY_AGENT]->(subject:Agent)
    WHERE subject.excluded IS NOT NULL
    RETURN subject.excluded
  } AS groups
  UNWIND [recorded_at] + reduce(moments = [], group IN groups |
    moments + [moment IN group WHERE moment > recorded_at]) AS moment
  WITH DISTINCT moment, groups ORDER BY moment
  WITH collect([moment, any(group IN groups WHERE size([each IN group WHERE each <= moment]) % 2 = 1)]) AS states
  RETURN [i IN range(0, size(states) - 1)
    WHERE states[i][1] <> CASE i WHEN 0 THEN false ELSE states[i - 1][1] END | states[i][0]] AS excluded
}
