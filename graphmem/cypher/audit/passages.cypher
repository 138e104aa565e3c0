// audit.passages: some of an owner's sources by time and id, each with the reader that it names and the passages that are
// stored of it.
//
// params  at: INTEGER, after: STRING, limit: INTEGER
// returns sources: LIST<LIST>
// mode    read
// index   source_by_recorded (owner, recorded_at, id)
// cost    heavy
// The rows begin after the source `after` of the time `at`. A row has the id, the time, the reader, and of each node of
// passages the id of the source, the owner, the reader, the key, the texts, the places and the vectors.
CALL () {
  MATCH (source:Source)
  USING INDEX SEEK source:Source(owner, recorded_at, id)
  WHERE source.owner = $owner AND source.recorded_at >= $at AND source.id IS NOT NULL
    AND (source.recorded_at > $at OR source.id > $after)
  RETURN source ORDER BY source.owner, source.recorded_at, source.id LIMIT $limit
}
RETURN collect([source.id, source.recorded_at, source.reader, COLLECT {
  MATCH (source)<-[:of]-(passages:Passages)
  RETURN [source.id, passages.owner, passages.reader, passages.key, passages.texts, passages.places, passages.packed]
}]) AS sources
