// source.page: one page of an owner's sources, by the time of their first store and by id, newest first, with the total
// on request.
//
// params  at: INTEGER, after: STRING, search: STRING, said: LIST<STRING>, mime_type: STRING, interpreted: BOOLEAN, offset: INTEGER,
//         limit: INTEGER, counted: BOOLEAN, writers: LIST<STRING>
// returns sources: LIST<LIST>, total: INTEGER
// mode    read
// index   source_by_recorded (owner, recorded_at, id), read backwards
// cost    heavy
// forms   written
// The page begins after the source `after` of the time `at`. `search` is a part of a name in lower case; null stands for
// every name, a `mime_type` that is null for every type, and `interpreted` that is null for every source.
CALL () {
  MATCH (source:Source)
  USING INDEX SEEK source:Source(owner, recorded_at, id)
  WHERE source.owner = $owner AND source.recorded_at <= $at AND source.id IS NOT NULL
    AND (source.recorded_at < $at OR source.id < $after)
    AND <source._fits>
  WITH source ORDER BY source.owner DESC, source.recorded_at DESC, source.id DESC SKIP $offset LIMIT $limit
  RETURN collect(<source._row>) AS sources
}
CALL () {
  WITH $counted AS counted WHERE counted
  MATCH (source:Source)
  USING INDEX SEEK source:Source(owner, recorded_at, id)
  WHERE source.owner = $owner AND source.recorded_at IS NOT NULL AND source.id IS NOT NULL
    AND <source._fits>
  RETURN count(source) AS total
}
RETURN sources, total
