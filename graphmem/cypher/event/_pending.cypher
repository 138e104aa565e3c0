// The types of an owner, `pending`, whose entities are yet to be folded under the rules of today.
CALL () {
  MATCH (head:Schema)
  USING INDEX SEEK head:Schema(owner, pending)
  WHERE head.owner = $owner AND head.pending = true
  RETURN collect([head.head, head.projection]) AS pending
}
