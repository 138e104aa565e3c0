// Whether the index of filterable values is complete for a field and some types, as `trusted`: every type declares
// the field filterable, and none of their entities waits to be folded again. Takes `types` and `$field`. It is read
// before the index: an entity that the index lacks may be folded in between. The LIMIT keeps the planner from moving
// it.
WITH *, size(types) = COUNT {
  UNWIND types AS type
  MATCH (head:Schema)
  USING INDEX SEEK head:Schema(owner, head)
  WHERE head.owner = $owner AND head.head = type AND $field IN head.filterable AND head.pending IS NULL
} AS trusted LIMIT 1
