// copy.lost: one page of an owner's facts that contradict others and do not count, newest first, with the total on request.
//
// params  at: INTEGER, after: STRING, offset: INTEGER, limit: INTEGER, counted: BOOLEAN
// returns facts: LIST<LIST>, total: INTEGER
// mode    read
// index   lost_fact_by_recorded (owner, recorded_at, id), read backwards
// cost    heavy
CALL () {
  MATCH (lost:LostFact)
  USING INDEX SEEK lost:LostFact(owner, recorded_at, id)
  WHERE lost.owner = $owner AND lost.recorded_at <= $at AND lost.id IS NOT NULL
    AND (lost.recorded_at < $at OR lost.id < $after) AND lost.kind <> 'repeated_schema'
  WITH lost ORDER BY lost.owner DESC, lost.recorded_at DESC, lost.id DESC SKIP $offset LIMIT $limit
  RETURN collect([lost.id, lost.kind, lost.name, lost.transaction, lost.recorded_at, lost.winner]) AS facts
}
CALL () {
  WITH $counted AS counted WHERE counted
  MATCH (lost:LostFact)
  USING INDEX SEEK lost:LostFact(owner, recorded_at, id)
  WHERE lost.owner = $owner AND lost.recorded_at IS NOT NULL AND lost.id IS NOT NULL AND lost.kind <> 'repeated_schema'
  RETURN count(lost) AS total
}
RETURN facts, total
