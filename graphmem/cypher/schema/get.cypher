// schema.get: the schema of one type; no row if the owner has none.
//
// params  entity_type: STRING
// returns schema: LIST
// mode    read
// index   schema_by_type (owner, entity_type)
// cost    light
MATCH (schema:Schema)
WHERE schema.owner = $owner AND schema.entity_type = $entity_type
OPTIONAL MATCH (counted:Count {owner: $owner, kind: 'entity', type: $entity_type})
RETURN <schema._row> AS schema
