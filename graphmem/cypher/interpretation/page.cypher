// interpretation.page: one page of an owner's interpretations, by the time they were asked for and by id, newest first,
// with the total on request.
//
// params  at: INTEGER, after: STRING, status: STRING, offset: INTEGER, limit: INTEGER, counted: BOOLEAN
// returns interpretations: LIST<LIST>, total: INTEGER
// mode    read
// index   interpretation_by_created (owner, created_at, id), read backwards
// cost    heavy
// The page begins after the interpretation `after` of the time `at`. A `status` that is null stands for all.
CALL () {
  MATCH (interpretation:Interpretation)
  USING INDEX SEEK interpretation:Interpretation(owner, created_at, id)
  WHERE interpretation.owner = $owner AND interpretation.created_at <= $at AND interpretation.id IS NOT NULL
    AND (interpretation.created_at < $at OR interpretation.id < $after)
    AND ($status IS NULL OR interpretation.status = $status)
  WITH interpretation
  ORDER BY interpretation.owner DESC, interpretation.created_at DESC, interpretation.id DESC SKIP $offset LIMIT $limit
  RETURN collect(<interpretation._row>) AS interpretations
}
CALL () {
  WITH $counted AS counted WHERE counted
  MATCH (interpretation:Interpretation)
  USING INDEX SEEK interpretation:Interpretation(owner, created_at, id)
  WHERE interpretation.owner = $owner AND interpretation.created_at IS NOT NULL AND interpretation.id IS NOT NULL
    AND ($status IS NULL OR interpretation.status = $status)
  RETURN count(interpretation) AS total
}
RETURN interpretations, total
