// source.content_hashes: the content hashes of an owner's sources after one of them, by the time of their first store and
// by id, with the place of the last one.
//
// params  at: INTEGER, after: STRING, limit: INTEGER
// returns hashes: LIST<STRING>, at: INTEGER, after: STRING
// mode    read
// index   source_by_recorded (owner, recorded_at, id)
// cost    light
MATCH (source:Source)
USING INDEX SEEK source:Source(owner, recorded_at, id)
WHERE source.owner = $owner AND source.recorded_at >= $at AND source.id IS NOT NULL
  AND (source.recorded_at > $at OR source.id > $after)
WITH source ORDER BY source.owner, source.recorded_at, source.id LIMIT $limit
WITH collect([source.content_hash, source.recorded_at, source.id]) AS rows
RETURN [row IN rows | row[0]] AS hashes, last(rows)[1] AS at, last(rows)[2] AS after
