// Make the filterable values of an entity those that `row` has, where it has any to tell. Takes `row` and `entity`.
WITH row, entity WHERE row.values IS NOT NULL
CALL (row, entity) {
  MATCH (entity)-[:HAS_VALUE]->(gone:FieldValue)
  WHERE NOT [gone.field, gone.value] IN row.values
    OR NOT [gone.owner, gone.type, gone.entity_id] = [$owner, entity.type, row.home]
  DETACH DELETE gone
}
CALL (row, entity) {
  UNWIND row.values AS pair
  MERGE (entity)-[:HAS_VALUE]->(:FieldValue {owner: $owner, type: entity.type, field: pair[0], value: pair[1],
    entity_id: row.home})
}
