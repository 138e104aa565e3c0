// source.referenced: the content hashes of those of some sources that an owner has, and whether the owner has any source.
//
// params  ids: LIST<STRING>
// returns referenced: LIST<STRING>, has_sources: BOOLEAN
// mode    read
// index   source_id, source_by_recorded (owner, recorded_at, id)
// cost    light
CALL () {
  UNWIND $ids AS id
  MATCH (source:Source {id: id})
  WHERE source.owner = $owner
  RETURN collect(source.content_hash) AS referenced
}
CALL () {
  OPTIONAL MATCH (first:Source)
  USING INDEX SEEK first:Source(owner, recorded_at, id)
  WHERE first.owner = $owner AND first.recorded_at IS NOT NULL AND first.id IS NOT NULL
  WITH first LIMIT 1
  RETURN first IS NOT NULL AS has_sources
}
RETURN referenced, has_sources
