// Set the filterable values of an entity to those of `row`, if `row` has any. Takes `row` and `entity`. The present
// values are found from the entity alone: the planner may look for a pattern that names a value in the whole index.
WITH row, entity WHERE row.values IS NOT NULL
WITH row, entity, [(entity)-[:HAS_VALUE]->(held)
  WHERE [held.owner, held.type, held.entity_id] = [$owner, entity.type, row.home] | [held.field, held.value]] AS kept
CALL (row, entity) {
  MATCH (entity)-[:HAS_VALUE]->(gone)
  WHERE NOT [gone.field, gone.value] IN row.values
    OR NOT [gone.owner, gone.type, gone.entity_id] = [$owner, entity.type, row.home]
  DETACH DELETE gone
}
CALL (row, entity, kept) {
  UNWIND [pair IN row.values WHERE NOT pair IN kept] AS pair
  CREATE (entity)-[:HAS_VALUE]->(:FieldValue {owner: $owner, type: entity.type, field: pair[0], value: pair[1],
    entity_id: row.home})
}
