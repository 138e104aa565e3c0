// Set the filterable values of an entity to those of `row`, if `row` has any. Takes `row` and `entity`. The present
// values are read from the entity alone: if a pattern named a value, the planner may look for it in the whole index.
WITH row, entity WHERE row.values IS NOT NULL
WITH row, entity, [(entity)-[:HAS_VALUE]->(value)
  WHERE [value.owner, value.type, value.entity_id] = [$owner, entity.type, row.subject_id] | [value.field, value.value]] AS kept
CALL (row, entity) {
  MATCH (entity)-[:HAS_VALUE]->(gone)
  WHERE NOT [gone.field, gone.value] IN row.values
    OR NOT [gone.owner, gone.type, gone.entity_id] = [$owner, entity.type, row.subject_id]
  DETACH DELETE gone
}
CALL (row, entity, kept) {
  UNWIND [pair IN row.values WHERE NOT pair IN kept] AS pair
  CREATE (entity)-[:HAS_VALUE]->(:FieldValue {owner: $owner, type: entity.type, field: pair[0], value: pair[1],
    entity_id: row.subject_id})
}
