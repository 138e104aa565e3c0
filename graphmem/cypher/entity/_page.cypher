// The rows of `found`, as many as fit, and whether that was all: `page`, `merged` and `more`. Takes `found`, which is
// one longer than a page where there is more. Of what is merged the rules are those of the type of what shows it.
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
