// meaning.set: store the vectors of some entities, except of those whose text has changed since it was embedded.
//
// params  rows: LIST<MAP>, model: STRING
// returns done: INTEGER
// mode    write
// index   meaning_entity
// cost    light
// tenancy global: the worker serves every owner; each row names one entity by its id
// A row has id, was (the key of the text when the worker read it), of (the key of the text that it embedded) and
// vector. Rows come in the order of ids, as in a turn of the writer. A text that the model cannot embed gets no
// vector. The first SET takes the lock and changes nothing: a turn may write another text before, and Neo4j does not
// evaluate a condition again after it waited for a lock.
UNWIND $rows AS row
MATCH (meaning:Meaning {entity_id: row.id})
SET meaning.locked = null
WITH meaning, row WHERE meaning.of = row.was
SET meaning.of = row.of, meaning.model = $model, meaning.vector = null,
  meaning.fresh = CASE WHEN row.vector IS NULL THEN null ELSE meaning.type END
REMOVE meaning:Vector
WITH meaning, row
CALL (meaning, row) {
  WITH meaning, row WHERE row.vector IS NOT NULL
  CALL db.create.setNodeVectorProperty(meaning, 'vector', row.vector)
}
RETURN count(meaning) AS done
