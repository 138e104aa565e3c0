// When a subject was excluded and included again, as `toggles`, and as `toggles_learned` by when this copy learned of that,
// null where it is the same: of the exclusions that are known the one that was recorded last decides. Takes `subject_id`.
// An exclusion that says what is so already changes nothing.
CALL (subject_id) {
  MATCH (exclusion:Exclusion)
  USING INDEX SEEK exclusion:Exclusion(owner, subject, recorded_at, id)
  WHERE exclusion.owner = $owner AND exclusion.subject = subject_id AND exclusion.recorded_at IS NOT NULL
    AND exclusion.id IS NOT NULL
  OPTIONAL MATCH (exclusion)-[:IN_TRANSACTION]->(taken:Transaction)
  WITH exclusion, taken ORDER BY exclusion.recorded_at, exclusion.id
  WITH collect([exclusion.kind = 'exclude', exclusion.recorded_at, coalesce(taken.learned_at, exclusion.recorded_at)])
    AS exclusions
  UNWIND CASE WHEN any(each IN exclusions WHERE each[1] <> each[2]) THEN [1, 2] ELSE [1] END AS clock
  CALL (exclusions, clock) {
    UNWIND exclusions AS exclusion
    WITH DISTINCT exclusions, clock, exclusion[clock] AS moment ORDER BY moment
    WITH collect([moment, last([each IN exclusions WHERE each[clock] <= moment])[0]]) AS states
    RETURN <exclusion._turns> AS turns
  }
  WITH clock, turns ORDER BY clock
  WITH collect(turns) AS by_clock
  RETURN by_clock[0] AS toggles, CASE WHEN by_clock[1] <> by_clock[0] THEN by_clock[1] END AS toggles_learned
}
