// audit.reread: have the passages of some sources made anew, by the worker.
//
// params  ids: LIST<STRING>
// returns sources: INTEGER
// mode    write
// index   source_id
// cost    light
UNWIND $ids AS id
MATCH (source:Source {id: id})
WHERE source.owner = $owner
SET source.reader = '?'
RETURN count(source) AS sources
