// passages.changed: the passages of some sources of an owner that changed since a copy in memory read them, in the order of
// their changes.
//
// params  changed: INTEGER, after: STRING, limit: INTEGER, model: STRING
// returns sources: LIST<LIST>
// mode    read
// index   passages_changed (owner, changed, source_id), source_id
// cost    light
// It reads what it answers, and belongs to no request. The rows begin after the source `after` of the change `changed`. A
// row has the source, the number of its change, when the source was stored first, when
// it was known here, when it was withdrawn and taken back, its
// newest name, its title, whether its text goes on behind its passages, and the texts and vectors (passages/set.cypher). The
// vectors of another model than `model` are null: they cannot be compared with it. Damaged texts count as they are.
CALL () {
  MATCH (passages:Passages)
  USING INDEX SEEK passages:Passages(owner, changed, source_id)
  WHERE passages.owner = $owner AND passages.changed = $changed AND passages.source_id > $after
  RETURN passages ORDER BY passages.owner, passages.changed, passages.source_id LIMIT $limit
  UNION ALL
  MATCH (passages:Passages)
  USING INDEX SEEK passages:Passages(owner, changed, source_id)
  WHERE passages.owner = $owner AND passages.changed > $changed AND passages.source_id IS NOT NULL
  RETURN passages ORDER BY passages.owner, passages.changed, passages.source_id LIMIT $limit
}
WITH passages LIMIT $limit
MATCH (source:Source {id: passages.source_id})
WHERE source.owner = $owner
WITH collect([source, passages]) AS pairs,
  collect(reduce(characters = 0, text IN passages.texts | characters + coalesce(size(toStringOrNull(text)), 0))) AS sizes
WITH pairs[..<entity._fitting>] AS fitting
RETURN COLLECT {
  UNWIND fitting AS pair
  WITH pair[0] AS source, pair[1] AS passages
  RETURN [source.id, passages.changed, source.recorded_at, <source._learned_at>, coalesce(source.excluded_learned, source.excluded, []),
    <source._name>, passages.title, coalesce(passages.is_cut, false), passages.texts,
    CASE WHEN passages.reader ENDS WITH ', ' + $model THEN passages.packed END]
} AS sources
