// meaning.set: give some entities their vectors, where what they mean is still what the vectors are of.
//
// params  rows: LIST<MAP>, model: STRING
// returns done: INTEGER
// mode    write
// index   meaning_entity
// cost    light
// tenancy global: the worker serves every owner; each row names one entity by its id
// A row: id, was, of, vector; in the order of ids, as a turn of the writer takes them. What a model makes nothing of
// has no vector. The first SET takes the lock and changes nothing: a turn may write another text until then, and Neo4j
// does not ask again what it asked before it waited.
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
