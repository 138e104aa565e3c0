// Write the vectors of an entity's text with the text's key. Takes `row`. If the text has not changed, `row.meaning`
// is null and nothing is written; if the entity is no longer listed, the node is deleted. What an earlier version kept
// for an index of vectors is removed.
CALL (row) {
  WITH row WHERE row.meaning IS NOT NULL AND row.meaning.of IS NULL
  MATCH (gone:Meaning {entity_id: row.subject_id})
  DETACH DELETE gone
}
CALL (row) {
  WITH row WHERE row.meaning.of IS NOT NULL
  MERGE (meaning:Meaning {entity_id: row.subject_id})
  SET meaning.owner = $owner, meaning.type = row.properties.type, meaning.of = row.meaning.of,
    meaning.model = row.meaning.model, meaning.packed = row.meaning.packed
  REMOVE meaning:Vector, meaning.vector, meaning.fresh
}
