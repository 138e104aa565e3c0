// dump.schemas: every registered version of the schema of an owner's next entity type after `after`, up to a sequence
// number.
//
// params  after: STRING, sequence: INTEGER
// returns type: STRING, versions: LIST<LIST>
// mode    read
// index   schema_by_type (owner, entity_type)
// cost    light
// `type` is null if no type is left.
CALL () {
  MATCH (schema:Schema)
  USING INDEX SEEK schema:Schema(owner, entity_type)
  WHERE schema.owner = $owner AND schema.entity_type > $after
  WITH schema ORDER BY schema.owner, schema.entity_type LIMIT 1
  RETURN max(schema.entity_type) AS type
}
CALL (type) {
  MATCH (schema:Schema)
  USING INDEX SEEK schema:Schema(owner, entity_type)
  WHERE schema.owner = $owner AND schema.entity_type = type AND schema.version IS NOT NULL
  MATCH (schema)-[:IN_TRANSACTION]->(transaction:Transaction)
  WHERE transaction.sequence <= $sequence
  RETURN collect([schema.version, schema.document, schema.change, schema.recorded_at, transaction.id]) AS versions
}
RETURN type, versions
