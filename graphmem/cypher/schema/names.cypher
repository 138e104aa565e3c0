// schema.names: the types of an owner, each with the fields that are stored or declared of it.
//
// params  types: LIST<STRING>, with_fields: BOOLEAN
// returns heads: LIST<LIST>
// mode    read
// index   schema_head (owner, head)
// cost    light
// A list reads it where a filter may name something unknown, to propose what was probably meant. Fields come only
// `with_fields`, and only those of `types`; no types means every type. At most 1,000 types are read.
MATCH (schema:Schema)
USING INDEX SEEK schema:Schema(owner, head)
WHERE schema.owner = $owner AND schema.head IS NOT NULL
WITH schema LIMIT 1000
RETURN collect([schema.head, CASE WHEN $with_fields AND (size($types) = 0 OR schema.head IN $types)
  THEN schema.fields + coalesce(schema.declared, []) ELSE [] END]) AS heads
