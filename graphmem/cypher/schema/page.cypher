// schema.page: one page of an owner's schemas by type, each with how many entities it has, and the total.
//
// params  keyword: STRING, offset: INTEGER, limit: INTEGER
// returns page: LIST<LIST>, total: INTEGER
// mode    read
// index   schema_by_type (owner, entity_type)
// cost    light
// An owner has some hundred types at most: the total is counted.
CALL () {
  MATCH (schema:Schema)
  WHERE schema.owner = $owner AND schema.entity_type IS NOT NULL
    AND ($keyword IS NULL OR schema.entity_type CONTAINS $keyword)
  WITH schema ORDER BY schema.owner, schema.entity_type SKIP $offset LIMIT $limit
  OPTIONAL MATCH (counted:Count {owner: $owner, kind: 'entity', type: schema.entity_type})
  WITH schema, counted ORDER BY schema.entity_type
  RETURN collect(<schema._row>) AS page
}
CALL () {
  MATCH (schema:Schema)
  WHERE schema.owner = $owner AND schema.entity_type IS NOT NULL
    AND ($keyword IS NULL OR schema.entity_type CONTAINS $keyword)
  RETURN count(schema) AS total
}
RETURN page, total
