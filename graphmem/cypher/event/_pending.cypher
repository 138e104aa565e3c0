// The types of an owner whose entities wait to be folded by changed rules, as `pending`. It is read before the
// events: otherwise an entity that is folded in between would be answered in its old state, without its type in
// `pending`. The LIMIT keeps the planner from moving it.
CALL () {
  MATCH (head:Schema)
  USING INDEX SEEK head:Schema(owner, pending)
  WHERE head.owner = $owner AND head.pending = true
  RETURN collect([head.head, head.projection]) AS pending
}
WITH pending LIMIT 1
