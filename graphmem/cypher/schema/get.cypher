// schema.get: the schema of one type with its newest versions; no row if the owner has none.
//
// params  entity_type: STRING, limit: INTEGER
// returns schema: LIST, versions: LIST<LIST>
// mode    read
// index   schema_head (owner, head), schema_by_type (owner, entity_type)
// cost    light
MATCH (schema:Schema)
USING INDEX SEEK schema:Schema(owner, head)
WHERE schema.owner = $owner AND schema.head = $entity_type
WITH schema, schema.head AS type
OPTIONAL MATCH (counted:Count {owner: $owner, kind: 'entity', type: type})
RETURN <schema._row> AS schema,
  COLLECT {
    MATCH (registered:Schema)
    USING INDEX SEEK registered:Schema(owner, entity_type)
    WHERE registered.owner = $owner AND registered.entity_type = type AND registered.version IS NOT NULL
    MATCH (registered)-[:IN_TRANSACTION]->(transaction:Transaction)
    RETURN [registered.version, registered.recorded_at, transaction.id, registered.change]
    ORDER BY registered.recorded_at DESC LIMIT $limit
  } AS versions
