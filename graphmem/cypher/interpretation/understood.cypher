// interpretation.understood: the entities that an interpretation has observations of, by type, and how many passages its
// source has.
//
// params  interpretation_id: STRING, source_id: STRING
// returns types: LIST<LIST>, passages: INTEGER
// mode    read
// index   interpretation_id, entity_id, passages_source
// cost    heavy
CALL () {
  MATCH (interpretation:Interpretation {id: $interpretation_id})
  WHERE interpretation.owner = $owner
  MATCH (interpretation)<-[:BY_INTERPRETATION]-(observation:Observation)
  WITH DISTINCT <observation._subject> AS id WHERE id IS NOT NULL
  MATCH (entity:Entity {id: id})
  WHERE entity.owner = $owner
  WITH entity.type AS type, count(entity) AS entities ORDER BY entities DESC, type
  RETURN collect([type, entities]) AS types
}
OPTIONAL MATCH (passages:Passages {source_id: $source_id})
WHERE passages.owner = $owner
RETURN types, coalesce(size(passages.texts), 0) AS passages
