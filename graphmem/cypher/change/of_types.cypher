// change.of_types: the first entities of some types, merged and deleted ones included, and when schemas of the types were
// registered.
//
// params  types: LIST<STRING>, limit: INTEGER
// returns entity_ids: LIST<STRING>, moments: LIST<INTEGER>
// mode    read
// index   entity_by_state (owner, type, live, id), schema_by_type (owner, entity_type)
// cost    light
CALL () {
  UNWIND $types AS type
  MATCH (entity:Entity)
  USING INDEX SEEK entity:Entity(owner, type, live, id)
  WHERE entity.owner = $owner AND entity.type = type AND entity.live IS NOT NULL AND entity.id IS NOT NULL
  WITH entity LIMIT $limit
  RETURN collect(entity.id) AS entity_ids
}
CALL () {
  UNWIND $types AS type
  MATCH (schema:Schema)
  USING INDEX SEEK schema:Schema(owner, entity_type)
  WHERE schema.owner = $owner AND schema.entity_type = type
  MATCH (schema)-[:IN_TRANSACTION]->(transaction:Transaction)
  RETURN collect(transaction.recorded_at) AS moments
}
RETURN entity_ids, moments
