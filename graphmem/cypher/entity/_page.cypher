// The rows of a page: `page`, `merged`, `truncated` and `more`. Takes `found`, which holds one entity more than the
// page if there is a next page. `merged` gives each merged entity the schema of its survivor's type.
WITH found[..$limit] AS found, size(found) > $limit AS longer
WITH found, longer, [one IN found | one.size] AS sizes
WITH found, longer, <entity._fitting> AS fitting
<entity._rows>
CALL (found, fitting) {
  UNWIND [one IN found[..fitting] WHERE one.merged_into IS NOT NULL] AS entity
  MATCH (entity)-[:MERGED_INTO*1..]->(root:Entity)
  WHERE root.merged_into IS NULL
  OPTIONAL MATCH (head:Schema)
  USING INDEX SEEK head:Schema(owner, head)
  WHERE head.owner = $owner AND head.head = root.type
  RETURN collect([entity.id, entity.merged_into, head.projection, head.active_version]) AS merged
}
RETURN page, merged, fitting < size(found) AS truncated, longer OR fitting < size(found) AS more
