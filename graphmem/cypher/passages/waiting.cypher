// passages.waiting: some sources whose passages are to be made, or were made by another reader.
//
// params  gaps: LIST<LIST>, only: STRING, before: INTEGER, limit: INTEGER
// returns waiting: LIST<LIST>
// mode    read
// index   source_by_reader (reader)
// cost    light
// tenancy global: the worker reads the files of every owner; it answers their text to nobody
// A row is an owner and the id of a source. The gaps are what lies between the names of the readers of now, in their order.
// Sources
// that were stored first at `before` or later are left to the call that stored them. `only` is an owner; null means all
// owners.
UNWIND $gaps AS gap
CALL (gap) {
  MATCH (source:Source)
  USING INDEX SEEK source:Source(reader)
  WHERE source.reader > gap[0] AND source.reader < gap[1] AND source.recorded_at < $before
    AND ($only IS NULL OR source.owner = $only)
  RETURN source LIMIT $limit
}
WITH source LIMIT $limit
RETURN collect([source.owner, source.id]) AS waiting
