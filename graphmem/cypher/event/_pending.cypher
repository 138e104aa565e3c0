// The types of an owner, `pending`, whose entities are yet to be folded under the rules of today. It comes before what
// is read of these: one that is folded in between would be told as it was, and its type not as pending any more. The
// limit keeps the planner from moving it.
CALL () {
  MATCH (head:Schema)
  USING INDEX SEEK head:Schema(owner, pending)
  WHERE head.owner = $owner AND head.pending = true
  RETURN collect([head.head, head.projection]) AS pending
}
WITH pending LIMIT 1
