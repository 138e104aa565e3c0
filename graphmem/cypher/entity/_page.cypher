// The rows of a page: `page`, `merged`, `truncated` and `more`. Takes `entities`, which holds one entity more than
// the page if there is a next page. `merged` gives for each merged entity the schema of its survivor's type.
WITH entities[..$limit] AS entities, size(entities) > $limit AS longer
WITH entities, longer, [entity IN entities | entity.size] AS sizes
WITH entities, longer, <entity._fitting> AS fitting
<entity._rows>
CALL (entities, fitting) {
  UNWIND [entity IN entities[..fitting] WHERE entity.merged_into IS NOT NULL] AS entity
  MATCH (entity)-[:MERGED_INTO*1..]->(root:Entity)
  WHERE root.merged_into IS NULL
  OPTIONAL MATCH (head:Schema)
  USING INDEX SEEK head:Schema(owner, head)
  WHERE head.owner = $owner AND head.head = root.type
  RETURN collect([entity.id, entity.merged_into, head.projection, head.active_version]) AS merged
}
RETURN page, merged, fitting < size(entities) AS truncated, longer OR fitting < size(entities) AS more
