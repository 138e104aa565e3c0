// schema.shapes: the fields of some types, as they are stored and declared.
//
// params  types: LIST<STRING>
// returns shapes: LIST<LIST>
// mode    read
// index   schema_head (owner, head)
// cost    light
// A row is [type, document, stored fields, the types of their values]. A type without a schema has no row.
CALL () {
  UNWIND $types AS type
  MATCH (schema:Schema)
  USING INDEX SEEK schema:Schema(owner, head)
  WHERE schema.owner = $owner AND schema.head = type
  RETURN collect([type, schema.document, coalesce(schema.fields, []), coalesce(schema.seen, [])]) AS shapes
}
RETURN shapes
