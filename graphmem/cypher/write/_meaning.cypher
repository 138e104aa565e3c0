// Write the vectors of an entity's text with the text's key. Takes `row`. If the text has not changed, `row.meaning`
// is null and nothing is written; if the entity is no longer listed, the node is deleted. A new vector is not in the
// index yet.
CALL (row) {
  WITH row WHERE row.meaning IS NOT NULL AND row.meaning.of IS NULL
  MATCH (gone:Meaning {entity_id: row.subject_id})
  DETACH DELETE gone
}
CALL (row) {
  WITH row WHERE row.meaning.of IS NOT NULL
  MERGE (meaning:Meaning {entity_id: row.subject_id})
  SET meaning.owner = $owner, meaning.type = row.properties.type, meaning.of = row.meaning.of,
    meaning.model = row.meaning.model, meaning.fresh = row.meaning.fresh, meaning.packed = row.meaning.packed
  REMOVE meaning:Vector
  WITH meaning, row.meaning.vector AS vector
  CALL (meaning, vector) {
    WITH meaning WHERE vector IS NULL
    SET meaning.vector = null
  }
  WITH meaning, vector WHERE vector IS NOT NULL
  CALL db.create.setNodeVectorProperty(meaning, 'vector', vector)
}
