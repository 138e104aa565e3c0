// schema.documents: the registered schemas of some types.
//
// params  types: LIST<STRING>
// returns documents: LIST<LIST>
// mode    read
// index   schema_head (owner, head)
// cost    light
// A row is [type, document]; a type without a registered schema has none.
CALL () {
  UNWIND $types AS type
  MATCH (schema:Schema)
  USING INDEX SEEK schema:Schema(owner, head)
  WHERE schema.owner = $owner AND schema.head = type AND schema.document IS NOT NULL
  RETURN collect([type, schema.document]) AS documents
}
RETURN documents
