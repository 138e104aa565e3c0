// meaning.set: store the vectors of some entities, except of those whose text has changed since it was embedded.
//
// params  rows: LIST<MAP>, owners: LIST<STRING>, model: STRING
// returns done: INTEGER
// mode    write
// index   meaning_entity, owner_id
// cost    light
// sealing rows: map vectors
// tenancy global: the worker serves every owner; each row names one entity by its id
// A row has id, was (the key of the text when the worker read it), of (the key of the text that it embedded) and
// packed. Owners and rows come in the order of ids, as in a turn of the writer: a turn locks the owner first. A text
// that the model cannot embed gets no vector. The first SET takes the lock and changes nothing: a turn may have written
// another text before, and Neo4j does not evaluate a condition again after it waited for a lock. `changed` counts the
// calls for an owner: copies in memory follow it (search/follow.cypher).
CALL () {
  UNWIND $owners AS id
  MATCH (owner:Owner {id: id})
  SET owner.vectors_changed = coalesce(owner.vectors_changed, 0) + 1
  RETURN count(*) AS owners
}
UNWIND $rows AS row
MATCH (meaning:Meaning {entity_id: row.id})
SET meaning.locked = null
WITH meaning, row WHERE meaning.of = row.was
MATCH (owner:Owner {id: meaning.owner})
SET meaning.of = row.of, meaning.model = $model, meaning.packed = row.packed, meaning.changed = owner.vectors_changed
REMOVE meaning:Vector, meaning.vector, meaning.fresh
RETURN count(meaning) AS done
