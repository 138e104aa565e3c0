// schema.page: one page of an owner's schemas, by type, each with the number of its entities, and the total.
//
// params  keyword: STRING, type: STRING, named: LIST<STRING>, shipped: LIST<STRING>, after: STRING, offset: INTEGER,
//         limit: INTEGER
// returns page: LIST<LIST>, truncated: BOOLEAN, more: BOOLEAN, total: INTEGER
// mode    read
// index   schema_head (owner, head)
// cost    light
// `named` are the shipped types that match the keyword. `shipped` are those of them that are listed although the
// owner stores no entity of them. An owner has some hundred types, so all are sorted and counted.
CALL () {
  MATCH (schema:Schema)
  USING INDEX SEEK schema:Schema(owner, head)
  WHERE schema.owner = $owner AND schema.head IS NOT NULL
    AND ($type IS NULL OR schema.head = $type)
    AND ($keyword IS NULL OR schema.head CONTAINS $keyword
      OR any(name IN schema.fields WHERE toLower(name) CONTAINS $keyword)
      OR any(name IN schema.declared WHERE toLower(name) CONTAINS $keyword)
      OR (schema.document IS NULL AND schema.head IN $named))
  RETURN schema.head AS type, schema
  UNION ALL
  UNWIND $shipped AS type
  OPTIONAL MATCH (schema:Schema)
  USING INDEX SEEK schema:Schema(owner, head)
  WHERE schema.owner = $owner AND schema.head = type
  WITH type, schema WHERE schema IS NULL
  RETURN type, schema
}
WITH type, schema ORDER BY type
WITH collect([type, schema]) AS matches
WITH size(matches) AS total, [pair IN matches WHERE pair[0] > $after] AS rest
WITH total, rest[$offset..$offset + $limit] AS listed, size(rest) > $offset + $limit AS longer
WITH total, longer, listed, [pair IN listed |
  reduce(characters = coalesce(size(pair[1].document), 0), name IN pair[1].fields | characters + size(name) + 100)
] AS sizes
WITH total, longer, listed, [size IN sizes | coalesce(size, 0)] AS sizes
WITH total, longer, listed, <entity._fitting> AS fitting
CALL (listed, fitting) {
  UNWIND listed[..fitting] AS pair
  WITH pair[0] AS type, pair[1] AS schema
  OPTIONAL MATCH (counted:Count {owner: $owner, kind: 'entity', type: type})
  WITH type, schema, counted ORDER BY type
  RETURN collect(<schema._row>) AS page
}
RETURN page, size(listed) > fitting AS truncated, longer OR size(listed) > fitting AS more, total
