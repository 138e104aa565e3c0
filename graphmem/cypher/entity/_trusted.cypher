// Whether the index of filterable values holds a field of every one of some types, `trusted`: it is declared filterable,
// and no entity waits to be folded again. It comes before that index is read: what was missing there may be folded in
// between. The limit keeps the planner from moving it. Takes `types` and `$field`.
WITH *, size(types) = COUNT {
  UNWIND types AS type
  MATCH (head:Schema)
  USING INDEX SEEK head:Schema(owner, head)
  WHERE head.owner = $owner AND head.head = type AND $field IN head.filterable AND head.pending IS NULL
} AS trusted LIMIT 1
